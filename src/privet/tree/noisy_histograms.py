"""Splits from noisy histograms: post-processing of released counts, free.

A histogram is a table, which sends each cell of a feature to a part, with the splits that can be read off its counts:
between neighbouring parts, or one part against the rest. All nodes and histograms of a level are read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from privet.questions.grid import Cells, Grid
from privet.questions.split import Split

MOST_PARTS = 255
"""A part's number is a byte; very many categories share some."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """A table of one feature's cells, and the sides that a split may have: for each split, the parts on its left."""

    table: Split
    sides: np.ndarray

    def split(self, index: int) -> Split:
        """The split with this number, of the feature's cells."""
        right = (~self.sides[index]).astype(np.uint8)
        return Split(self.table.feature, right[self.table.parts].tobytes())


class Histograms(Sequence[Histogram]):
    """All histograms that a node may ask for, on one grid. A split's number counts through all of them."""

    def __init__(self, each: Sequence[Histogram], grid: Grid) -> None:
        self._each = tuple(each)
        self._grid = grid
        n_splits = [len(histogram.sides) for histogram in each]
        self.n_parts = np.array([histogram.sides.shape[1] for histogram in each], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum(n_splits, dtype=np.int64)])
        alike: dict[int, list[int]] = {}
        for i, histogram in enumerate(each):
            alike.setdefault(id(histogram.sides), []).append(i)
        self._tables: dict[tuple[int, ...], tuple[Split, ...]] = {}
        self._kinds = [np.array(places) for places in alike.values()]  # those that have the same splits

    def __getitem__(self, i: int) -> Histogram:  # type: ignore[override]
        return self._each[i]

    def __len__(self) -> int:
        return len(self._each)

    @property
    def n_splits(self) -> int:
        return int(self._first[-1])

    def that_part(self, parting: np.ndarray) -> list[int]:
        """The numbers of the histograms with a split that parts anything in a node."""
        return np.flatnonzero(np.logical_or.reduceat(parting, self._first[:-1])).tolist() if len(self) else []

    def tables(self, numbers: tuple[int, ...]) -> tuple[Split, ...]:
        """What to ask for: the same tuple for the same numbers."""
        if numbers not in self._tables:
            self._tables[numbers] = tuple(self._each[i].table for i in numbers)
        return self._tables[numbers]

    def split(self, number: int) -> Split:
        """The split with this number, of its feature's cells."""
        i = int(np.searchsorted(self._first, number, side="right")) - 1
        return self._each[i].split(number - int(self._first[i]))

    def parting(self, reachable: np.ndarray) -> np.ndarray:
        """Which splits part anything in nodes that only these cells can reach: (nodes, cells) to (nodes, splits)."""
        parting = np.empty((len(reachable), self.n_splits), dtype=bool)
        for places in self._kinds:
            sides = self._each[places[0]].sides.astype(np.float32)
            parts = np.zeros((len(reachable), len(places), sides.shape[1]), dtype=bool)
            for k, i in enumerate(places):
                table = self._each[i].table
                cells = reachable[:, self._grid.offsets[table.feature] : self._grid.offsets[table.feature + 1]]
                np.logical_or.at(parts[:, k].T, table.parts, cells.T)
            left = parts.astype(np.float32) @ sides.T
            own = (left > 0) & (left < parts.sum(axis=2)[..., None])
            parting[:, self._numbers(places)] = own.reshape(len(reachable), -1)
        return parting

    def totals(self, asked: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The class counts of each histogram; ``counts`` are those of its parts, one histogram below the other."""
        return np.add.reduceat(counts, np.cumsum(self.n_parts[asked]) - self.n_parts[asked], axis=0)

    def moved(self, asked: np.ndarray, counts: np.ndarray, by: np.ndarray) -> np.ndarray:
        """The counts with each histogram's class counts changed by a row of ``by``, all parts alike (least squares)."""
        n_parts = self.n_parts[asked]
        return counts + np.repeat(by / n_parts[:, None], n_parts, axis=0)

    def best(self, asked: np.ndarray, counts: np.ndarray, parting: np.ndarray) -> list[Found]:
        """For each histogram that was asked for the split of least impurity among those that ``parting`` allows.

        ``asked`` holds their numbers, ``counts`` the (part, class) counts of all of them one below the other,
        ``parting`` a row for each. A side that seems to have no records is none: such a split is left out. A class's
        share of a side is cut to lie between 0 and 1. Of equal splits the first.
        """
        split = np.zeros(len(asked), dtype=np.int64)
        impurity = np.full(len(asked), np.inf)
        sizes = np.zeros(len(asked))
        starts = np.cumsum(self.n_parts[asked]) - self.n_parts[asked]
        kind_of = np.empty(len(self), dtype=np.int64)
        for k, places in enumerate(self._kinds):
            kind_of[places] = k
        for k, places in enumerate(self._kinds):
            own = np.flatnonzero(kind_of[asked] == k)
            if not len(own):
                continue
            sides = self._each[places[0]].sides
            noisy = counts[starts[own, None] + np.arange(sides.shape[1])].astype(float)
            allowed = parting[own[:, None], self._first[asked[own], None] + np.arange(len(sides))]
            index, impurity[own] = _least_impure(sides, noisy, allowed)
            split[own] = self._first[asked[own]] + index
            sizes[own] = noisy.sum(axis=(1, 2))
        return list(map(Found, split.tolist(), impurity.tolist(), sizes.tolist()))

    def _numbers(self, places: np.ndarray) -> np.ndarray:
        return np.concatenate([np.arange(self._first[i], self._first[i + 1]) for i in places])


def feature_histograms(grid: Grid) -> Histograms:
    """One histogram for each feature: split between neighbouring bins, or one category against the rest."""
    each = [
        _histogram(f, np.arange(cells.n_cells), _between)
        if cells.cuts is not None
        else _histogram(f, _bins(cells), _apart)
        for f, cells in enumerate(grid.features)
        if cells.n_cells > 1
    ]
    return Histograms(each, grid)


def one_hot_histograms(grid: Grid) -> Histograms:
    """One histogram for each numeric feature, and one of two bins for each category: one-hot columns."""
    histograms = []
    for f, cells in enumerate(grid.features):
        if cells.cuts is not None and cells.n_cells > 1:
            histograms.append(_histogram(f, np.arange(cells.n_cells), _between))
        elif cells.cuts is None:
            histograms += [_histogram(f, np.arange(cells.n_cells) == c, _between) for c in range(cells.n_cells)]
    return Histograms([histogram for histogram in histograms if histogram.table.n_children > 1], grid)


def _histogram(feature: int, parts: np.ndarray, sides: Callable[[int], np.ndarray]) -> Histogram:
    return Histogram(Split(feature, parts.astype(np.uint8).tobytes()), sides(int(parts.max()) + 1))


@cache
def _between(n: int) -> np.ndarray:
    return np.tri(n - 1, n, dtype=bool)


@cache
def _apart(n: int) -> np.ndarray:
    return np.eye(n if n > 2 else 1, n, dtype=bool)  # of two parts, either against the rest is the same


def _bins(cells: Cells) -> np.ndarray:
    return np.arange(cells.n_cells) * min(cells.n_cells, MOST_PARTS) // cells.n_cells


@dataclass(eq=False, slots=True)
class Found:
    """What a histogram shows: its best split's number and mean impurity (infinity: none), and its size."""

    split: int
    impurity: float
    size: float


def _least_impure(sides: np.ndarray, noisy: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best split and its mean impurity, of histograms alike: (histogram, part, class)."""
    totals = noisy.sum(axis=1)
    left = sides.astype(float) @ noisy
    right = totals[:, None, :] - left
    n_left, n_right = left.sum(axis=2), right.sum(axis=2)
    fit = allowed & (n_left > 0) & (n_right > 0)
    impure = _impurity(left, np.where(fit, n_left, 1)) + _impurity(right, np.where(fit, n_right, 1))
    # Rounded, so that impurities that are equal compare equal.
    impurity = np.where(fit, np.round(impure / np.where(fit, n_left + n_right, 1), 12), np.inf)
    best = impurity.argmin(axis=1)
    return best, np.take_along_axis(impurity, best[:, None], axis=1)[:, 0]


def _impurity(side: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Half the Gini impurity times the records: n p (1 - p) for two classes."""
    shares = np.clip(side / size[..., None], 0, 1)
    return size * (1 - (shares * shares).sum(axis=-1)) / 2
