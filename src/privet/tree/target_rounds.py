"""The plan of boosting numeric targets: what is measured beside the rounds, how many there are, and what they add.

Scores begin at a private median. Each round chooses a table by the residuals in its parts, clamped to a private
quantile of their sizes, and measures them; as residuals shrink, so does the clamp, which is measured again a few times.
At the end residuals are measured over the whole range of the target, by levels of the score, because clamped ones lean
towards the median. docs/regression.md has the measurements behind the constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.residuals import RESIDUAL_COUNT, RESIDUAL_L1, RESIDUAL_L2_SQUARE
from privet.privacy.zcdp import ratio_for
from privet.questions.levels import Levels
from privet.tree.rounds import Recipe, Turn, choice_ratio, signal, turns

MEDIAN_SHARES = (Fraction(1, 100), Fraction(1, 10))
"""The least and the largest share of the budget that the start has."""

CLAMP_SHARES = (Fraction(3, 200), Fraction(1, 20))
"""The same for each measurement of what residuals are clamped to."""

QUANTILE_REACH = 140.0
"""The n * epsilon of a quantile that is within a tenth of the records of the true one, nearly always."""

FEW_ROUNDS, CLAMPS = 20, (2, 4)
"""How often that is measured, with fewer rounds than this and with more."""

CLAMP_AT = Fraction(9, 10)
"""Residuals are clamped where so many of them are smaller."""

CALIBRATION_SHARE = Fraction(1, 10)
LEVELS = 16

RIDGE = 12.0
"""Every part is given so many standard deviations of the noise in records: a part with few hardly moves."""

TRUST = 0.15
"""How far levels are expected to be off on average, in clamps: noise beyond that is not believed."""

FEWEST_ROUNDS, MOST_ROUNDS = 8, 400

WORTHWHILE = {"epsilon": 2_100.0, "rho": 400.0}
"""The signal from which boosting is expected to beat one tree."""

RECIPES = {
    "epsilon": Recipe(0.042, 0.6, 4, Fraction(3, 10), 32, 60, 2, 8, 0),
    "rho": Recipe(0.196, 0.7, 4, Fraction(3, 10), 32, 60, 2, 8, 0),
}


@dataclass(frozen=True)
class TargetPlan:
    """What the median, each clamp, the rounds and the calibration spend; ``clamped`` are rounds that begin with one."""

    median_budget: Fraction
    clamp_budget: Fraction
    clamped: frozenset[int]
    turns: tuple[Turn, ...]
    calibration_budget: Fraction


def plan_targets(n_records: float, budget: Fraction, currency: str) -> TargetPlan:
    """How the budget is spent, from a public or measured number of records."""
    recipe = RECIPES[currency]
    n = int(recipe.rounds * max(signal(n_records, budget, currency), 0.0) ** recipe.power)
    n = min(max(n, FEWEST_ROUNDS), MOST_ROUNDS)
    clamps = CLAMPS[n >= FEW_ROUNDS]
    clamped = frozenset(n * k // clamps for k in range(clamps))
    of_all = n_records * choice_ratio(budget, currency)
    median, clamp = (_quantile_share(of_all, currency, *ends) for ends in (MEDIAN_SHARES, CLAMP_SHARES))
    left = budget * (1 - median - len(clamped) * clamp - CALIBRATION_SHARE)
    return TargetPlan(
        budget * median,
        budget * clamp,
        clamped,
        turns(recipe, n, [0], left),
        budget * CALIBRATION_SHARE,
    )


def _quantile_share(reach: float, currency: str, least: Fraction, largest: Fraction) -> Fraction:
    """The share of the budget that buys a good quantile, if the whole of it had this n * epsilon."""
    share = QUANTILE_REACH / max(reach, QUANTILE_REACH)
    return min(max(Fraction(share ** (1 if currency == "epsilon" else 2)).limit_denominator(1000), least), largest)


def pays_off(n_records: float, budget: Fraction, currency: str) -> bool:
    """Whether boosting is expected to have a smaller error than one tree."""
    return signal(n_records, budget, currency) >= WORTHWHILE[currency]


def residual_noise(budget: Fraction, currency: str) -> float:
    """The standard deviation of one noisy sum of residuals, in clamps."""
    if currency == "epsilon":
        return math.sqrt(2) * RESIDUAL_L1 / GRADIENT_ONE / float(budget)
    return math.sqrt(RESIDUAL_L2_SQUARE) / GRADIENT_ONE / float(ratio_for("gaussian", budget))


def damped_means(sums: np.ndarray, clamp: int, noise: float) -> np.ndarray:
    """What a round adds to each part: its mean residual, drawn towards 0 by noise; whole numbers, at most a clamp."""
    total, counts = sums[:, 0] / GRADIENT_ONE, np.maximum(sums[:, 1] / RESIDUAL_COUNT, 0)
    return _whole(np.clip(total / (counts + RIDGE * noise), -1, 1) * clamp)


def levels_around(start: int, clamp: int) -> Levels:
    """Levels of scores, as many below the start as above, within the clamp that residuals had there."""
    points = start + np.linspace(-clamp, clamp, LEVELS + 1)[1:-1]
    return Levels(sorted({int(point) for point in np.rint(points)}))


def calibrated(sums: np.ndarray, clamp: int, noise: float) -> np.ndarray:
    """What each level is lifted by: its mean residual, drawn to that of all levels by how noisy it is.

    ``sums`` are of residuals over the whole range, ``clamp`` is the last one that rounds had.
    """
    total, counts = sums[:, 0] / GRADIENT_ONE, sums[:, 1] / RESIDUAL_COUNT
    of_all = total.sum() / max(counts.sum(), 1.0)
    counts = np.maximum(counts, 1.0)
    expected, noisy = (TRUST * clamp / TARGET_ONE) ** 2, (noise / counts) ** 2
    lifts = of_all + (total / counts - of_all) * expected / (expected + noisy)
    return _whole(np.clip(lifts, -1, 1) * TARGET_ONE)


def _whole(values: Sequence[float] | np.ndarray) -> np.ndarray:
    return np.rint(values).astype(np.int64)
