"""Trees from private histograms (Gubler, "Secure and Interpretable: Federated Differentially Private Decision Trees",
EPFL 2023): sums alone, so that they can be masked between owners.

At every node each feature's histogram by class gets noise, and the split of least impurity is looked for in the noisy
counts. Leaves get noisy class counts. Budget saving first asks the owners for noisy lower bounds of what each feature
can do, and then for histograms one after the other, the most promising first; a feature whose bound is above the best
split so far is left out, and what it would have cost is handed down to the children.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.algorithms.base import (
    PrivateClassifier,
    PrivateEstimator,
    PrivateRegressor,
    check_choice,
    check_whole,
    is_number,
)
from privet.errors import PrivetError
from privet.privacy.amounts import exact
from privet.privacy.fixed_point import ONE, TARGET_ONE
from privet.privacy.scores import CorrectCount
from privet.privacy.zcdp import ratio_for
from privet.questions.candidates import Candidates, Split
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import even_grid
from privet.questions.tally import Tally
from privet.schema import Schema
from privet.tree.growth import Branch, branches, sprout
from privet.tree.histogram_search import Search
from privet.tree.means import set_means
from privet.tree.noisy_histograms import Histograms, feature_histograms, one_hot_histograms
from privet.tree.tree import Tree

MOST_BINS = 254
"""A bin's number is a byte, and missing values have a bin of their own."""

MOST_DEPTH = 16
"""Every level doubles the nodes: 65,536 leaves."""

CLAIMED_BOUND = Fraction(5, 4)
"""What the report says one record can change of a bound; it is 1 (``least_impurity_sensitivity``)."""


