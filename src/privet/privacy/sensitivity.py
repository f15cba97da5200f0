"""The proven constants: how far one record can move each score, each with its proof.

A score is what a selection maximises. It is computed here, in exact integers (fixed point with
``FRACTION_BITS`` bits where it is not whole by nature), from the exact counts of a candidate's children, and
it comes with ``sensitivity``: the range rho of lemma L1 (docs/theory.md), the largest difference between the
changes of any two candidates when one record is added. Every score but the quantiles is monotone: adding a
record moves all candidates in the same direction, so rho is the largest change of one. A score refuses counts
that its 64-bit integers could not hold exactly.

Only scores of this file may be asked for; ``tests/privacy/test_sensitivity.py`` searches all small datasets
for a change larger than the constant and finds none, and finds one when the constant is lowered.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from privet.errors import LeakError, ReceiptError

FRACTION_BITS = 8
ONE = 1 << FRACTION_BITS

GRADIENT_BITS = 16
GRADIENT_ONE = 1 << GRADIENT_BITS
"""Gradients, Hessians and boosted scores are whole numbers of this part of one."""

TARGET_BITS = 16
TARGET_ONE = 1 << TARGET_BITS
"""Targets are whole numbers of this part of their public range: 0 at its low end, ``TARGET_ONE`` at its high end."""


class Score(Protocol):
    """A score with a proven sensitivity. ``of`` maps children's statistics to exact integers."""

    @property
    def lemma(self) -> str: ...
    @property
    def sensitivity(self) -> int: ...
    @property
    def monotone(self) -> bool: ...
    def of(self, children: np.ndarray) -> np.ndarray: ...


def _whole(score: object, name: str, low: int, high: int) -> None:
    """Make a parameter a Python integer, which cannot overflow, in the range that 64-bit scores allow."""
    value = operator.index(getattr(score, name))
    if not low <= value <= high:
        raise LeakError(f"{type(score).__name__} needs a {name} between {low} and {high}.")
    object.__setattr__(score, name, value)


def _fits(n: np.ndarray, factor: int) -> None:
    """Raise unless ``factor`` times every size stays below 2^62."""
    if n.size and int(n.max()) * factor >= 1 << 62:
        raise LeakError("So many records overflow this score's exact integers; choose by correct count.")


@dataclass(frozen=True)
class Gini:
    """Minus the children's count-weighted Gini impurity, in units of 2^-8: sensitivity 2.

    A child with counts c and size n contributes g = n - sum(c^2)/n. Add a record of class k: with N = n + 1,
    g grows by 1 + (sum c^2 / n) - (sum c^2 + 2 c_k + 1)/N. By Cauchy-Schwarz that is at least 0 (lemma L3),
    and since sum c^2 <= n^2, at most 1 + n - (n^2 + 1)/N = 2(N-1)/N < 2 (the extreme is a pure child of
    another class). The floor of the fixed-point quotient keeps both ends, which are integers: a value that
    grows by d in [0, 2 * 2^8] has a floor that grows by an integer in the same interval. Only one child
    changes.
    """

    lemma = "gini"
    sensitivity = 2 * ONE
    monotone = True

    def of(self, children: np.ndarray) -> np.ndarray:
        n = _sizes(children)
        squares = _folded(np.add, children * children)
        impurity = ((n * n - squares) << FRACTION_BITS) // np.maximum(n, 1)
        return -impurity.sum(axis=-1)


@dataclass(frozen=True)
class Mixed:
    """Minus a public mixture of errors and half the Gini impurity, in units of 2^-8: sensitivity 1.

    A child contributes (256 - weight) * errors + weight * g/2 with errors = n - max(c) and g as for ``Gini``.
    One more record adds 0 or 1 to the errors (n grows by 1 and max(c) by 0 or 1) and between 0 and 1 to g/2,
    so between 0 and 256 to the mixture. The first term is whole, and the floor of the second keeps the
    bounds. Gini sees progress that does not change any label yet; errors are what counts in the end.
    """

    weight: int
    sensitivity = ONE
    monotone = True

    def __post_init__(self) -> None:
        _whole(self, "weight", 0, ONE)

    @property
    def lemma(self) -> str:
        return f"mixed({self.weight})"

    def of(self, children: np.ndarray) -> np.ndarray:
        n = _sizes(children)
        errors = n - _folded(np.maximum, children)
        squares = _folded(np.add, children * children)
        impurity = self.weight * (n * n - squares) // (2 * np.maximum(n, 1))
        return -((ONE - self.weight) * errors + impurity).sum(axis=-1)


