"""The plan: how deep a tree is worth growing, and what each level may spend, from public or released numbers.

A private choice among K candidates loses up to about ln(K) noise scales of records against the best one. A tree of
depth D makes 2^l such choices on level l, and the levels share the budget. So a level pays off once n * epsilon is
large against ln(K), by a factor that grows with the depth; docs/defaults.md has the measurements behind the constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from privet.privacy.fixed_point import ONE, TARGET_ONE
from privet.privacy.scores import CorrectCount, Mixed, Score, SquaredError

SIZE_SHARE = Fraction(1, 50)
"""The share of the budget that measures the number of records, where no public hint is given."""

COUNT_SHARE = Fraction(1, 10)
"""The share of the budget that buys class counts at the leaves, where they are asked for."""

LEVEL_GROWTH = Fraction(17, 10)
"""Each level spends this much more than the one above: it decides more, on fewer records."""

PAYS_OFF = 5
"""A depth is used once the records that its choices are expected to lose are at most one in PAYS_OFF."""

VALUES_PAY_OFF = 2
"""As PAYS_OFF, for trees with a child for each value: many of their leaves are nearly empty and lose little."""

LABEL_SHARE = Fraction(3, 10)
"""The share of the last level's budget that chooses labels, where there are too many to choose them with the split."""

SPLIT_WORTH = 2
"""How many more records a last split must label right than one label for all of them does: one that parts nothing off
must not win because there are many such."""

LARGEST_LOG_WEIGHT = 500.0
"""Not splitting is never weighed more than this."""

MEAN_PAYS_OFF = 8
"""As PAYS_OFF, for splits by squared error: targets spread less over their range than classes do."""

MEAN_PRECISION = 100
"""A leaf of average size has its mean to one part in so many of the target's range, as far as the budget allows."""

MEAN_SHARES = (Fraction(1, 10), Fraction(1, 2))
"""The least and the largest share of a regression tree's budget that measures the means of its leaves."""

FOCUS_SHARE = Fraction(1, 20)
"""The share of a regression tree's budget that measures where the middle of the targets is."""

MOST_LEVELS = 64
"""No number of records is worth more levels than this."""

MOST_JOINT = 2**20
"""The most candidates of a node's last choice; with more, splits and labels are chosen one after the other."""


@dataclass(frozen=True)
class Level:
    """One level of inner splits: what each of its nodes may spend, and by which score it chooses."""

    budget: Fraction
    score: Score


@dataclass(frozen=True)
class Plan:
    """Inner levels, then the last choice of every branch: a split with its labels, or labels alone."""

    inner: tuple[Level, ...]
    last_budget: Fraction
    joint: bool


@lru_cache(maxsize=256)
def plan_levels(
    n_records: float, budget: Fraction, n_candidates: int, n_classes: int, max_depth: int, margin: float = 0.0
) -> Plan:
    """The plan for about ``n_records`` and ``n_candidates`` splits, spending ``budget`` on every path.

    ``margin`` is how much n * epsilon may be overestimated: a noisy number of records must clear it.
    """
    if max_depth == 0:
        return Plan((), budget, joint=False)
    worth = n_records * float(budget) - margin
    depth = _depth(worth, 1, min(max_depth, MOST_LEVELS), lambda depth: worthwhile(depth, n_candidates, n_classes))
    *inner, last = _growing(budget, depth)
    levels = [Level(amount, Mixed(weight)) for amount, weight in zip(inner, gini_weights(depth))]
    joint = n_candidates * n_classes * (n_classes - 1) <= MOST_JOINT
    if not joint:
        levels.append(Level(last * (1 - LABEL_SHARE), CorrectCount()))
        last *= LABEL_SHARE
    return Plan(tuple(levels), last, joint)


