"""Targeted removal: records that carry a decision are taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.surrogate import weak_leaves
from privet.robustness.attacks.table_edits import rows_of


@dataclass(frozen=True)
class TargetedRemoval:
    """Removes records of the most common label where an attacker's own tree has its smallest leads, leaf by leaf.

    >>> y = np.array(["a"] * 5 + ["b"] * 4)
    >>> TargetedRemoval().poison(np.arange(9.0)[:, None], y, 3, np.random.default_rng(0)).distance
    3
    """

    def poison(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Poisoned:
        y, gone = np.asarray(y), np.zeros(len(y), dtype=bool)
        for leaf in weak_leaves(X, y):
            own = leaf.rows[y[leaf.rows] == leaf.label]
            gone[rng.permutation(own)[: min(budget - gone.sum(), leaf.lead + 1)]] = True
        gone[rng.permutation(np.flatnonzero(~gone))[: budget - gone.sum()]] = True  # leaves are turned: anywhere
        kept = np.flatnonzero(~gone)
        return Poisoned(rows_of(X, kept), y[kept], int(gone.sum()))