@dataclass(frozen=True)
class Entropy:
    """Minus the children's count-weighted entropy in nats, in units of 2^-8: sensitivity 1 + ln(cap).

    A child contributes h(n) - sum h(c) with h(x) = x ln x up to the public ``cap`` and its tangent (slope 1 +
    ln cap) beyond. Here h is the running sum of integer steps d(x), each the step of x ln x rounded up; x ln
    x is convex, so the steps never fall, and beyond the cap they stay at ceil(2^8 (1 + ln cap)). Adding a
    record of class k changes the child by d(n) - d(c_k): at least 0 because c_k <= n, at most the largest
    step, because the first step, 1 ln 1 - 0, is 0. So the integer score is exactly monotone.
    """

    cap: int
    monotone = True

    def __post_init__(self) -> None:
        _whole(self, "cap", 1, 1 << 24)

    @property
    def lemma(self) -> str:
        return f"entropy({self.cap})"

    @property
    def sensitivity(self) -> int:
        return math.ceil(ONE * (1 + math.log(self.cap)) * (1 + 1e-12))

    def of(self, children: np.ndarray) -> np.ndarray:
        h = _entropy_table(self.cap)
        beyond = np.maximum(children - self.cap, 0)
        parts = h[np.minimum(children, self.cap)] + beyond * self.sensitivity
        n = _folded(np.add, children)
        _fits(n.sum(axis=-1), self.sensitivity)
        whole = h[np.minimum(n, self.cap)] + np.maximum(n - self.cap, 0) * self.sensitivity
        return -(whole - parts.sum(axis=-1)).sum(axis=-1)


@lru_cache(maxsize=4)
def _entropy_table(cap: int) -> np.ndarray:
    x = np.arange(1, cap + 1, dtype=np.float64)
    xlogx = np.concatenate([[0.0], x * np.log(x)])
    steps = np.ceil(np.diff(xlogx) * ONE).astype(np.int64)
    # Rounding of the floats must not let a step fall, nor exceed the slope of the tangent.
    steps = np.minimum(np.maximum.accumulate(np.maximum(steps, 0)), Entropy(cap).sensitivity)
    return np.concatenate([[0], np.cumsum(steps)])


@dataclass(frozen=True)
class RootGini:
    """Minus the children's sum of 2*sqrt(a*b), two classes, counts cut at ``cap``: sensitivity 2*sqrt(cap).

    With a, b <= cap the term never falls when a or b grows, and grows by at most 2*sqrt(b) *
    (sqrt(a+1) - sqrt(a)) <= 2*sqrt(cap). Clipping is inside the score: no record is dropped. The integer root
    rounds down: a value that grows by d has a floor that grows by at most ceil(d).
    """

    cap: int
    monotone = True

    def __post_init__(self) -> None:
        _whole(self, "cap", 1, 1 << 22)

    @property
    def lemma(self) -> str:
        return f"root_gini({self.cap})"

    @property
    def sensitivity(self) -> int:
        square = 4 * ONE * ONE * self.cap
        root = math.isqrt(square)
        return root + (root * root < square)

    def of(self, children: np.ndarray) -> np.ndarray:
        if children.shape[-1] != 2:
            raise LeakError("The root-Gini score is for two classes.")
        clipped = np.minimum(children, self.cap)
        return -_isqrt(4 * ONE * ONE * clipped[..., 0] * clipped[..., 1]).sum(axis=-1)


