"""Binary splits by the thousand, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from privet.errors import LeakError
from privet.questions.grid import Grid
from privet.questions.split import Split
from privet.questions.word import Word, array, exactly, frozen, put, whole

LARGEST_LOG_PRIOR = 709.0
"""A prior is a positive float, and so is its inverse."""


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Splits(Word):
    """Binary splits. The first ``n_runs`` send a run of cells to the left, with or without one more cell (the missing
    values'); the rest, a subset of the cells of one categorical feature.

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
    n_runs: int = field(init=False)
    span: tuple[int, int] = field(init=False, repr=False)  # first and end of the flat cells that all runs lie in
    n_children: np.ndarray = field(init=False, repr=False)

    def __init__(
        self,
        grid: Grid,
        feature: np.ndarray,
        first: np.ndarray,
        last: np.ndarray,
        extra: np.ndarray,
        subsets: tuple[tuple[int, np.ndarray], ...],
        log_prior: np.ndarray,
    ) -> None:
        exactly(Grid, grid, "The splits' grid")
        put(self, grid=grid, log_prior=prior_of(log_prior))
        put(self, feature=array(feature, np.int64, "Features"), first=array(first, np.int64, "Runs"))
        put(self, last=array(last, np.int64, "Runs"), extra=array(extra, np.int64, "Extra cells"))
        n_features = len(grid.features)
        masks = [
            (whole(f, 0, n_features - 1, "A feature's number"), array(own, bool, "Subsets", ndim=2))
            for f, own in tuple(subsets)
        ]
        put(self, subsets=tuple(masks), n_runs=len(self.first))
        self._check()
        put(self, span=(int(self.first.min()), int(self.last.max()) + 1) if self.n_runs else (0, 0))
        put(self, n_children=frozen(np.full(len(self.feature), 2)))

    def _check(self) -> None:
        """Raise LeakError unless every split sends each cell of one feature to one side: the proofs need that."""
        offsets, runs = self.grid.offsets, self.feature[: self.n_runs]
        known = bool(((self.feature >= 0) & (self.feature < len(self.grid.features))).all())
        lengths = {len(self.first), len(self.last), len(self.extra), len(runs)}
        if not (known and len(lengths) == 1 and len(self.log_prior) == len(self.feature)):
            raise LeakError("Splits are of features of their grid, each with its run and its prior.")
        starts, ends = offsets[runs], offsets[runs + 1]
        inside = (starts <= self.first) & (self.first <= self.last) & (self.last < ends)
        apart = (self.extra == -1) | (
            (starts <= self.extra) & (self.extra < ends) & ((self.extra < self.first) | (self.extra > self.last))
        )
        masks_fit = all(masks.shape[1] == offsets[f + 1] - offsets[f] for f, masks in self.subsets)
        of_subsets = np.concatenate([self.feature[:0], *(np.full(len(masks), f) for f, masks in self.subsets)])
        if not (inside.all() and apart.all() and masks_fit and np.array_equal(self.feature[self.n_runs :], of_subsets)):
            raise LeakError("A split must send each cell of one feature of its grid to one side.")

    @classmethod
    def of(
        cls,
        grid: Grid,
        runs: Iterable[np.ndarray],
        subsets: Sequence[tuple[int, np.ndarray]] = (),
        log_prior: Callable[[np.ndarray], np.ndarray] = np.zeros_like,
    ) -> Splits:
        """From tables of runs, (feature, first, last, extra) by splits; by default all splits weigh alike.

        ``log_prior`` gives all splits' weights from their features.
        """
        feature, first, last, extra = np.concatenate([np.empty((4, 0), dtype=np.int64), *runs], axis=1)
        every = np.concatenate([feature, *(np.full(len(masks), f) for f, masks in subsets)])
        return cls(grid, every, first, last, extra, tuple(subsets), log_prior(every))

    def __len__(self) -> int:
        return len(self.feature)

    def left_cells(self, index: int) -> np.ndarray:
        """Which cells of its feature split ``index`` sends to the left."""
        f = int(self.feature[index])
        if index < self.n_runs:
            left = np.zeros(self.grid.features[f].n_cells, dtype=bool)
            start = self.grid.offsets[f]
            left[self.first[index] - start : self.last[index] - start + 1] = True
            if self.extra[index] >= 0:
                left[self.extra[index] - start] = True
            return left
        index -= self.n_runs
        for _, masks in self.subsets:
            if index < len(masks):
                return masks[index]
            index -= len(masks)
        raise IndexError("no such split")

    def split(self, index: int) -> Split:
        f = int(self.feature[index])
        return Split(f, (~self.left_cells(index)).astype(np.uint8).tobytes())

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


def prior_of(log_prior: object) -> np.ndarray:
    """Public log-weights, none of them too large for scores in 64-bit integers."""
    own = array(log_prior, np.float64, "Priors")
    if not (np.abs(own) <= LARGEST_LOG_PRIOR).all():  # not so either for NaN
        raise LeakError("A prior's logarithm is too large: with it, scores would not fit in 64-bit integers.")
    return own
