"""DPGDF: greedy splits by Gini, one category against the rest, and private labels (Xin et al. 2019), as a single tree.

The original is a forest of such trees on disjoint parts. PrivaTree compares with one tree, and so does this file; the
reading where texts leave a choice is that of PrivaTree's comparison, whose printed accuracies it reproduces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import whole
from privet.errors import PrivetError
from privet.privacy.scores import Gini
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import even_grid
from privet.questions.splits import Splits
from privet.schema import Categorical, Schema
from privet.tree.frontier import Frontier
from privet.tree.public_splits import single_splits
from privet.tree.tree import Tree

MOST_DEPTH = 16
"""Deeper trees of so many children would not end, and records do not reach that far."""

FEWEST = 11
"""The published tree does not split fewer records."""

CERTAIN = 1e6
"""Log-odds that no draw will ever contradict, instead of numbers that no float holds."""


@dataclass(eq=False, repr=False, kw_only=True)
class DPGDFClassifier(PrivateClassifier):
    """A greedy tree over categories: Gini for the splits, half of the budget, and labels with the other half.

    ``variant="sound"`` costs ``epsilon``: ``epsilon / (2 max_depth)`` for the split of each level, ``epsilon / 2`` for
    the labels, both by permute-and-flip on counts; it never stops because of records. Worth using as the plainest
    greedy tree there is: what PrivateTreeClassifier adds are subsets and thresholds as candidates, depth by
    n * epsilon, and labels chosen with the last split.

    ``variant="published"`` claims the same and costs infinity, for two reasons. It stops where a node is pure or has
    fewer than 11 records, by exact counts. And a label is drawn by an exponential mechanism with "smooth sensitivity":
    the majority has log-odds ``eps * exp(j * eps)``, where j is how far it leads, and one more record moves them by
    ``eps * exp(j * eps) * (exp(eps) - 1)``, which has no bound: at eps = 1 the minority's chance changes by a factor of
    e^34.5 as a lead of 3 becomes one of 4 (docs/theory.md, B1). Its splits are within their budget but nearly random:
    the mean Gini impurity is given the sensitivity 1/2 whatever the node's size, so a choice between gains of a few
    hundredths drowns. For two classes.

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The largest depth.
    n_bins : int
        How many public bins of one width a numeric feature has; 0 leaves numeric features out, as the paper does.
    variant : "sound" or "published"
        Truly epsilon-DP, or as printed: then ``epsilon`` is the claim.
    """

    _shortfall = (
        "It stops by exact counts, and its labels' smooth sensitivity stands in an exponent, where one record moves "
        "the log-odds without bound."
    )

    max_depth: int = whole(4, most=MOST_DEPTH)
    n_bins: int = whole(5, 0, 256)
    variant: str = "sound"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.variant == "published":
            tags.classifier_tags.multi_class = False
            tags.classifier_tags.poor_score = True  # splits are chosen by mean impurities, which drown in the noise
        return tags

    @classmethod
    def _check_classes(cls, schema: Schema) -> None:
        if len(schema.classes or ()) > 2:
            raise PrivetError(
                "Only binary classification is supported by the published DPGDF, which is reproduced for two classes; "
                "variant='sound' takes any number."
            )

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"choose"} | ({"peek"} if self.variant == "published" else set())

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        published = self.variant == "published"
        if published:
            self._check_classes(curtain.schema)
        grid = even_grid(curtain.schema, max(self.n_bins, 1))
        splits = single_splits(grid, self._kept(curtain.schema))
        curtain.grid(grid)
        frontier = Frontier.sprout(curtain, [start], grid)
        frontier = (_grow_published if published else _grow_sound)(frontier, splits, budget / 2, self.max_depth)
        return frontier.finish()[0]

    def _kept(self, schema: Schema) -> tuple[int, ...]:
        """The features that are split: all, or those with categories."""
        features = enumerate(schema.features.values())
        return tuple(f for f, feature in features if isinstance(feature, Categorical) or self.n_bins)


def _grow_sound(frontier: Frontier, splits: Splits, half: Fraction, max_depth: int) -> Frontier:
    """Half of the budget for splits, level by level; what a branch cannot use of it goes to its label."""
    for _ in range(max_depth):
        frontier = frontier.grow(splits, Gini(), half / max_depth)
    frontier.label(frontier.with_saved(half))
    return frontier


def _grow_published(frontier: Frontier, splits: Splits, half: Fraction, max_depth: int) -> Frontier:
    """The same with the paper's exponents, which follow from exact counts: so those are looked at, and paid for."""
    for depth in range(max_depth + 1):
        exact = frontier.exact_counts()
        options = frontier.candidates(splits) if depth < max_depth else {}
        ready = {
            node: own
            for node, own in options.items()
            if len(own) and exact[node].sum() >= FEWEST and exact[node].min() > 0
        }
        leaves = frontier.without(ready)
        leaves.label({node: _label_budget(exact[node], half) for node in leaves}, "exponential")
        # The exponent eps * G / (2 * 1/2) of the mean impurity G, for a score that is n times as large: see Gini.
        prices = {node: 2 * half / max_depth / int(exact[node].sum()) for node in ready}
        frontier = frontier.split(frontier.choose(ready, Gini(), prices))
    return frontier


def _label_budget(counts: np.ndarray, epsilon: Fraction) -> Fraction:
    """The budget with which a choice by counts has the log-odds eps * exp(lead * eps) of the published labels."""
    lead = int(counts.max() - counts.min())
    if not lead:
        return epsilon
    log_odds = min(float(epsilon) * math.exp(min(lead * float(epsilon), 700.0)), CERTAIN)
    return Fraction(log_odds) / lead
