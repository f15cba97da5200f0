"""Exact integers in place of fractions: their units, and sums that refuse what 64 bits cannot hold."""

from __future__ import annotations

import numpy as np

from privet.errors import LeakError

FRACTION_BITS = 8
ONE = 1 << FRACTION_BITS

GRADIENT_BITS = 16
GRADIENT_ONE = 1 << GRADIENT_BITS
"""Gradients, Hessians and boosted scores are whole numbers of this part of one."""

TARGET_BITS = 16
TARGET_ONE = 1 << TARGET_BITS
"""Targets are whole numbers of this part of their public range: 0 at its low end, ``TARGET_ONE`` at its high end."""


def fits(n: np.ndarray, factor: int) -> None:
    """Raise unless ``factor`` times every size stays below 2^62."""
    if n.size and int(n.max()) * factor >= 1 << 62:
        raise LeakError("So many records overflow this score's exact integers; choose by correct count.")


def folded(operation: np.ufunc, values: np.ndarray) -> np.ndarray:
    """``operation.reduce`` along the last axis, slice by slice: several times faster where that axis is short."""
    folded = values[..., 0].copy()
    for k in range(1, values.shape[-1]):
        operation(folded, values[..., k], out=folded)
    return folded


def sizes(children: np.ndarray) -> np.ndarray:
    """The children's sizes, which must leave room for 2^8 times their square in 63 bits."""
    n = folded(np.add, children)
    if n.size and int(n.max()) >= 1 << 27:
        raise LeakError("Gini scores are exact up to 134 million records; choose by correct count beyond.")
    return n
