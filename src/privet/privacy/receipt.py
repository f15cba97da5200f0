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
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from privet.errors import BudgetError, ReceiptError
from privet.privacy.truncated_geometric import Drawn
from privet.privacy.zcdp import WHOLE, epsilon_at, rho_of

Amount = Fraction | float  # a float only for infinity

FORMAT = "privet-receipt-1"
UNIT = "one record"
NEIGHBOURS = "add or remove one"

# A scope's path names, step by step, how its records were taken: groups of these kinds hold disjoint records.
PARALLEL = ("split", "parts")
# The records of ``sample3:10`` are each there with chance 1/10, independently: what is spent on them counts for less.
SAMPLE = "sample"
_STEP = re.compile(r"[a-z]+(?:0|[1-9][0-9]*):(?:0|[1-9][0-9]*)")

# A lemma speaks about additive noise, about no noise at all or, as every score's does, about a selection.
SELECTIONS = ("permute_and_flip", "exponential", "report_noisy_max")
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

# Sums of fractions stay fast, and printable, as long as their common denominator has fewer bits.
_DENOMINATOR_BITS = 14_000


@dataclass(frozen=True)
class Event:
    """One private answer. ``charged`` is at least the cost of its mechanism, in epsilon or, where zCDP adds up, in rho.

    ``sensitivity`` is the lemma's constant in the units of the noise (fixed-point scores are scaled
    integers); ``scale`` is the noise scale that was used, rounded up; 0 means no noise at all. Noise that was not drawn
    exactly says how in ``drawn`` (``privacy/truncated_geometric.py``), and what that adds is its ``delta``.
    """

    scope: str
    question: str
    mechanism: str
    sensitivity: Fraction
    scale: float
    charged: Amount
    lemma: str
    delta: Fraction = Fraction(0)
    drawn: str = ""

    @property
    def slack(self) -> Fraction:
        """The delta of noise that was not drawn exactly, recomputed from what ``drawn`` says."""
        return Drawn.of(self.drawn).delta(self.mechanism, self.sensitivity, self.scale) if self.drawn else Fraction(0)

    @property
    def cost(self) -> Amount:
        """The epsilon of this answer, recomputed from mechanism, sensitivity and scale."""
        return COSTS[self.mechanism](self)

    @property
    def rho(self) -> Amount:
        """The same in zCDP."""
        ratio = _noise_against_sensitivity(self) if self.mechanism != "peek" else math.inf
        return math.inf if ratio == math.inf else rho_of(self.mechanism, Fraction(ratio))

    def in_rho(self) -> Event:
        """The same answer, charged in epsilon, as a ledger charges it that adds up zCDP."""
        charged = math.inf if self.charged == math.inf else rho_of(self.mechanism, Fraction(self.charged))
        return replace(self, charged=charged)

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
    "report_noisy_max": _noise_against_sensitivity,
    "geometric": _noise_against_sensitivity,
    "geometric_shares": _noise_against_sensitivity,  # the honest parties' shares alone have the law of the whole
    "gaussian": lambda event: math.inf,
    "skellam_shares": lambda event: math.inf,
    "peek": lambda event: math.inf,
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
        from privet.privacy.sensitivity import proven

        if self.unit != UNIT or self.neighbours != NEIGHBOURS:
            raise ReceiptError(f"The lemmas are about {UNIT!r} and {NEIGHBOURS!r}, nothing else.")
        for i, event in enumerate(self.events):
            where = f"Event {i} ({event.question})"
            if event.mechanism not in COSTS:
                raise ReceiptError(f"{where} names the unknown mechanism {event.mechanism!r}.")
            if not 0 <= event.scale < math.inf or not event.charged >= 0:
                raise ReceiptError(f"{where} has a noise scale or a charge that makes no sense.")
            smallest = proven(event.lemma)
            if event.mechanism not in _MECHANISMS.get(event.lemma.partition("(")[0], SELECTIONS):
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
        from privet.privacy.receipt_text import receipt_text

        return receipt_text(self)


def add_up_slack(events: tuple[Event, ...] | list[Event]) -> Fraction:
    """The delta of a list of events: like their epsilons, sums along paths and the largest over disjoint parts.

    A chain of (epsilon, delta) answers, each chosen after the ones before, costs the sums of both if these are bounded
    for every transcript (Rogers, Roth, Ullman and Vadhan 2016), and a record is in the answers of one path only.
    """
    if not any(event.delta for event in events):
        return Fraction(0)
    return Fraction(add_up([replace(event, charged=event.delta) for event in events]))


