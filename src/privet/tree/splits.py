"""The splits that a schema suggests, with a public prior.

Rich candidate sets cost only a logarithm, but at a small n * epsilon even that counts. A prior takes the edge off:
every feature gets the same weight however many splits it has; a numeric feature shares it between its evenly spaced
cuts and those that close in on the ends of its range; a categorical one shares it evenly between subsets of one value,
of two, and so on. A split's log-weight is added to its score, which costs nothing (docs/theory.md, L1).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from privet.tree.candidates import Splits
from privet.tree.grid import Cells, Grid

MOST_SUBSETS = 10
"""Categorical features with at most this many values are split by every subset, others one against the rest."""


@lru_cache(maxsize=16)
def public_splits(grid: Grid) -> Splits:
    """Every binary split that the grid allows: thresholds, subsets of few categories, one of many against the rest."""
    runs, subsets = [], []
    for f, cells in enumerate(grid.features):
        start = int(grid.offsets[f])
        if cells.cuts is not None:
            runs.append(_thresholds(f, start, cells))
        elif _n_listed(cells) > MOST_SUBSETS:
            runs.append(_one_against_rest(f, start, cells))
        elif cells.n_cells > 1:
            subsets.append((f, *_subsets(_n_listed(cells), cells.special)))
    feature, first, last, extra, log_mass = (np.concatenate(column) for column in zip(*runs)) if runs else _NO_RUNS
    return Splits(
        grid=grid,
        feature=np.concatenate([feature, *(np.full(len(masks), f) for f, masks, _ in subsets)]).astype(np.int64),
        first=first.astype(np.int64),
        last=last.astype(np.int64),
        extra=extra.astype(np.int64),
        subsets=tuple((f, masks) for f, masks, _ in subsets),
        log_prior=np.concatenate([log_mass, *(mass for _, _, mass in subsets)]),
    )


_NO_RUNS = tuple(np.empty(0) for _ in range(5))


def _n_listed(cells: Cells) -> int:
    return cells.n_cells - cells.special


def _thresholds(f: int, start: int, cells: Cells) -> tuple[np.ndarray, ...]:
    """Values up to each cut go left. Missing ones go either way; or they alone go right."""
    assert cells.cuts is not None and cells.mass is not None
    n = len(cells.cuts)
    first, last = np.full(n, start), start + np.arange(n)
    extra, mass = np.full(n, -1), cells.mass
    if cells.special:
        missing = start + cells.n_cells - 1
        first, last = np.append(np.tile(first, 2), start), np.append(np.tile(last, 2), missing - 1)
        extra = np.concatenate([extra, np.full(n, missing), [-1]])
        # The split by missingness gets the weight of an average threshold, or all of it where there is none.
        mass = np.append(np.tile(mass, 2) / 2, 1 / max(n, 1))
        mass = mass / mass.sum()
    return np.full(len(first), f), first, last, extra, np.log(mass)


def _one_against_rest(f: int, start: int, cells: Cells) -> tuple[np.ndarray, ...]:
    each = start + np.arange(cells.n_cells)
    return (
        np.full(len(each), f),
        each,
        each,
        np.full(len(each), -1),
        np.full(len(each), -np.log(len(each))),
    )


@lru_cache(maxsize=64)
def _subsets(n: int, other: bool) -> tuple[np.ndarray, np.ndarray]:
    """All ways to part ``n`` values in two, each once, with log-weights: equal weight for each size of the smaller side.

    The cell of unlisted values goes with the larger side (with the second on a tie) rather than both ways, because it
    is nearly always empty; one more split takes it alone, like any single value.
    """
    codes = np.arange(1, 2 ** (n - 1))
    left = (codes[:, None] >> np.arange(n)) & 1 == 1  # the last value is always on the right: each parting once
    size = np.minimum(left.sum(axis=1), n - left.sum(axis=1))
    if other:
        joins_left = left.sum(axis=1) > n - left.sum(axis=1)
        left = np.vstack([np.column_stack([left, joins_left]), np.arange(n + 1) == n])
        size = np.append(size, 1)
    of_size = np.bincount(size)
    return left, -np.log(np.count_nonzero(of_size) * of_size[size])
