"""Candidates: the public list of answers that a node's private choice is made from.

Every split sends each cell of one feature to one side, so the class counts of its children are a public linear map
of the feature's histogram. That is what lets every curator evaluate it: on exact counts, on streamed ones, on
masked sums and on secret shares alike. Which candidates there are, in which order and with which prior may depend
on the schema and on released answers only, never on records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from privet.errors import LeakError
from privet.questions.multiway import Multiway
from privet.questions.products import Products
from privet.questions.split import Choice, Product, Split
from privet.questions.splits import LARGEST_LOG_PRIOR, Splits
from privet.questions.word import Word, array, flag, frozen, number, put, whole

__all__ = ["Candidates", "Choice", "Multiway", "Split", "Splits"]

MOST_LABELLINGS = 2**16
"""A split of many children has so many labellings that it is better chosen first, and its labels after it."""

MOST_CLASSES = 2**16

MOST_CANDIDATES = 100_000_000
"""Of all nodes of a question: their scores and priors take a few gigabytes."""


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Candidates(Word):
    """What one node may answer.

    Each allowed split (``allowed`` None: all), with ``labelled`` once for every way to label its children, all alike
    left out; and, with ``stop``, not splitting, with ``labelled`` once for every label (equal labels would say no
    more). ``splits`` None leaves the labels alone. ``stop_log_prior`` is the log-weight of each stopping candidate.
    """

    splits: Splits | Multiway | Products | None
    n_classes: int
    allowed: np.ndarray | None
    labelled: bool
    stop: bool
    stop_log_prior: float
    indices: np.ndarray = field(repr=False)  # the splits' numbers, in the order in which they are candidates
    n_children: np.ndarray = field(repr=False)  # how many children each of them has
    _ends: np.ndarray = field(repr=False)  # up to which number the candidates of each split go
    _n_splits: int = field(repr=False)

    def __init__(
        self,
        splits: Splits | Multiway | Products | None,
        n_classes: int,
        allowed: np.ndarray | None = None,
        labelled: bool = False,
        stop: bool = False,
        stop_log_prior: float = 0.0,
    ) -> None:
        if splits is not None and type(splits) not in (Splits, Multiway, Products):
            raise LeakError("Candidates are of Splits, Multiway or Products, exactly.")
        put(self, splits=splits, n_classes=whole(n_classes, 0, MOST_CLASSES, "The number of classes"))
        put(self, labelled=flag(labelled, "labelled"), stop=flag(stop, "stop"))
        if type(splits) is Products and (self.labelled or self.stop):
            raise LeakError("Products are chosen by gradients: without labels, and one of them always.")
        put(self, stop_log_prior=number(stop_log_prior, "The prior of stopping"))
        if abs(self.stop_log_prior) > LARGEST_LOG_PRIOR:
            raise LeakError("A prior's logarithm is too large: with it, scores would not fit in 64-bit integers.")
        n = 0 if splits is None else len(splits)
        if splits is None or allowed is None:
            put(self, allowed=None, indices=_all(n))
        else:
            own = array(allowed, bool, "``allowed``")
            if len(own) != n:
                raise LeakError("``allowed`` must say yes or no to every split.")
            put(self, allowed=own, indices=frozen(np.flatnonzero(own)))
        if type(splits) is Splits:  # as a rule: two children each, of frozen arrays that are there already
            n_children = splits.n_children[: len(self.indices)]
        else:
            n_children = frozen(self.indices if splits is None else splits.n_children[self.indices])
        put(self, n_children=n_children, _ends=self._all_ends(n, n_children))
        put(self, _n_splits=int(self._ends[-1]) if len(self._ends) else 0)

    def _all_ends(self, n: int, n_children: np.ndarray) -> np.ndarray:
        if not self.labelled or type(self.splits) is Splits:
            return _multiples(n, n_labellings(self.n_classes, 2) if self.labelled else 1)[: len(self.indices)]
        sizes, which = np.unique(n_children, return_inverse=True)
        each = np.array([n_labellings(self.n_classes, int(n)) for n in sizes], dtype=np.int64)
        return frozen(np.cumsum(each[which]))

    def labellings(self, n_children: int) -> np.ndarray:
        """The labels that a split of so many children is a candidate with: one row for each child."""
        return _labellings(self.n_classes, n_children)

    @property
    def _stops(self) -> int:
        return (self.n_classes if self.labelled else 1) if self.stop else 0

    def __len__(self) -> int:
        return self._n_splits + self._stops

    @property
    def log_prior(self) -> np.ndarray:
        """Each candidate's public log-weight, in their order: split by split, then the stops."""
        of_splits = self.splits.log_prior[self.indices] if self.splits is not None else np.empty(0)
        if self.labelled:
            each = n_labellings(self.n_classes, 2) if type(self.splits) is Splits else np.diff(self._ends, prepend=0)
            of_splits = np.repeat(of_splits, each)
        return np.concatenate([of_splits, np.full(self._stops, self.stop_log_prior)])

    @property
    def question(self) -> str:
        """What a choice among these is called in receipts."""
        if self.splits is None:
            return "choose a label"
        return "choose a split with its labels" if self.labelled else "choose a split"

    def choice(self, index: int) -> Choice:
        """What the candidate with this number says."""
        if index >= self._n_splits:
            return Choice(None, (index - self._n_splits,) if self.labelled else None)
        assert self.splits is not None
        which = int(np.searchsorted(self._ends, index, side="right"))
        split = self.splits.split(int(self.indices[which]))
        if isinstance(split, Product):
            return Choice(None, None, split)
        if not self.labelled:
            return Choice(split, None)
        first = int(self._ends[which - 1]) if which else 0
        labels = self.labellings(int(self.n_children[which]))[:, index - first]
        return Choice(split, tuple(int(label) for label in labels))


@lru_cache(maxsize=64)
def _all(n: int) -> np.ndarray:
    return frozen(np.arange(n))


@lru_cache(maxsize=64)
def _multiples(n: int, of: int) -> np.ndarray:
    return frozen(np.arange(1, n + 1) * of)


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
    return frozen(rows[:, (rows != rows[0]).any(axis=0)])
