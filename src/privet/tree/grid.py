"""The grid: each feature's public cells.

A numeric feature is cut at public points inside its range; cell i holds the values above cut i-1 and up to cut i,
so that ``x <= cuts[i]`` exactly when ``cell <= i``. Values beyond the range fall into the end cells, which is
what clamping does. A missing value has a cell of its own, the last. A categorical feature has a cell for each
value and, if the schema allows, one for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privet.schema import Categorical, Numeric, Schema


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one feature: of a numeric one with its cuts, of a categorical one without."""

    name: str
    cuts: np.ndarray | None
    n_cells: int
    special: bool  # the last cell is for missing or unlisted values


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of all features; cell c of feature f has the flat number ``offsets[f] + c``."""

    features: tuple[Cells, ...]

    @cached_property
    def offsets(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum([cells.n_cells for cells in self.features], dtype=np.int64)])

    @property
    def n_cells(self) -> int:
        return int(self.offsets[-1])


def grid_of(schema: Schema, cuts: Sequence[np.ndarray | None]) -> Grid:
    """The grid with these cuts for the numeric features (None for the categorical ones)."""
    return Grid(tuple(_cells(name, schema.features[name], points) for name, points in zip(schema.names, cuts)))


def public_grid(schema: Schema, max_cells: int) -> Grid:
    """The grid that the schema's ranges alone determine, at most ``max_cells`` for each numeric feature."""
    return grid_of(
        schema,
        [
            numeric_cuts(feature, max_cells) if isinstance(feature, Numeric) else None
            for feature in schema.features.values()
        ],
    )


def _cells(name: str, feature: Numeric | Categorical, cuts: np.ndarray | None) -> Cells:
    if isinstance(feature, Categorical):
        return Cells(name, None, len(feature.values) + feature.other, feature.other)
    assert cuts is not None
    return Cells(name, cuts, len(cuts) + 1 + feature.missing, feature.missing)


def numeric_cuts(feature: Numeric, max_cells: int) -> np.ndarray:
    """Public cut points of one numeric feature, increasing, all inside its range.

    An integer feature with few values is cut between all of them. Otherwise half of the cuts are evenly spaced,
    and a quarter closes in geometrically on each end of the range, because long-tailed features (incomes, capital
    gains) have nearly all their records close to one end of it. A ``log`` feature is evenly spaced in the
    logarithm.
    """
    low, high = float(feature.low), float(feature.high)
    if feature.integer and high - low < max_cells:
        return np.arange(low, high)
    if feature.log:
        return _distinct(_logarithmic(low, high, max_cells - 1), feature)
    n_tail = (max_cells - 1) // 4
    even = low + (high - low) * np.arange(1, max_cells - 2 * n_tail) / (max_cells - 2 * n_tail)
    # Each step of a tail is the same factor smaller; the last is a 2^-12 part of the range.
    tail = (high - low) * (even[0] - low) / (high - low) * 2.0 ** (-np.arange(1, n_tail + 1) * 10 / max(n_tail, 1))
    return _distinct(np.concatenate([low + tail, even, high - tail]), feature)


def _logarithmic(low: float, high: float, n: int) -> np.ndarray:
    # From zero, the smallest cut is a millionth of the range.
    start = low if low > 0 else high * 1e-6
    return np.geomspace(start, high, n + 2)[1:-1]


def _distinct(cuts: np.ndarray, feature: Numeric) -> np.ndarray:
    if feature.integer:
        cuts = np.floor(cuts)  # "age <= 34" reads better than "age <= 34.5", and cuts the same
    cuts = np.unique(cuts)
    return cuts[(cuts >= feature.low) & (cuts < feature.high)]
