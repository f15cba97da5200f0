"""The plan of private boosting: how many rounds, what each may spend, and the public tables it chooses from.

A round chooses a partition of one feature, or of several together, by the gradients in its parts, and then measures
those gradients. docs/forests.md has what was tried against it and the measurements behind the constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from privet.privacy.fixed_point import GRADIENT_ONE
from privet.privacy.gradients import GRADIENT_L1, GRADIENT_L2_SQUARE
from privet.privacy.zcdp import ratio_for
from privet.questions.candidates import Candidates
from privet.questions.grid import Cells, Grid
from privet.questions.products import Products
from privet.questions.split import Product, Split, Table, factors_of
from privet.questions.splits import LARGEST_LOG_PRIOR

CHOICE_SHARE = Fraction(1, 4)
"""The share of a round's budget that chooses its table."""

FEWEST_ROUNDS = 4

MOST_ROUNDS = 400
"""Beyond, one more round changes nothing that could be measured."""

RIDGE = 4.0
"""Every part is given so many standard deviations of the noise in Hessian: a part with few records hardly moves."""

FULL_STEPS = 90.0
"""Where the budget is worth more rounds than this, each takes less than a Newton step: with little noise, full steps
fit what is particular to the records."""

LARGEST_MOVE = 2.0
"""No round moves a score further, whatever the noise."""

PARTITIONS = 3
"""From so many random partitions of each feature a round may choose."""

PENALTY = 0.2
"""What the score of a table of C parts is lowered by, times sqrt(C n): chance alone lifts it by about as much."""

INTEREST = 3.0
"""How much more often a feature is drawn into products for what it has gained so far."""

WORTHWHILE = {
    "labels": {"epsilon": 2_500.0, "rho": 300.0},
    "probabilities": {"epsilon": 150.0, "rho": 40.0},
}
"""The signal, for each score to be boosted, from which that is expected to beat one tree, by what is asked for: labels
that are chosen need far more records to be beaten than shares of noisy counts."""


@dataclass(frozen=True)
class Recipe:
    """What depends on the currency: with a delta there are more rounds, each with coarser tables.

    There are ``rounds`` * signal ** ``power`` rounds, the last with 1 + ``growth`` times the budget of the first. The
    share ``alone`` of them comes first and is of single features, in up to ``cells`` parts. Then each round has
    ``groups`` of so many features as ``group`` says, too: all pairs of a group are candidates, each feature in up to
    ``pair`` parts, and all triples, in up to ``triple`` parts of each, if that is not 0.
    """

    rounds: float
    power: float
    growth: int
    alone: Fraction
    cells: int
    groups: int
    group: int
    pair: int
    triple: int


RECIPES = {
    "epsilon": Recipe(1.5 / 8, 0.5, 2, Fraction(2, 5), 16, 20, 3, 5, 0),
    "rho": Recipe(0.345, 0.7, 8, Fraction(3, 10), 8, 15, 4, 4, 3),
}


def noise_of(budget: Fraction, currency: str) -> float:
    """The standard deviation of one noisy sum of gradients that had this budget."""
    if currency == "epsilon":
        return math.sqrt(2) * GRADIENT_L1 / GRADIENT_ONE / float(budget)
    return math.sqrt(GRADIENT_L2_SQUARE) / GRADIENT_ONE / float(ratio_for("gaussian", budget))


def choice_ratio(budget: Fraction, currency: str) -> float:
    """The epsilon that a round's choice has with this budget."""
    return float(budget if currency == "epsilon" else ratio_for("exponential", budget))


def signal(n_records: float, budget: Fraction, currency: str) -> float:
    """The number of records over the standard deviation of one noisy count that had the whole budget."""
    if currency == "epsilon":
        return n_records * float(budget) / math.sqrt(2)
    return n_records * float(ratio_for("gaussian", budget))


def pays_off(n_records: float, budget: Fraction, currency: str, n_classes: int, aim: str) -> bool:
    """Whether boosting is expected to do better than one tree at its aim: several classes share the rounds."""
    n_scores = 1 if n_classes <= 2 else n_classes
    return signal(n_records, budget, currency) / n_scores >= WORTHWHILE[aim][currency]


@dataclass(frozen=True)
class Turn:
    """One round: of which class, with what budgets for its choice and its sums, and whether products are candidates.

    ``step`` is the share of a Newton step that it takes.
    """

    output: int
    choice_budget: Fraction
    tally_budget: Fraction
    products: bool
    step: float


def plan_rounds(n_records: float, budget: Fraction, currency: str, n_classes: int) -> tuple[Turn, ...]:
    """How many rounds are worth their noise, and what each of them spends: later ones more, as less is left to learn.

    The noise of T rounds grows like T where epsilons add up and like sqrt(T) where rhos do, so they are fewer there.
    Several classes take turns.
    """
    recipe = RECIPES[currency]
    outputs = [1] if n_classes <= 2 else list(range(n_classes))
    strength = max(signal(n_records, budget, currency), 0.0) / len(outputs)
    wanted = recipe.rounds * strength**recipe.power
    n = min(max(int(wanted), FEWEST_ROUNDS if len(outputs) == 1 else 2), MOST_ROUNDS)
    step = min(1.0, (FULL_STEPS / max(wanted, 1.0)) ** (1 / 3))
    return turns(recipe, n, outputs, budget, step)


