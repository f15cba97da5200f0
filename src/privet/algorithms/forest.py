"""What forests share: a released ``forest_``, and predictions that are means over its trees."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from privet.algorithms.base import PrivateClassifier, PrivateEstimator, PrivateRegressor
from privet.algorithms.prediction import fast_scores
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.scores import Gini, Score, SquaredError
from privet.schema import Schema
from privet.tree.frontier import Frontier


class PrivateForest(PrivateEstimator):
    """Base of the forests: ``_grow`` returns a Forest."""

    forest_: Any  # a Forest, or what else was grown
    variant: str
    _released = "forest_"

    def _measure(self, leaves: Frontier, budget: Fraction) -> None:
        """Write what leaves predict: noisy class counts or, of numeric targets, noisy means."""
        if leaves.curtain.schema.classes is not None:
            leaves.count(budget)
        elif self.variant == "published":
            leaves.average_as_printed(budget)
        else:
            leaves.average(budget, noise=1 / float(budget))

    def _scores(self, X: Any) -> np.ndarray:
        """The scores of a boosted ensemble."""
        table = self._table(X)
        scores = fast_scores(self.forest_, table)
        return self.forest_.scores(*self._columns(table)) if scores is None else scores


class ForestClassifier(PrivateForest, PrivateClassifier):
    """Base of the forests that vote: each tree gives the class probabilities of its leaf, and their mean decides."""

    @property
    def _labels_only(self) -> bool:
        """A forest has shares of votes, at least; one that came out as a single tree of labels warns."""
        return False

    def _predict_proba(self, X: Any) -> np.ndarray:
        """The mean over the trees of each class's share of the noisy counts of a row's leaf."""
        shares = self._votes(X)
        trees = self._trees()
        if len(trees) == 1 < self.n_classes_ and not trees[0].weighed:
            warnings.warn(
                "This forest came out as one tree, which released labels and no counts: its probabilities are 0 and 1, "
                "and say nothing about how sure it is. PrivateForestClassifier(method='boosting') has real ones.",
                UserWarning,
                stacklevel=2,
            )
        return shares

    def _votes(self, X: Any) -> np.ndarray:
        leaves = self.apply(X)
        order = np.argsort(np.array(self.schema_.classes))
        total = np.zeros((len(leaves), self.n_classes_))
        for tree, own in zip(self.forest_.trees, leaves.T):
            total += tree.shares[:, order][own]
        return total / len(self.forest_.trees)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest mean probability."""
        shares = self._votes(X)
        return self.classes_[shares.argmax(axis=1)]


class ForestRegressor(PrivateForest, PrivateRegressor):
    """Base of the forests that predict numbers: the mean of the trees' values."""

    def predict(self, X: Any) -> np.ndarray:
        """The mean over the trees of the values of a row's leaves."""
        leaves = self.apply(X)
        total = np.zeros(len(leaves))
        for tree, own in zip(self.forest_.trees, leaves.T):
            total += tree.values[own]
        return total / len(self.forest_.trees)


def purity(schema: Schema) -> Score:
    """What attributes are chosen by: Gini impurity or, of numeric targets, squared error."""
    return SquaredError(TARGET_ONE) if schema.classes is None else Gini()


MOST_LEAVES = 2**20
"""Of all trees together: more take long to grow and gigabytes to hold."""


def deepest(n_trees: int) -> int:
    """The largest depth that so many binary trees may have."""
    return int(math.log2(max(MOST_LEAVES / n_trees, 1)))