def _folded(operation: np.ufunc, values: np.ndarray) -> np.ndarray:
    """``operation.reduce`` along the last axis, slice by slice: several times faster where that axis is short."""
    folded = values[..., 0].copy()
    for k in range(1, values.shape[-1]):
        operation(folded, values[..., k], out=folded)
    return folded


def _sizes(children: np.ndarray) -> np.ndarray:
    """The children's sizes, which must leave room for 2^8 times their square in 63 bits."""
    n = _folded(np.add, children)
    if n.size and int(n.max()) >= 1 << 27:
        raise LeakError("Gini scores are exact up to 134 million records; choose by correct count beyond.")
    return n


def _isqrt(x: np.ndarray) -> np.ndarray:
    root = np.sqrt(x.astype(np.float64)).astype(np.int64)
    root -= root * root > x
    return root + ((root + 1) * (root + 1) <= x)


@dataclass(frozen=True)
class CorrectCount:
    """Records whose class is their child's label: sensitivity 1.

    With the labels fixed (chosen together with the split), the score is a count of records: one more record
    adds 0 or 1. With each child's best label, it is a sum of maxima of such counts: a maximum of terms that
    grow by 0 or 1 grows by 0 or 1, and only one child changes.
    """

    lemma = "correct_count"
    sensitivity = 1
    monotone = True

    def of(self, children: np.ndarray) -> np.ndarray:
        return _folded(np.maximum, children).sum(axis=-1)


@dataclass(frozen=True)
class SquaredError:
    """Minus the children's sum of squared deviations of integer targets in [0, span]: sensitivity span^2.

    A child is given as (n, sum t, sum t^2). With mean m before, a record t adds n/(n+1) * (t - m)^2, between
    0 and span^2. The floor of the exact quotient keeps both ends. Written without the square of the sum,
    which could overflow: with sum = q*n + r, sum^2/n = q^2 n + 2 q r + r^2/n.
    """

    span: int
    monotone = True

    def __post_init__(self) -> None:
        _whole(self, "span", 1, 1 << 30)

    @property
    def lemma(self) -> str:
        return f"squared_error({self.span})"

    @property
    def sensitivity(self) -> int:
        return self.span * self.span

    def of(self, children: np.ndarray) -> np.ndarray:
        n, total, squares = (children[..., i] for i in range(3))
        # n * span^2 bounds the sums of squares, and the rest r < n has r^2 < 2^62.
        _fits(n.sum(axis=-1), max(self.sensitivity, 1 << 31))
        safe = np.maximum(n, 1)
        q, r = np.divmod(total, safe)
        error = squares - q * q * n - 2 * q * r + (-(r * r)) // safe
        return -error.sum(axis=-1)


@dataclass(frozen=True)
class Quantile:
    """Minus |(1-p) L - p R| in units of the denominator of p = numerator / denominator, not monotone.

    L and R are the records on the two sides of a candidate point. A record at x adds 1-p to v = (1-p)L - pR
    for the points at or above x and takes p from the others, and v never falls from one point to the next. If
    a point below x has v > 0, so have all points above, and the changes of -|v| lie in [-max(p, 1-p), p]; if
    a point above has v < 0, so have all below, and they lie in [-max(p, 1-p), 1-p]. So rho = 2 max(p, 1-p): 2
    for the median in its units, where p = 1/2 counts as -|L - R|.
    """

    numerator: int
    denominator: int
    monotone = False

    def __post_init__(self) -> None:
        _whole(self, "denominator", 1, 1 << 30)
        _whole(self, "numerator", 0, self.denominator)

    @property
    def lemma(self) -> str:
        return f"quantile({self.numerator}/{self.denominator})"

    @property
    def sensitivity(self) -> int:
        return 2 * max(self.numerator, self.denominator - self.numerator)

    def of(self, children: np.ndarray) -> np.ndarray:
        """``children`` holds L and R in its last axis."""
        _fits(children.sum(axis=-1), self.denominator)
        return -np.abs((self.denominator - self.numerator) * children[..., 0] - self.numerator * children[..., 1])


