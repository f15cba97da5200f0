"""What a selection maximises: scores in exact integers, and how far one record can move each, with its proof.

A score is computed here, in exact integers (fixed point with ``FRACTION_BITS`` bits where it is not whole by
nature), from the exact counts of a candidate's children, and it comes with ``sensitivity``: the range rho of
lemma L1 (docs/theory.md), the largest difference between the changes of any two candidates when one record is
added. Every score but the quantiles, the gradients and the residuals is monotone: adding a record moves all
candidates in the same direction, so rho is the largest change of one. A score refuses counts that its 64-bit
integers could not hold exactly.

Only scores of this file may be asked for, and they are asked for by name: ``score_of`` builds a score from its
``lemma`` alone, so no object of a caller's is ever handed an exact count. ``tests/privacy/test_scores.py``
searches all small datasets for a change larger than the constant and finds none, and finds one when the
constant is lowered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import ClassVar

import numpy as np

from privet.errors import LeakError
from privet.privacy.fixed_point import FRACTION_BITS, GRADIENT_ONE, ONE, TARGET_ONE, fits, folded, sizes
from privet.privacy.lemmas import Lemma
from privet.values import exact_int, final


class Score:
    """A score with a proven sensitivity. Its parameters are Python integers, which cannot overflow.

    ``within`` is the range of a score's one parameter that 64-bit integers allow.
    """

    __slots__ = ()
    name: ClassVar[str]
    within: ClassVar[tuple[int, int]]

    def __post_init__(self) -> None:
        for parameter in fields(self):  # type: ignore[arg-type]
            self._check(parameter.name, *self.within)

    def _check(self, parameter: str, low: int, high: int) -> None:
        value = exact_int(getattr(self, parameter))
        if not low <= value <= high:
            raise LeakError(f"{type(self).__name__} needs a {parameter} between {low} and {high}.")
        object.__setattr__(self, parameter, value)

    @property
    def lemma(self) -> str:
        """The name that receipts and messages have for it: with its parameters, all that it is."""
        return str(Lemma(self.name, tuple(getattr(self, own.name) for own in fields(self))))  # type: ignore[arg-type]

    @property
    def sensitivity(self) -> int:
        raise NotImplementedError

    def of(self, children: np.ndarray) -> np.ndarray:
        """The exact integers that children's statistics have."""
        raise NotImplementedError


@final
@dataclass(frozen=True, slots=True)
class Gini(Score):
    """Minus the children's count-weighted Gini impurity, in units of 2^-8: sensitivity 2.

    A child with counts c and size n contributes g = n - sum(c^2)/n. Add a record of class k: with N = n + 1,
    g grows by 1 + (sum c^2 / n) - (sum c^2 + 2 c_k + 1)/N. By Cauchy-Schwarz that is at least 0 (lemma L3),
    and since sum c^2 <= n^2, at most 1 + n - (n^2 + 1)/N = 2(N-1)/N < 2 (the extreme is a pure child of
    another class). The floor of the fixed-point quotient keeps both ends, which are integers: a value that
    grows by d in [0, 2 * 2^8] has a floor that grows by an integer in the same interval. Only one child
    changes.
    """

    name = "gini"
    sensitivity = 2 * ONE

    def of(self, children: np.ndarray) -> np.ndarray:
        n = sizes(children)
        squares = folded(np.add, children * children)
        impurity = ((n * n - squares) << FRACTION_BITS) // np.maximum(n, 1)
        return -impurity.sum(axis=-1)


@final
@dataclass(frozen=True, slots=True)
class Mixed(Score):
    """Minus a public mixture of errors and half the Gini impurity, in units of 2^-8: sensitivity 1.

    A child contributes (256 - weight) * errors + weight * g/2 with errors = n - max(c) and g as for ``Gini``.
    One more record adds 0 or 1 to the errors (n grows by 1 and max(c) by 0 or 1) and between 0 and 1 to g/2,
    so between 0 and 256 to the mixture. The first term is whole, and the floor of the second keeps the
    bounds. Gini sees progress that does not change any label yet; errors are what counts in the end.
    """

    weight: int
    name = "mixed"
    within = (0, ONE)
    sensitivity = ONE

    def of(self, children: np.ndarray) -> np.ndarray:
        n = sizes(children)
        errors = n - folded(np.maximum, children)
        squares = folded(np.add, children * children)
        impurity = self.weight * (n * n - squares) // (2 * np.maximum(n, 1))
        return -((ONE - self.weight) * errors + impurity).sum(axis=-1)


