"""Re-checking a model file that somebody else may have written."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.cli.screen import say, warn
from privet.errors import ReceiptError, SchemaError
from privet.explain.words import scores_promise
from privet.privacy.amounts import exact
from privet.privacy.event import Event, spending
from privet.privacy.event_parts import parts_of
from privet.privacy.event_text import technical_name
from privet.privacy.event_words import in_plain_words
from privet.privacy.meaning import NOTHING, promise_in_words, warnings_about
from privet.privacy.receipt import Receipt
from privet.schema import Schema

if TYPE_CHECKING:
    from privet.evaluate.evaluation import Evaluation

MOST_CHARGES = 8
"""Of a kind of answer with more different charges the dearest alone is shown."""


def check_event(number: int, event: Event, receipt: Receipt) -> tuple[bool, str]:
    """Whether one event holds on its own, with its receipt's delta and unit, and a line that says why."""
    at_delta = receipt.at_delta
    try:
        alone = Receipt(
            claimed=math.inf,
            spent=spending((event,), at_delta),
            delta=event.delta + at_delta,
            void=(),
            trust="",
            events=(event,),
            unit=receipt.unit,
            weight=receipt.weight,
            at_delta=at_delta,
            reserved=Fraction(event.charged) if at_delta and event.charged < math.inf else Fraction(0),
        )
        alone.verify()
    except ReceiptError as error:
        return False, f"FAILED  {str(error).replace('Event 0', f'Event {number}', 1)}"
    drawn = f", drawn as {event.drawn} for a delta of {float(event.delta):.3g}" if event.drawn else ""
    return True, f"ok  {_inequality(event, receipt)}  {technical_name(event)}{drawn}  at {event.scope or '/'}"


def _inequality(event: Event, receipt: Receipt) -> str:
    """What an answer costs, computed again from its noise, and what it was charged."""
    ratio = f"{float(event.sensitivity):g} / {event.scale:g}"
    cost = f"rho of {ratio} = {float(event.rho):g}" if receipt.at_delta else f"{ratio} = {float(event.cost):g}"
    return f"{cost} <= {float(event.charged):g}"


def say_checked(receipt: Receipt) -> None:
    """Check every answer, and say so: those of one kind in one line, in words, and each one that fails.

    A line has what each of its answers was charged, and the inequality of the dearest; ``--json`` has those of all.
    """
    checks = [(event, *check_event(i, event, receipt)) for i, event in enumerate(receipt.events)]
    say(checks=[line for _, _, line in checks])
    for _, passed, line in checks:
        if not passed:
            say(line, style="red")
    parts = parts_of(receipt.events) if all(passed for _, passed, _ in checks) else []
    for part in parts:
        say(f"{part.name}, {len(part.events)} {'answer' if len(part.events) == 1 else 'answers'}:")
        kinds: dict[tuple[str, str, str], list[Event]] = {}
        for event in part.events:
            kinds.setdefault((event.question, event.mechanism, event.lemma), []).append(event)
        for own in kinds.values():
            words, dearest = in_plain_words(own[0], receipt.weight), max(own, key=lambda event: event.charged)
            charges = [f"{float(amount):g}" for amount in sorted({event.charged for event in own})]
            each = f", each charged {' or '.join(charges)}" if 1 < len(charges) <= MOST_CHARGES else ""
            often = f" ({len(own)} answers{each})" if len(own) > 1 else ""
            say(f"  ok  {words.asked} {words.how}{often} [{technical_name(dearest)}: {_inequality(dearest, receipt)}]")


def check_model(model: Any) -> None:
    """Raise if the receipt does not add up or pay for the model, or if the rest of the file contradicts it."""
    receipt: Receipt = model.privacy_
    model.verify()
    if exact(model.epsilon) != receipt.claimed:
        raise ReceiptError("The receipt claims another epsilon than the model's own parameter.")
    if model.schema_.unconfirmed and not receipt.void:
        raise ReceiptError("The schema has fields that were read off the data, and the receipt does not say so.")


