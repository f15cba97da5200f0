"""The splits that a schema suggests, with a public prior.

Rich candidate sets cost only a logarithm, but at a small n * epsilon even that counts, and a feature with a thousand
splits must not drown one with two. So every feature gets the same weight, shared evenly by its splits (but for the one
that splits off unlisted values, of which there are rarely any). A split's log-weight is added to its score, which costs
nothing (docs/theory.md, L1).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from privet.questions.grid import Cells, Grid
from privet.questions.splits import Splits

MOST_SUBSETS = 12
"""Categorical features with at most this many values are split by every subset, others one against the rest."""

UNLISTED_WEIGHT = 1 / 20
"""The prior weight, beside a feature's one, of splitting off the values that its schema does not list."""


@lru_cache(maxsize=16)
def public_splits(grid: Grid) -> Splits:
    """Every binary split that the grid allows: thresholds, subsets of few categories, one of many against the rest."""
    runs, subsets = [np.empty((4, 0), dtype=np.int64)], []
    for f, cells in enumerate(grid.features):
        start = int(grid.offsets[f])
        if cells.cuts is not None:
            runs.append(_thresholds(f, start, cells))
        elif cells.n_cells - cells.special > MOST_SUBSETS:
            runs.append(_one_against_rest(f, start, cells))
        else:
            subsets.append((f, _subsets(cells.n_cells - cells.special, cells.special)))
    feature, first, last, extra = np.concatenate(runs, axis=1)
    n_runs = np.bincount(feature, minlength=len(grid.features))
    log_prior = [-np.log(n_runs[feature]), *(_log_prior(masks, grid.features[f].special) for f, masks in subsets)]
    feature = np.concatenate([feature, *(np.full(len(masks), f) for f, masks in subsets)])
    return Splits(grid, feature, first, last, extra, tuple(subsets), np.concatenate(log_prior))


@lru_cache(maxsize=16)
def thresholds(grid: Grid) -> Splits:
    """The thresholds of all numeric features, all of one weight."""
    runs = [np.empty((4, 0), dtype=np.int64)]
    runs += (
        _thresholds(f, int(grid.offsets[f]), cells) for f, cells in enumerate(grid.features) if cells.cuts is not None
    )
    feature, first, last, extra = np.concatenate(runs, axis=1)
    return Splits(grid, feature, first, last, extra, (), np.zeros(len(feature)))


@lru_cache(maxsize=16)
def single_splits(grid: Grid, features: tuple[int, ...]) -> Splits:
    """One cell against the rest, for every cell of these features, all of one weight: splits of categories in CART."""
    runs = [np.empty((4, 0), dtype=np.int64)]
    runs += (_one_against_rest(f, int(grid.offsets[f]), grid.features[f]) for f in features)
    feature, first, last, extra = np.concatenate(runs, axis=1)
    return Splits(grid, feature, first, last, extra, (), np.zeros(len(feature)))


@lru_cache(maxsize=16)
def one_feature_splits(grid: Grid) -> Splits:
    """Thresholds of numeric features and one category against the rest: few candidates, every feature of one weight."""
    runs = [np.empty((4, 0), dtype=np.int64)]
    for f, cells in enumerate(grid.features):
        start = int(grid.offsets[f])
        if cells.n_cells > 1:
            own = _one_against_rest(f, start, cells) if cells.cuts is None else _thresholds(f, start, cells)
            runs.append(own[:, :1] if cells.n_cells == 2 else own)  # two cells are parted in one way
    feature, first, last, extra = np.concatenate(runs, axis=1)
    n_runs = np.bincount(feature, minlength=len(grid.features))
    return Splits(grid, feature, first, last, extra, (), -np.log(n_runs[feature]))


def _thresholds(f: int, start: int, cells: Cells) -> np.ndarray:
    """Values up to each cut go left. Missing ones go either way; or they alone go right."""
    n = cells.n_cells - 1 - cells.special
    last = start + np.arange(n)
    extra = np.full(n, -1)
    if cells.special:
        missing = start + cells.n_cells - 1
        last = np.concatenate([last, last, [missing - 1]])
        extra = np.concatenate([extra, np.full(n, missing), [-1]])
    return np.stack([np.full(len(last), f), np.full(len(last), start), last, extra])


def _one_against_rest(f: int, start: int, cells: Cells) -> np.ndarray:
    each = start + np.arange(cells.n_cells)
    return np.stack([np.full(len(each), f), each, each, np.full(len(each), -1)])


@lru_cache(maxsize=64)
def _subsets(n: int, other: bool) -> np.ndarray:
    """All ways to part ``n`` values in two, each once, as rows of those that go left.

    The cell of unlisted values goes with the larger side (right on a tie) rather than both ways, because it is nearly
    always empty; one more split, the last, takes it alone.
    """
    codes = np.arange(1, 2 ** (n - 1))
    left = (codes[:, None] >> np.arange(n)) & 1 == 1  # the last value is always on the right: each parting once
    if not other:
        return left
    joins_left = left.sum(axis=1) > n - left.sum(axis=1)
    return np.vstack([np.column_stack([left, joins_left]), np.arange(n + 1) == n])


def _log_prior(masks: np.ndarray, other: bool) -> np.ndarray:
    """An even share for every subset, and little for the one that only takes unlisted values apart."""
    if not other:
        return np.full(len(masks), -np.log(max(len(masks), 1)))
    return np.append(np.full(len(masks) - 1, -np.log(max(len(masks) - 1, 1))), np.log(UNLISTED_WEIGHT))
