"""Looking for splits in noisy histograms, with or without saving budget: one node's search, and a whole level's."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from privet.questions.curtain import Node
from privet.questions.split import Split
from privet.tree.frontier import Frontier
from privet.tree.noisy_histograms import Found, Histograms


class NodeSearch:
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


class LevelSearch(dict[Node, NodeSearch]):
    """The searches of all nodes of a level: they are asked about together, and their answers are read together.

    ``printed`` is the report's way: all splits are looked at, also those that part nothing, each histogram is believed
    as it is, and bounds are followed one by one.
    """

    def __init__(self, histograms: Histograms, frontier: Frontier, budget: Fraction, *, printed: bool) -> None:
        self._histograms = histograms
        self._printed = printed
        self._parting = (
            np.ones((len(frontier), histograms.n_splits), dtype=bool)
            if printed
            else histograms.parting(np.array([end.reachable for end in frontier.values()]))
        )
        for (node, end), own in zip(frontier.items(), self._parting):
            self[node] = NodeSearch(histograms.that_part(own), len(histograms), budget + end.saved)
        self._place = {node: place for place, node in enumerate(self)}
        self._asked: dict[Node, list[int]] = {}
        self._sums, self._n_asked = np.zeros((len(frontier), 1)), np.zeros((len(frontier), 1))

    @property
    def saved(self) -> dict[Node, Fraction]:
        """What each node has not spent."""
        return {node: search.saved for node, search in self.items()}

    @property
    def waiting(self) -> dict[Node, tuple[Split, ...]]:
        """The tables that each node may still ask for."""
        return {node: self._tables(search.waiting) for node, search in self.items() if search.waiting}

    def order(self, bounds: Mapping[Node, np.ndarray]) -> None:
        """Ask for the histograms of the least bounds first."""
        for node, own in bounds.items():
            self[node].order(own, one_by_one=self._printed)

    def next_tables(self) -> dict[Node, tuple[Split, ...]]:
        """What to ask for now; nothing once no histogram of any node is worth asking for."""
        self._asked = {node: batch for node, search in self.items() if (batch := search.next_batch())}
        return {node: self._tables(batch) for node, batch in self._asked.items()}

    def pay(self) -> dict[Node, Fraction]:
        """What that costs."""
        return {node: self[node].pay(batch) for node, batch in self._asked.items()}

    def read(self, counts: Mapping[Node, np.ndarray], min_samples: float) -> None:
        """Look for the best splits in what was asked for: (part, class) counts, one histogram below the other."""
        numbers = np.array([i for batch in self._asked.values() for i in batch])
        of_node = np.array([self._place[node] for node, batch in self._asked.items() for _ in batch])
        answers = np.concatenate([counts[node] for node in self._asked])
        totals = self._histograms.totals(numbers, answers)
        if not self._printed:
            answers = self._histograms.moved(numbers, answers, self._agreed(totals, of_node) - totals)
        found = self._histograms.best(numbers, answers, self._parting[of_node])
        end = 0
        for node, batch in self._asked.items():
            start, end = end, end + len(batch)
            self[node].read(found[start:end], totals[start:end], min_samples)

    def _agreed(self, totals: np.ndarray, of_node: np.ndarray) -> np.ndarray:
        """All histograms of a node hold the same records: the mean of their totals so far is the best guess of these.

        Where it is no number of records, since a class has fewer than none, they stay as they are.
        """
        self._sums = self._sums + _added(totals, of_node, len(self))
        self._n_asked += _added(np.ones((len(of_node), 1)), of_node, len(self))
        means = (self._sums / np.maximum(self._n_asked, 1))[of_node]
        return np.where((means > 0).all(axis=1, keepdims=True), means, totals)

    def splits(self) -> dict[Node, Split]:
        """The best split of each node that its histograms do not call a leaf.

        The report asks that the histograms of all features say so. One that was left out says nothing, so in print a
        node that saved is split.
        """
        return {
            node: self._histograms.split(search.best)
            for node, search in self.items()
            if search.best is not None and not (search.says_leaf and (search.asked_for_all or not self._printed))
        }

    def _tables(self, numbers: Sequence[int]) -> tuple[Split, ...]:
        return self._histograms.tables(tuple(numbers))


def _added(rows: np.ndarray, to: np.ndarray, n: int) -> np.ndarray:
    """``n`` rows of zeros with each row added to the one that ``to`` says."""
    added = np.zeros((n, rows.shape[1]))
    np.add.at(added, to, rows)
    return added
