"""Splits into any number of children, such as one for each category of an attribute: what ID3 and its kin choose from.

The proofs of the scores (``privacy/scores.py``) carry over unchanged: each cell of a feature goes to one child, so
a record is in one child of every candidate, and a sum over children moves by what that one child moves. Candidates with
fewer children than others are filled up with empty ones, which add nothing to any score and never change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet.errors import LeakError
from privet.questions.grid import MOST_CELLS_IN_ALL, Grid
from privet.questions.split import MOST_CHILDREN, Split, check_splits, each_cell
from privet.questions.splits import prior_of
from privet.questions.word import Word, exactly, frozen, put


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Multiway(Word):
    """A list of splits, each with as many children as it names; ``log_prior`` is a public log-weight for each.

    ``Multiway.of`` weighs all alike.
    """

    grid: Grid
    splits: tuple[Split, ...]
    log_prior: np.ndarray
    n_children: np.ndarray = field(repr=False)  # of each split
    width: int = field(repr=False)  # the largest number of children
    _cells: np.ndarray = field(repr=False)  # from which flat cell ...
    _children: np.ndarray = field(repr=False)  # ... to which child, counted through all splits, ``width`` for each

    def __init__(self, grid: Grid, splits: Iterable[Split], log_prior: np.ndarray) -> None:
        own = check_splits(splits, exactly(Grid, grid, "The splits' grid"))
        prior = prior_of(log_prior)
        if len(prior) != len(own):
            raise LeakError("Every split has a prior.")
        n_children = np.array([split.n_children for split in own], dtype=np.int64)
        put(self, grid=grid, splits=own, log_prior=prior, n_children=frozen(n_children))
        put(self, width=int(n_children.max(initial=1)))
        if len(own) * self.width > MOST_CELLS_IN_ALL:
            raise LeakError(
                f"Splits of a list have at most {MOST_CELLS_IN_ALL:,} children, each as many as the largest."
            )
        cells = [np.arange(*grid.offsets[split.feature :][:2]) for split in own]
        children = [split.parts.astype(np.int64) + i * self.width for i, split in enumerate(own)]
        nothing = np.empty(0, dtype=np.int64)
        put(self, _cells=frozen(np.concatenate([nothing, *cells])))
        put(self, _children=frozen(np.concatenate([nothing, *children])))

    @classmethod
    def of(cls, grid: Grid, splits: Iterable[Split]) -> Multiway:
        splits = tuple(splits)
        return cls(grid, splits, np.zeros(len(splits)))

    def __len__(self) -> int:
        return len(self.splits)

    def split(self, index: int) -> Split:
        return self.splits[index]

    def children(self, histogram: np.ndarray) -> np.ndarray:
        """The statistics of every split's children, a public linear map of a node's histogram.

        Of shape (splits, width, statistics); where a split has fewer children than ``width``, the rest is empty.
        """
        counts = np.zeros((len(self) * self.width, histogram.shape[1]), dtype=np.int64)
        np.add.at(counts, self._children, histogram[self._cells])
        return counts.reshape(len(self), self.width, histogram.shape[1])

    def allowed_within(self, reachable: np.ndarray) -> np.ndarray:
        """Which splits part anything inside a node that only the flat cells ``reachable`` can reach: public."""
        reached = self.children(reachable[:, None].astype(np.int64))[..., 0] > 0
        return reached.sum(axis=1) > 1

    def within(self, reachable: np.ndarray) -> tuple[Split, ...]:
        """The splits that ``allowed_within`` allows."""
        return tuple(self.splits[i] for i in np.flatnonzero(self.allowed_within(reachable)))


@lru_cache(maxsize=16)
def attributes(grid: Grid, numeric: bool = True) -> Multiway:
    """One split for each feature, with one child for each of its cells: ID3's choice of an attribute.

    A feature with more than 256 cells is left out: bin it, or list fewer categories. So are, if wanted, numeric ones.
    """
    kept = (
        f
        for f, cells in enumerate(grid.features)
        if 1 < cells.n_cells <= MOST_CHILDREN and (numeric or cells.cuts is None)
    )
    return Multiway.of(grid, (each_cell(grid, f) for f in kept))
