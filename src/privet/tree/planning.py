"""The plan: how deep a tree is worth growing, and what each level may spend, from public or released numbers.

A private choice among K candidates loses about ln(K) noise scales of records against the best one. A tree of depth D
makes 2^l such choices on level l, each on a share of the records, and the levels share the budget. So a level pays off
once n * epsilon is large against ln(K), by a factor that grows with the depth; docs/defaults.md has the measurements
behind the constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.privacy.sensitivity import ONE, Mixed

SIZE_SHARE = Fraction(1, 50)
"""The share of the budget that measures the number of records, where no public hint is given."""

COUNT_SHARE = Fraction(1, 10)
"""The share of the budget that buys class counts at the leaves, where they are asked for."""

LEVEL_GROWTH = Fraction(17, 10)
"""Each level spends this much more than the one above: it decides more, on fewer records."""

PAYS_OFF = 4
"""A depth pays off from n * epsilon = PAYS_OFF * ln(K) * S(depth) on, for two classes."""

# How much of each inner level's score is Gini impurity rather than errors, by depth of the tree. A shallow tree's
# first split decides labels nearly at once; in a deep one it prepares the ground.
GINI_WEIGHTS = {2: (0,), 3: (ONE // 2, ONE // 2), 4: (ONE, ONE, ONE // 2)}


@dataclass(frozen=True)
class Level:
    """One level of inner splits: what each of its nodes may spend, and by which score it chooses."""

    budget: Fraction
    score: Mixed


@dataclass(frozen=True)
class Plan:
    """Inner levels, then one that chooses splits together with their labels."""

    inner: tuple[Level, ...]
    last_budget: Fraction

    @property
    def depth(self) -> int:
        return len(self.inner) + 1


def plan_levels(
    n_records: float, budget: Fraction, n_candidates: int, n_classes: int, max_depth: int, margin: float = 0.0
) -> Plan:
    """The plan for about ``n_records`` and ``n_candidates`` splits, spending ``budget`` on every path.

    ``margin`` is how much n * epsilon may be overestimated: a noisy number of records must clear it.
    """
    depth = 1
    for deeper in range(2, max_depth + 1):
        if n_records * float(budget) >= worthwhile(deeper, n_candidates, n_classes) + margin:
            depth = deeper
    weights = [LEVEL_GROWTH**level for level in range(depth)]
    *inner, last = [budget * weight / sum(weights) for weight in weights]
    return Plan(tuple(Level(amount, Mixed(w)) for amount, w in zip(inner, gini_weights(depth))), last)


def worthwhile(depth: int, n_candidates: int, n_classes: int) -> float:
    """The n * epsilon from which a tree of this depth is expected to beat a shallower one."""
    # Equal loss on every level, with budgets that share one epsilon: (sum of sqrt(number of nodes))^2.
    nodes = sum(2 ** (level / 2) for level in range(depth)) ** 2
    return PAYS_OFF * math.log(max(n_candidates, 2)) * nodes * math.sqrt(2 / max(n_classes, 2))


def gini_weights(depth: int) -> tuple[int, ...]:
    if depth in GINI_WEIGHTS:
        return GINI_WEIGHTS[depth]
    return (ONE,) * (depth - 2) + (ONE // 2,) if depth > 4 else ()
