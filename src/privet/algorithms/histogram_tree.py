"""Trees from private histograms (Gubler, "Secure and Interpretable: Federated Differentially Private Decision Trees",
EPFL 2023): sums alone, so that they can be masked between owners.

At every node each feature's histogram by class gets noise, and the split of least impurity is looked for in the noisy
counts. Leaves get noisy class counts. Budget saving first asks the owners for noisy lower bounds of what each feature
can do, and then for histograms one after the other, the most promising first; a feature whose bound is above the best
split so far is left out, and what it would have cost is handed down to the children.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from privet.algorithms.base import PrivateClassifier, PrivateEstimator, PrivateRegressor
from privet.algorithms.parameters import choice, fraction, is_number, whole
from privet.errors import PrivetError
from privet.privacy.amounts import exact
from privet.privacy.fixed_point import ONE, TARGET_ONE
from privet.privacy.zcdp import ratio_for
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import even_grid
from privet.questions.tally import Tally
from privet.tree.frontier import Frontier
from privet.tree.histogram_search import LevelSearch
from privet.tree.noisy_histograms import Histograms, feature_histograms, one_hot_histograms
from privet.tree.tree import Tree

MOST_BINS = 254
"""A bin's number is a byte, and missing values have a bin of their own."""

MOST_DEPTH = 16
"""Every level doubles the nodes: 65,536 leaves."""

CLAIMED_BOUND = Fraction(5, 4)
"""What the report says one record can change of a bound; it is 1 (``least_impurity_sensitivity``)."""


@dataclass(eq=False, repr=False, kw_only=True)
class _HistogramTree(PrivateEstimator):
    """What classifier and regressor share: how a tree grows on sums alone."""

    _measure: ClassVar[str]  # what a histogram adds up
    _shortfall = (
        "A record enters the bound of every feature, and each bound was paid for with the whole of the bounds' budget; "
        "the report divides it by the number of features only for histograms."
    )

    delta: float | None = None
    max_depth: int = whole(5, most=MOST_DEPTH)
    n_bins: int = whole(10, 2, MOST_BINS)
    min_samples: float = 10
    leaf_share: float = fraction(0.5)
    save_budget: bool = choice(False, True)
    bounds_share: float = fraction(0.25)
    variant: str = "sound"

    def _check_params(self) -> None:
        if not (is_number(self.min_samples) and 0 <= self.min_samples < 1e300):
            raise PrivetError(f"min_samples must be a number of records, such as 10; got {self.min_samples!r}.")
        self._check_own_delta()

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        start, budget = self._with_delta(curtain, start, budget)
        grid = even_grid(curtain.schema, int(self.n_bins))
        histograms = feature_histograms(grid) if self.variant == "sound" else one_hot_histograms(grid)
        curtain.grid(grid)
        leaf_budget = budget * exact(self.leaf_share)
        level_budget = (budget - leaf_budget) / int(self.max_depth)
        frontier = Frontier.sprout(curtain, [start], grid)
        for _ in range(int(self.max_depth)):
            if not frontier:
                break
            searches = self._search(frontier, histograms, level_budget)
            frontier = frontier.split(searches.splits(), saved=searches.saved)
        budgets = self._leaf_budgets(frontier.ends, leaf_budget, level_budget)
        self._label(frontier.ends, leaf_budget, budgets)
        return frontier.finish()[0]

    def _needs(self, able: frozenset[str]) -> set[str]:
        saving, with_delta = {"owner_sum"} if self.save_budget else set(), set() if self.delta is None else {"zcdp"}
        return {"tally", *saving, *with_delta}

    def _search(self, frontier: Frontier, histograms: Histograms, level_budget: Fraction) -> LevelSearch:
        """Ask about every node of a level until no histogram of any of them is worth asking for."""
        searches = LevelSearch(histograms, frontier, level_budget, printed=self.variant == "published")
        if self.save_budget:
            self._bound(frontier.curtain, searches)
        while tables := searches.next_tables():
            tallies = {node: Tally(own, measure=self._measure) for node, own in tables.items()}
            counts = frontier.curtain.tally(tallies, searches.pay())
            searches.read({node: self._records(own) for node, own in counts.items()}, float(self.min_samples))
        return searches

    def _bound(self, curtain: Curtain, searches: LevelSearch) -> None:
        """Put each node's histograms in the order of noisy lower bounds of their impurity."""
        tables, share = searches.waiting, exact(self.bounds_share)
        prices = {node: searches[node].set_apart(share) for node in tables}
        if self.variant == "published":
            # The printed noise, whatever it costs: each bound has the whole budget, for a change of 5/4.
            prices = {node: claimed * len(tables[node]) / CLAIMED_BOUND for node, claimed in prices.items()}
        bounds = curtain.owner_sum(tables, "least_impurity", prices)
        searches.order({node: own / ONE for node, own in bounds.items()})

    def _records(self, counts: np.ndarray) -> np.ndarray:
        """A tally's answer in records."""
        return counts if self._measure == "records" else counts / TARGET_ONE

    @abstractmethod
    def _label(self, leaves: Frontier, budget: Fraction, budgets: dict[Node, Fraction]) -> None:
        """Write what the leaves predict into the tree: each may spend ``budgets``, at least ``budget``."""

    def _leaf_budgets(self, leaves: Frontier, budget: Fraction, level_budget: Fraction) -> dict[Node, Fraction]:
        """What each leaf may spend: its share and, but for the report's, what its path has not spent."""
        if self.variant == "published":
            return dict.fromkeys(leaves, budget)
        levels = {node: max(int(self.max_depth) - end.depth - 1, 0) for node, end in leaves.items()}
        return {node: own + level_budget * levels[node] for node, own in leaves.with_saved(budget).items()}


