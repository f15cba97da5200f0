"""Re-checking a model file that somebody else may have written."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from privet.cli.screen import say, warn
from privet.errors import ReceiptError
from privet.privacy.amounts import exact
from privet.privacy.event import Event, spending
from privet.privacy.receipt import Receipt


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
    ratio = f"{float(event.sensitivity):g} / {event.scale:g}"
    cost = f"rho of {ratio} = {float(event.rho):g}" if at_delta else f"{ratio} = {float(event.cost):g}"
    recomputed = f"{cost} <= {float(event.charged):g}"
    mechanism, lemma = event.mechanism.replace("_", "-"), event.lemma.replace("_", " ")
    drawn = f", drawn as {event.drawn} for a delta of {float(event.delta):.3g}" if event.drawn else ""
    return True, f"ok  {recomputed}  {event.question}: {mechanism}, {lemma}{drawn}  at {event.scope or '/'}"


def check_model(model: Any) -> None:
    """Raise if the receipt does not add up or pay for the model, or if the rest of the file contradicts it."""
    receipt: Receipt = model.privacy_
    model.verify()
    if exact(model.epsilon) != receipt.claimed:
        raise ReceiptError("The receipt claims another epsilon than the model's own parameter.")
    if model.schema_.unconfirmed and not receipt.void:
        raise ReceiptError("The schema has fields that were read off the data, and the receipt does not say so.")


def refuse_void(unconfirmed: tuple[str, ...], seed: int | None, params: dict[str, Any]) -> None:
    """Raise, before anything is learned, if the receipt could not be a guarantee."""
    if params.get("variant") == "published":
        raise ReceiptError("a published variant may cost more than it claims, and --strict asks for a guarantee")
    if seed is not None:
        raise ReceiptError("--seed would make the receipt void, and --strict asks for one that is not")
    if unconfirmed:
        raise ReceiptError(
            f"the receipt would be void, and --strict asks for one that is not: confirm {', '.join(unconfirmed)} "
            "in the schema and delete the lines 'inferred = true'"
        )


def warn_if_void(receipt: Receipt) -> None:
    if receipt.shortfall:
        warn(f"this costs more than it claims: {receipt.shortfall}")
    if receipt.void:
        warn(f"the receipt is VOID, no guarantee holds: {'; '.join(receipt.void)}")


def say_received(receipt: Receipt, where: str) -> None:
    """Show a new model's receipt, and where the model is."""
    say(f"\nReceipt\n{receipt}\n")
    say(where)
    warn_if_void(receipt)
