"""SuLQ-ID3 and DiffPID3: ID3 on private answers (Blum et al. 2005; Friedman and Schuster 2010, Algorithms 1 and 2).

At each node a noisy size decides whether to go on; a leaf gets noisy class counts; inside, an attribute is chosen, with
one child for each of its values. The two differ in how they choose: by noisy counts of all attributes, or by the
exponential mechanism.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import choice, whole
from privet.privacy.scores import CorrectCount, Entropy, Gini, Score
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid, even_grid
from privet.questions.multiway import MOST_CHILDREN, Multiway, attributes
from privet.questions.split import Split
from privet.questions.tally import Tally
from privet.schema import Numeric, Schema
from privet.tree.frontier import End, Frontier
from privet.tree.public_splits import thresholds
from privet.tree.tree import Tree


@dataclass(eq=False, repr=False, kw_only=True)
class ID3Classifier(PrivateClassifier):
    """The skeleton. A subclass says what the cells are, what parts a node, and how it chooses.

    All queries cost the same. A level asks for a size and then chooses, ``_level`` queries in all; the leaves ask for a
    size and for counts.
    """

    max_depth: int = whole(4)

    _poor_score = True  # a few hundred records are not enough for so many queries

    @abstractmethod
    def _cells(self, schema: Schema) -> Grid:
        """The public cells that attributes are split into."""

    @abstractmethod
    def _most_values(self, grid: Grid, end: End) -> int:
        """The largest number of children of what still parts a node; 0 if nothing does."""

    @abstractmethod
    def _choose(self, ready: Frontier, query: Fraction) -> dict[Node, Split]:
        """A split for each node, for all queries of a level but one."""

    def _level(self, schema: Schema) -> int:
        """How many queries an inner level costs."""
        return 2

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        schema = curtain.schema
        query = budget / (self._level(schema) * self.max_depth + 2)
        grid = self._cells(schema)
        curtain.grid(grid)
        frontier = Frontier.sprout(curtain, [start], grid)
        for depth in range(self.max_depth + 1):
            sizes = frontier.sizes(query)
            ready = [
                node
                for node, end in frontier.items()
                if depth < self.max_depth and _enough(sizes[node], self._most_values(grid, end), schema, query)
            ]
            frontier.without(ready).count(query)
            frontier = frontier.split(self._choose(frontier.only(ready), query) if ready else {})
            if not ready:  # all are leaves, however many levels there might be
                break
        return frontier.finish()[0]


def _enough(size: int, most_values: int, schema: Schema, query: Fraction) -> bool:
    """The paper's rule: a class has as many records in each child, on average, as the noise has standard deviation."""
    cells = most_values * len(schema.classes or ())
    return cells > 0 and size / cells >= math.sqrt(2) / float(query)


@dataclass(eq=False, repr=False, kw_only=True)
class SuLQID3Classifier(ID3Classifier):
    """ID3 on noisy counts: one child for each value, the attribute with the largest noisy information gain.

    Costs ``epsilon``, as its authors claim: 2 (max_depth + 1) queries along a path, of which the counts of all
    attributes together are one, at the price of as many tables as there are attributes. That is why it is weak: with
    m attributes the noise is m times that of a choice. Worth using only to see that.

    It is the version of Friedman and Schuster (their Algorithm 1), with geometric instead of Laplace noise: Blum et al.
    add Gaussian noise, which has no pure epsilon. Half of their query measures each value's count apart from its counts
    by class; here that is the sum of these, and the cells have the whole query, which halves their noise. Noisy counts
    below 0 count as 0. Numeric features, which they do not treat, are cut into public bins of one width.

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The largest depth.
    n_bins : int
        How many bins a numeric feature has.
    """

    n_bins: int = whole(5, 2, MOST_CHILDREN - 1)

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"tally"}

    def _cells(self, schema: Schema) -> Grid:
        return even_grid(schema, self.n_bins)

    def _most_values(self, grid: Grid, end: End) -> int:
        return max((split.n_children for split in attributes(grid).within(end.reachable)), default=0)

    def _choose(self, ready: Frontier, query: Fraction) -> dict[Node, Split]:
        allowed = {node: attributes(ready.grid).within(end.reachable) for node, end in ready.items()}
        counts = ready.curtain.tally({node: Tally(splits) for node, splits in allowed.items()}, query)
        chosen = {}
        for node, splits in allowed.items():
            tables = np.split(counts[node], np.cumsum([split.n_children for split in splits])[:-1])
            chosen[node] = splits[int(np.argmin([_entropy(np.maximum(table, 0)) for table in tables]))]
        return chosen