def say_signed(receipt: Receipt, signers: str, path: Path | None) -> None:
    """Show a receipt that adds up and was signed; if a model's file is given, check that it is this model's."""
    from privet.algorithms.model_file import load

    if path is not None:
        model = load(path)
        check_model(model)
        if model.privacy_ != receipt:
            raise ReceiptError(f"Another receipt than the one that this model holds was signed by {signers}.")
    say(f"{receipt}\n", privacy=receipt_facts(receipt))
    say(f"It adds up, and is signed by {signers}.", verified=True, signed_by=signers)
    if path is not None:
        say(f"It is the receipt of {path}.", file=path)


def receipt_facts(receipt: Receipt) -> dict[str, Any]:
    """What a program wants to know of a receipt; the whole of it is in the model's file."""
    names = ("epsilon", "delta", "claimed", "spent", "unit", "neighbours", "trust", "void", "shortfall", "released")
    return {name: getattr(receipt, name) for name in names}


def refuse_void(unconfirmed: tuple[str, ...], seed: int | None, params: dict[str, Any], asks: str) -> None:
    """Raise, before anything is learned, if the receipt could not be the guarantee that --strict or --ledger asks for.

    A ledger's limit is a promise, and a model without a guarantee would break it at any price.
    """
    if params.get("variant") == "published":
        raise ReceiptError(f"a published variant may cost more than it claims, and {asks} asks for a guarantee")
    if seed is not None:
        raise ReceiptError(f"--seed would make the receipt void, and {asks} asks for one that is not")
    if unconfirmed:
        raise ReceiptError(
            f"the receipt would be void, and {asks} asks for one that is not: confirm {', '.join(unconfirmed)} "
            "in the schema and delete the lines 'inferred = true'"
        )


def say_paid_scores(scores: Evaluation | None) -> None:
    """What scores with a receipt of their own promise to the records that score the model: it is not the model's."""
    own = None if scores is None else scores.privacy_
    if own is not None:
        say(scores_promise(own), style="bold red" if own.void else "", scores_privacy=receipt_facts(own))


def refuse_void_scores(scores: Evaluation | None) -> None:
    """Raise where --strict asks for a promise, and scores with a receipt of their own have none."""
    own = None if scores is None else scores.privacy_
    if own is not None and own.void:
        raise ReceiptError("the scores' own receipt is void, and --strict asks for one that is not")
    if own is not None:
        refuse_nothing(float(own.epsilon))


def labelled(path: Path) -> Schema:
    """The schema of a file, which must say which column is the label."""
    schema = Schema.from_toml(path)
    if schema.label is None:
        raise SchemaError(f"{path} does not say which column is the label: set name under [label]")
    return schema


def refuse_nothing(epsilon: float, asks: str = "--strict") -> None:
    """Raise where an epsilon is so large that it promises nothing."""
    if epsilon >= NOTHING:
        raise ReceiptError(f"{warnings_about(epsilon)[0]} {asks} asks for a promise: take a smaller epsilon")


def say_promise(receipt: Receipt) -> None:
    """What the epsilon of a receipt means, in one line; nothing of one that is void."""
    if receipt.void:
        return
    who = "person" if "person" in receipt.unit else "row"
    say(promise_in_words(float(receipt.epsilon), float(receipt.delta), who))


def warn_of_draft(schema: Schema) -> None:
    """Say that a schema is still a draft: what is learned with it has no guarantee."""
    if schema.unconfirmed:
        n = len(schema.unconfirmed)
        warn(
            f"the schema is a draft: {n} {'field is' if n == 1 else 'fields are'} still read off the records, and the "
            "receipt of a fit would be VOID. Confirm each and delete its line 'inferred = true'"
        )


def warn_if_void(receipt: Receipt) -> None:
    if receipt.shortfall:
        warn(f"this costs more than it claims: {receipt.shortfall}")
    if receipt.void:
        warn(f"the receipt is VOID, no guarantee holds: {'; '.join(receipt.void)}")


def say_received(receipt: Receipt, where: str) -> None:
    """Show a new model's receipt, and where the model is."""
    say(f"\nReceipt\n{receipt}\n", privacy=receipt_facts(receipt))
    say_promise(receipt)
    say(where)
    warn_if_void(receipt)