@dataclass(eq=False, repr=False, kw_only=True)
class HistogramTreeClassifier(_HistogramTree, PrivateClassifier):
    """A decision tree from private histograms, for owners who only ever add up (paper 002).

    ``variant="sound"`` costs ``epsilon`` (pure differential privacy, add or remove one record). ``variant="published"``
    is the report's Algorithm 5, whose claim holds, or with ``save_budget=True`` its Algorithm 6, whose claim does not:
    every feature's bound is paid with the whole budget for bounds. It asks for the printed noise, and the receipt says
    what that costs. The sound variant pays for bounds with a share for each feature and the true sensitivity, 1; counts
    a categorical feature in one histogram, which costs no more than one of its one-hot columns; lets the histograms of
    a node, which all hold the same records, agree on its class counts; leaves out splits that the rules above a node
    leave nothing to part; gives leaves what their path has not spent; and asks for histograms in batches, each twice as
    large as the one before, so that a level takes few rounds.

    All it asks of a curator are sums, so it also learns from owners who mask theirs (``fit_curator``). On one machine
    ``PrivateTreeClassifier`` is more accurate.

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    delta : float, optional
        With it (epsilon, delta)-differential privacy, accounted by zCDP, with Gaussian noise or, between owners, shares
        of Skellam noise. A record is in the histograms of all p features; that costs geometric noise p times its
        scale and this one sqrt(p) times, so it is better for many features.
    max_depth : int
        The largest depth; the budget for splits is shared evenly by so many levels.
    n_bins : int
        How many bins of one width a numeric feature's range is cut into.
    min_samples : float
        A node is a leaf if all of its histograms say that it holds fewer records, or records of one class only.
    leaf_share : float
        The share of the budget for the leaves.
    save_budget : bool
        Ask for lower bounds of the features' impurities first, and hand down what is saved by leaving features out.
    bounds_share : float
        The share of a node's budget for these bounds.
    leaves : "counts" or "labels"
        Noisy class counts, which are probabilities, or a label by the exponential mechanism, which needs a curator that
        can choose.
    variant : "sound" or "published"
        See above.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = HistogramTreeClassifier(schema=schema, epsilon=1, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.75), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    _measure = "records"

    leaves: str = choice("counts", "labels")

    def _needs(self, able: frozenset[str]) -> set[str]:
        return super()._needs(able) | ({"choose"} if self.leaves == "labels" else set())

    def _label(self, leaves: Frontier, budget: Fraction, budgets: dict[Node, Fraction]) -> None:
        if self.leaves == "counts":
            leaves.count(budgets)
            return
        if self.variant == "published":  # as printed, for scores that may move both ways; counts do not
            budgets = {node: amount / 2 for node, amount in budgets.items()}
        leaves.label(budgets, "exponential")


class HistogramTreeRegressor(_HistogramTree, PrivateRegressor):
    """A regression tree from private histograms, for owners who only ever add up (after paper 002).

    The report is about classes. Here a target counts as a part of a record at each end of its public range: the two
    sums of these parts cost what one count costs, and their impurity as two classes is, but for what no split changes,
    the squared error. So ``HistogramTreeClassifier``'s algorithm, bounds and proofs hold as they are.

    Parameters
    ----------
    schema : Schema
        The public ranges and categories, and the target's range.
    epsilon, delta, max_depth, n_bins, min_samples, leaf_share, save_budget, bounds_share, variant, random_state
        As for ``HistogramTreeClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import HistogramTreeRegressor, Numeric, Schema
    >>> x = np.linspace(0, 1, 20000)[:, None]
    >>> schema = Schema({"x": Numeric(0, 1)}, target=(-1, 1))
    >>> model = HistogramTreeRegressor(schema, epsilon=1, max_depth=3).fit(x, np.sin(6 * x[:, 0]))
    >>> bool(model.score(x, np.sin(6 * x[:, 0])) > 0.8), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    _measure = "target"

    def _label(self, leaves: Frontier, budget: Fraction, budgets: dict[Node, Fraction]) -> None:
        ratio = budget if self.delta is None else ratio_for("gaussian", budget)
        leaves.average(budgets, noise=1 / float(ratio))
