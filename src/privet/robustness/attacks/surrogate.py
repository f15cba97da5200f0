"""What an attacker who knows all records does first: train a tree without privacy, and look for its weakest leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from privet.robustness.attacks.table_edits import numbers_of


@dataclass(frozen=True, eq=False)
class WeakLeaf:
    """A leaf of the surrogate: its rows, the most common label there, the next one, and the lead in records."""

    rows: np.ndarray
    label: Any
    rival: Any
    lead: int


def weak_leaves(X: Any, y: np.ndarray, n_leaves: int = 16) -> list[WeakLeaf]:
    """The leaves, those with the smallest lead first: they are turned with the fewest records."""
    numbers, y = numbers_of(X), np.asarray(y)
    leaf_of = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(numbers, y).apply(numbers)
    leaves = []
    for leaf in np.unique(leaf_of):
        rows = np.flatnonzero(leaf_of == leaf)
        labels, counts = np.unique(y[rows], return_counts=True)
        order = np.argsort(-counts)
        others = [label for label in np.unique(y) if label != labels[order[0]]]
        rival = labels[order[1]] if len(labels) > 1 else (others or [labels[0]])[0]
        lead = int(counts[order[0]] - (counts[order[1]] if len(labels) > 1 else 0))
        leaves.append(WeakLeaf(rows, labels[order[0]], rival, lead))
    return sorted(leaves, key=lambda leaf: leaf.lead)