_SAMPLE_UNIT = 2**64
_LARGEST_EXPONENT = 300


def amplified(epsilon: Amount, inverse_rate: int) -> Amount:
    """What an answer of this epsilon costs the records of which each was in its sample with chance 1/inverse_rate.

    ln(1 + (e^epsilon - 1) / m), rounded up. Poisson sampling, neighbours that differ by one record (Balle, Barthe and
    Gaboardi 2018, theorem 8): with chance 1 - 1/m the record is not in the sample and the answers' laws are the same,
    P = (1 - g) Q + g P' with P' <= e^epsilon Q for every event, so P <= (1 + g (e^epsilon - 1)) Q, and the other way
    round Q / P is at most 1 / (1 - g + g e^-epsilon), which is less. Of deltas, delta / m is no more than this.

    >>> round(float(amplified(Fraction(1), 5)), 4)
    0.2954
    """
    if inverse_rate < 1:
        raise ReceiptError("A sample's rate is one over a whole number.")
    if inverse_rate == 1 or epsilon == 0 or epsilon > _LARGEST_EXPONENT:
        return epsilon
    with localcontext(prec=80):
        exact = Decimal(Fraction(epsilon).numerator) / Decimal(Fraction(epsilon).denominator)
        cost = (1 + (exact.exp() - 1) / inverse_rate).ln() * (1 + Decimal(10) ** -60)
        return min(Fraction(epsilon), Fraction(math.ceil(cost * _SAMPLE_UNIT), _SAMPLE_UNIT))


def spending(events: tuple[Event, ...] | list[Event], delta: Fraction) -> Amount:
    """The epsilon of a list of events: what they add up to or, charged in rho, what that is at ``delta``.

    It is converted at a whole order if one of them is proven for whole orders alone.
    """
    spent = add_up(events)
    if not delta or spent == math.inf:
        return spent
    try:
        return epsilon_at(Fraction(spent), delta, any(event.mechanism in WHOLE for event in events))
    except (BudgetError, ArithmeticError):
        raise ReceiptError("The receipt's charges and delta are no cost in zCDP.") from None


def add_up(events: tuple[Event, ...] | list[Event]) -> Amount:
    """The spending of a list of events: sums along paths, the largest over disjoint parts.

    >>> half = Event.example(Fraction(1, 2))
    >>> from dataclasses import replace
    >>> add_up([half, replace(half, scope="/split0:0"), replace(half, scope="/split0:1")])
    Fraction(1, 1)
    """
    root = _Spending()
    for event in events:
        top, *steps = event.scope.split("/")
        if top:
            raise ReceiptError("An event's scope is not a path of the ledger.")
        scope = root
        for step in steps:
            if step not in scope.below:
                if not _STEP.fullmatch(step):
                    raise ReceiptError("An event's scope is not a path of the ledger.")
                scope.below[step] = _Spending()
            scope = scope.below[step]
        scope.charges.append(event.charged)
    if any(event.charged == math.inf for event in events):
        return math.inf
    unit = 1  # all charges are whole multiples of 1 / unit
    for denominator in {Fraction(event.charged).denominator for event in events}:
        unit = math.lcm(unit, denominator)
        if unit.bit_length() > _DENOMINATOR_BITS:
            raise ReceiptError("The charges' denominators are too large to add up.")
    scopes = [root]
    sampled = False
    for scope in scopes:
        scopes.extend(scope.below.values())
        sampled = sampled or any(step.startswith(SAMPLE) for step in scope.below)
    unit = math.lcm(unit, _SAMPLE_UNIT) if sampled else unit
    for scope in reversed(scopes):  # a scope is complete before its parent
        scope.add_up(unit)
    return Fraction(root.spent, unit)


class _Spending:
    """A scope while a list of events is added up."""

    __slots__ = ("below", "charges", "spent")

    def __init__(self) -> None:
        self.charges: list[Amount] = []
        self.below: dict[str, _Spending] = {}

    def add_up(self, unit: int) -> None:
        self.spent = sum(int(charge * unit) for charge in self.charges)
        parallel: dict[str, int] = {}
        for step, scope in self.below.items():
            group, _, number = step.partition(":")
            if group.rstrip("0123456789") == SAMPLE:
                self.spent += int(amplified(Fraction(scope.spent, unit), int(number)) * unit)
            elif group.rstrip("0123456789") in PARALLEL:
                parallel[group] = max(parallel.get(group, 0), scope.spent)
            else:
                self.spent += scope.spent
        self.spent += sum(parallel.values())
        self.below.clear()


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
