"""Splits from noisy histograms: post-processing of released counts, free.

A histogram is a table, which sends each cell of a feature to a part, with the splits that can be read off its counts:
between neighbouring parts, or one part against the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from privet.tree.candidates import Split
from privet.tree.grid import Cells, Grid

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
        return Split(self.table.feature, right[self._parts].tobytes())

    def parting(self, reachable: np.ndarray) -> np.ndarray:
        """Which splits part anything in a node that only these cells of the feature can reach."""
        parts = np.bincount(self._parts[reachable], minlength=self.sides.shape[1]) > 0
        left = self.sides[:, parts]
        return np.asarray(left.any(axis=1) & ~left.all(axis=1))

    @cached_property
    def _parts(self) -> np.ndarray:
        return np.frombuffer(self.table.part, dtype=np.uint8)


def feature_histograms(grid: Grid) -> list[Histogram]:
    """One histogram for each feature: split between neighbouring bins, or one category against the rest."""
    return [
        _ordered(f, np.arange(cells.n_cells)) if cells.cuts is not None else _one_apart(f, _bins(cells))
        for f, cells in enumerate(grid.features)
        if cells.n_cells > 1
    ]


def one_hot_histograms(grid: Grid) -> list[Histogram]:
    """One histogram for each numeric feature, and one of two bins for each category: one-hot columns."""
    histograms = []
    for f, cells in enumerate(grid.features):
        if cells.cuts is not None and cells.n_cells > 1:
            histograms.append(_ordered(f, np.arange(cells.n_cells)))
        elif cells.cuts is None:
            histograms += [_ordered(f, np.arange(cells.n_cells) == c) for c in range(cells.n_cells)]
    return [histogram for histogram in histograms if histogram.table.n_children > 1]


def _ordered(feature: int, parts: np.ndarray) -> Histogram:
    return Histogram(Split(feature, parts.astype(np.uint8).tobytes()), _between(int(parts.max()) + 1))


def _one_apart(feature: int, parts: np.ndarray) -> Histogram:
    return Histogram(Split(feature, parts.astype(np.uint8).tobytes()), _apart(int(parts.max()) + 1))


@cache
def _between(n: int) -> np.ndarray:
    return np.tri(n - 1, n, dtype=bool)


@cache
def _apart(n: int) -> np.ndarray:
    return np.eye(n if n > 2 else 1, n, dtype=bool)  # of two parts, either against the rest is the same


def _bins(cells: Cells) -> np.ndarray:
    return np.arange(cells.n_cells) * min(cells.n_cells, MOST_PARTS) // cells.n_cells


@dataclass(frozen=True, eq=False)
class Found:
    """The best split of a histogram, its mean impurity, infinity if there is none, and the histogram's class counts."""

    histogram: Histogram
    index: int
    impurity: float
    totals: np.ndarray

    @property
    def split(self) -> Split:
        return self.histogram.split(self.index)

    @property
    def size(self) -> float:
        """How many records the histogram seems to hold."""
        return float(self.totals.sum())


def best_splits(
    histograms: Sequence[Histogram], counts: Sequence[np.ndarray], parting: Sequence[np.ndarray]
) -> list[Found]:
    """For each histogram the split of least impurity among those that ``parting`` allows, by counts of (part, class).

    A side that seems to have no records is none: such a split is left out. A class's share of a side is cut to lie
    between 0 and 1. Of equal splits the first.
    """
    found: list[Found | None] = [None] * len(histograms)
    alike: dict[int, list[int]] = {}
    for i, histogram in enumerate(histograms):
        alike.setdefault(id(histogram.sides), []).append(i)
    for places in alike.values():  # those that have the same splits at once
        noisy = np.stack([counts[i] for i in places]).astype(float)
        totals = noisy.sum(axis=1)
        left = histograms[places[0]].sides.astype(float) @ noisy
        right = totals[:, None, :] - left
        n_left, n_right = left.sum(axis=2), right.sum(axis=2)
        fit = np.stack([parting[i] for i in places]) & (n_left > 0) & (n_right > 0)
        impure = _impurity(left, np.where(fit, n_left, 1)) + _impurity(right, np.where(fit, n_right, 1))
        # Rounded, so that impurities that are equal compare equal.
        impurity = np.where(fit, np.round(impure / np.where(fit, n_left + n_right, 1), 12), np.inf)
        best = impurity.argmin(axis=1)
        for i, index, of_histogram, own in zip(places, best, impurity, totals):
            found[i] = Found(histograms[i], int(index), float(of_histogram[index]), own)
    return [each for each in found if each is not None]


def _impurity(side: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Half the Gini impurity times the records: n p (1 - p) for two classes."""
    shares = np.clip(side / size[..., None], 0, 1)
    return size * (1 - (shares * shares).sum(axis=-1)) / 2


def split_counts(counts: np.ndarray, histograms: Sequence[Histogram]) -> list[np.ndarray]:
    """A tally's answer, histogram by histogram."""
    return np.split(counts, np.cumsum([histogram.table.n_children for histogram in histograms])[:-1])
