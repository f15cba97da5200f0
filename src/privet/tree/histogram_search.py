"""One node's look for a split in noisy histograms, with or without saving budget."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privet.tree.noisy_histograms import Found


class Search:
    """Which histograms a node may still ask for, and what it has found so far.

    Every histogram costs the same share of the node's budget; what is not asked for is ``saved``. Without bounds all
    that could part anything, ``waiting``, are asked for at once.
    """

    def __init__(self, waiting: Sequence[int], n_histograms: int, budget: Fraction) -> None:
        self.waiting = list(waiting)
        self.saved = budget
        self._each = budget / max(1, n_histograms)
        self._bounds: list[float] = []  # of those that wait, in their order
        self._batch = len(self.waiting)
        self._growth = 1
        self._best: int | None = None
        self._impurity = math.inf
        self._large = False
        self._classes: np.ndarray | bool = False
        self._left_out = False

    def set_apart(self, share: Fraction) -> Fraction:
        """Keep a share of the budget for bounds of the waiting histograms; what they may cost."""
        bounds = share * self._each * len(self.waiting)
        self._each *= 1 - share
        self.saved -= bounds
        return bounds

    def order(self, bounds: np.ndarray, *, one_by_one: bool) -> None:
        """Ask for the histograms of the least bounds first: one at a time, or twice as many each time."""
        order = np.argsort(bounds, kind="stable")
        self.waiting = [self.waiting[i] for i in order]
        self._bounds = bounds[order].tolist()
        self._batch, self._growth = 1, 1 if one_by_one else 2

    def next_batch(self) -> list[int]:
        """The numbers of the histograms to ask for now."""
        batch, self.waiting = self.waiting[: self._batch], self.waiting[self._batch :]
        del self._bounds[: self._batch]
        self._batch *= self._growth
        return batch

    def pay(self, batch: Sequence[int]) -> Fraction:
        price = self._each * len(batch)
        self.saved -= price
        return price

    def read(self, found: Sequence[Found], totals: np.ndarray, min_samples: float) -> None:
        """Keep the best split, and strike out every histogram whose bound says that it cannot do better.

        ``totals`` are the class counts that the histograms were answered with, a row for each.
        """
        self._large = self._large or bool((totals.sum(axis=1) >= min_samples).any())
        self._classes = self._classes | np.asarray((totals > 0).any(axis=0))
        reached = math.inf
        for each in found:
            if each.impurity < self._impurity:
                self._best, self._impurity = each.split, each.impurity
            if self._best is not None:
                reached = min(reached, each.size * self._impurity)
        left = bisect_right(self._bounds, reached) if self._bounds else len(self.waiting)
        self._left_out = self._left_out or left < len(self.waiting)
        del self.waiting[left:], self._bounds[left:]

    @property
    def best(self) -> int | None:
        """The best split's number."""
        return self._best

    @property
    def says_leaf(self) -> bool:
        """Whether all histograms that were asked for say that there are too few records, or of one class only."""
        return not self._large or int(np.sum(self._classes)) < 2

    @property
    def asked_for_all(self) -> bool:
        """Whether no histogram was left out because of its bound."""
        return not self._left_out
