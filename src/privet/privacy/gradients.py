"""Clipped gradients of boosted scores: what one record adds to their sums, and the chances that such scores mean.

A score s is a whole number of 1 / ``GRADIENT_ONE`` that depends on the record's features and on released numbers alone.
With p = 1 / (1 + exp(-s)) the logistic loss of one class against the others has the gradient p - 1 for a record of that
class and p for another. Clipped to +-1/2 it still is the gradient of a convex loss: where it is clipped it does not
change with s, and elsewhere it grows. The half of the range that clipping leaves out is that of records on the wrong
side, which all pull alike; so one record moves half as much, and so does the noise.

Several classes have a score each, against the rest. (The gradients of a softmax, each clipped, would be of no loss:
their Jacobian is not symmetric.)
"""

from __future__ import annotations

import numpy as np

from privet.privacy.fixed_point import GRADIENT_BITS, GRADIENT_ONE

GRADIENT_HALF = GRADIENT_ONE // 2
"""No gradient is larger."""

HESSIAN_BITS = 2
"""Hessians are counted in quarters: their noise matters less than the gradients', and so they cost little."""

GRADIENT_L1 = GRADIENT_HALF + (GRADIENT_ONE >> 2 + HESSIAN_BITS)
GRADIENT_L2_SQUARE = GRADIENT_HALF**2 + (GRADIENT_ONE >> 2 + HESSIAN_BITS) ** 2

SCORE_BITS = 6
"""The last bits of a score that its chance does not depend on: a thousandth of a unit of score is left."""

REACH = 12 << (GRADIENT_BITS - SCORE_BITS)
"""Beyond scores of +-12 a chance is 0 or 1, to the last digit that it has here."""


def gradient_pairs(p: np.ndarray, of_class: bool) -> np.ndarray:
    """A record's clipped gradient and a quarter of its Hessian, both whole numbers of 1 / ``GRADIENT_ONE``.

    The chance p is rounded once, to a whole number from 0 to ONE. The gradient is max(p - ONE, -ONE/2) for the records
    ``of_class`` and min(p, ONE/2) for the others: a whole number of size at most ONE/2. The Hessian p (ONE - p) / ONE
    is at most ONE/4, since p is from 0 to ONE, so the floor of a quarter of it is from 0 to ONE/16. So the L1 norm of
    the pair is at most 9/16 ONE and the square of its L2 norm at most 65/256 ONE^2; p = ONE/2 reaches both. Both depend
    on the record and on released numbers only.
    """
    gradients = np.where(of_class, np.maximum(p - GRADIENT_ONE, -GRADIENT_HALF), np.minimum(p, GRADIENT_HALF))
    return np.stack([gradients, p * (GRADIENT_ONE - p) >> GRADIENT_BITS + HESSIAN_BITS], axis=-1)


def _pairs() -> np.ndarray:
    scores = np.arange(-REACH, REACH + 1) / (1 << GRADIENT_BITS - SCORE_BITS)
    chances = np.rint(GRADIENT_ONE / (1 + np.exp(-scores))).astype(np.int64)
    table = np.stack([gradient_pairs(chances, of_class) for of_class in (False, True)]).astype(np.int32)
    table.flags.writeable = False
    return table


GRADIENT_PAIRS = _pairs()
"""``gradient_pairs`` of records that are not of a class, and of those that are, for every score that is told apart.

Scores are told apart in units of 2^``SCORE_BITS``, from -``REACH`` of them to ``REACH``.
"""


def linked_chances(scores: np.ndarray) -> np.ndarray:
    """The chance of a class that a score stands for, as clipped gradients fit it: scores in units of one.

    Among records of which a share of eta is of the class, the clipped gradients add up to 0 where eta = 1 / (3 - 2p) if
    p is 1/2 or more, and where eta = 2p / (1 + 2p) if it is less: with p >= 1/2 a record of the class has p - 1 and
    another 1/2, so that eta (1 - p) = (1 - eta) / 2; the other case is its mirror image. So the loss is proper with
    this link, which grows with p and keeps 0, 1/2 and 1.
    """
    p = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
    return np.where(p >= 0.5, 1 / (3 - 2 * p), 2 * p / (1 + 2 * p))
