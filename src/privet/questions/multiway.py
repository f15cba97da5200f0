"""Splits into any number of children, such as one for each category of an attribute: what ID3 and its kin choose from.

The proofs of the scores (``privacy/scores.py``) carry over unchanged: each cell of a feature goes to one child, so
a record is in one child of every candidate, and a sum over children moves by what that one child moves. Candidates with
fewer children than others are filled up with empty ones, which add nothing to any score and never change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from privet.errors import LeakError
from privet.questions.candidates import Split
from privet.questions.grid import Grid

MOST_CHILDREN = 256
"""A child's number is one byte."""


@dataclass(frozen=True, eq=False)
class Multiway:
    """A list of splits, each with as many children as it names; ``log_prior`` is a public log-weight for each.

    ``Multiway.of`` weighs all alike.
    """

    grid: Grid
    splits: tuple[Split, ...]
    log_prior: np.ndarray

    def __post_init__(self) -> None:
        """Raise LeakError unless every split sends each cell of one feature to one child: the proofs need that."""
        sizes = [cells.n_cells for cells in self.grid.features]
        if not (
            all(0 <= split.feature < len(sizes) and len(split.part) == sizes[split.feature] for split in self.splits)
            and len(self.log_prior) == len(self.splits)
        ):
            raise LeakError("A split must send each cell of one feature of its grid to one child.")

    @classmethod
    def of(cls, grid: Grid, splits: Iterable[Split]) -> Multiway:
        splits = tuple(splits)
        return cls(grid, splits, np.zeros(len(splits)))

    def __len__(self) -> int:
        return len(self.splits)

    def split(self, index: int) -> Split:
        return self.splits[index]

    @cached_property
    def n_children(self) -> np.ndarray:
        """How many children each split has."""
        return np.array([split.n_children for split in self.splits], dtype=np.int64)

    @cached_property
    def _map(self) -> tuple[np.ndarray, np.ndarray]:
        """From which flat cell to which child, children counted through all splits, ``width`` for each."""
        offsets, width = self.grid.offsets, self.width
        cells = [np.arange(offsets[split.feature], offsets[split.feature + 1]) for split in self.splits]
        parts = [np.frombuffer(split.part, np.uint8).astype(np.int64) for split in self.splits]
        children = [part + i * width for i, part in enumerate(parts)]
        nothing = np.empty(0, dtype=np.int64)
        return np.concatenate([nothing, *cells]), np.concatenate([nothing, *children])

    @property
    def width(self) -> int:
        """The largest number of children."""
        return int(self.n_children.max(initial=1))

    def children(self, histogram: np.ndarray) -> np.ndarray:
        """The statistics of every split's children, a public linear map of a node's histogram.

        Of shape (splits, width, statistics); where a split has fewer children than ``width``, the rest is empty.
        """
        cells, children = self._map
        counts = np.zeros((len(self) * self.width, histogram.shape[1]), dtype=np.int64)
        np.add.at(counts, children, histogram[cells])
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


def each_cell(grid: Grid, feature: int) -> Split:
    """The split of one feature with one child for each of its cells."""
    return Split(feature, bytes(range(grid.features[feature].n_cells)))
