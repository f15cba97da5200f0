"""A boosted ensemble: for each class the sum of one released function of each feature.

Each round of boosting adds a step function of one feature. The rounds are what is kept, each with the answer that paid
for it; their sums are one table for each feature, a number for each cell of its public grid: exact, and readable
feature by feature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.questions.grid import Grid
from privet.questions.split import Split
from privet.schema import Categorical, Numeric, Schema
from privet.strict_json import as_list, as_whole

LARGEST_VALUE = 2**40
"""No value of a round in a file is larger, so that sums of them fit in 64 bits."""

MOST_ROUNDS = 2**20
"""No ensemble in a file has more rounds."""

MOST_CELLS = 2**16
"""No feature in a file has more cells."""


@dataclass(frozen=True)
class Round:
    """One step: ``values[p]`` is added to the score of class ``output`` for the cells of ``feature`` in part p.

    Whole numbers, in units of 1 / ``GRADIENT_ONE``, as the noisy ``hessians`` of the parts are. The answer that paid is
    gradient tally number ``paid`` of those that the receipt has at ``scope``.
    """

    feature: int
    part: bytes
    values: tuple[int, ...]
    hessians: tuple[int, ...]
    output: int
    scope: str = ""
    paid: int = 0

    @classmethod
    def of(cls, split: Split, values: np.ndarray, hessians: np.ndarray, output: int, scope: str, paid: int) -> Round:
        return cls(
            split.feature, split.part, tuple(map(int, values)), tuple(map(int, hessians)), int(output), scope, paid
        )


@dataclass(frozen=True, eq=False)
class Contribution:
    """What one feature adds to the scores: ``values[cell, output]`` in units of 1 / ``GRADIENT_ONE``.

    ``cuts`` are those of the feature's public cells, None for a categorical one. ``weight`` is how many records a cell
    has, in units that mean nothing by themselves: from the noisy Hessians of the rounds that used the feature.
    """

    cuts: tuple[float, ...] | None
    values: np.ndarray
    weight: np.ndarray

    def cells(self, column: np.ndarray) -> np.ndarray:
        """The cell of each number, or of each code of a category; a missing number has the last."""
        if self.cuts is None:
            return column
        cells = np.searchsorted(self.cuts, column, side="left")
        return np.where(np.isnan(column), len(self.cuts) + 1, cells)

    @property
    def mean(self) -> np.ndarray:
        """The mean of what it adds, over its weight."""
        total = self.weight.sum()
        return self.weight @ self.values / total if total > 0 else self.values.mean(axis=0)


@dataclass(frozen=True)
class Additive:
    """Scores as sums of ``rounds`` over public cells, whose ``cuts`` are given for each feature, None for categories.

    Two classes have one score, the second one's log-odds.
    """

    schema: Schema
    cuts: tuple[tuple[float, ...] | None, ...]
    rounds: tuple[Round, ...]

    @classmethod
    def on(cls, schema: Schema, grid: Grid, rounds: list[Round]) -> Additive:
        """The rounds of a fit on this grid."""
        cuts = (None if cells.cuts is None else tuple(float(cut) for cut in cells.cuts) for cells in grid.features)
        return cls(schema, tuple(cuts), tuple(rounds))

    @property
    def n_outputs(self) -> int:
        n_classes = len(self.schema.classes or ())
        return 1 if n_classes == 2 else n_classes

    @cached_property
    def shapes(self) -> tuple[Contribution, ...]:
        """What each feature adds in all rounds together."""
        sizes = [_n_cells(own, cuts) for own, cuts in zip(self.schema.features.values(), self.cuts)]
        values = [np.zeros((n, self.n_outputs), dtype=np.int64) for n in sizes]
        weights = [np.zeros(n) for n in sizes]
        for own in self.rounds:
            part = np.frombuffer(own.part, dtype=np.uint8)
            values[own.feature][:, own.output if self.n_outputs > 1 else 0] += np.array(own.values)[part]
            hessians = np.maximum(np.array(own.hessians) / GRADIENT_ONE, 0)
            weights[own.feature] += (hessians / np.maximum(np.bincount(part, minlength=len(hessians)), 1))[part]
        return tuple(map(Contribution, self.cuts, values, weights))

    def scores(self, columns: Mapping[int, np.ndarray], n_rows: int) -> np.ndarray:
        """The score of each row for each output."""
        total = np.zeros((n_rows, self.n_outputs), dtype=np.int64)
        for f, shape in enumerate(self.shapes):
            if shape.values.any():
                total += shape.values[shape.cells(columns[f])]
        return total / GRADIENT_ONE

    def probabilities(self, columns: Mapping[int, np.ndarray], n_rows: int) -> np.ndarray:
        """The chance of each class, in the schema's order."""
        return _chances(self.scores(columns, n_rows))

    @property
    def importances(self) -> np.ndarray:
        """How much each feature moves the scores: the mean distance from its own mean, as shares of the sum."""
        moved = np.array(
            [
                float(shape.weight @ np.abs(shape.values - shape.mean).sum(axis=1)) / max(shape.weight.sum(), 1e-300)
                for shape in self.shapes
            ]
        )
        return moved / moved.sum() if moved.sum() > 0 else moved

    def dependence(self, feature: int, column: np.ndarray) -> np.ndarray:
        """The chance of each class at each value of one feature, where all others add what they add on average."""
        rest = np.stack([shape.mean for f, shape in enumerate(self.shapes) if f != feature] or [np.zeros(1)])
        shape = self.shapes[feature]
        return _chances((rest.sum(axis=0) + shape.values[shape.cells(column)]) / GRADIENT_ONE)

    def to_dict(self) -> dict[str, Any]:
        return {
            "cuts": [None if own is None else list(own) for own in self.cuts],
            "rounds": [self._plain(own) for own in self.rounds],
        }

    def _plain(self, own: Round) -> dict[str, Any]:
        part = np.frombuffer(own.part, dtype=np.uint8)
        # Parts of numbers are neighbouring cells, numbered in order: where each but the first begins says it all.
        parts = part if self.cuts[own.feature] is None else np.flatnonzero(np.diff(part)) + 1
        return {
            "feature": self.schema.names[own.feature],
            "parts": parts.tolist(),
            "values": list(own.values),
            "hessians": list(own.hessians),
            "output": own.output,
            "scope": own.scope,
            "paid": own.paid,
        }

    @classmethod
    def from_dict(cls, data: Any, schema: Schema) -> Additive:
        """Read an ensemble. Whatever the data say, the result fits the schema, or it is an error."""
        try:
            features = schema.features.values()
            cuts = tuple(_read_cuts(own, f) for own, f in zip(as_list(data["cuts"]), features, strict=True))
            if len(as_list(data["rounds"])) > MOST_ROUNDS:
                raise ValueError("too many rounds")
            return cls(schema, cuts, tuple(_read_round(own, cuts, schema) for own in data["rounds"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SchemaError("This is not a whole ensemble: a round is missing or does not fit the schema.") from None


def _n_cells(feature: Numeric | Categorical, cuts: tuple[float, ...] | None) -> int:
    return feature.n_codes if isinstance(feature, Categorical) else len(cuts or ()) + 1 + feature.missing


def _chances(scores: np.ndarray) -> np.ndarray:
    """The softmax of scores; a single column is the second of two classes."""
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _read_cuts(plain: Any, feature: Numeric | Categorical) -> tuple[float, ...] | None:
    if isinstance(feature, Categorical):
        if plain is not None:
            raise ValueError("cuts on a category")
        return None
    cuts = tuple(float(cut) for cut in as_list(plain))
    if not all(map(math.isfinite, cuts)) or not all(a < b for a, b in pairwise(cuts)) or len(cuts) >= MOST_CELLS:
        raise ValueError("cuts must increase")
    return cuts


def _read_round(plain: Any, cuts: tuple[tuple[float, ...] | None, ...], schema: Schema) -> Round:
    feature = schema.names.index(plain["feature"])
    n_cells = _n_cells(schema.features[plain["feature"]], cuts[feature])
    parts = np.array([as_whole(own) for own in as_list(plain["parts"])], dtype=np.int64)
    if cuts[feature] is None:
        part = parts
        fits = len(part) == n_cells and sorted(set(parts.tolist())) == list(range(int(parts.max(initial=-1)) + 1))
    else:
        part = np.cumsum(np.isin(np.arange(n_cells), parts))
        fits = bool((np.diff(parts) > 0).all()) and all(0 < start < n_cells for start in parts.tolist())
    if not fits or part.max() > 255:
        raise ValueError("every cell has a part")
    values, hessians = (tuple(as_whole(own) for own in as_list(plain[name])) for name in ("values", "hessians"))
    if not len(values) == len(hessians) == int(part.max()) + 1:
        raise ValueError("one number for each part")
    if not all(abs(value) < LARGEST_VALUE for value in values):
        raise ValueError("too large a value")
    output, n_classes = as_whole(plain["output"]), len(schema.classes or ())
    if not (output == 1 if n_classes == 2 else 0 <= output < n_classes):
        raise ValueError("an output is the number of a class")
    if not isinstance(plain["scope"], str) or not as_whole(plain["paid"]) >= 0:
        raise ValueError("a round names the answer that paid for it")
    return Round(feature, part.astype(np.uint8).tobytes(), values, hessians, output, plain["scope"], plain["paid"])
