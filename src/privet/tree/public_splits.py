"""The splits that a schema suggests, with a public prior.

Rich candidate sets cost only a logarithm, but at a small n * epsilon even that counts, and a feature with a thousand
splits must not drown one with two. So every feature gets the same weight. Its subsets share it evenly (but for the one
that splits off unlisted values, of which there are rarely any). Of its thresholds those weigh more that leave many
cells on both sides, because a cut next to an end of the range parts off little. A split's log-weight is added to its
score, which costs nothing (docs/theory.md, L1).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from privet.questions.grid import Grid
from privet.questions.splits import Splits

MOST_SUBSETS = 12
"""Categorical features with at most this many values are split by every subset, others one against the rest."""

UNLISTED_WEIGHT = 1 / 20
"""The prior weight, beside a feature's one, of splitting off the values that its schema does not list."""


@lru_cache(maxsize=16)
def public_splits(grid: Grid) -> Splits:
    """Every binary split that the grid allows: thresholds, subsets of few categories, one of many against the rest."""
    runs, subsets = [], []
    for f, cells in enumerate(grid.features):
        if cells.cuts is not None:
            runs.append(_thresholds(grid, f))
        elif cells.n_cells - cells.special > MOST_SUBSETS:
            runs.append(_one_against_rest(grid, f))
        else:
            subsets.append((f, _subsets(cells.n_cells - cells.special, cells.special)))

    def log_prior(_: np.ndarray) -> np.ndarray:
        of_runs = [_run_log_prior(grid, own) for own in runs if own.size]
        of_subsets = [_log_prior(masks, grid.features[f].special) for f, masks in subsets]
        return np.concatenate([np.empty(0), *of_runs, *of_subsets])

    return Splits.of(grid, runs, subsets, log_prior)


@lru_cache(maxsize=16)
def thresholds(grid: Grid) -> Splits:
    """The thresholds of all numeric features, all of one weight."""
    return Splits.of(grid, (_thresholds(grid, f) for f, cells in enumerate(grid.features) if cells.cuts is not None))


@lru_cache(maxsize=16)
def single_splits(grid: Grid, features: tuple[int, ...]) -> Splits:
    """One cell against the rest, for every cell of these features, all of one weight: splits of categories in CART."""
    return Splits.of(grid, (_one_against_rest(grid, f) for f in features))


@lru_cache(maxsize=16)
def one_feature_splits(grid: Grid) -> Splits:
    """Thresholds of numeric features and one category against the rest: few candidates, every feature of one weight."""
    runs = []
    for f, cells in enumerate(grid.features):
        if cells.n_cells > 1:
            own = _one_against_rest(grid, f) if cells.cuts is None else _thresholds(grid, f)
            runs.append(own[:, :1] if cells.n_cells == 2 else own)  # two cells are parted in one way
    return Splits.of(grid, runs, log_prior=even_by_feature)


def even_by_feature(feature: np.ndarray) -> np.ndarray:
    """Log-weights that give every feature one, shared evenly by its splits."""
    return -np.log(np.bincount(feature)[feature])


def _thresholds(grid: Grid, f: int) -> np.ndarray:
    """Values up to each cut go left. Missing ones go either way; or they alone go right."""
    start, cells = int(grid.offsets[f]), grid.features[f]
    n = cells.n_cells - 1 - cells.special
    last = start + np.arange(n)
    if not cells.special:
        return runs_of(f, start, last)
    missing = start + cells.n_cells - 1
    extra = np.concatenate([np.full(n, -1), np.full(n, missing), [-1]])
    return runs_of(f, start, np.concatenate([last, last, [missing - 1]]), extra)


def _one_against_rest(grid: Grid, f: int) -> np.ndarray:
    each = np.arange(*grid.offsets[f : f + 2])
    return runs_of(f, each, each)


def runs_of(feature: int, first: np.ndarray | int, last: np.ndarray, extra: np.ndarray | int = -1) -> np.ndarray:
    """A table of runs, as ``Splits.of`` takes them."""
    return np.stack(np.broadcast_arrays(feature, first, last, extra))


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


def _run_log_prior(grid: Grid, runs: np.ndarray) -> np.ndarray:
    """The log-weights of one feature's runs: even for categories, for thresholds by the cells on both sides."""
    feature, _, last, _ = runs
    cells, start = grid.features[feature[0]], grid.offsets[feature[0]]
    if cells.cuts is None:
        return even_by_feature(feature)
    n_known = cells.n_cells - cells.special
    left = (last - start + 1) / n_known
    weight = np.where(left < 1, left * (1 - left), 0.0)
    # Splitting off missing values alone, the last of them, has an even share, and the thresholds the rest.
    alone = np.append(np.zeros(len(last) - 1), 1 / len(last)) if cells.special else np.zeros(len(last))
    total = weight.sum()
    return np.log(alone + (1 - alone.sum()) * (weight / total if total else 0.0))


def _log_prior(masks: np.ndarray, other: bool) -> np.ndarray:
    """An even share for every subset, and little for the one that only takes unlisted values apart."""
    if not other:
        return np.full(len(masks), -np.log(max(len(masks), 1)))
    return np.append(np.full(len(masks) - 1, -np.log(max(len(masks) - 1, 1))), np.log(UNLISTED_WEIGHT))
