"""Candidates: the public list of answers that a node's private choice is made from.

Every split sends each cell of one feature to one side, so the class counts of its children are a public linear map
of the feature's histogram. That is what lets every curator evaluate it: on exact counts, on streamed ones, on
masked sums and on secret shares alike. Which candidates there are, in which order and with which prior may depend
on the schema and on released answers only, never on records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privet.errors import LeakError
from privet.questions.grid import Grid

if TYPE_CHECKING:
    from privet.questions.multiway import Multiway

MOST_LABELLINGS = 2**16
"""A split of many children has so many labellings that it is better chosen first, and its labels after it."""


@dataclass(frozen=True)
class Split:
    """Send the records in cell c of ``feature`` to child ``part[c]``; the last of ``least`` may be empty."""

    feature: int
    part: bytes
    least: int = 1

    @cached_property
    def n_children(self) -> int:
        return max(*self.part, self.least - 1) + 1

    @cached_property
    def keeps_cells(self) -> bool:
        """Whether every cell goes to a child of its own, in order: a histogram's table."""
        return self.part == bytes(range(min(len(self.part), 256))) and self.n_children == len(self.part)


@dataclass(frozen=True)
class Choice:
    """One answer: a split or none, with a label for each child (or for the node itself) or none."""

    split: Split | None
    labels: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Splits:
    """Binary splits, as arrays. The first ``len(first)`` send a run of cells to the left, with or without one
    more cell (the missing values'); the rest, a subset of the cells of one categorical feature.

    ``first``, ``last``: flat cell numbers of the run, both included; ``extra``: one more flat cell, or -1.
    ``subsets``: for each feature a boolean matrix, subsets by cells.
    ``log_prior``: a public log-weight for each split: how likely it seemed before any record was seen.
    """

    grid: Grid
    feature: np.ndarray
    first: np.ndarray
    last: np.ndarray
    extra: np.ndarray
    subsets: tuple[tuple[int, np.ndarray], ...]
    log_prior: np.ndarray

    def __post_init__(self) -> None:
        """Raise LeakError unless every split sends each cell of one feature to one side: the proofs need that."""
        offsets, runs = self.grid.offsets, self.feature[: len(self.first)]
        starts, ends = offsets[runs], offsets[runs + 1]
        inside = (starts <= self.first) & (self.first <= self.last) & (self.last < ends)
        apart = (self.extra < 0) | (
            (starts <= self.extra) & (self.extra < ends) & ((self.extra < self.first) | (self.extra > self.last))
        )
        masks_fit = all(
            masks.dtype == bool and masks.shape[1] == offsets[f + 1] - offsets[f] for f, masks in self.subsets
        )
        of_subsets = np.concatenate([self.feature[:0], *(np.full(len(masks), f) for f, masks in self.subsets)])
        lengths = {len(self.first), len(self.last), len(self.extra)}
        if not (
            len(lengths) == 1
            and inside.all()
            and apart.all()
            and masks_fit
            and np.array_equal(self.feature[len(self.first) :], of_subsets)
            and len(self.log_prior) == len(self.feature)
        ):
            raise LeakError("A split must send each cell of one feature of its grid to one side.")

    def __len__(self) -> int:
        return len(self.feature)

    def left_cells(self, index: int) -> np.ndarray:
        """Which cells of its feature split ``index`` sends to the left."""
        f = int(self.feature[index])
        if index < len(self.first):
            left = np.zeros(self.grid.features[f].n_cells, dtype=bool)
            start = self.grid.offsets[f]
            left[self.first[index] - start : self.last[index] - start + 1] = True
            if self.extra[index] >= 0:
                left[self.extra[index] - start] = True
            return left
        index -= len(self.first)
        for _, masks in self.subsets:
            if index < len(masks):
                return masks[index]
            index -= len(masks)
        raise IndexError("no such split")

    def split(self, index: int) -> Split:
        f = int(self.feature[index])
        return Split(f, (~self.left_cells(index)).astype(np.uint8).tobytes())

    @cached_property
    def n_runs(self) -> int:
        return len(self.first)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The flat cells between which all runs lie, the second one excluded."""
        return (int(self.first.min()), int(self.last.max()) + 1) if self.n_runs else (0, 0)

    @cached_property
    def n_children(self) -> np.ndarray:
        return np.full(len(self), 2)

    def allowed_within(self, reachable: np.ndarray) -> np.ndarray:
        """Which splits separate anything inside a node that only the flat cells ``reachable`` can reach.

        A public question: what a node can hold follows from the released splits above it.
        """
        counts = np.concatenate([[0], np.cumsum(reachable)])
        offsets = self.grid.offsets
        of_feature = (counts[offsets[1:]] - counts[offsets[:-1]])[self.feature]
        left = np.empty(len(self), dtype=np.int64)
        runs = self.n_runs
        left[:runs] = counts[self.last + 1] - counts[self.first]
        left[:runs] += np.where(self.extra >= 0, reachable[self.extra], 0)
        at = runs
        for f, masks in self.subsets:
            left[at : at + len(masks)] = masks @ reachable[offsets[f] : offsets[f + 1]].astype(np.int64)
            at += len(masks)
        return (left > 0) & (left < of_feature)


@dataclass(frozen=True, eq=False)
class Candidates:
    """What one node may answer.

    Each allowed split (``allowed`` None: all), with ``labelled`` once for every way to label its children, all alike
    left out; and, with ``stop``, not splitting, with ``labelled`` once for every label (equal labels would say no
    more). ``splits`` None leaves the labels alone. ``stop_log_prior`` is the log-weight of each stopping candidate.
    """

    splits: Splits | Multiway | None
    n_classes: int
    allowed: np.ndarray | None = None
    labelled: bool = False
    stop: bool = False
    stop_log_prior: float = 0.0

    @cached_property
    def indices(self) -> np.ndarray:
        """The splits' numbers, in the order in which they are candidates."""
        if self.splits is None:
            return np.empty(0, dtype=np.int64)
        return np.arange(len(self.splits)) if self.allowed is None else np.flatnonzero(self.allowed)

    @cached_property
    def n_children(self) -> np.ndarray:
        """How many children each split in ``indices`` has."""
        return self.indices if self.splits is None else self.splits.n_children[self.indices]

    def labellings(self, n_children: int) -> np.ndarray:
        """The labels that a split of so many children is a candidate with: one row for each child."""
        return _labellings(self.n_classes, n_children)

    @cached_property
    def _ends(self) -> np.ndarray:
        """Up to which number the candidates of each split go, the next one's begin there."""
        if not self.labelled:
            return np.arange(1, len(self.indices) + 1)
        if isinstance(self.splits, Splits):
            return np.arange(1, len(self.indices) + 1) * n_labellings(self.n_classes, 2)
        sizes, which = np.unique(self.n_children, return_inverse=True)
        each = np.array([n_labellings(self.n_classes, int(n)) for n in sizes], dtype=np.int64)
        return np.cumsum(each[which])

    @property
    def _stops(self) -> int:
        return (self.n_classes if self.labelled else 1) if self.stop else 0

    @property
    def _n_splits(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __len__(self) -> int:
        return self._n_splits + self._stops

    @cached_property
    def log_prior(self) -> np.ndarray:
        """Each candidate's public log-weight, in their order: split by split, then the stops."""
        of_splits = self.splits.log_prior[self.indices] if self.splits is not None else np.empty(0)
        if self.labelled:
            of_splits = np.repeat(of_splits, np.diff(self._ends, prepend=0))
        return np.concatenate([of_splits, np.full(self._stops, self.stop_log_prior)])

    def choice(self, index: int) -> Choice:
        """What the candidate with this number says."""
        if index >= self._n_splits:
            return Choice(None, (index - self._n_splits,) if self.labelled else None)
        assert self.splits is not None
        which = int(np.searchsorted(self._ends, index, side="right"))
        split = self.splits.split(int(self.indices[which]))
        if not self.labelled:
            return Choice(split, None)
        first = int(self._ends[which - 1]) if which else 0
        labels = self.labellings(int(self.n_children[which]))[:, index - first]
        return Choice(split, tuple(int(label) for label in labels))


def n_labellings(n_classes: int, n_children: int) -> int:
    """How many ways there are to label so many children, all alike left out."""
    n = n_classes**n_children - n_classes if n_children > 1 else 0
    if n_children > 2 and n > MOST_LABELLINGS:
        raise LeakError(
            f"{n_children} children have more than {MOST_LABELLINGS} labellings: choose the split by the correct count "
            "of its best labels, and then the labels."
        )
    return n


@lru_cache(maxsize=64)
def _labellings(n_classes: int, n_children: int) -> np.ndarray:
    rows = np.indices((n_classes,) * n_children).reshape(n_children, -1)
    return rows[:, (rows != rows[0]).any(axis=0)]