def turns(recipe: Recipe, n: int, outputs: list[int], budget: Fraction, step: float = 1.0) -> tuple[Turn, ...]:
    """``n`` rounds of each output, later ones with more of the budget."""
    weights = [n + recipe.growth * t for t in range(n)]
    unit = budget / (sum(weights) * len(outputs))
    return tuple(
        Turn(output, unit * weight * CHOICE_SHARE, unit * weight * (1 - CHOICE_SHARE), t >= n * recipe.alone, step)
        for t, weight in enumerate(weights)
        for output in outputs
    )


class Tables:
    """The public tables that rounds choose from, drawn from a fixed seed: the same for everyone.

    Features are drawn into products by what earlier rounds released, which is public, too.
    """

    def __init__(self, grid: Grid, recipe: Recipe, n_records: float, n_classes: int, seed: int = 0) -> None:
        self._grid, self._n, self._n_classes = grid, max(n_records, 1.0), n_classes
        self._recipe, self._rng = recipe, np.random.default_rng(seed)
        self._gains = np.zeros((max(n_classes, 1), len(grid.features)))

    def candidates(self, turn: Turn, ratio: float) -> Candidates:
        """What a round may choose; ``ratio`` is the epsilon of its choice, which the penalty's weight depends on."""
        singles = list(self._singles())
        of_feature = np.bincount([own.feature for own in singles], minlength=len(self._grid.features))
        tables: list[Table] = [*singles]
        allowed = [True] * len(singles)
        for block in self._blocks(turn.output) if turn.products else ():
            mine = list(self._products(block))
            whole = [Product(block)] if len(block) > 2 else []  # to be counted: sums over the others follow from it
            tables += [*whole, *mine]
            allowed += [False] * len(whole) + [True] * len(mine)
        n_parts = np.array([table.n_children for table in tables])
        penalty = PENALTY * np.sqrt(n_parts * self._n) * ratio
        prior = penalty.min() - penalty
        prior[: len(singles)] -= np.log(of_feature[[own.feature for own in singles]])
        several = Products(self._grid, tables, np.maximum(prior, -LARGEST_LOG_PRIOR))
        return Candidates(several, self._n_classes, np.array(allowed))

    def learn(self, table: Table, output: int, gradients: np.ndarray, noise: float) -> None:
        """Note what a round has gained: by how much its noisy sums exceed what noise alone would have made of them."""
        gain = float(np.abs(gradients).sum()) - 0.8 * noise * len(gradients)
        for split in factors_of(table):
            self._gains[output, split.feature] += max(gain, 0.0) / self._n

    def _singles(self) -> Iterator[Split]:
        for f, cells in enumerate(self._grid.features):
            for _ in range(PARTITIONS if cells.n_cells > self._recipe.cells else 1):
                yield _partition(self._rng, f, cells, self._recipe.cells)

    def _blocks(self, output: int) -> Iterator[tuple[Split, ...]]:
        """Groups of features, each with a partition in as many parts as pairs have."""
        own, d = self._recipe, len(self._grid.features)
        weights = 1 + INTEREST * d * self._gains[output]
        for _ in range(own.groups if d > 1 else 0):
            drawn = self._rng.choice(d, min(own.group, d), replace=False, p=weights / weights.sum())
            yield tuple(_partition(self._rng, f, self._grid.features[f], own.pair) for f in sorted(drawn.tolist()))

    def _products(self, block: tuple[Split, ...]) -> Iterator[Product]:
        parts = [split for split in block if split.n_children > 1]
        yield from (Product(pair) for pair in combinations(parts, 2))
        if self._recipe.triple:
            coarse = [_coarser(self._rng, split, self._recipe.triple) for split in parts]
            yield from (Product(three) for three in combinations(coarse, 3))


def _partition(rng: np.random.Generator, f: int, cells: Cells, most: int) -> Split:
    """Random cuts of a numeric feature, or random groups of categories; the cell for missing values stays apart.

    A feature with few cells keeps them all.
    """
    if cells.n_cells <= most:
        return Split(f, bytes(range(cells.n_cells)))
    if cells.cuts is None:
        groups = np.unique(rng.integers(most, size=cells.n_cells), return_inverse=True)[1]  # numbered without gaps
        return Split(f, groups.astype(np.uint8).tobytes())
    n = len(cells.cuts) + 1
    starts = np.zeros(cells.n_cells, dtype=np.uint8)
    starts[1 + rng.choice(n - 1, min(most - 1 - cells.special, n - 1), replace=False)] = 1
    starts[n:] = 1
    return Split(f, np.cumsum(starts, dtype=np.uint8).tobytes())


def _coarser(rng: np.random.Generator, split: Split, most: int) -> Split:
    """The same split with neighbouring parts merged, at random, until there are few enough."""
    if split.n_children <= most:
        return split
    joints = np.sort(rng.choice(np.arange(1, split.n_children), most - 1, replace=False))
    return Split(split.feature, np.searchsorted(joints, split.parts, side="right").astype(np.uint8).tobytes())
