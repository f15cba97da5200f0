"""A boosted ensemble, added up: for each class the sum of one released function of each feature.

Each round of boosting adds a step function of one feature. Their sum is a table of a number for each cell of each
feature's public grid, which is all that is kept: small, exact, and readable feature by feature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.questions.candidates import Split
from privet.questions.grid import Grid
from privet.schema import Categorical, Schema

LARGEST = 2**62


@dataclass(eq=False)
class Shape:
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


@dataclass(eq=False)
class Additive:
    """Scores as sums of ``shapes``, one for each feature. Two classes have one score, the second one's log-odds."""

    schema: Schema
    shapes: tuple[Shape, ...]

    @classmethod
    def flat(cls, schema: Schema, grid: Grid) -> Additive:
        """No round yet: every score is 0."""
        n_classes = len(schema.classes or ())
        width = 1 if n_classes == 2 else n_classes
        return cls(
            schema,
            tuple(
                Shape(
                    None if cells.cuts is None else tuple(float(cut) for cut in cells.cuts),
                    np.zeros((cells.n_cells, width), dtype=np.int64),
                    np.zeros(cells.n_cells),
                )
                for cells in grid.features
            ),
        )

    def add(self, split: Split, values: np.ndarray, hessians: np.ndarray, output: int) -> None:
        """Add a round: ``values`` and noisy ``hessians`` for each part of a split."""
        shape, part = self.shapes[split.feature], np.frombuffer(split.part, dtype=np.uint8)
        shape.values[:, output if self.n_outputs > 1 else 0] += values[part]
        cells_in_part = np.bincount(part, minlength=len(values))
        shape.weight += (np.maximum(hessians, 0) / np.maximum(cells_in_part, 1))[part]

    @property
    def n_outputs(self) -> int:
        return int(self.shapes[0].values.shape[1])

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
            "shapes": [
                {
                    "feature": name,
                    "cuts": None if shape.cuts is None else list(shape.cuts),
                    "values": shape.values.tolist(),
                    "weight": shape.weight.tolist(),
                }
                for name, shape in zip(self.schema.names, self.shapes)
            ]
        }

    @classmethod
    def from_dict(cls, data: Any, schema: Schema) -> Additive:
        """Read an ensemble. Whatever the data say, the result fits the schema, or it is an error."""
        try:
            plain = data["shapes"]
            if not isinstance(plain, list) or [shape["feature"] for shape in plain] != list(schema.names):
                raise ValueError("one shape for each feature")
            return cls(schema, tuple(_read(shape, schema) for shape in plain))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SchemaError("This is not a whole ensemble: a shape is missing or does not fit the schema.") from None


def _chances(scores: np.ndarray) -> np.ndarray:
    """The softmax of scores; a single column is the second of two classes."""
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _read(plain: Any, schema: Schema) -> Shape:
    feature = schema.features[plain["feature"]]
    n_classes = len(schema.classes or ())
    if isinstance(feature, Categorical):
        cuts, n_cells = None, feature.n_codes
        if plain["cuts"] is not None:
            raise ValueError("cuts on a category")
    else:
        cuts = tuple(float(cut) for cut in plain["cuts"])
        n_cells = len(cuts) + 1 + feature.missing
        if not all(map(math.isfinite, cuts)) or not all(a < b for a, b in pairwise(cuts)):
            raise ValueError("cuts must increase")
    rows = plain["values"]
    if not all(type(v) is int and abs(v) < LARGEST for row in rows for v in row):
        raise ValueError("whole numbers expected")
    values, weight = np.array(rows, dtype=np.int64), np.array(plain["weight"], dtype=float)
    if values.shape != (n_cells, 1 if n_classes == 2 else n_classes) or weight.shape != (n_cells,):
        raise ValueError("one number for each cell")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError("no weight is negative")
    return Shape(cuts, values, weight)
