"""What forests share: a released ``forest_``, and predictions that are means over its trees."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privet.algorithms.base import PrivateClassifier, PrivateEstimator, PrivateRegressor
from privet.algorithms.parameters import checked_budget
from privet.algorithms.prediction import fast_scores
from privet.algorithms.size import Size, size_share
from privet.errors import PrivetError
from privet.privacy.amounts import checked_delta
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.scores import Gini, Score, SquaredError
from privet.privacy.zcdp import ratio_for, rho_of, rho_within
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid, public_grid
from privet.schema import Schema
from privet.tree.additive import Additive
from privet.tree.forest import Forest
from privet.tree.frontier import Frontier

BOOSTING_TRIAL = 6
"""A tree is near its best with a few thousand records times epsilon, and boosting still far from it: where models are
tried with small budgets, boosting has so many times a tree's (docs/model_selection.md)."""


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


class BoostedForest(PrivateForest):
    """Base of the forests that boost or grow trees, whichever is expected to be better with so many records."""

    method: str
    n_trees: int | None
    n_records: int | None
    progress: Any
    _most_cells: int | None = None  # of a numeric feature

    @property
    def _asks_for_trees(self) -> bool:
        """Whoever says how many trees wants trees."""
        return self.n_trees != type(self).n_trees

    @property
    def _may_boost(self) -> bool:
        return self.method != "trees" and not self._asks_for_trees

    @property
    def _uses_delta(self) -> bool:
        return self._may_boost

    @property
    def _trial_weight(self) -> int:
        return BOOSTING_TRIAL if self._may_boost else 1

    @abstractmethod
    def _boosts(self, curtain: Curtain, n_records: float, budget: Fraction, currency: str) -> bool:
        """Whether to boost, with so many records and this budget in this currency."""

    @abstractmethod
    def _boost(self, curtain: Curtain, start: Node, budget: Fraction, n_records: float, grid: Grid) -> Additive: ...

    @abstractmethod
    def _trees_of(self, curtain: Curtain, start: Node, budget: Fraction, size: Size, grid: Grid) -> Forest: ...

    def _check_params(self) -> None:
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise PrivetError(f"progress must be True, False, None or a function; got {self.progress!r}.")
        if self.delta is not None:
            rho_within(checked_budget(self.epsilon), checked_delta(self.delta))
        if self._asks_for_trees and self.method == "boosting":
            raise PrivetError("n_trees is for method='trees': how often boosting goes round follows from the records.")

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Additive | Forest:
        # The grid first: it reads every column, and refuses bad ones before anything is spent.
        grid = public_grid(curtain.schema, self._most_cells)
        curtain.grid(grid)
        if self.delta is not None:
            return self._grow_with_delta(curtain, budget, checked_delta(self.delta), grid)
        size = Size.of(curtain, start, budget, self.n_records)
        if not self._boosts(curtain, size.n, size.left, "epsilon"):
            return self._trees_of(curtain, start, budget, size, grid)
        return self._boost(curtain, start, size.left, size.n, grid)

    def _grow_with_delta(self, curtain: Curtain, budget: Fraction, delta: Fraction, grid: Grid) -> Additive | Forest:
        """Each root's limit is what it reserves: the size its share, and what is grown by it the rest.

        Trees spend epsilon, and in a ledger that adds up rho with others that may be more than this fit's rho. Where so
        much is not left they have the epsilon that surely fits, and boosting, which is not cut, is worth more by them.
        """
        rho = rho_within(budget, delta)
        if self.n_records is not None:
            size = Size(self.n_records, budget)
        else:
            size = Size.of(curtain, curtain.root(size_share(budget)), budget, None)
            rho -= rho_of("geometric", size_share(budget))
        uncut, fits = size.left, ratio_for("geometric", rho)
        if fits < size.left and not curtain.covers(size.left):
            size = replace(size, left=fits)
        if not self._boosts(curtain, size.n * float(uncut / size.left), rho, "rho"):
            return self._trees_of(curtain, curtain.root(size.left), budget, size, grid)
        return self._boost(curtain, curtain.root(rho, "rho"), rho, size.n, grid)

    def _scores(self, X: Any) -> np.ndarray:
        """The scores of a boosted ensemble."""
        table = self._table(X)
        scores = fast_scores(self.forest_, table)
        return self.forest_.scores(*self._columns(table)) if scores is None else scores

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much each feature matters, as shares of one, by what was released alone: free."""
        check_is_fitted(self, "forest_")
        return self.forest_.importances if isinstance(self.forest_, Additive) else super().feature_importances_

    def _dependence(self, feature: int, column: np.ndarray) -> np.ndarray:
        boosted = isinstance(self.forest_, Additive)
        return self.forest_.dependence(feature, column) if boosted else super()._dependence(feature, column)


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
