"""The plan of private boosting: how many rounds, what each may spend, and the public partitions it chooses from.

A round chooses one feature, by the gradients in the cells of a public partition of it, and then measures those
gradients. docs/forests.md has what was tried against it and the measurements behind the constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.privacy.zcdp import ratio_for
from privet.questions.grid import Cells, Grid
from privet.questions.products import Products
from privet.questions.split import Split

CHOICE_SHARE = Fraction(1, 4)
"""The share of a round's budget that chooses its feature."""

FEWEST_ROUNDS = 4

PER_ROUND = {"epsilon": 8.0, "rho": 6.0}
"""How much of the signal's power each round should have: the larger, the fewer rounds."""

MOST_ROUNDS = 200
"""Beyond, one more round changes nothing that could be measured."""

RIDGE = 4.0
"""Every cell is given so many standard deviations of the noise in Hessian: a cell with few records hardly moves."""

LARGEST_MOVE = 2.0
"""No round moves a score further, whatever the noise."""

PARTITIONS = 3
"""From so many random partitions of each feature a round may choose."""

CELLS = {"epsilon": 16, "rho": 8}
"""The most parts of a partition: with a delta there are more rounds, whose different cuts add up to finer ones."""

WORTHWHILE = {"epsilon": 5_000.0, "rho": 400.0}
"""The signal, for each score to be boosted, from which that is expected to beat one tree."""


def signal(n_records: float, budget: Fraction, currency: str) -> float:
    """The number of records over the standard deviation of one noisy sum that had the whole budget."""
    if currency == "epsilon":
        return n_records * float(budget) / math.sqrt(2)
    return n_records * float(ratio_for("gaussian", budget))


def pays_off(n_records: float, budget: Fraction, currency: str, n_classes: int) -> bool:
    """Whether boosting is expected to be more accurate than one tree: several classes share the rounds."""
    n_scores = 1 if n_classes <= 2 else n_classes
    return signal(n_records, budget, currency) / n_scores >= WORTHWHILE[currency]


@dataclass(frozen=True)
class Rounds:
    """Rounds, each about one class and with a budget for its choice and one for its sums."""

    outputs: tuple[int, ...]
    choice_budget: Fraction
    tally_budget: Fraction


def plan_rounds(n_records: float, budget: Fraction, currency: str, n_classes: int) -> Rounds:
    """How many rounds are worth their noise.

    The noise of T rounds grows like T where epsilons add up and like sqrt(T) where rhos do, so they are fewer there.
    Several classes take turns.
    """
    turns = [1] if n_classes <= 2 else list(range(n_classes))
    strength = max(signal(n_records, budget, currency), 0.0) / len(turns)
    each = strength ** (0.5 if currency == "epsilon" else 0.7) / PER_ROUND[currency]
    n = min(max(int(each), FEWEST_ROUNDS if len(turns) == 1 else 2), MOST_ROUNDS)
    share = budget / (n * len(turns))
    return Rounds(tuple(turns * n), share * CHOICE_SHARE, share * (1 - CHOICE_SHARE))


def partitions(grid: Grid, most: int, seed: int) -> Iterator[Products]:
    """For each round a public list of random partitions of every feature into at most ``most`` parts of its cells.

    Drawn from a fixed seed: they are public, and the same for everyone.
    """
    rng = np.random.default_rng(seed)
    fixed = {f: Split(f, bytes(range(cells.n_cells))) for f, cells in enumerate(grid.features) if cells.n_cells <= most}
    while True:
        drawn = [
            split
            for f, cells in enumerate(grid.features)
            for split in ([fixed[f]] if f in fixed else (_partition(rng, f, cells, most) for _ in range(PARTITIONS)))
        ]
        each = np.bincount([split.feature for split in drawn], minlength=len(grid.features))
        yield Products(grid, tuple(drawn), -np.log(each[[split.feature for split in drawn]]))


def _partition(rng: np.random.Generator, f: int, cells: Cells, most: int) -> Split:
    """Random cuts of a numeric feature, or random groups of categories; the cell for missing values stays apart."""
    if cells.cuts is None:
        return _numbered(f, rng.integers(most, size=cells.n_cells))
    n = len(cells.cuts) + 1
    part = np.zeros(cells.n_cells, dtype=np.int64)
    part[rng.choice(np.arange(1, n), min(most - 1 - cells.special, n - 1), replace=False)] = 1
    part = np.cumsum(part)
    part[n:] = part[n - 1] + 1
    return _numbered(f, part)


def _numbered(f: int, part: np.ndarray) -> Split:
    """The split with its parts numbered without gaps."""
    return Split(f, np.unique(part, return_inverse=True)[1].astype(np.uint8).tobytes())
