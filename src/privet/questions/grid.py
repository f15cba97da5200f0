"""The grid: each feature's public cells.

A numeric feature is cut at public points inside its range; cell i holds the values above cut i-1 and up to cut i,
so that ``x <= cuts[i]`` exactly when ``cell <= i``. Values beyond the range fall into the end cells, which is
what clamping does. A missing value has a cell of its own, the last. A categorical feature has a cell for each
value and, if the schema allows, one for all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from privet.errors import LeakError
from privet.schema import Categorical, Numeric, Schema

OCTAVES = 12
"""How often the geometric cuts halve the distance to an end of the range; for integers, until it is one."""


MOST_CELLS = 2**16
"""Cell numbers are at most two bytes wide."""


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

    def check(self, schema: Schema) -> None:
        """Raise LeakError unless every value that the schema allows has one cell of its own feature."""
        if tuple(cells.name for cells in self.features) != schema.names:
            raise LeakError("A grid must have the schema's features, in their order.")
        for cells, feature in zip(self.features, schema.features.values()):
            if isinstance(feature, Categorical):
                fits = cells.cuts is None and cells.special == feature.other and cells.n_cells == feature.n_codes
            else:
                # A missing value in a feature that allows it needs a cell; elsewhere it is refused as it is read.
                fits = (
                    cells.cuts is not None
                    and bool((np.diff(cells.cuts) > 0).all())
                    and cells.n_cells == len(cells.cuts) + 1 + cells.special
                )
            if not fits or not 1 <= cells.n_cells <= MOST_CELLS:
                raise LeakError(f"The grid's cells of column {cells.name!r} do not fit the schema.")


@lru_cache(maxsize=16)
def public_grid(schema: Schema, max_cells: int | None = None) -> Grid:
    """The grid that the schema's ranges alone determine, at most ``max_cells`` for each numeric feature.

    By default 256, as many as a byte can name, or 128 where more than 16 numeric features would push a node's
    histogram out of the first-level cache.
    """
    if max_cells is None:
        n_numeric = sum(isinstance(feature, Numeric) for feature in schema.features.values())
        max_cells = 256 if n_numeric <= 16 else 128
    return Grid(tuple(_cells(name, feature, max_cells) for name, feature in schema.features.items()))


@lru_cache(maxsize=16)
def even_grid(schema: Schema, n_bins: int) -> Grid:
    """The grid that cuts every numeric feature's public range into at most ``n_bins`` bins of one width."""
    grid = []
    for name, feature in schema.features.items():
        if isinstance(feature, Categorical):
            grid.append(_cells(name, feature, n_bins))
        else:
            cuts = even_cuts(feature, n_bins)
            grid.append(Cells(name, cuts, len(cuts) + 1 + feature.missing, feature.missing))
    return Grid(tuple(grid))


def even_cuts(feature: Numeric, n_bins: int) -> np.ndarray:
    """The inner edges of ``n_bins`` bins of one width; fewer where a feature of integers has fewer values."""
    low, high = float(feature.low), float(feature.high)
    if feature.integer:
        # As many whole numbers in each bin, but for one more or less.
        first, values = int(low), int(high) - int(low) + 1
        points = np.array([first + values * k // n_bins - 1 for k in range(1, n_bins)], dtype=float)
    else:
        share = np.arange(1, n_bins) / n_bins
        points = low * (1 - share) + high * share
    return np.unique(points[(points >= low) & (points < high)])


def _cells(name: str, feature: Numeric | Categorical, max_cells: int) -> Cells:
    if isinstance(feature, Categorical):
        return Cells(name, None, len(feature.values) + feature.other, feature.other)
    cuts = numeric_cuts(feature, max_cells - 1 - feature.missing)
    return Cells(name, cuts, len(cuts) + 1 + feature.missing, feature.missing)


def numeric_cuts(feature: Numeric, most: int) -> np.ndarray:
    """At most ``most`` public cut points of a numeric feature, increasing, all inside its range.

    An integer feature with few values is cut between all of them. Otherwise half of the cuts are evenly spaced, and
    half close in geometrically on the ends of the range, and on zero where that is inside, because long-tailed features
    (incomes, capital gains) have nearly all their records there. A ``log`` feature is spaced evenly in the logarithm.
    """
    low, high = float(feature.low), float(feature.high)
    if low == high or (feature.integer and high - low <= most):
        return np.arange(low, high)
    if feature.log:
        start = low if low > 0 else max(high * 2.0**-OCTAVES, np.finfo(float).tiny)
        points = np.geomspace(min(start, high), high, most + 2)[1:-1]
    else:
        octaves = min(30.0, np.log2(high - low)) if feature.integer else OCTAVES
        n_even = most // 2
        even = low + (high - low) * np.arange(1, n_even + 1) / (n_even + 1)
        towards = [(low, high - low), (high, low - high)] + ([(0.0, low), (0.0, high)] if low < 0 < high else [])
        n_each = (most - n_even) // len(towards)
        steps = 2.0 ** (-octaves * np.arange(1, n_each + 1) / max(n_each, 1))
        points = np.concatenate([even, *(end + span * steps for end, span in towards)])
    if feature.integer:
        points = np.floor(points)  # "age <= 34" reads better than "age <= 34.5", and cuts the same
    return np.unique(points[(points >= low) & (points < high)])