MEDIAN = Quantile(1, 2)


@dataclass(frozen=True)
class JointQuantiles:
    """Minus the sum over j of |n_j - p_j n|, in units of D, the sum of ``spacings``; not monotone.

    A candidate is a whole set of cut points, n_j the number of records between two neighbours of it, and p_j
    = spacings[j] / D the share that should be there. A record in gap i moves n_i - p_i n by 1 - p_i and each
    other term by -p_j, so the sum by at most (1 - p_i) + sum of the other p_j = 2 (1 - p_i). So no candidate
    changes by more than Delta = 2 (1 - min p), up or down, and rho <= 2 Delta (docs/theory.md, L1). n is the
    exact, private size: it is part of the score and never shown. With one cut point this is twice
    ``Quantile``.
    """

    spacings: tuple[int, ...]
    monotone = False

    def __post_init__(self) -> None:
        spacings = tuple(map(operator.index, self.spacings))
        if len(spacings) < 2 or min(spacings) < 1 or sum(spacings) > 1 << 30:
            raise LeakError("JointQuantiles needs two or more positive spacings with a sum of at most 2^30.")
        object.__setattr__(self, "spacings", spacings)

    @property
    def lemma(self) -> str:
        return f"joint_quantiles({min(self.spacings)}/{sum(self.spacings)})"

    @property
    def sensitivity(self) -> int:
        return joint_quantiles_sensitivity(min(self.spacings), sum(self.spacings))

    def of(self, children: np.ndarray) -> np.ndarray:
        """``children`` holds the counts between the cut points in its last axis."""
        n = children.sum(axis=-1, keepdims=True)
        _fits(n, 2 * sum(self.spacings))
        return -np.abs(sum(self.spacings) * children - np.array(self.spacings) * n).sum(axis=-1)


def joint_quantiles_sensitivity(smallest: int, whole: int) -> int:
    """rho of ``JointQuantiles``, from the smallest of two or more spacings and their sum."""
    if not 0 < 2 * smallest <= whole:
        raise LeakError("The smallest of several spacings is at most half of their sum.")
    return 4 * (whole - smallest)


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


@dataclass(frozen=True)
class GradientNorm:
    """The sum over a candidate's children of |G|, G the child's sum of gradients: sensitivity 2, in fixed point.

    A record is in one child of every candidate and its gradient g lies between -1 and 1 (``gradient_pairs``), so it
    moves each candidate's score by between -|g| and |g|: the range is at most 2 |g|. Not monotone. ``output`` is the
    class whose scores the gradients are of.
    """

    output: int = 0
    lemma = "gradient_norm"
    sensitivity = 2 * GRADIENT_ONE
    monotone = False

    def of(self, children: np.ndarray) -> np.ndarray:
        """``children`` holds gradients first in its last axis."""
        return np.abs(children[..., 0]).sum(axis=-1)


def gradient_pairs(chances: np.ndarray, of_class: np.ndarray) -> np.ndarray:
    """Each record's gradient and Hessian of the logistic loss, rounded once: whole numbers with |g| + h <= 1.

    With the chance p that the model gives a class, the gradient is g = p - 1 for the records ``of_class`` and p for the
    others, so 0 <= |g| <= 1, and the Hessian is p (1 - p) = |g| (1 - |g|). In fixed point a = |g| is a whole number
    from 0 to ONE, and h = floor(a (ONE - a) / ONE) <= ONE - a. So the L1 norm of the pair is at most ONE, and the L2
    norm, which is never larger, too. Both depend on the record and on released numbers only.
    """
    size = np.where(of_class, 1 - chances, chances)
    a = np.clip(np.rint(size * GRADIENT_ONE), 0, GRADIENT_ONE).astype(np.int64)
    return np.stack([np.where(of_class, -a, a), (a * (GRADIENT_ONE - a)) >> GRADIENT_BITS], axis=1)


