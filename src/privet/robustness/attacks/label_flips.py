"""Label flips: records keep their features and get another label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.surrogate import weak_leaves


@dataclass(frozen=True)
class LabelFlips:
    """Flips labels where an attacker's own tree has its smallest leads, leaf by leaf, towards the next label.

    A flip changes a record: it counts as two.

    >>> y = np.array(["a"] * 5 + ["b"] * 4)
    >>> LabelFlips().poison(np.arange(9.0)[:, None], y, 5, np.random.default_rng(0)).distance
    4
    """

    def poison(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Poisoned:
        flipped, left = np.array(y), budget // 2
        for leaf in weak_leaves(X, flipped):
            own = leaf.rows[flipped[leaf.rows] == leaf.label]
            chosen = rng.permutation(own)[: min(left, leaf.lead // 2 + 1)]
            flipped[chosen] = leaf.rival
            left -= len(chosen)
        rest = rng.permutation(np.flatnonzero(flipped == np.asarray(y)))[:left]  # leaves are turned: anywhere
        classes = np.unique(y)
        flipped[rest] = classes[(np.searchsorted(classes, flipped[rest]) + 1) % len(classes)]
        return Poisoned(X, flipped, 2 * int((flipped != np.asarray(y)).sum()))
