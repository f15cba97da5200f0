"""The receipt: what a release cost, and why, in a form that a stranger can re-check.

A receipt is the list of events that the ledger charged. ``verify`` needs nothing else: it looks up each
event's lemma, recomputes its cost from mechanism, sensitivity and noise scale, re-adds the scopes
(sequential along a path, parallel over disjoint parts) and compares the sum with what the receipt says.

Charges are epsilons, unless the receipt has an ``at_delta``: then they are in rho, zero-concentrated privacy's. What is
converted, once and upward, into the epsilon that holds with that delta (``privet.privacy.zcdp``) is what was *reserved*
before the first answer, and not what the answers came to use: the latter depends on them, and an epsilon that is read
off the answers does not hold with the same delta (docs/theory.md, L4).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privet.errors import ReceiptError
from privet.privacy.amounts import Amount, show
from privet.privacy.dp_events import dp_events, non_private
from privet.privacy.event import MAX_SCALE, MECHANISMS, SAMPLE, SELECTIONS, Event, add_up, add_up_slack, converted
from privet.privacy.event_text import event_lines
from privet.privacy.lemmas import Lemma
from privet.privacy.sensitivity import EUCLIDEAN, SUMS, proven
from privet.privacy.unit import MOST_WEIGHT, ROW, cap_of
from privet.strict_json import as_list, as_number, as_text, loads_strict, only

FORMAT = "privet-receipt-3"
_FORMAT_OF_ROWS = "privet-receipt-2"  # before there were persons
NEIGHBOURS = "add or remove one"
_ROW_ALONE = " of the table, not a person who has several"

_DIGEST = re.compile("[0-9a-f]{64}")

# A lemma speaks about additive noise, about no noise at all or, as every score's does, about a selection.
# By L1: the L2 sensitivity, which Gaussian noise is scaled to, is never larger.
_NOISE = ("geometric", "geometric_shares", "gaussian", "skellam_shares")
# By L2, which says nothing about geometric noise.
_EUCLIDEAN = ("gaussian", "skellam_shares")
_MECHANISMS = {
    **dict.fromkeys(SUMS, _NOISE),
    **dict.fromkeys((EUCLIDEAN + name for name in SUMS), _EUCLIDEAN),
    "peek": ("peek",),
    "random_stopping": ("random_stopping",),
}


@dataclass(frozen=True)
class Receipt:
    """What a release cost: ``epsilon`` and, where it is not pure differential privacy, ``delta``.

    ``claimed`` is the paper's or the user's word, ``spent`` what the events add up to, ``epsilon`` the
    guarantee that holds: ``spent``, or infinity if ``void`` gives a reason why nothing holds. ``trust`` says who had to
    be trusted with what. ``shortfall`` says why a published claim is less than what was spent. ``released`` is the
    SHA-256 of the canonical JSON of what was released, in hex.

    ``unit`` is what it covers: "one row" and nothing more, or "one person, at most 20 records". A person counts for
    ``weight`` units in all, at least as many as records, and every sensitivity is the lemma's times that
    (``privet.privacy.unit``).

    If ``at_delta`` is not 0, charges are in rho, ``reserved`` is the most that they might have added up to, and
    ``spent`` is the epsilon of that at ``at_delta``. ``delta`` is at least ``at_delta`` and what noise that was not
    drawn exactly adds (``add_up_slack``). It may be more: a fit that was given a delta, and by a noisy answer chose not
    to use it, is private with that delta all the same. Let A be the outputs of the pure branch, which cost at most
    epsilon, and B those of the branch with a delta, which is (epsilon, delta)-DP if the fit stops on entering A. Then

        P(S) = P(S in A) + P(S in B) <= e^epsilon Q(S in A) + e^epsilon Q(S in B) + delta.
    """

    claimed: Amount
    spent: Amount
    delta: Fraction
    void: tuple[str, ...]
    trust: str
    events: tuple[Event, ...] = field(repr=False)
    unit: str = str(ROW)
    weight: int = 1
    neighbours: str = NEIGHBOURS
    shortfall: str = ""
    at_delta: Fraction = Fraction(0)
    reserved: Fraction = Fraction(0)
    released: str = ""

    @property
    def epsilon(self) -> Amount:
        return math.inf if self.void else self.spent

    def verify(self) -> bool:
        """True if every event costs no more than it was charged and the charges add up; raises otherwise.

        What cannot be seen here: whether the curator did what the events say. A forger who rewrites several
        fields so that they agree again (another lemma with its sensitivity and charge, other paths with their
        sum, an event and its share of the sum left out) has written another receipt.
        """
        cap = cap_of(self.unit)
        if cap is None or self.neighbours != NEIGHBOURS:
            raise ReceiptError(f"The lemmas are about {str(ROW)!r} or persons, and {NEIGHBOURS!r}, nothing else.")
        if self.weight < cap:
            raise ReceiptError("A person's weight is less than the records that may count, so it covers fewer of them.")
        for i, event in enumerate(self.events):
            where = f"Event {i} ({event.question})"
            if event.mechanism not in MECHANISMS:
                raise ReceiptError(f"{where} names the unknown mechanism {event.mechanism!r}.")
            if not 0 <= event.scale <= MAX_SCALE or not event.charged >= 0:
                raise ReceiptError(f"{where} has a noise scale or a charge that makes no sense.")
            smallest = proven(event.lemma) * self.weight
            if event.mechanism not in _MECHANISMS.get(Lemma.parse(event.lemma).name, SELECTIONS):
                raise ReceiptError(f"{where} uses a lemma that does not speak about its mechanism.")
            if event.sensitivity < smallest:
                raise ReceiptError(f"{where} uses a smaller sensitivity than its lemma proves.")
            if (event.rho if self.at_delta else event.cost) > event.charged:
                raise ReceiptError(f"{where} costs more than it was charged.")
            if event.slack > event.delta:
                raise ReceiptError(f"{where} has noise that costs a larger delta than it was charged.")
        used = add_up(self.events)
        if self.at_delta and used > self.reserved:
            raise ReceiptError("The events add up to more than was reserved.")
        if self.reserved and not self.at_delta:
            raise ReceiptError("Only a receipt with a delta reserves something in rho.")
        spent = converted(self.reserved, self.at_delta, self.events) if self.at_delta else used
        if spent != self.spent:
            raise ReceiptError("The receipt's charges do not add up to what it says was spent.")
        slack = add_up_slack(self.events, self.weight)
        if not slack + self.at_delta <= self.delta < 1:
            raise ReceiptError("The deltas of the events add up to more than the receipt's.")
        if self.at_delta and any(f"/{SAMPLE}" in event.scope for event in self.events):
            raise ReceiptError("No lemma here amplifies zCDP by sampling.")
        if slack and self.at_delta:
            raise ReceiptError("No lemma adds up zCDP and noise that was not drawn exactly.")
        if not (self.void or self.shortfall or spent <= self.claimed):
            raise ReceiptError("More was spent than was claimed, and the receipt does not say why.")
        if self.released and not _DIGEST.fullmatch(self.released):
            raise ReceiptError("What was released is named by a SHA-256 in hex.")
        return True

    def to_dp_events(self) -> Any:
        """The answers as a ``DpEvent`` of Google's ``dp_accounting``, which adds them up (``dp_events.py``).

        A void receipt gives an event without privacy. Noise that was not drawn exactly, and a delta that was not used,
        have no event there: such a receipt raises ReceiptError.
        """
        if self.void:
            return non_private()
        if self.delta > self.at_delta:
            raise ReceiptError("No event of dp_accounting stands for a part of this receipt's delta.")
        return dp_events(self.events, in_rho=bool(self.at_delta), reserved=self.reserved)

    def to_dict(self) -> dict[str, Any]:
        events = [{k: _plain(v) for k, v in vars(event).items()} for event in self.events]
        said = {name: _plain(getattr(self, name)) for name in ("epsilon", *_FIELDS)}
        return {"format": FORMAT, **said, "void": list(self.void), "events": events}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Receipt:
        """Read a receipt; refuses one whose stated epsilon is not what its own fields give."""
        try:
            if data["format"] == _FORMAT_OF_ROWS:
                data = data | {"format": FORMAT, "unit": str(ROW), "weight": 1}
            if data["format"] != FORMAT:
                raise ReceiptError(f"This is not a {FORMAT} receipt.")
            only(data, ("format", "epsilon", "void", "events", *_FIELDS))
            void = tuple(as_text(reason) for reason in as_list(data["void"]))
            events = tuple(_event(event) for event in as_list(data["events"]))
            receipt = cls(void=void, events=events, **_read(_FIELDS, data))
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
            data = loads_strict(text)
        except (TypeError, ValueError, RecursionError):
            raise ReceiptError("This is not a receipt: it is not JSON.") from None
        return cls.from_dict(data)

    def __str__(self) -> str:
        delta = f", delta {show(self.delta)}" if self.delta else ""
        lines = [f"epsilon   {show(self.epsilon)}{delta}"]
        if not self.epsilon == self.claimed == self.spent:
            lines += [f"claimed   {show(self.claimed)}", f"spent     {show(self.spent)}"]
        alone = _ROW_ALONE if self.unit == str(ROW) else ""
        lines += [f"covers    {self.unit}{alone}: whether it is there or not", f"trust     {self.trust}"]
        lines += [f"SHORT     {self.shortfall}"] if self.shortfall else []
        lines += [f"VOID      {reason}" for reason in self.void]
        return "\n".join([*lines, *event_lines(self.events, self.weight, bool(self.at_delta))])


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    if value == math.inf:
        return "infinity"
    return value


def _scale(value: object) -> float:
    if not 0 <= as_number(value) <= MAX_SCALE:
        raise ValueError("noise scale expected")
    return as_number(value)


def _lemma(value: object) -> str:
    return str(Lemma.parse(as_text(value)))


def _weight(value: object) -> int:
    if type(value) is not int or not 1 <= value <= MOST_WEIGHT:
        raise ValueError("a person's weight expected")
    return value


def _fraction(value: object) -> Fraction:
    """Nothing in a receipt is negative."""
    text = as_text(value)
    if len(text) > 10_000 or not re.fullmatch(r"[0-9]+(/[0-9]+)?", text):
        raise ValueError("fraction expected")
    return Fraction(text)


def _amount(value: object) -> Amount:
    return math.inf if value == "infinity" else _fraction(value)


def _event(data: Any) -> Event:
    only(data, _EVENT_FIELDS)
    return Event(**_read(_EVENT_FIELDS, data))


def _read(fields: Mapping[str, Callable[[object], Any]], data: Mapping[str, object]) -> dict[str, Any]:
    return {name: read(data[name]) for name, read in fields.items()}


_FIELDS: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("claimed", "spent"), _amount),
    **dict.fromkeys(("delta", "at_delta", "reserved"), _fraction),
    "weight": _weight,
    **dict.fromkeys(("unit", "neighbours", "trust", "shortfall", "released"), as_text),
}
_EVENT_FIELDS: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("scope", "question", "mechanism", "drawn"), as_text),
    "lemma": _lemma,
    **dict.fromkeys(("sensitivity", "delta"), _fraction),
    "scale": _scale,
    "charged": _amount,
}