class _HistogramTree(PrivateEstimator):
    """What classifier and regressor share: how a tree grows on sums alone."""

    _measure: str  # what a histogram adds up
    _shortfall = (
        "A record enters the bound of every feature, and each bound was paid for with the whole of the bounds' budget; "
        "the report divides it by the number of features only for histograms."
    )

    def __init__(
        self,
        schema: Schema | str | None = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        max_depth: int = 5,
        n_bins: int = 10,
        min_samples: float = 10,
        leaf_share: float = 0.5,
        save_budget: bool = False,
        bounds_share: float = 0.25,
        variant: str = "sound",
        random_state: Any = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.max_depth = max_depth
        self.n_bins = n_bins
        self.min_samples = min_samples
        self.leaf_share = leaf_share
        self.save_budget = save_budget
        self.bounds_share = bounds_share
        self.variant = variant
        self.random_state = random_state

    def _check_params(self) -> None:
        check_whole("max_depth", self.max_depth, 1, MOST_DEPTH)
        check_whole("n_bins", self.n_bins, 2, MOST_BINS)
        check_choice("save_budget", self.save_budget, (True, False))
        for name in ("leaf_share", "bounds_share"):
            if not (is_number(getattr(self, name)) and 0 < getattr(self, name) < 1):
                raise PrivetError(f"{name} must lie between 0 and 1; got {getattr(self, name)!r}.")
        if not (is_number(self.min_samples) and 0 <= self.min_samples < 1e300):
            raise PrivetError(f"min_samples must be a number of records, such as 10; got {self.min_samples!r}.")
        self._check_own_delta()

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        start, budget = self._with_delta(curtain, start, budget)
        grid = even_grid(curtain.schema, int(self.n_bins))
        histograms = feature_histograms(grid) if self.variant == "sound" else one_hot_histograms(grid)
        curtain.grid(grid)
        tree = Tree(curtain.schema)
        leaf_budget = budget * exact(self.leaf_share)
        level_budget = (budget - leaf_budget) / int(self.max_depth)
        frontier = sprout(tree, start, grid)
        leaves: dict[Node, Branch] = {}
        for level in range(int(self.max_depth)):
            searches = self._search(curtain, frontier, histograms, level_budget)
            splits = {node: split for node, own in searches.items() if (split := self._split(own, histograms))}
            # What a leaf's path has not spent is its own.
            unused = level_budget * (int(self.max_depth) - level - 1)
            leaves |= {
                node: replace(branch, saved=unused + searches[node].saved)
                for node, branch in frontier.items()
                if node not in splits
            }
            frontier = {
                child: replace(end, saved=searches[node].saved)
                for node, children in curtain.split(splits).items()
                for child, end in zip(children, branches(tree, frontier[node], splits[node], grid))
            }
        self._label(curtain, tree, leaves | frontier, leaf_budget)
        return tree.simplified()

    def _needs(self, able: frozenset[str]) -> set[str]:
        saving, with_delta = {"owner_sum"} if self.save_budget else set(), set() if self.delta is None else {"zcdp"}
        return {"tally", *saving, *with_delta}

    def _search(
        self, curtain: Curtain, frontier: Mapping[Node, Branch], histograms: Histograms, level_budget: Fraction
    ) -> dict[Node, Search]:
        """Ask about every node of a level until no histogram of any of them is worth asking for."""
        if not frontier:
            return {}
        parting = self._parting(histograms, frontier)
        searches = {
            node: Search(histograms.that_part(own), len(histograms), level_budget + branch.saved)
            for (node, branch), own in zip(frontier.items(), parting)
        }
        if self.save_budget:
            self._bound(curtain, {node: search for node, search in searches.items() if search.waiting}, histograms)
        places = {node: place for place, node in enumerate(searches)}
        sums, n_asked = np.zeros((len(searches), 1)), np.zeros((len(searches), 1))
        while asked := {node: batch for node, search in searches.items() if (batch := search.next_batch())}:
            prices = {node: searches[node].pay(batch) for node, batch in asked.items()}
            tallies = {
                node: Tally(histograms.tables(tuple(batch)), measure=self._measure) for node, batch in asked.items()
            }
            counts = curtain.tally(tallies, prices)
            numbers = np.array([i for batch in asked.values() for i in batch])
            of_node = np.array([places[node] for node, batch in asked.items() for _ in batch])
            answers = self._records(np.concatenate([counts[node] for node in asked]))
            totals = histograms.totals(numbers, answers)
            if self.variant == "sound":
                # All histograms of a node hold the same records: the mean of what they say is the best guess, if it is
                # one at all.
                sums = sums + _added(totals, of_node, len(searches))
                n_asked += _added(np.ones((len(numbers), 1)), of_node, len(searches))
                means = (sums / np.maximum(n_asked, 1))[of_node]
                believable = (means > 0).all(axis=1, keepdims=True)
                answers = histograms.moved(numbers, answers, np.where(believable, means - totals, 0))
            found = histograms.best(numbers, answers, parting[of_node])
            end = 0
            for node, batch in asked.items():
                start, end = end, end + len(batch)
                searches[node].read(found[start:end], totals[start:end], float(self.min_samples))
        return searches

    def _parting(self, histograms: Histograms, frontier: Mapping[Node, Branch]) -> np.ndarray:
        """For each node the splits that part what can reach it; in the report all of them."""
        if self.variant == "published":
            return np.ones((len(frontier), histograms.n_splits), dtype=bool)
        return histograms.parting(np.array([branch.reachable for branch in frontier.values()]))

    def _bound(self, curtain: Curtain, searches: Mapping[Node, Search], histograms: Histograms) -> None:
        """Put each node's histograms in the order of noisy lower bounds of their impurity."""
        share, prices = exact(self.bounds_share), {}
        for node, search in searches.items():
            claimed = search.set_apart(share)
            # The printed noise, whatever it costs: each bound has the whole budget, for a change of 5/4.
            true = claimed * len(search.waiting) / CLAIMED_BOUND
            prices[node] = true if self.variant == "published" else claimed
        tables = {node: histograms.tables(tuple(search.waiting)) for node, search in searches.items()}
        for node, bounds in curtain.owner_sum(tables, "least_impurity", prices).items():
            searches[node].order(bounds / ONE, one_by_one=self.variant == "published")

    def _split(self, search: Search, histograms: Histograms) -> Split | None:
        """A node's best split; none if its histograms say that it is a leaf.

        The report asks that the histograms of all features say so. One that was left out says nothing, so in print a
        node that saved is split.
        """
        stops = search.says_leaf and (self.variant == "sound" or search.asked_for_all)
        return None if stops or search.best is None else histograms.split(search.best)

    def _records(self, counts: np.ndarray) -> np.ndarray:
        """A tally's answer in records."""
        return counts if self._measure == "records" else counts / TARGET_ONE

    @abstractmethod
    def _label(self, curtain: Curtain, tree: Tree, leaves: Mapping[Node, Branch], budget: Fraction) -> None:
        """Write what the leaves predict into the tree."""

    def _leaf_budgets(self, leaves: Mapping[Node, Branch], budget: Fraction) -> dict[Node, Fraction]:
        """What each leaf may spend: its share and, but for the report's, what its path has not spent."""
        printed = self.variant == "published"
        return {node: budget if printed else budget + branch.saved for node, branch in leaves.items()}


def _added(rows: np.ndarray, to: np.ndarray, n: int) -> np.ndarray:
    """``n`` rows of zeros with each row added to the one that ``to`` says."""
    added = np.zeros((n, rows.shape[1]))
    np.add.at(added, to, rows)
    return added


class HistogramTreeClassifier(_HistogramTree, PrivateClassifier):
    """A decision tree from private histograms, for owners who only ever add up (paper 002).

    ``variant="sound"`` costs ``epsilon`` (pure differential privacy, add or remove one record). ``variant="published"``
    is the report's Algorithm 5, whose claim holds, or with ``save_budget=True`` its Algorithm 6, whose claim does not:
    every feature's bound is paid with the whole budget for bounds. It asks for the printed noise, and the receipt says
    what that costs. The sound variant pays for bounds with a share for each feature and the true sensitivity, 1; counts
    a categorical feature in one histogram, which costs no more than one of its one-hot columns; lets the histograms of
    a node, which all hold the same records, agree on its class counts; leaves out splits that the rules above a node
    leave nothing to part; gives leaves what their path has not spent; and asks for
    histograms in batches, each twice as large as the one before, so that a level takes few rounds.

    All it asks of a curator are sums, so it also learns from owners who mask theirs (``fit_curator``). On one machine
    ``PrivateTreeClassifier`` is more accurate.

    Parameters
    ----------
    schema : Schema
        The public ranges, categories and classes. ``"infer"`` reads them off the data and voids the receipt.
    epsilon : float
        The privacy budget.
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
    random_state : int, optional
        Reproducible noise for research; voids the receipt.

    Attributes
    ----------
    tree_ : Tree
        The public tree.
    privacy_ : Receipt
        What it cost and why.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = HistogramTreeClassifier(schema=schema, epsilon=1, max_depth=3).fit(X, y)
    >>> bool(model.score(X, y) > 0.75), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    _measure = "records"

    def __init__(
        self,
        schema: Schema | str | None = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        max_depth: int = 5,
        n_bins: int = 10,
        min_samples: float = 10,
        leaf_share: float = 0.5,
        save_budget: bool = False,
        bounds_share: float = 0.25,
        leaves: str = "counts",
        variant: str = "sound",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            schema,
            epsilon=epsilon,
            delta=delta,
            max_depth=max_depth,
            n_bins=n_bins,
            min_samples=min_samples,
            leaf_share=leaf_share,
            save_budget=save_budget,
            bounds_share=bounds_share,
            variant=variant,
            random_state=random_state,
        )
        self.leaves = leaves

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("leaves", self.leaves, ("counts", "labels"))

    def _needs(self, able: frozenset[str]) -> set[str]:
        return super()._needs(able) | ({"choose"} if self.leaves == "labels" else set())

    def _label(self, curtain: Curtain, tree: Tree, leaves: Mapping[Node, Branch], budget: Fraction) -> None:
        budgets = self._leaf_budgets(leaves, budget)
        if self.leaves == "counts":
            for node, counts in curtain.tally(dict.fromkeys(leaves, Tally()), budgets).items():
                tree.nodes[leaves[node].number].counts = tuple(map(int, counts[0]))
            return
        if self.variant == "published":  # as printed, for scores that may move both ways; counts do not
            budgets = {node: amount / 2 for node, amount in budgets.items()}
        labels = Candidates(None, len(curtain.schema.classes or ()), labelled=True, stop=True)
        choices = curtain.choose(dict.fromkeys(leaves, labels), CorrectCount(), budgets, mechanism="exponential")
        for node, choice in choices.items():
            tree.nodes[leaves[node].number].label = choice.labels[0]


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

    Attributes
    ----------
    tree_ : Tree
        The public tree.
    privacy_ : Receipt
        What it cost and why.

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

    def _label(self, curtain: Curtain, tree: Tree, leaves: Mapping[Node, Branch], budget: Fraction) -> None:
        assert curtain.schema.target is not None
        tallies = dict.fromkeys(leaves, Tally(measure="target"))
        sums = curtain.tally(tallies, self._leaf_budgets(leaves, budget))
        by_leaf = {branch.number: sums[node][0] for node, branch in leaves.items()}
        ratio = budget if self.delta is None else ratio_for("gaussian", budget)
        set_means(tree, by_leaf, curtain.schema.target, noise=1 / float(ratio))
