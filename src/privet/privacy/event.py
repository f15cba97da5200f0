"""Events: the private answers that a ledger charges and a receipt lists, and how their costs add up.

An event states everything that its cost follows from. Charges on one path of scopes add up; scopes over disjoint
records cost what the dearest of them costs (docs/theory.md, L2).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from privet.errors import BudgetError, ReceiptError
from privet.privacy.amounts import Amount
from privet.privacy.truncated_geometric import Drawn
from privet.privacy.zcdp import WHOLE, epsilon_at, rho_of
from privet.values import decimals

SELECTIONS = ("permute_and_flip", "exponential", "report_noisy_max")
# Mechanisms with an epsilon; of shares, the honest parties' alone have the law of the whole.
PURE = (*SELECTIONS, "geometric", "geometric_shares", "random_stopping")
MECHANISMS = (*PURE, "gaussian", "skellam_shares", "peek")
# Up to here noise fits in 64-bit integers, together with exact scores and public priors: it exceeds 2^62 with
# a chance of exp(-1024), and a prior's logarithm, at least -709, stays below 2^62 in the scores' units.
MAX_SCALE = 2.0**52
# A scope's path names, step by step, how its records were taken: groups of these kinds hold disjoint records.
PARALLEL = ("split", "parts")
# The records of ``sample3:10`` are each there with chance 1/10, independently: what is spent on them counts for less.
SAMPLE = "sample"
_STEP = re.compile(r"[a-z]+(?:0|[1-9][0-9]{0,17}):(?:0|[1-9][0-9]{0,17})")

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
        """The epsilon of this answer, recomputed from mechanism, sensitivity and scale.

        Selection charges the range of the scores' changes (lemma L1), additive noise the L1 sensitivity: both are
        sensitivity over scale.
        """
        return self._ratio if self.mechanism in PURE else math.inf

    @property
    def rho(self) -> Amount:
        """The same in zCDP."""
        ratio = self._ratio
        return math.inf if self.mechanism == "peek" or ratio == math.inf else rho_of(self.mechanism, Fraction(ratio))

    @property
    def _ratio(self) -> Amount:
        return self.sensitivity / Fraction(self.scale) if self.scale > 0 else math.inf

    @property
    def variance(self) -> float:
        """That of the noise in each number of the answer, if it is a sum with the whole noise and no more."""
        if self.mechanism in ("gaussian", "skellam_shares"):
            return self.scale**2
        step = -math.expm1(-1 / self.scale) if self.scale > 0 else math.inf
        return 2 * (1 - step) / step**2 if step < 1 else 0.0

    def in_rho(self) -> Event:
        """The same answer, charged in epsilon, as a ledger charges it that adds up zCDP."""
        charged = math.inf if self.charged == math.inf else rho_of(self.mechanism, Fraction(self.charged))
        return replace(self, charged=charged)

    @classmethod
    def example(cls, charged: Fraction) -> Event:
        """An event that costs ``charged``, for examples and tests of the arithmetic."""
        scale = math.nextafter(float(1 / charged), math.inf)
        return cls("", "an example", "geometric", Fraction(1), scale, charged, "tally")


def add_up_slack(events: Sequence[Event], weight: int = 1) -> Fraction:
    """The delta of a list of events: like their epsilons, sums along paths and the largest over disjoint parts.

    A chain of (epsilon, delta) answers, each chosen after the ones before, costs the sums of both if these are bounded
    for every transcript (Rogers, Roth, Ullman and Vadhan 2016), and a record is in the answers of one path only.

    A person of this ``weight`` has at most so many records and is in the answers of as many paths. Each answer's delta
    is priced for the person's whole weight in it, so the largest path's sum, times the weight, is no less than the
    sum over all answers that the person is in.
    """
    if not any(event.delta for event in events):
        return Fraction(0)
    return weight * Fraction(add_up([replace(event, charged=event.delta) for event in events]))


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
    with decimals(80):
        exact = Decimal(Fraction(epsilon).numerator) / Decimal(Fraction(epsilon).denominator)
        cost = (1 + (exact.exp() - 1) / inverse_rate).ln() * (1 + Decimal(10) ** -60)
        return min(Fraction(epsilon), Fraction(math.ceil(cost * _SAMPLE_UNIT), _SAMPLE_UNIT))


def spending(events: Sequence[Event], delta: Fraction) -> Amount:
    """The epsilon of a list of events: what they add up to or, charged in rho, what that is at ``delta``."""
    spent = add_up(events)
    return spent if not delta or spent == math.inf else converted(Fraction(spent), delta, events)


def converted(rho: Fraction, delta: Fraction, events: Sequence[Event]) -> Fraction:
    """The epsilon of ``rho`` at ``delta``: at a whole order if one of the events is proven for whole orders alone."""
    try:
        return epsilon_at(rho, delta, any(event.mechanism in WHOLE for event in events))
    except (BudgetError, ArithmeticError):
        raise ReceiptError("The receipt's charges and delta are no cost in zCDP.") from None


def add_up(events: Sequence[Event]) -> Amount:
    """The spending of a list of events: sums along paths, the largest over disjoint parts.

    >>> half = Event.example(Fraction(1, 2))
    >>> from dataclasses import replace
    >>> add_up([half, replace(half, scope="/split0:0"), replace(half, scope="/split0:1")])
    Fraction(1, 1)
    """
    if any(event.charged == math.inf for event in events):
        _tree(events, 1)
        return math.inf
    unit = _unit(events)
    return Fraction(_tree(events, unit).spent, unit)


def worst_path(events: Sequence[Event]) -> list[Amount]:
    """The charges that ``add_up`` adds up: of disjoint parts those of the dearest, of a sample its amplified price.

    >>> half = Event.example(Fraction(1, 2))
    >>> from dataclasses import replace
    >>> worst_path([half, replace(half, scope="/split0:0"), replace(half, scope="/split0:1")])
    [Fraction(1, 2), Fraction(1, 2)]
    """
    infinite: list[Amount] = [event.charged for event in events if event.charged == math.inf]
    if infinite:
        return infinite
    unit = _unit(events)
    charges: list[Amount] = []
    scopes = [_tree(events, unit)]
    for scope in scopes:
        charges += scope.charges
        charges += [Fraction(price, unit) for price in scope.samples]
        scopes += scope.counted
    return charges


def _unit(events: Sequence[Event]) -> int:
    """All charges, amplified ones too, are whole multiples of one over this."""
    unit = _SAMPLE_UNIT if any(f"/{SAMPLE}" in event.scope for event in events) else 1
    for denominator in {Fraction(event.charged).denominator for event in events}:
        unit = math.lcm(unit, denominator)
        if unit.bit_length() > _DENOMINATOR_BITS:
            raise ReceiptError("The charges' denominators are too large to add up.")
    return unit


def _tree(events: Sequence[Event], unit: int) -> _Spending:
    """The root of the scopes that events were charged to, added up if all of them are finite."""
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
        return root
    scopes = [root]
    for scope in scopes:
        scopes.extend(scope.below.values())
    for scope in reversed(scopes):  # a scope is complete before its parent
        scope.add_up(unit)
    return root


class _Spending:
    """A scope while a list of events is added up."""

    __slots__ = ("below", "charges", "counted", "samples", "spent")

    def __init__(self) -> None:
        self.charges: list[Amount] = []
        self.below: dict[str, _Spending] = {}

    def add_up(self, unit: int) -> None:
        """Sum the charges here, those of ``counted`` scopes below, of disjoint ones the dearest, and of ``samples``."""
        self.samples: list[int] = []
        dearest: dict[str, _Spending] = {}
        for step, scope in self.below.items():
            group, _, number = step.partition(":")
            kind = group.rstrip("0123456789")
            if kind == SAMPLE:
                self.samples.append(int(amplified(Fraction(scope.spent, unit), int(number)) * unit))
            else:
                key = group if kind in PARALLEL else step
                dearest[key] = max(dearest.get(key, scope), scope, key=_spent)
        self.counted = list(dearest.values())
        self.spent: int = sum(int(charge * unit) for charge in self.charges) + sum(self.samples)
        self.spent += sum(map(_spent, self.counted))
        self.below.clear()


def _spent(scope: _Spending) -> int:
    return scope.spent