def gradient_tally_sensitivity(tables: int) -> int:
    """Sums of gradients and Hessians in every cell of ``tables`` tables: a record adds a pair of norm ONE to each."""
    return GRADIENT_ONE * tally_sensitivity(tables)


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
    n = _sizes(side)
    return ((n * n - _folded(np.add, side * side)) << FRACTION_BITS) // (2 * np.maximum(n, 1))


def _spread(side: np.ndarray) -> np.ndarray:
    n, total = side[..., 0], side[..., 1]
    _fits(n, 1 << 32)
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


def euclidean_sensitivity(one: int, tables: int) -> Fraction:
    """The same sums by L2, for Gaussian and Skellam noise: sqrt(tables) times what a table has, rounded up.

    A record changes each table by a vector of L1 norm at most ``one``, so of L2 norm at most ``one``, and the squares
    of these add up over the tables: where a record is in many tables, that is far less than L1. (Least impurities are
    one number for each table, which moves by at most ``one``.)
    """
    square = one * one * tally_sensitivity(tables) << 64
    root = math.isqrt(square)
    return Fraction(root + (root * root < square), 1 << 32)


def score_of(lemma: str) -> Score:
    """The score of classes or targets that a lemma is about, by the name that it has in receipts."""
    match = re.fullmatch(r"([a-z_]+)(?:\(([0-9]{1,18})\))?", lemma)
    if match is None or match[1] not in _SCORES:
        raise LeakError("There is no such score.")
    try:
        return _SCORES[match[1]](*([] if match[2] is None else [int(match[2])]))
    except TypeError:
        raise LeakError("There is no such score.") from None


def proven(lemma: str) -> Fraction:
    """The smallest sensitivity that the named lemma allows; used to re-check receipts."""
    match = re.fullmatch(r"([a-z_]+)(?:\(([0-9]{1,18})(?:/([0-9]{1,18}))?\))?", lemma)
    if match is None:
        raise ReceiptError("A receipt names a lemma that does not exist.")
    name, *numbers = match.groups()
    args = [int(number) for number in numbers if number is not None]
    try:
        return Fraction(_LEMMAS[name](*args))
    except (KeyError, TypeError, ValueError):
        raise ReceiptError(f"A receipt names the lemma {lemma!r}, which does not exist.") from None


_LEMMAS: dict[str, Callable[..., int | Fraction]] = {
    "tally": lambda tables=1: tally_sensitivity(tables),
    "target_tally": lambda tables=1: target_tally_sensitivity(tables),
    "gradient_tally": lambda tables=1: gradient_tally_sensitivity(tables),
    "least_impurity": lambda tables=1: least_impurity_sensitivity(tables),
    "euclidean_tally": lambda tables=1: euclidean_sensitivity(tally_sensitivity(1), tables),
    "euclidean_target_tally": lambda tables=1: euclidean_sensitivity(target_tally_sensitivity(1), tables),
    "euclidean_gradient_tally": lambda tables=1: euclidean_sensitivity(gradient_tally_sensitivity(1), tables),
    "euclidean_least_impurity": lambda tables=1: euclidean_sensitivity(least_impurity_sensitivity(1), tables),
    "gradient_norm": lambda: GradientNorm().sensitivity,
    "peek": lambda: 0,
    "gini": lambda: Gini().sensitivity,
    "mixed": lambda weight: Mixed(weight).sensitivity,
    "entropy": lambda cap: Entropy(cap).sensitivity,
    "root_gini": lambda cap: RootGini(cap).sensitivity,
    "correct_count": lambda: CorrectCount().sensitivity,
    "squared_error": lambda span: SquaredError(span).sensitivity,
    "quantile": lambda numerator, denominator: Quantile(numerator, denominator).sensitivity,
    "joint_quantiles": joint_quantiles_sensitivity,
}

_SCORES: dict[str, Callable[..., Score]] = {
    "gini": Gini,
    "mixed": Mixed,
    "entropy": Entropy,
    "root_gini": RootGini,
    "correct_count": CorrectCount,
    "squared_error": SquaredError,
}
