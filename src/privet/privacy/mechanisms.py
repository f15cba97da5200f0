"""The mechanisms: the only code that draws noise.

``SecureMechanisms`` uses OpenDP's exact samplers and the operating system's randomness. ``SeededMechanisms``
draws from the same laws with a NumPy generator: reproducible, for research, and the receipt is void. Both see
exact numbers, so only curators may hold one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Protocol

import numpy as np

from privet.errors import BudgetError, LeakError
from privet.privacy.event import MAX_SCALE, SELECTIONS
from privet.privacy.laws import log_gaussian
from privet.privacy.noise_shares import geometric_shares, skellam_shares
from privet.privacy.repeatable_noise import TiedBytes
from privet.privacy.samplers import draw_parts, joint_quantiles, one_sided_geometric, survivors
from privet.privacy.scores import JointQuantiles


@lru_cache(maxsize=1024)
def scale_for(sensitivity: int | Fraction, budget: Fraction) -> float:
    """A noise scale that costs at most ``budget``: sensitivity / budget, rounded up.

    The step of 2^-50 above the exact quotient leaves room for OpenDP's own upward rounding, so that its account agrees
    (``tests/opendp_cost.py``). A budget too large for any float gives the smallest positive scale: no noise, in effect.
    A budget too small for 64-bit integers is refused.
    """
    exact = Fraction(sensitivity) / budget
    if exact * (1 + Fraction(1, 2**50)) > Fraction(MAX_SCALE):
        raise BudgetError(
            "This share of the budget is too small: its noise would not fit in 64-bit integers. "
            "Raise epsilon or ask fewer questions."
        )
    scale = float(exact * (1 + Fraction(1, 2**50)))
    while scale == 0 or Fraction(scale) < exact:
        scale = math.nextafter(scale, math.inf)
    return scale


@lru_cache(maxsize=1024)
def selection_scale(sensitivity: int | Fraction, budget: Fraction) -> float:
    """``scale_for`` rounded up further, to 24 significant bits.

    It costs a ten-millionth more noise, and makes the scale a whole number of small units, which lets
    ``SecureMechanisms`` count the whole scales between two scores.
    """
    mantissa, exponent = math.frexp(scale_for(sensitivity, budget))
    return math.ldexp(math.ceil(mantissa * 2**24), exponent - 24)


class Mechanisms(Protocol):
    """What a curator needs: selections and additive noise, all on exact integers."""

    @property
    def reproducible(self) -> bool: ...
    @property
    def generator(self) -> np.random.Generator | None:
        """What a reproducible one draws from."""

    def select(self, mechanism: str, scores: Iterable[np.ndarray], scales: Sequence[float]) -> list[int]:
        """For each vector of scores the index of the winner; noise of its scale, in the scores' units."""

    def joint_quantiles(
        self, counts: np.ndarray, score: JointQuantiles, weights: np.ndarray, scale: float
    ) -> list[int]:
        """Cuts between cells with these counts, by the exponential mechanism (``samplers.joint_quantiles``)."""

    def geometric(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Each integer plus two-sided geometric noise: P(k) proportional to exp(-|k| / scale)."""

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Each integer plus discrete Gaussian noise: P(k) proportional to exp(-k^2 / (2 scale^2))."""


class SecureMechanisms:
    """OpenDP's samplers: exact arithmetic, operating system randomness."""

    reproducible = False
    generator = None

    def select(self, mechanism: str, scores: Iterable[np.ndarray], scales: Sequence[float]) -> list[int]:
        _check(scales, mechanism)
        draw = getattr(self, f"_{mechanism}")
        return [draw(score, scale) for score, scale in zip(scores, scales)]

    def _permute_and_flip(self, scores: np.ndarray, scale: float) -> int:
        """Exactly permute-and-flip; OpenDP's, on the candidates that survive the whole scales below the best.

        Permute-and-flip tosses a coin for each candidate with chance exp(-gap / scale) and picks evenly among
        those that came up. Such a coin is one for the whole scales in the gap and one for the rest. The first
        are tossed here, for all candidates at once; the second, and the picking, are OpenDP's, which takes a
        microsecond or two for each candidate.
        """
        gaps, unit = _in_small_units(scores, scale)
        if unit is None:
            return _noisy_max("permute_and_flip", scale)(scores)
        whole, rest = np.divmod(gaps, unit)
        alive = survivors(whole)
        if len(alive) == 1:  # the best itself: nothing is left to toss for
            return int(alive[0])
        return int(alive[_noisy_max("permute_and_flip", float(unit))((-rest[alive]).tolist())])

    def _exponential(self, scores: np.ndarray, scale: float) -> int:
        return _noisy_max("exponential", scale)(scores)

    def _report_noisy_max(self, scores: np.ndarray, scale: float) -> int:
        """The largest score plus two-sided geometric noise, ties broken evenly; only the winner is told.

        Two-sided geometric noise is the difference of two one-sided ones, and permute-and-flip on integers is the
        largest score plus one-sided geometric noise, ties broken evenly (docs/theory.md, L1). So this is permute-and-
        flip on scores that independent noise has lowered first. Given that noise, the scores' changes are what they
        were: each value of it costs rho / scale, and so does their mixture. The proof without that detour is in
        docs/theory.md too, for ties by any public order.
        """
        unit, per_score = scale.as_integer_ratio()
        if unit >= 2**53 or per_score >= 2**53:
            noisy = self.geometric(scores - scores.max(), scale)
            best = np.flatnonzero(noisy == noisy.max())
            return int(best[draw_parts(1, len(best))[0]])
        return self._permute_and_flip(scores - one_sided_geometric(len(scores), unit, per_score), scale)

    def joint_quantiles(
        self, counts: np.ndarray, score: JointQuantiles, weights: np.ndarray, scale: float
    ) -> list[int]:
        _check([scale])
        return joint_quantiles(counts, score.spacings, weights, scale)

    def geometric(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._with("geometric", values, scale)

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._with("gaussian", values, scale)

    def _with(self, noise: str, values: np.ndarray, scale: float) -> np.ndarray:
        _check([scale])
        noisy = _additive(noise, scale)(np.ascontiguousarray(values, dtype=np.int64).ravel())
        return np.array(noisy, dtype=np.int64).reshape(values.shape)


class SeededMechanisms:
    """The same laws from a NumPy generator: reproducible, and therefore no guarantee at all."""

    reproducible = True

    def __init__(self, seed: Any) -> None:
        """``seed`` is whatever NumPy makes a generator of, or a generator."""
        self.generator = np.random.default_rng(seed)

    def select(self, mechanism: str, scores: Iterable[np.ndarray], scales: Sequence[float]) -> list[int]:
        _check(scales, mechanism)
        draw: Any = {
            "permute_and_flip": self.generator.standard_exponential,
            "exponential": self.generator.gumbel,
            "report_noisy_max": self.generator.standard_exponential,
        }[mechanism]
        if mechanism == "report_noisy_max":  # permute-and-flip on lowered scores, as the secure one
            scores = (score - self._one_sided(len(score), scale) for score, scale in zip(scores, scales))
        # Subtracting the largest score first keeps the noise from drowning in rounding.
        with np.errstate(over="ignore"):  # a gap of infinitely many scales never wins
            return [
                int(np.argmax((score - score.max()) / scale + draw(size=len(score))))
                for score, scale in zip(scores, scales)
            ]

    def joint_quantiles(
        self, counts: np.ndarray, score: JointQuantiles, weights: np.ndarray, scale: float
    ) -> list[int]:
        _check([scale])
        return joint_quantiles(counts, score.spacings, weights, scale, self.generator.bytes)

    def geometric(self, values: np.ndarray, scale: float) -> np.ndarray:
        values = _checked(values, scale)
        return values + self._one_sided(values.shape, scale) - self._one_sided(values.shape, scale)

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        values = _checked(values, scale)
        if scale > 1_000:  # from here on a rounded normal number has the same law to all digits of a float
            return values + np.rint(self.generator.normal(0, scale, values.shape)).astype(np.int64)
        reach = math.ceil(12 * scale) + 2
        support = np.arange(-reach, reach + 1)
        return values + self.generator.choice(support, values.shape, p=np.exp(log_gaussian(support, scale)))

    def _one_sided(self, shape: int | tuple[int, ...], scale: float) -> np.ndarray:
        """Whole numbers from 0 on with P(k) proportional to exp(-k / scale)."""
        p = -math.expm1(-1 / scale)
        return np.zeros(shape, dtype=np.int64) if p >= 1 else self.generator.geometric(p, shape) - 1


class ShareMechanisms(SecureMechanisms):
    """One party's: its noise is a share, and ``of`` shares add up to what a tally promises; its choices are its own.

    With ``tied`` the same question gets the same share again; its choices are drawn anew in any case.
    """

    def __init__(self, of: int, tied: TiedBytes | None = None) -> None:
        self._of = of
        self._tied = tied

    def geometric_shares(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Each integer plus a share of two-sided geometric noise."""
        return self._share(geometric_shares, values, scale)

    def skellam_shares(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Each integer plus a share of Skellam noise, whose standard deviation is the scale."""
        return self._share(skellam_shares, values, scale)

    def _share(self, draw: Any, values: np.ndarray, scale: float) -> np.ndarray:
        values = _checked(values, scale)
        source = os.urandom if self._tied is None else self._tied.to(values, scale)
        return values + draw(values.size, scale, self._of, source).reshape(values.shape)


class SeededShares(SeededMechanisms):
    """The same from a NumPy generator."""

    def __init__(self, seed: Any, of: int) -> None:
        super().__init__(seed)
        self._of = of

    def geometric_shares(self, values: np.ndarray, scale: float) -> np.ndarray:
        values = _checked(values, scale)
        p = -math.expm1(-1 / scale)
        if p >= 1:
            return values
        one, other = self.generator.negative_binomial(1 / self._of, p, (2, *values.shape))
        return values + one - other

    def skellam_shares(self, values: np.ndarray, scale: float) -> np.ndarray:
        values = _checked(values, scale)
        mean = scale**2 / (2 * self._of)
        if mean > 1e15:  # from here on a rounded normal number has the same law to all digits of a float
            return values + np.rint(self.generator.normal(0, math.sqrt(2 * mean), values.shape)).astype(np.int64)
        one, other = self.generator.poisson(mean, (2, *values.shape))
        return values + one - other


def mechanisms(random_state: int | np.random.Generator | np.random.RandomState | None) -> Mechanisms:
    """Secure unless a seed is given."""
    if random_state is None:
        return SecureMechanisms()
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return SeededMechanisms(random_state)


def party_mechanisms(of: int | None, seed: Any, tied: TiedBytes | None = None) -> Mechanisms:
    """One party's: ``of`` shares make up the noise or, with None, each party's is the whole. Secure without a seed."""
    if of is None:
        return mechanisms(seed)
    return ShareMechanisms(of, tied) if seed is None else SeededShares(seed, of)


def _check(scales: Sequence[float], mechanism: str = SELECTIONS[0]) -> None:
    """OpenDP takes a scale of 0 for no noise at all; here it is a mistake."""
    if mechanism not in SELECTIONS:
        raise LeakError(f"A selection is made by {' or '.join(SELECTIONS)}, not by {mechanism!r}.")
    if not all(0 < scale <= MAX_SCALE for scale in scales):
        raise BudgetError("A noise scale must be positive and at most 2^52; take it from scale_for.")


def _checked(values: np.ndarray, scale: float) -> np.ndarray:
    _check([scale])
    return np.asarray(values, dtype=np.int64)


def _in_small_units(scores: np.ndarray, scale: float) -> tuple[np.ndarray, int | None]:
    """How far each score is below the best, and the scale, both in units that make the scale whole.

    The unit is None where these numbers would not fit in 62 bits.
    """
    gaps = int(scores.max()) - scores
    unit, per_score = scale.as_integer_ratio()
    if max(1, int(gaps.max())) * per_score >= 2**62 or unit >= 2**53:
        return gaps, None
    return gaps if per_score == 1 else gaps * per_score, unit


@cache
def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@lru_cache(maxsize=256)
def _additive(noise: str, scale: float) -> Any:
    dp = _opendp()
    distance = dp.l1_distance(T="i64") if noise == "geometric" else dp.l2_distance(T="f64")
    make = dp.m.make_laplace if noise == "geometric" else dp.m.make_gaussian
    return make(dp.vector_domain(dp.atom_domain(T="i64")), distance, scale=scale)


@lru_cache(maxsize=256)
def _noisy_max(mechanism: str, scale: float) -> Any:
    """OpenDP's noisy max: exponential noise is permute-and-flip, Gumbel noise the exponential mechanism."""
    dp = _opendp()
    # The metric's promise only matters for OpenDP's own `map`; curators charge by the lemma of the score.
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    measure = {"permute_and_flip": dp.max_divergence, "exponential": dp.zero_concentrated_divergence}[mechanism]()
    return dp.m.make_noisy_max(*space, measure, scale=scale)
