"""DiffPID3: an attribute is chosen by the exponential mechanism (Friedman and Schuster 2010, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.algorithms.baselines.id3 import ID3Classifier
from privet.algorithms.parameters import choice, whole
from privet.privacy.scores import CorrectCount, Entropy, Gini, Score
from privet.questions.candidates import Candidates
from privet.questions.curtain import Node
from privet.questions.grid import Grid, even_grid
from privet.questions.multiway import MOST_CHILDREN, Multiway, attributes
from privet.questions.split import Split
from privet.schema import Numeric, Schema
from privet.tree.frontier import End, Frontier
from privet.tree.public_splits import thresholds

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
