"""The grid: each feature's public cells.

A numeric feature is cut at public points inside its range; cell i holds the values above cut i-1 and up to cut i,
so that ``x <= cuts[i]`` exactly when ``cell <= i``. Values beyond the range fall into the end cells, which is
what clamping does. A missing value has a cell of its own, the last. A categorical feature has a cell for each
value and, if the schema allows, one for all others.

All of that follows from a schema and cuts, so there is nothing about a grid that could be claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet.errors import LeakError
from privet.questions.word import Word, array, exactly, frozen, put
from privet.schema import Categorical, Numeric, Schema

OCTAVES = 12
"""How often the geometric cuts halve the distance to an end of the range; for integers, until it is one."""

MOST_CELLS = 2**16
"""Cell numbers are at most two bytes wide."""

MOST_CELLS_IN_ALL = 2**26
"""Of all features together: a histogram of so many cells takes gigabytes."""


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Cells(Word):
    """The cells of one feature: of a numeric one with its cuts, of a categorical one without."""

    name: str
    cuts: np.ndarray | None
    n_cells: int
    special: bool  # the last cell is for missing or unlisted values

    def __init__(self, name: str, feature: Numeric | Categorical, cuts: Iterable[float] | None) -> None:
        if isinstance(feature, Categorical):
            exactly(Categorical, feature, "A feature")
            if cuts is not None:
                raise LeakError(f"Column {name!r} is categorical: it has no cuts.")
            put(self, name=name, cuts=None, n_cells=feature.n_codes, special=feature.other)
            return
        exactly(Numeric, feature, "A feature")
        if cuts is None:
            raise LeakError(f"Column {name!r} is numeric: it needs cuts, or none as an empty list.")
        own = array(cuts, np.float64, f"The cuts of column {name!r}")
        inside = np.isfinite(own) & (own >= float(feature.low)) & (own < float(feature.high))
        if not (inside.all() and (np.diff(own) > 0).all()):
            raise LeakError(f"The cuts of column {name!r} must increase and lie inside its range.")
        n_cells = len(own) + 1 + feature.missing
        if n_cells > MOST_CELLS:
            raise LeakError(f"Column {name!r} has more than {MOST_CELLS:,} cells.")
        put(self, name=name, cuts=own, n_cells=n_cells, special=feature.missing)


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Grid(Word):
    """The cells of all features of a schema; cell c of feature f has the flat number ``offsets[f] + c``."""

    schema: Schema = field(repr=False)
    features: tuple[Cells, ...]
    offsets: np.ndarray = field(repr=False)
    n_cells: int
    _key: tuple[object, ...] = field(repr=False)
    _hash: int = field(repr=False)

    def __init__(self, schema: Schema, cuts: Iterable[Iterable[float] | None]) -> None:
        """``cuts``: for each feature of the schema, in its order, its cuts; None for a categorical one."""
        exactly(Schema, schema, "A grid's schema")
        each = list(cuts)
        if len(each) != len(schema.features):
            raise LeakError("A grid has the schema's features, in their order.")
        features = tuple(Cells(name, own, each[f]) for f, (name, own) in enumerate(schema.features.items()))
        offsets = np.concatenate([[0], np.cumsum([cells.n_cells for cells in features], dtype=np.int64)])
        if offsets[-1] > MOST_CELLS_IN_ALL:
            raise LeakError(f"A grid has at most {MOST_CELLS_IN_ALL:,} cells in all.")
        key = (schema, *(None if cells.cuts is None else cells.cuts.tobytes() for cells in features))
        put(self, schema=schema, features=features, offsets=frozen(offsets), n_cells=int(offsets[-1]))
        put(self, _key=key, _hash=hash(key))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self._hash == other._hash and self._key == other._key if type(other) is Grid else NotImplemented

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=16)
def public_grid(schema: Schema, max_cells: int | None = None) -> Grid:
    """The grid that the schema's ranges alone determine, at most ``max_cells`` for each numeric feature.

    By default 256, as many as a byte can name, or 128 where more than 16 numeric features would push a node's
    histogram out of the first-level cache.
    """
    if max_cells is None:
        n_numeric = sum(isinstance(feature, Numeric) for feature in schema.features.values())
        max_cells = 256 if n_numeric <= 16 else 128
    return _cut(schema, lambda feature: numeric_cuts(feature, max_cells - 1 - feature.missing))


@lru_cache(maxsize=16)
def even_grid(schema: Schema, n_bins: int) -> Grid:
    """The grid that cuts every numeric feature's public range into at most ``n_bins`` bins of one width."""
    return _cut(schema, lambda feature: even_cuts(feature, n_bins))


def _cut(schema: Schema, cuts: Callable[[Numeric], np.ndarray]) -> Grid:
    return Grid(schema, (cuts(own) if isinstance(own, Numeric) else None for own in schema.features.values()))


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
