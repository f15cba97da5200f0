"""Splitting criteria on released counts: how mixed a node is, 0 if it has one class, 1 for two classes alike.

These are the functions G of top-down learning (Kearns and Mansour, 1999), in front of the curtain: they see noisy
counts, or exact ones that were paid for. What a private selection maximises is in ``privacy/scores.py``.
"""

from __future__ import annotations

import numpy as np


def gini(shares: np.ndarray) -> np.ndarray:
    """2 (1 - sum p^2): for two classes 4 q (1 - q)."""
    return 2 * (1 - (shares * shares).sum(axis=-1))


def entropy(shares: np.ndarray) -> np.ndarray:
    """In bits."""
    return -(shares * np.log2(np.maximum(shares, 1e-300))).sum(axis=-1)


def root_gini(shares: np.ndarray) -> np.ndarray:
    """2 sqrt(q (1 - q)), for two classes."""
    return 2 * np.sqrt(shares[..., 0] * (1 - shares[..., 0]))


CRITERIA = {"gini": gini, "entropy": entropy, "root_gini": root_gini}


def gain(criterion: str, children: np.ndarray) -> np.ndarray:
    """J: what a split takes off a node's impurity; ``children`` holds counts of (..., child, class).

    Noisy counts below 0 count as 0; without any record the gain is 0.

    >>> gain("gini", np.array([[5, 0], [0, 5]])).item()
    1.0
    """
    counts = np.maximum(children, 0).astype(float)
    sizes = counts.sum(axis=-1)
    whole = np.maximum(sizes.sum(axis=-1), 1e-300)
    impurity = CRITERIA[criterion]
    parent = np.where(sizes.sum(axis=-1) > 0, impurity(counts.sum(axis=-2) / whole[..., None]), 0)
    below = impurity(counts / np.maximum(sizes, 1e-300)[..., None]) * sizes
    return np.maximum(parent - below.sum(axis=-1) / whole, 0)
