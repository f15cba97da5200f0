"""The receipt: what a release cost, and why, in a form that a stranger can re-check.

A receipt is the list of events that the ledger charged. ``verify`` needs nothing else: it looks up each
event's lemma, recomputes its cost from mechanism, sensitivity and noise scale, re-adds the scopes
(sequential along a path, parallel over disjoint parts) and compares the sum with what the receipt says.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from privet.errors import ReceiptError

Amount = Fraction | float  # a float only for infinity

FORMAT = "privet-receipt-1"
UNIT = "one record"
NEIGHBOURS = "add or remove one"

# A scope's path names, step by step, how its records were taken: groups of these kinds hold disjoint records.
PARALLEL = ("split", "parts")
_STEP = re.compile(r"([a-z]+)(\d+):(\d+)")


@dataclass(frozen=True)
class Event:
    """One private answer. ``charged`` is at least sensitivity / scale, the cost of its mechanism.

    ``sensitivity`` is the lemma's constant in the units of the noise (fixed-point scores are scaled
    integers); ``scale`` is the noise scale that was used, rounded up; 0 means no noise at all.
    """

    scope: str
    question: str
    mechanism: str
    sensitivity: Fraction
    scale: float
    charged: Amount
    lemma: str

    @property
    def cost(self) -> Amount:
        """The epsilon of this answer, recomputed from mechanism, sensitivity and scale."""
        return COSTS[self.mechanism](self)

    @classmethod
    def example(cls, charged: Fraction) -> Event:
        """An event that costs ``charged``, for examples and tests of the arithmetic."""
        scale = math.nextafter(float(1 / charged), math.inf)
        return cls("", "an example", "geometric", Fraction(1), scale, charged, "tally")


def _noise_against_sensitivity(event: Event) -> Amount:
    return event.sensitivity / Fraction(event.scale) if event.scale > 0 else math.inf


# Each mechanism's epsilon. Selection charges the range of the scores' changes (lemma L1), additive noise the
# L1 sensitivity: both are sensitivity over scale.
COSTS = {
    "permute_and_flip": _noise_against_sensitivity,
    "exponential": _noise_against_sensitivity,
    "geometric": _noise_against_sensitivity,
    "peek": lambda event: math.inf,
}


@dataclass(frozen=True)
class Receipt:
    """What a release cost.

    ``claimed`` is the paper's or the user's word, ``spent`` what the events add up to, ``epsilon`` the
    guarantee that holds: ``spent``, or infinity if ``void`` gives a reason why nothing holds. ``trust`` says who
    had to be trusted with what.
    """

    claimed: Amount
    spent: Amount
    delta: Fraction
    void: tuple[str, ...]
    trust: str
    events: tuple[Event, ...] = field(repr=False)
    unit: str = UNIT
    neighbours: str = NEIGHBOURS

    @property
    def epsilon(self) -> Amount:
        return math.inf if self.void else self.spent

    def verify(self) -> bool:
        """True if every event costs no more than it was charged and the charges add up; raises otherwise."""
        from privet.privacy.sensitivity import proven

        for i, event in enumerate(self.events):
            where = f"Event {i} ({event.question})"
            if event.mechanism not in COSTS:
                raise ReceiptError(f"{where} names the unknown mechanism {event.mechanism!r}.")
            if event.sensitivity < proven(event.lemma):
                raise ReceiptError(f"{where} uses a smaller sensitivity than its lemma proves.")
            if event.cost > event.charged:
                raise ReceiptError(f"{where} costs more than it was charged.")
        spent = add_up(self.events)
        if spent != self.spent:
            raise ReceiptError("The events do not add up to what the receipt says was spent.")
        if not self.void and spent > self.claimed:
            raise ReceiptError("More was spent than was claimed, and the receipt does not say why.")
        return True

    def to_dict(self) -> dict[str, Any]:
        events = [{k: _plain(v) for k, v in asdict(event).items()} for event in self.events]
        return {
            "format": FORMAT,
            "claimed": _plain(self.claimed),
            "spent": _plain(self.spent),
            "epsilon": _plain(self.epsilon),
            "delta": _plain(self.delta),
            "void": list(self.void),
            "unit": self.unit,
            "neighbours": self.neighbours,
            "trust": self.trust,
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
                void=tuple(_text(reason) for reason in data["void"]),
                trust=_text(data["trust"]),
                unit=_text(data["unit"]),
                neighbours=_text(data["neighbours"]),
                events=tuple(
                    Event(
                        scope=_text(event["scope"]),
                        question=_text(event["question"]),
                        mechanism=_text(event["mechanism"]),
                        sensitivity=_fraction(event["sensitivity"]),
                        scale=float(event["scale"]),
                        charged=_amount(event["charged"]),
                        lemma=_text(event["lemma"]),
                    )
                    for event in data["events"]
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
        except ValueError:
            raise ReceiptError("This is not a receipt: it is not JSON.") from None
        return cls.from_dict(data)

    def __str__(self) -> str:
        from privet.report.text import receipt_text

        return receipt_text(self)


def add_up(events: tuple[Event, ...] | list[Event]) -> Amount:
    """The spending of a list of events: sums along paths, the largest over disjoint parts.

    >>> half = Event.example(Fraction(1, 2))
    >>> from dataclasses import replace
    >>> add_up([half, replace(half, scope="/split0:0"), replace(half, scope="/split0:1")])
    Fraction(1, 1)
    """
    spent: dict[tuple[str, ...], Amount] = defaultdict(Fraction)
    for event in events:
        steps = tuple(event.scope.split("/")[1:])
        for depth, step in enumerate(steps):
            if not _STEP.fullmatch(step):
                raise ReceiptError("An event's scope is not a path of the ledger.")
            spent[steps[:depth]] += 0  # every scope on the way exists, charged or not
        spent[steps] += event.charged
    groups: dict[tuple[str, ...], dict[str, Amount]] = defaultdict(lambda: defaultdict(Fraction))
    for path in sorted(spent, key=len, reverse=True):  # deepest first: a scope is complete before its parent
        spent[path] += sum(groups[path].values(), Fraction(0))
        if path:
            group, _ = path[-1].split(":")
            siblings = groups[path[:-1]]
            if group.startswith(PARALLEL):
                siblings[group] = max(siblings[group], spent[path])
            else:
                siblings[group] += spent[path]
    return spent[()]


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


def _fraction(value: object) -> Fraction:
    text = _text(value)
    if len(text) > 10_000 or not re.fullmatch(r"-?\d+(/\d+)?", text):
        raise ValueError("fraction expected")
    return Fraction(text)


def _amount(value: object) -> Amount:
    return math.inf if value == "infinity" else _fraction(value)