@final
@dataclass(frozen=True, slots=True)
class Entropy(Score):
    """Minus the children's count-weighted entropy in nats, in units of 2^-8: sensitivity 1 + ln(cap).

    A child contributes h(n) - sum h(c) with h(x) = x ln x up to the public ``cap`` and its tangent (slope 1 +
    ln cap) beyond. Here h is the running sum of integer steps d(x), each the step of x ln x rounded up; x ln
    x is convex, so the steps never fall, and beyond the cap they stay at ceil(2^8 (1 + ln cap)). Adding a
    record of class k changes the child by d(n) - d(c_k): at least 0 because c_k <= n, at most the largest
    step, because the first step, 1 ln 1 - 0, is 0. So the integer score is exactly monotone.
    """

    cap: int
    name = "entropy"
    within = (1, 1 << 24)

    @property
    def sensitivity(self) -> int:
        return math.ceil(ONE * (1 + math.log(self.cap)) * (1 + 1e-12))

    def of(self, children: np.ndarray) -> np.ndarray:
        h = _entropy_table(self.cap)
        beyond = np.maximum(children - self.cap, 0)
        parts = h[np.minimum(children, self.cap)] + beyond * self.sensitivity
        n = folded(np.add, children)
        fits(n.sum(axis=-1), self.sensitivity)
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


@final
@dataclass(frozen=True, slots=True)
class RootGini(Score):
    """Minus the children's sum of 2*sqrt(a*b), two classes, counts cut at ``cap``: sensitivity 2*sqrt(cap).

    With a, b <= cap the term never falls when a or b grows, and grows by at most 2*sqrt(b) *
    (sqrt(a+1) - sqrt(a)) <= 2*sqrt(cap). Clipping is inside the score: no record is dropped. The integer root
    rounds down: a value that grows by d has a floor that grows by at most ceil(d).
    """

    cap: int
    name = "root_gini"
    within = (1, 1 << 22)

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


def _isqrt(x: np.ndarray) -> np.ndarray:
    root = np.sqrt(x.astype(np.float64)).astype(np.int64)
    root -= root * root > x
    return root + ((root + 1) * (root + 1) <= x)


@final
@dataclass(frozen=True, slots=True)
class CorrectCount(Score):
    """Records whose class is their child's label: sensitivity 1.

    With the labels fixed (chosen together with the split), the score is a count of records: one more record
    adds 0 or 1. With each child's best label, it is a sum of maxima of such counts: a maximum of terms that
    grow by 0 or 1 grows by 0 or 1, and only one child changes.
    """

    name = "correct_count"
    sensitivity = 1

    def of(self, children: np.ndarray) -> np.ndarray:
        return folded(np.maximum, children).sum(axis=-1)


@final
@dataclass(frozen=True, slots=True)
class Worth(Score):
    """What a released model's predictions are worth, added up over the records: sensitivity ``most``.

    ``of`` is given, for each model, the records in each cell of its table times what a record there is worth, a whole
    number from 0 to ``most``. A record is in one cell of each model's table, so one more adds between 0 and ``most`` to
    every model's sum. Of classes a right prediction is worth 1 and a wrong one 0: these are the correct counts. The
    models are released and do not change with the records that they are compared on.
    """

    most: int
    name = "worth"
    within = (1, 2**16)

    @property
    def sensitivity(self) -> int:
        return self.most

    def of(self, children: np.ndarray) -> np.ndarray:
        return children.sum(axis=-1)


@final
@dataclass(frozen=True, slots=True)
class SquaredError(Score):
    """Minus the children's sum of squared deviations of integer targets in [0, span]: sensitivity span^2.

    A child is given as (n, sum t, sum t^2). With mean m before, a record t adds n/(n+1) * (t - m)^2, between
    0 and span^2. The floor of the exact quotient keeps both ends. Written without the square of the sum,
    which could overflow: with sum = q*n + r, sum^2/n = q^2 n + 2 q r + r^2/n.
    """

    span: int
    name = "squared_error"
    within = (1, 1 << 30)

    @property
    def sensitivity(self) -> int:
        return self.span * self.span

    def of(self, children: np.ndarray) -> np.ndarray:
        n, total, squares = (children[..., i] for i in range(3))
        # n * span^2 bounds the sums of squares, and the rest r < n has r^2 < 2^62.
        fits(n.sum(axis=-1), max(self.sensitivity, 1 << 31))
        safe = np.maximum(n, 1)
        q, r = np.divmod(total, safe)
        error = squares - q * q * n - 2 * q * r + (-(r * r)) // safe
        return -error.sum(axis=-1)


@final
@dataclass(frozen=True, slots=True)
class Quantile(Score):
    """Minus |(1-p) L - p R| in units of the denominator of p = numerator / denominator, not monotone.

    L and R are the records on the two sides of a candidate point. A record at x adds 1-p to v = (1-p)L - pR
    for the points at or above x and takes p from the others, and v never falls from one point to the next. If
    a point below x has v > 0, so have all points above, and the changes of -|v| lie in [-max(p, 1-p), p]; if
    a point above has v < 0, so have all below, and they lie in [-max(p, 1-p), 1-p]. So rho = 2 max(p, 1-p): 2
    for the median in its units, where p = 1/2 counts as -|L - R|.
    """

    numerator: int
    denominator: int
    name = "quantile"

    def __post_init__(self) -> None:
        self._check("denominator", 1, 1 << 30)
        self._check("numerator", 0, self.denominator)

    @property
    def sensitivity(self) -> int:
        return 2 * max(self.numerator, self.denominator - self.numerator)

    def of(self, children: np.ndarray) -> np.ndarray:
        """``children`` holds L and R in its last axis."""
        fits(children.sum(axis=-1), self.denominator)
        return -np.abs((self.denominator - self.numerator) * children[..., 0] - self.numerator * children[..., 1])


