"""The receipt: what a release cost, and why, in a form that a stranger can re-check.

A receipt is the list of events that the ledger charged. ``verify`` needs nothing else: it looks up each
event's lemma, recomputes its cost from mechanism, sensitivity and noise scale, re-adds the scopes
(sequential along a path, parallel over disjoint parts) and compares the sum with what the receipt says.

Charges are epsilons, unless the receipt has an ``at_delta``: then they are in rho, zero-concentrated privacy's, and
their sum is converted once, upward, into the epsilon that holds with that delta (``privet.privacy.zcdp``).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from privet.errors import ReceiptError
from privet.privacy.amounts import Amount, show
from privet.privacy.event import COSTS, SAMPLE, SELECTIONS, Event, add_up_slack, spending
from privet.privacy.event_text import event_lines
from privet.privacy.lemmas import Lemma
from privet.privacy.sensitivity import proven

FORMAT = "privet-receipt-1"
UNIT = "one record"
NEIGHBOURS = "add or remove one"

# A lemma speaks about additive noise, about no noise at all or, as every score's does, about a selection.
# By L1: the L2 sensitivity, which Gaussian noise is scaled to, is never larger.
_NOISE = ("geometric", "geometric_shares", "gaussian", "skellam_shares")
# By L2, which says nothing about geometric noise.
_EUCLIDEAN = ("gaussian", "skellam_shares")
_MECHANISMS = {
    "tally": _NOISE,
    "target_tally": _NOISE,
    "gradient_tally": _NOISE,
    "least_impurity": _NOISE,
    "euclidean_tally": _EUCLIDEAN,
    "euclidean_target_tally": _EUCLIDEAN,
    "euclidean_gradient_tally": _EUCLIDEAN,
    "euclidean_least_impurity": _EUCLIDEAN,
    "peek": ("peek",),
}


@dataclass(frozen=True)
class Receipt:
    """What a release cost: ``epsilon`` and, where it is not pure differential privacy, ``delta``.

    ``claimed`` is the paper's or the user's word, ``spent`` what the events add up to, ``epsilon`` the
    guarantee that holds: ``spent``, or infinity if ``void`` gives a reason why nothing holds. ``delta`` is what noise
    that was not drawn exactly adds (``add_up_slack``), or ``at_delta``: charges are in rho if that is not 0, and this
    is the delta at which their sum was converted. ``trust`` says who had to be trusted with what. ``shortfall``
    says why a published claim is less than what was spent.
    """

    claimed: Amount
    spent: Amount
    delta: Fraction
    void: tuple[str, ...]
    trust: str
    events: tuple[Event, ...] = field(repr=False)
    unit: str = UNIT
    neighbours: str = NEIGHBOURS
    shortfall: str = ""
    at_delta: Fraction = Fraction(0)

    @property
    def epsilon(self) -> Amount:
        return math.inf if self.void else self.spent

    def verify(self) -> bool:
        """True if every event costs no more than it was charged and the charges add up; raises otherwise.

        What cannot be seen here: whether the curator did what the events say. A forger who rewrites several
        fields so that they agree again (another lemma with its sensitivity and charge, other paths with their
        sum, an event and its share of the sum left out) has written another receipt.
        """
        if self.unit != UNIT or self.neighbours != NEIGHBOURS:
            raise ReceiptError(f"The lemmas are about {UNIT!r} and {NEIGHBOURS!r}, nothing else.")
        for i, event in enumerate(self.events):
            where = f"Event {i} ({event.question})"
            if event.mechanism not in COSTS:
                raise ReceiptError(f"{where} names the unknown mechanism {event.mechanism!r}.")
            if not 0 <= event.scale < math.inf or not event.charged >= 0:
                raise ReceiptError(f"{where} has a noise scale or a charge that makes no sense.")
            smallest = proven(event.lemma)
            if event.mechanism not in _MECHANISMS.get(Lemma.parse(event.lemma).name, SELECTIONS):
                raise ReceiptError(f"{where} uses a lemma that does not speak about its mechanism.")
            if event.sensitivity < smallest:
                raise ReceiptError(f"{where} uses a smaller sensitivity than its lemma proves.")
            if (event.rho if self.at_delta else event.cost) > event.charged:
                raise ReceiptError(f"{where} costs more than it was charged.")
            if event.slack > event.delta:
                raise ReceiptError(f"{where} has noise that costs a larger delta than it was charged.")
        spent = spending(self.events, self.at_delta)
        if spent != self.spent:
            raise ReceiptError("The events do not add up to what the receipt says was spent.")
        slack = add_up_slack(self.events)
        if slack + self.at_delta != self.delta:
            raise ReceiptError("The deltas of the events do not add up to the receipt's.")
        if self.at_delta and any(f"/{SAMPLE}" in event.scope for event in self.events):
            raise ReceiptError("No lemma here amplifies zCDP by sampling.")
        if slack and self.at_delta:
            raise ReceiptError("No lemma adds up zCDP and noise that was not drawn exactly.")
        if not (self.void or self.shortfall or spent <= self.claimed):
            raise ReceiptError("More was spent than was claimed, and the receipt does not say why.")
        return True

    def alone(self) -> Receipt:
        """The same with roots numbered as in a ledger that has answered nothing else.

        So servers whose ledgers have different pasts have the same receipt for the same answers.
        """
        numbers: dict[str, str] = {}
        events = []
        for event in self.events:
            root, *below = event.scope.removeprefix("/").split("/")
            name = root.partition(":")[0].rstrip("0123456789")
            events.append(
                replace(event, scope="/".join(["", numbers.setdefault(root, f"{name}{len(numbers)}:0"), *below]))
            )
        return replace(self, events=tuple(events))

    def to_dict(self) -> dict[str, Any]:
        events = [{k: _plain(v) for k, v in vars(event).items()} for event in self.events]
        return {
            "format": FORMAT,
            "claimed": _plain(self.claimed),
            "spent": _plain(self.spent),
            "epsilon": _plain(self.epsilon),
            "delta": _plain(self.delta),
            "at_delta": _plain(self.at_delta),
            "void": list(self.void),
            "unit": self.unit,
            "neighbours": self.neighbours,
            "trust": self.trust,
            "shortfall": self.shortfall,
            "events": events,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Receipt:
        """Read a receipt; refuses one whose stated epsilon is not what its own fields give."""
        try:
            if data["format"] != FORMAT:
                raise ReceiptError(f"This is not a {FORMAT} receipt.")
            receipt = cls(
                claimed=_amount(data["claimed"]),
                spent=_amount(data["spent"]),
                delta=_fraction(data["delta"]),
                at_delta=_fraction(data["at_delta"]),
                void=tuple(_text(reason) for reason in _list(data["void"])),
                trust=_text(data["trust"]),
                shortfall=_text(data["shortfall"]),
                unit=_text(data["unit"]),
                neighbours=_text(data["neighbours"]),
                events=tuple(
                    Event(
                        scope=_text(event["scope"]),
                        question=_text(event["question"]),
                        mechanism=_text(event["mechanism"]),
                        sensitivity=_fraction(event["sensitivity"]),
                        scale=_scale(event["scale"]),
                        charged=_amount(event["charged"]),
                        lemma=_text(event["lemma"]),
                        delta=_fraction(event["delta"]),
                        drawn=_text(event["drawn"]),
                    )
                    for event in _list(data["events"])
                ),
            )
            epsilon = _amount(data["epsilon"])
        except ReceiptError:
            raise
        except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError):
            raise ReceiptError("This is not a whole receipt: a field is missing or has the wrong form.") from None
        if epsilon != receipt.epsilon:
            raise ReceiptError("The receipt's epsilon is not what its spent and void fields give.")
        return receipt

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        try:
            data = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            raise ReceiptError("This is not a receipt: it is not JSON.") from None
        return cls.from_dict(data)

    def __str__(self) -> str:
        lines = [
            f"epsilon   {show(self.epsilon)}   (delta {show(self.delta)})",
            f"claimed   {show(self.claimed)}",
            f"spent     {show(self.spent)}",
            f"covers    {self.unit}; neighbours: {self.neighbours}",
            f"trust     {self.trust}",
        ]
        lines += [f"SHORT     {self.shortfall}"] if self.shortfall else []
        lines += [f"VOID      {reason}" for reason in self.void]
        return "\n".join([*lines, *event_lines(self.events)])


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    if value == math.inf:
        return "infinity"
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("list expected")
    return value


def _scale(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError("noise scale expected")
    return float(value)


def _fraction(value: object) -> Fraction:
    """Nothing in a receipt is negative."""
    text = _text(value)
    if len(text) > 10_000 or not re.fullmatch(r"[0-9]+(/[0-9]+)?", text):
        raise ValueError("fraction expected")
    return Fraction(text)


def _amount(value: object) -> Amount:
    return math.inf if value == "infinity" else _fraction(value)
