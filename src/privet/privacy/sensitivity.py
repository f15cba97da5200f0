"""The proven constants of sums: how far one record can move them, each with its proof; and all lemmas by name.

``scores.py`` has those of selections. ``tests/privacy/test_sensitivity.py`` searches all small datasets for a
change larger than the constant and finds none, and finds one when the constant is lowered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privet.errors import ReceiptError
from privet.privacy.fixed_point import (
    FRACTION_BITS,
    ONE,
    TARGET_BITS,
    TARGET_ONE,
    fits,
    folded,
    sizes,
)
from privet.privacy.gradients import GRADIENT_L1, GRADIENT_L2_SQUARE
from privet.privacy.lemmas import Lemma
from privet.privacy.random_stopping import COST
from privet.privacy.residuals import RESIDUAL_L1, RESIDUAL_L2_SQUARE
from privet.privacy.scores import SCORES, joint_quantiles_sensitivity, score_of


def tally_sensitivity(tables: int) -> int:
    """A record is in one cell of each of ``tables`` tables of counts: its L1 effect is their number.

    No table at all asks for the node's own count or class counts, where a record is in one cell.
    """
    return max(1, tables)


def target_tally_sensitivity(tables: int) -> int:
    """The two target sums of every cell of ``tables`` tables: one record adds ``TARGET_ONE`` to each table.

    A record whose target is t, rounded once to a whole number between 0 and ``TARGET_ONE``, adds t to the first sum of
    its cell and ``TARGET_ONE`` - t, a difference and not a second rounding, to the other. Both are at least 0, so the
    L1 effect on a table is exactly ``TARGET_ONE``: the two sums cost what a count costs.
    """
    return TARGET_ONE * tally_sensitivity(tables)


def gradient_tally_sensitivity(tables: int) -> int:
    """Sums of clipped gradients and Hessians in every cell of ``tables`` tables (``gradient_pairs``): 9/16 for each."""
    return GRADIENT_L1 * tally_sensitivity(tables)


def residual_tally_sensitivity(tables: int) -> int:
    """Sums of clamped residuals and quarters in every cell of ``tables`` tables: a pair of L1 norm 5/4 ONE to each."""
    return RESIDUAL_L1 * tally_sensitivity(tables)


def least_impurities(parts: np.ndarray, ordered: bool = True) -> np.ndarray:
    """For each table the least half Gini impurity of two sides, over all public splits, in units of 2^-8.

    ``parts`` holds class counts of (..., part, class). The splits are the thresholds between neighbouring parts, or one
    part against the rest if parts have no order; and the trivial one, all records on one side. A side with counts c and
    size n has (n - sum(c^2)/n) / 2, which is n p (1-p) for two classes: half of ``Gini``'s, so one more record adds
    between 0 and 1 to the side it is on and nothing to the other, and the floor keeps both ends. The splits are public,
    and a minimum of functions that each grow by 0 to 1 grows by 0 to 1. An owner without records has 0, never infinity.
    """
    return _least(parts, ordered, _half_gini)


def least_spreads(parts: np.ndarray, ordered: bool = True) -> np.ndarray:
    """The same for numeric targets in [0, ``TARGET_ONE``], given as (..., part, (n, sum t, sum t^2)).

    A target t counts as the part t of a record of one class and the rest of it of another. A side with sums A and B of
    these parts has AB/(A+B), which is A less the part of the squared error that splits change. It is concave, grows
    with the records (AB/(A+B) is homogeneous, so it is superadditive) and has slopes B^2/(A+B)^2 and A^2/(A+B)^2 of at
    most 1, so a record, whose parts add up to 1, adds between 0 and 1.
    """
    return _least(parts, ordered, _spread)


def _least(parts: np.ndarray, ordered: bool, impurity: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    whole = parts.sum(axis=-2, keepdims=True)
    left = np.concatenate([np.cumsum(parts, axis=-2) if ordered else parts, whole], axis=-2)
    return (impurity(left) + impurity(whole - left)).min(axis=-1)


def _half_gini(side: np.ndarray) -> np.ndarray:
    n = sizes(side)
    return ((n * n - folded(np.add, side * side)) << FRACTION_BITS) // (2 * np.maximum(n, 1))


def _spread(side: np.ndarray) -> np.ndarray:
    n, total = side[..., 0], side[..., 1]
    fits(n, 1 << 32)
    safe = np.maximum(n, 1)
    # A - A^2/n in units of 2^-32, without the square of the sum, which could overflow (``SquaredError``).
    q, r = np.divmod(total, safe)
    exact = (total << TARGET_BITS) - q * q * n - 2 * q * r + (-(r * r)) // safe
    return exact >> (2 * TARGET_BITS - FRACTION_BITS)


def least_impurity_sensitivity(tables: int) -> int:
    """Owners' least impurities of so many tables, added up over the owners: ``ONE`` for each table.

    A record is with one owner and in every one of that owner's tables, and moves each of their minima by 0 to 1. So the
    L1 effect is at most the number of tables, and all owners together cost what one costs.
    """
    return ONE * tally_sensitivity(tables)


def euclidean_sensitivity(lemma: str, tables: int) -> Fraction:
    """The same sums by L2, for Gaussian and Skellam noise: sqrt(tables) times what a table has, rounded up.

    A record changes each table by a vector whose L2 norm is at most its L1 norm, and smaller where ``SQUARES`` says so;
    the squares of these add up over the tables: where a record is in many tables, that is far less than L1. (Least
    impurities are one number for each table, which moves by at most that much.)
    """
    square = SQUARES.get(lemma, SUMS[lemma](1) ** 2) * tally_sensitivity(tables) << 64
    root = math.isqrt(square)
    return Fraction(root + (root * root < square), 1 << 32)


SUMS: dict[str, Callable[[int], int]] = {
    "tally": tally_sensitivity,
    "target_tally": target_tally_sensitivity,
    "clipped_gradient_tally": gradient_tally_sensitivity,
    "residual_tally": residual_tally_sensitivity,
    "least_impurity": least_impurity_sensitivity,
}
"""The lemmas of sums, each with the L1 sensitivity of so many tables; ``euclidean_`` before its name is of L2."""

SQUARES = {"clipped_gradient_tally": GRADIENT_L2_SQUARE, "residual_tally": RESIDUAL_L2_SQUARE}
"""The square of the L2 norm of what a record adds to one table, where it is proven to be below the L1 norm's."""

EUCLIDEAN = "euclidean_"


def proven(lemma: str) -> Fraction:
    """The smallest sensitivity that the named lemma allows; used to re-check receipts."""
    try:
        parsed = Lemma.parse(lemma)
        name, arguments = parsed.name, parsed.arguments
        if name.removeprefix(EUCLIDEAN) in SUMS:
            (tables,) = arguments or (1,)
            if name in SUMS:
                return Fraction(SUMS[name](tables))
            return euclidean_sensitivity(name.removeprefix(EUCLIDEAN), tables)
        if name in SCORES:
            return Fraction(score_of(lemma).sensitivity)
        return Fraction(_OTHERS[name](*arguments))
    except (KeyError, TypeError, ValueError):
        raise ReceiptError(f"A receipt names the lemma {lemma[:50]!r}, which does not exist.") from None


_OTHERS: dict[str, Callable[..., int]] = {
    "peek": lambda: 0,
    "random_stopping": lambda: COST,
    "joint_quantiles": joint_quantiles_sensitivity,
}