MEDIAN = Quantile(1, 2)


@final
@dataclass(frozen=True, slots=True)
class JointQuantiles(Score):
    """Minus the sum over j of |n_j - p_j n|, in units of D, the sum of ``spacings``; not monotone.

    A candidate is a whole set of cut points, n_j the number of records between two neighbours of it, and p_j
    = spacings[j] / D the share that should be there. A record in gap i moves n_i - p_i n by 1 - p_i and each
    other term by -p_j, so the sum by at most (1 - p_i) + sum of the other p_j = 2 (1 - p_i). So no candidate
    changes by more than Delta = 2 (1 - min p), up or down, and rho <= 2 Delta (docs/theory.md, L1). n is the
    exact, private size: it is part of the score and never shown. With one cut point this is twice
    ``Quantile``.
    """

    spacings: tuple[int, ...]
    name = "joint_quantiles"

    def __post_init__(self) -> None:
        spacings = tuple(map(exact_int, self.spacings))
        if len(spacings) < 2 or min(spacings) < 1 or sum(spacings) > 1 << 30:
            raise LeakError("JointQuantiles needs two or more positive spacings with a sum of at most 2^30.")
        object.__setattr__(self, "spacings", spacings)

    @property
    def lemma(self) -> str:
        return str(Lemma(self.name, (min(self.spacings), sum(self.spacings))))

    @property
    def sensitivity(self) -> int:
        return joint_quantiles_sensitivity(min(self.spacings), sum(self.spacings))

    def of(self, children: np.ndarray) -> np.ndarray:
        """``children`` holds the counts between the cut points in its last axis."""
        n = children.sum(axis=-1, keepdims=True)
        fits(n, 2 * sum(self.spacings))
        return -np.abs(sum(self.spacings) * children - np.array(self.spacings) * n).sum(axis=-1)


def joint_quantiles_sensitivity(smallest: int, whole: int) -> int:
    """rho of ``JointQuantiles``, from the smallest of two or more spacings and their sum."""
    if not 0 < 2 * smallest <= whole:
        raise LeakError("The smallest of several spacings is at most half of their sum.")
    return 4 * (whole - smallest)


@final
@dataclass(frozen=True, slots=True)
class GradientNorm(Score):
    """The sum over a candidate's children of |G|, G a child's sum of clipped gradients: sensitivity 1, in fixed point.

    A record is in one child of every candidate and its gradient g lies between -1/2 and 1/2 (``gradient_pairs``), so it
    moves each candidate's score by between -|g| and |g|: the range is at most 2 |g|. Not monotone. ``output`` is the
    class whose scores the gradients are of.
    """

    output: int
    name = "clipped_gradient_norm"
    within = (0, 1 << 16)
    sensitivity = GRADIENT_ONE

    def of(self, children: np.ndarray) -> np.ndarray:
        """``children`` holds gradients first in its last axis."""
        return np.abs(children[..., 0]).sum(axis=-1)


@final
@dataclass(frozen=True, slots=True)
class ResidualNorm(Score):
    """The sum over a candidate's children of |R|, R its sum of clamped residuals: sensitivity 2, in fixed point.

    A record is in one child of every candidate, and its residual, as a part of ``clamp``, lies between -1 and 1
    (``residual_pairs``), so it moves each candidate's score by between -1 and 1: the range is at most 2. Not monotone.
    """

    clamp: int
    name = "residual_norm"
    within = (1, TARGET_ONE)
    sensitivity = 2 * GRADIENT_ONE

    def of(self, children: np.ndarray) -> np.ndarray:
        """``children`` holds residuals first in its last axis."""
        return np.abs(children[..., 0]).sum(axis=-1)


SCORES: dict[str, type[Score]] = {
    kind.name: kind
    for kind in (
        Gini,
        Mixed,
        Entropy,
        RootGini,
        CorrectCount,
        Worth,
        SquaredError,
        Quantile,
        GradientNorm,
        ResidualNorm,
    )
}
"""The scores that a choice can be asked by, each with the name of its lemma."""


def score_of(lemma: str) -> Score:
    """The score that a lemma is about, built from the name that it has in receipts and messages.

    >>> score_of("mixed(128)"), score_of("quantile(1/2)")
    (Mixed(weight=128), Quantile(numerator=1, denominator=2))
    """
    try:
        if type(lemma) is not str:
            raise ValueError
        parsed = Lemma.parse(lemma)
        kind = SCORES[parsed.name]
    except (KeyError, ValueError):
        raise LeakError("There is no such score.") from None
    if len(parsed.arguments) != len(fields(kind)):  # type: ignore[arg-type]
        raise LeakError("There is no such score.")
    return kind(*parsed.arguments)
