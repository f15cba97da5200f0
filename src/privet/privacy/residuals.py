"""Residuals of boosted numeric targets: what one record adds to their sums, and the points of their quantiles.

A target t and a record's score s are whole numbers of 1 / ``TARGET_ONE`` of the target's public range, so the residual
t - s is one too. It depends on the record and on released numbers alone.
"""

from __future__ import annotations

import numpy as np

from privet.privacy.fixed_point import GRADIENT_BITS, GRADIENT_ONE, TARGET_BITS

RESIDUAL_COUNT = GRADIENT_ONE // 4
"""What a record adds to the count beside its residual: a quarter, because the count may be the noisier of the two."""

RESIDUAL_POINTS = np.unique(np.rint(2.0 ** (np.arange(8 * TARGET_BITS + 1) / 8)).astype(np.int64))
"""The sizes that may be a quantile of residuals, from the smallest unit to the whole range: eight in each octave.

A scale is wanted, so each of them weighs the same: no prior but that of the logarithm.
"""


def residual_pairs(residuals: np.ndarray, clamp: int) -> np.ndarray:
    """Each record's residual clamped to +-``clamp``, as a part of it, and a quarter: whole numbers of 1 / ONE.

    With a = min(|r|, clamp) the first number is floor(a ONE / clamp) <= ONE with the sign of r, rounded once, and the
    second is always ONE / 4. So the L1 norm of the pair is at most 5/4 ONE, and the square of its L2 norm at most
    17/16 ONE^2; a residual of ``clamp`` or more reaches both. 64 bits hold it: a clamp is at most 2^16.
    """
    size = np.minimum(np.abs(residuals), clamp)
    parts = np.sign(residuals) * ((size << GRADIENT_BITS) // clamp)
    return np.stack([parts, np.full_like(parts, RESIDUAL_COUNT)], axis=1)


RESIDUAL_L1 = GRADIENT_ONE + RESIDUAL_COUNT
RESIDUAL_L2_SQUARE = GRADIENT_ONE**2 + RESIDUAL_COUNT**2