def worthwhile(depth: int, n_candidates: int, n_classes: int, pays_off: float = PAYS_OFF) -> float:
    """The n * epsilon from which a tree of this depth is expected to beat a shallower one.

    The loss of ln(K) / epsilon_l records in each of 2^l nodes adds up, with the best split of epsilon over the levels,
    to ln(K) / epsilon times the square of the sum of sqrt(2^l). More classes need more leaves.
    """
    nodes = sum(2 ** (level / 2) for level in range(depth)) ** 2
    return pays_off * math.log(2 * max(n_candidates, 1)) * nodes * math.sqrt(2 / max(n_classes, 2))


def stop_log_prior(budget: Fraction) -> float:
    """The log-weight of not splitting in a last choice of this budget."""
    return min(SPLIT_WORTH * float(budget), LARGEST_LOG_WEIGHT)


def gini_weights(depth: int) -> tuple[int, ...]:
    """How much of each inner level's score is Gini impurity rather than errors, in 256ths.

    At equal sensitivity errors have the stronger signal, and a shallow tree's first split decides labels nearly at
    once; with signal to spare, Gini prepares the ground for the splits below.
    """
    if depth <= 2:
        return (0,) * (depth - 1)
    if depth == 3:
        return (ONE // 2, ONE // 2)
    return (ONE,) * (depth - 2) + (ONE // 2,)


@lru_cache(maxsize=256)
def plan_values(
    n_records: float, budget: Fraction, n_candidates: int, width: int, n_classes: int, max_depth: int
) -> Plan:
    """The plan of a tree with ``width`` children at every node: splits on all levels, then a label for every leaf."""
    depth = _depth(
        n_records * float(budget),
        min(1, max_depth),
        max_depth,
        lambda depth: values_worthwhile(depth, n_candidates, width, n_classes),
    )
    *inner, last = _growing(budget, depth + 1)
    return Plan(tuple(Level(amount, CorrectCount()) for amount in inner), last, False)


def values_worthwhile(depth: int, n_candidates: int, width: int, n_classes: int) -> float:
    """As ``worthwhile``: level l makes width^l choices among attributes, and the leaves width^depth among classes."""
    losses = [width**level * math.log(2 * max(n_candidates, 1)) for level in range(depth)]
    losses.append(width**depth * math.log(max(n_classes, 2)))
    return VALUES_PAY_OFF * sum(map(math.sqrt, losses)) ** 2


@dataclass(frozen=True)
class MeansPlan:
    """Levels of splits by squared error, then the mean of every leaf."""

    levels: tuple[Level, ...]
    leaf_budget: Fraction


def plan_means(n_records: float, budget: Fraction, n_candidates: int, max_depth: int, margin: float = 0.0) -> MeansPlan:
    """The plan of a regression tree: as ``plan_levels``, with a share of the budget left for the leaves' means.

    The same depth rule: a choice by squared error loses ln(K) / epsilon times the square of the targets' range, as one
    by errors loses so many records. With less than one level's worth the tree is a single mean.
    """
    worth = n_records * float(budget) - margin
    most = min(max_depth, MOST_LEVELS)
    depth = _depth(worth, 0, most, lambda depth: worthwhile(depth, n_candidates, 2, MEAN_PAYS_OFF))
    if not depth:
        return MeansPlan((), budget)
    least, largest = MEAN_SHARES
    share = min(max(Fraction(MEAN_PRECISION * 2**depth / worth).limit_denominator(1000), least), largest)
    choices = _growing(budget * (1 - share), depth)
    return MeansPlan(tuple(Level(amount, SquaredError(TARGET_ONE)) for amount in choices), budget * share)


def _depth(worth: float, least: int, most: int, needs: Callable[[int], float]) -> int:
    """The largest depth that is worth it, as all before it are."""
    depth = least
    while depth < most and worth >= needs(depth + 1):
        depth += 1
    return depth


def _growing(budget: Fraction, n: int) -> list[Fraction]:
    """The budget shared by ``n`` levels, each of which has ``LEVEL_GROWTH`` times what the one above it has."""
    weights = [LEVEL_GROWTH**level for level in range(n)]
    return [budget * weight / sum(weights) for weight in weights]