def _entropy(table: np.ndarray) -> float:
    """The entropy of the classes that is left in the values, times their count; the gain is what this is less."""
    sizes = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, sizes, out=np.ones(table.shape), where=table > 0)
    return float(-(table * np.log(shares)).sum())


FINE = 256
"""Thresholds are chosen among the edges of so many bins of one width, which stand for the whole range."""


@dataclass(eq=False, repr=False, kw_only=True)
class DiffPID3Classifier(ID3Classifier):
    """ID3 with private choices: one child for each category, the attribute by the exponential mechanism.

    Costs ``epsilon``, as its authors claim: sizes, choices and leaf counts add up along a path. One choice looks at all
    attributes for the price of one, which is the step from SuLQ-ID3. Where attributes are numeric, their thresholds are
    chosen first, one query for each, and that is where the budget goes; ``numeric="bins"`` avoids it. Worth using to
    see what one joint choice of attribute and threshold (``PrivateTreeClassifier``) gains.

    The scores are in counts, not gains, so they are monotone, and a choice of one price is twice as sharp as printed.

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The largest depth.
    criterion : "max", "gini" or "entropy"
        What is maximised: the correct count of the children's best labels (the paper's Max operator), or minus their
        Gini impurity or entropy.
    numeric : "thresholds" or "bins"
        ``"thresholds"`` splits a numeric feature in two, at a point that costs a query of its own: with n numeric
        features a level is 2 + n queries. ``"bins"`` gives it ``n_bins`` children, public bins of one width, for none.
    n_bins : int
        How many bins a numeric feature has with ``numeric="bins"``.
    max_records : int
        For the entropy: a public bound on the number of records, which its sensitivity, 1 + ln(max_records), needs.
        More records are no error, their entropy just counts for less.
    """

    criterion: str = choice("max", "gini", "entropy")
    numeric: str = choice("thresholds", "bins")
    n_bins: int = whole(5, 2, MOST_CHILDREN - 1)
    max_records: int = whole(100_000, most=2**24)

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"tally", "choose"}

    def _level(self, schema: Schema) -> int:
        return 2 + sum(isinstance(feature, Numeric) for feature in schema.features.values()) * self._by_thresholds

    @property
    def _by_thresholds(self) -> bool:
        return self.numeric == "thresholds"

    def _cells(self, schema: Schema) -> Grid:
        return even_grid(schema, FINE if self._by_thresholds else self.n_bins)

    def _most_values(self, grid: Grid, end: End) -> int:
        values = [split.n_children for split in self._attributes(grid).within(end.reachable)]
        if self._by_thresholds and thresholds(grid).allowed_within(end.reachable).any():
            values.append(2)
        return max(values, default=0)

    def _attributes(self, grid: Grid) -> Multiway:
        """What is split into all its values: categorical features, and numeric ones that have bins."""
        return attributes(grid, numeric=not self._by_thresholds)

    def _choose(self, ready: Frontier, query: Fraction) -> dict[Node, Split]:
        splits = {node: [*self._attributes(ready.grid).within(end.reachable)] for node, end in ready.items()}
        if self._by_thresholds:
            for node, chosen in self._best_thresholds(ready, query):
                splits[node].append(chosen)
        options = {node: Candidates(Multiway.of(ready.grid, own), ready.n_classes) for node, own in splits.items()}
        return ready.choose(options, self._score, query, mechanism="exponential")

    def _best_thresholds(self, ready: Frontier, query: Fraction) -> Iterator[tuple[Node, Split]]:
        """A threshold of every numeric feature that still parts a node: one query for each feature."""
        splits = thresholds(ready.grid)
        allowed = {node: splits.allowed_within(end.reachable) for node, end in ready.items()}
        for f in np.unique(splits.feature):
            options = {
                node: Candidates(splits, ready.n_classes, own & (splits.feature == f)) for node, own in allowed.items()
            }
            yield from ready.choose(options, self._score, query, mechanism="exponential").items()

    @property
    def _score(self) -> Score:
        scores: dict[str, Score] = {"max": CorrectCount(), "gini": Gini(), "entropy": Entropy(self.max_records)}
        return scores[self.criterion]
