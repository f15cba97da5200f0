"""DP-TopDown (paper 001): best-first growth, one private split for each leaf that is worth one.

Greedy top-down learning keeps a queue of leaves, each with its best split, and makes the split that lowers the tree's
impurity most. DP-TopDown finds a leaf's split by a private choice from a public splitting class, weighs leaves by
noisy counts, stops at small or pure ones, and labels what is left by report-noisy-max. What a node may spend depends
on its depth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import check_choice, check_hint, check_whole, is_number
from privet.curators.desk import Desk
from privet.errors import PrivetError, SchemaError
from privet.privacy.amounts import exact
from privet.privacy.receipt import Receipt
from privet.privacy.scores import Entropy, Gini, RootGini, Score
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.linear_maps import left_counts
from privet.questions.split import Split
from privet.questions.splits import Splits
from privet.questions.tally import Tally
from privet.schema import Schema
from privet.tree.best_first import Offer, grow_best_first
from privet.tree.criteria import CRITERIA, gain
from privet.tree.frontier import End, Frontier
from privet.tree.planning import SIZE_SHARE
from privet.tree.splitting_class import SplittingClass
from privet.tree.tree import Tree

MECHANISMS = {
    "rnm": "report_noisy_max",
    "permute_and_flip": "permute_and_flip",
    "exponential": "exponential",
}
"""How a split is chosen in one place, by the name of the parameter."""

DISTRIBUTED = ("noisy_counts", "local_rnm")
"""How owners find a split together."""

BUDGETS: dict[str, Callable[[int, int], Fraction]] = {
    "uniform": lambda depth, max_nodes: Fraction(1, max_nodes),
    "decay": lambda depth, max_nodes: Fraction(1, 2**depth),
}
"""B(depth): the share of the splits' budget that a node at this depth has; the root's depth is 1."""

TALLY_SHARE = Fraction(1, 2)
"""The part of a node's budget that measures the chosen split; the paper gives half of it to the node's weight."""

CLAIMED = {
    "entropy": lambda m: 2 * (3 * math.log2(m) + 1) / m,
    "gini": lambda m: 20 / m,
    "root_gini": lambda m: 10 / m,
}
"""What the paper says one record can change of a gain in a node of m records (Lemmas 11, 18 and 20)."""

SHORTFALLS = {
    "rnm": (
        "Report-noisy-max also told the winner's noisy gain, and its noise was scaled by the node's private size; "
        "no finite epsilon covers either."
    ),
    "noisy_counts": (
        "A record is in one cell of each of three tables for every splitting function, and each had a third of the "
        "noise where it should have been threefold: nine times the claim."
    ),
    "local_rnm": (
        "What the owners chose was counted in three tables each, and each had a third of the noise where it should "
        "have been threefold: nine times the claim of that half of the budget."
    ),
}
"""Why the published splits cost more than they claim."""

FIXED_POINT = 2**20
"""Published gains in whole numbers, so that noise can be added to them."""

MOST_NODES = 10**5

MOST_RECORDS = 2**30
"""A larger hint counts as this: questions with less than a billionth of epsilon would only be noise."""


@dataclass(eq=False, repr=False)
class TopDownClassifier(PrivateClassifier):
    """DP-TopDown: best-first greedy growth over a public splitting class.

    ``variant="sound"`` costs ``epsilon`` (pure differential privacy but for a ``delta``; add or remove one record).
    Each node that is asked chooses its split privately and then has the winner's children counted, class by class, with
    fresh noise: gain, weights and every decision to go on come from these counts. A node pays for both with its share
    of the budget.

    ``variant="published"`` is the printed algorithm: report-noisy-max that also releases the winner's noisy gain, with
    noise scaled by the private number of records in the node. That is not private for any epsilon, so it reads exact
    counts and its receipt says infinity. One reading is ours: a node without records has the noise of one with one.
    Between owners the printed counts cost nine times their claim, and the receipt says so.

    Use it for trees of very different branch lengths, for splitting classes of your own, and to compare with the paper;
    ``PrivateTreeClassifier`` is more accurate at small budgets.

    Parameters
    ----------
    schema : Schema
        The public ranges, categories and classes. ``"infer"`` reads them off the data and voids the receipt.
    epsilon : float
        The privacy budget (the paper's alpha).
    delta : float, optional
        With it (epsilon, delta)-differential privacy, accounted by zCDP; counts then have Gaussian noise or, between
        owners, shares of Skellam noise. It is for ``split="noisy_counts"`` above all, whose noise grows with the number
        of features, and with a delta with its square root.
    max_nodes : int
        At most so many splits (the paper's M).
    max_depth : int, optional
        The largest depth.
    criterion : "gini", "entropy" or "root_gini"
        What splits are to lower; ``root_gini`` is for two classes. The last two need far more budget: one record moves
        their scores by up to 1 + ln(n) and 2 sqrt(n), against 2. ``n`` there is the public number below.
    budget : "decay", "uniform" or a function
        The share of the splits' budget that a node at depth 1, 2, ... may spend: half as much at each depth,
        1 / max_nodes, or a function of the depth whose values add up to at most 1 (such a model cannot be saved).
    leaf_share : float
        The share of the whole budget that labels the leaves.
    error, min_gain : float
        A leaf is split further if it weighs at least error / max_nodes of all records, by the noisy counts of its
        parent, and if its split's gain is above ``min_gain``, by its own. (Impurity is 1 for two classes alike.)
    split : "rnm", "permute_and_flip", "exponential", "noisy_counts" or "local_rnm"
        How a split, and in the end a label, is chosen. The last two ask for nothing but what owners can answer who
        mask their sums (``FederatedCurator``): noisy histograms of all features, or each owner's own choice by
        report-noisy-max and then the counts of what they chose; labels are the largest of noisy counts. The published
        variant has ``"rnm"``, ``"noisy_counts"`` and, for Gini, ``"local_rnm"``.
    splitting_class : int or SplittingClass
        The questions that a node may choose from: so many evenly spaced thresholds for each numeric feature and one
        question for each category, or a ``privet.tree.splitting_class.SplittingClass``.
    n_records : int, optional
        About how many records there are, if that is public. Never compared with the data; without it 2% of the budget
        measures the number. It sets which weight is too small, and caps for entropy and root-Gini.
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
    >>> model = TopDownClassifier(schema=schema, epsilon=1.0, max_nodes=32).fit(X, y)
    >>> bool(model.score(X, y) > 0.77), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    schema: Schema | str | None = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float | None = None
    max_nodes: int = 512
    max_depth: int | None = None
    criterion: str = "gini"
    budget: str | Callable[[int], Any] = "decay"
    leaf_share: float = 0.5
    error: float = 0.1
    min_gain: float = 0.01
    split: str = "rnm"
    splitting_class: int | SplittingClass = 10
    n_records: int | None = None
    variant: str = "sound"
    random_state: Any = None

    def _check_params(self) -> None:
        check_whole("max_nodes", self.max_nodes, 1, MOST_NODES)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth)
        check_choice("criterion", self.criterion, tuple(CRITERIA))
        check_choice("split", self.split, (*MECHANISMS, *DISTRIBUTED))
        if self.variant == "published" and self.split not in SHORTFALLS:
            known = " or ".join(map(repr, SHORTFALLS))
            raise PrivetError(f"The published variant has the paper's splits: split={known}; got {self.split!r}.")
        if self.variant == "published" and self.split == "local_rnm" and self.criterion != "gini":
            raise PrivetError(
                "The published split='local_rnm' is for criterion='gini': by the others an owner's noise depends on "
                "its private size in a way that only exact counts could tell."
            )
        if not (is_number(self.leaf_share) and 0 < self.leaf_share < 1):
            raise PrivetError(f"leaf_share must lie between 0 and 1; got {self.leaf_share!r}.")
        if not (is_number(self.error) and 0 <= self.error <= 1):
            raise PrivetError(f"error must lie between 0 and 1; got {self.error!r}.")
        if not (is_number(self.min_gain) and math.isfinite(self.min_gain)):
            raise PrivetError(f"min_gain must be a number, such as 0.01; got {self.min_gain!r}.")
        if not (isinstance(self.splitting_class, SplittingClass) or _is_whole(self.splitting_class)):
            raise PrivetError(
                f"splitting_class is a number of thresholds or a SplittingClass; got {self.splitting_class!r}."
            )
        check_hint(self.n_records)
        self._check_own_delta()
        shares(self.budget, self.max_nodes)

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Tree:
        n_classes = len(curtain.schema.classes or ())
        if self.criterion == "root_gini" and n_classes != 2:
            raise SchemaError("root_gini is for two classes; choose criterion='gini' or 'entropy'.")
        offered = self.splitting_class
        offered = offered if isinstance(offered, SplittingClass) else SplittingClass(int(offered))
        functions = offered.functions(curtain.schema)
        start, budget = self._with_delta(curtain, start, budget)
        curtain.grid(functions.grid)
        private_split = self._kind()(self, curtain, functions, start, budget)
        frontier = Frontier.sprout(curtain, [start], functions.grid)
        leaves = grow_best_first(frontier, private_split, int(self.max_nodes))
        private_split.label(leaves)
        return leaves.finish()[0]

    def _needs(self, able: frozenset[str]) -> set[str]:
        rho = set() if self.delta is None else {"zcdp"}
        if self.split == "noisy_counts":
            return {"tally"} | rho
        if self.split == "local_rnm":
            return {"tally", "choose_each"} | rho
        return {"choose", "peek", "noise"} if self.variant == "published" else {"tally", "choose"} | rho

    def _kind(self) -> type[BudgetedSplit]:
        from privet.algorithms.distributed_split import LocalRNM, NoisyCounts, PrintedLocalRNM, PrintedNoisyCounts

        kinds: dict[str, tuple[type[BudgetedSplit], type[BudgetedSplit]]] = {
            "noisy_counts": (NoisyCounts, PrintedNoisyCounts),
            "local_rnm": (LocalRNM, PrintedLocalRNM),
        }
        return kinds.get(self.split, (SoundSplit, PublishedSplit))[self.variant == "published"]

    def _receipt(self, curator: Desk, budget: Fraction) -> Receipt:
        receipt = super()._receipt(curator, budget)
        return replace(receipt, shortfall=SHORTFALLS[self.split]) if receipt.spent > budget else receipt


# -- PrivateSplit: the part that asks ------------------------------------------------------------------------------


class BudgetedSplit:
    """What all share: how the budget is dealt out, which leaves are too small, and how they are labelled."""

    def __init__(
        self, model: TopDownClassifier, curtain: Curtain, functions: Splits, start: Node, budget: Fraction
    ) -> None:
        self.model, self.curtain, self.functions = model, curtain, functions
        self.leaf_budget = budget * exact(model.leaf_share, "leaf_share")
        self.split_budget = budget - self.leaf_budget
        self.shares = shares(model.budget, model.max_nodes)[: model.max_depth]
        self.min_weight = float(model.error) / model.max_nodes

    def budget(self, depth: int) -> Fraction:
        """What a node at this depth may spend, the root's is 0; nothing beyond the largest one."""
        return self.split_budget * self.shares[depth] if depth < len(self.shares) else Fraction(0)

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        raise NotImplementedError

    def weights(self, offer: Offer, children: Frontier) -> tuple[float, ...]:
        return offer.weights  # counted with the split

    def label(self, leaves: Frontier) -> None:
        """Choose a label for every leaf."""
        leaves.label(self.leaf_budget, MECHANISMS[self.model.split])


class SoundSplit(BudgetedSplit):
    """Choose, then measure the winner. Everything that is decided follows from the schema and from private answers."""

    def __init__(
        self, model: TopDownClassifier, curtain: Curtain, functions: Splits, start: Node, budget: Fraction
    ) -> None:
        if model.n_records is None:
            share = budget * SIZE_SHARE
            measured = int(curtain.tally({start: Tally(by_class=False)}, share)[start][0])
            budget -= share
        else:
            measured = int(model.n_records)
        super().__init__(model, curtain, functions, start, budget)
        self.size = min(max(measured, 1), MOST_RECORDS)
        self.score = selection_score(model.criterion, self.size)
        self.n_classes = len(curtain.schema.classes or ())

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        candidates = {
            node: Candidates(self.functions, self.n_classes, self.functions.allowed_within(end.reachable))
            for node, end in leaves.items()
            if self._worth_asking(end)
        }
        candidates = {node: options for node, options in candidates.items() if len(options)}
        counted = self.counted(candidates, {node: self.budget(leaves[node].depth) for node in candidates})
        offers = {}
        for node, (split, counts) in counted.items():
            gained = float(gain(self.model.criterion, counts))
            if gained > self.model.min_gain:
                offers[node] = Offer(split, gained, tuple(counts.sum(axis=1) / self.size))
        return offers

    def counted(
        self, candidates: Mapping[Node, Candidates], budgets: Mapping[Node, Fraction]
    ) -> dict[Node, tuple[Split, np.ndarray]]:
        """For each node a split, privately chosen, and the noisy class counts of its children."""
        choices = self.curtain.choose(
            candidates,
            self.score,
            {node: budget * (1 - TALLY_SHARE) for node, budget in budgets.items()},
            mechanism=MECHANISMS[self.model.split],
        )
        splits = {node: choice.split for node, choice in choices.items() if choice.split is not None}
        counts = self.curtain.tally(
            {node: Tally((split,)) for node, split in splits.items()},
            {node: budgets[node] * TALLY_SHARE for node in splits},
        )
        return {node: (split, counts[node]) for node, split in splits.items()}

    def _worth_asking(self, end: End) -> bool:
        """Not if it weighs too little, nor if its noise would be larger than all records together."""
        return end.weight >= self.min_weight and self.budget(end.depth) * self.size >= 1


class PublishedSplit(BudgetedSplit):
    """As printed: noise of a private scale on exact gains, the largest of which is told, and noisy weights."""

    def __init__(
        self, model: TopDownClassifier, curtain: Curtain, functions: Splits, start: Node, budget: Fraction
    ) -> None:
        super().__init__(model, curtain, functions, start, budget)
        self.size = int(self._totals(curtain.peek([start])[start]).sum())
        self.leaf_budget /= 2  # its report-noisy-max has noise of 2 / budget

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        offers = {}
        for node, end in leaves.items():
            offer = self._report_noisy_max(node, end.depth)
            if offer is not None and offer.gain > self.model.min_gain and end.weight >= self.min_weight:
                offers[node] = offer
        return offers

    def _report_noisy_max(self, node: Node, depth: int) -> Offer | None:
        # The root's split has all of its budget; below, half of it is for the weight.
        budget = self.budget(depth) / (2 if depth else 1)
        if not budget or not len(self.functions):
            return None
        histogram = self.curtain.peek([node])[node]
        left = left_counts(self.functions, histogram)
        whole = self._totals(histogram)
        gains = gain(self.model.criterion, np.stack([left, whole - left], axis=1))
        scale = 2 * CLAIMED[self.model.criterion](max(int(whole.sum()), 1)) / float(budget)
        noisy = self._noise(np.rint(gains * FIXED_POINT).astype(np.int64), scale * FIXED_POINT)
        best = int(noisy.argmax())
        return Offer(self.functions.split(best), float(noisy[best]) / FIXED_POINT)

    def weights(self, offer: Offer, children: Frontier) -> tuple[float, ...]:
        sizes = np.array([counts.sum() for counts in children.exact_counts().values()])
        budget = float(max(self.budget(end.depth) for end in children.values()))
        noisy = self._noise(sizes, 2 / budget) if budget else sizes * 0
        return tuple(noisy / max(self.size, 1))

    def _totals(self, histogram: np.ndarray) -> np.ndarray:
        return histogram[: self.functions.grid.offsets[1]].sum(axis=0)  # every record is in one cell of a feature

    def _noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self.curtain.noise(values, min(scale, 2.0**52))


def selection_score(criterion: str, size: int) -> Score:
    """The score of a private choice; where it needs a public cap, about as many records as there are.

    The cap is part of the score, so its constant holds however many records there really are: a measured number that
    is too small costs accuracy, not privacy.
    """
    if criterion == "gini":
        return Gini()
    if criterion == "entropy":
        return Entropy(min(size, 2**24))
    return RootGini(min(size, 2**22))


def shares(budget: str | Callable[[int], Any], max_nodes: int) -> list[Fraction]:
    """B(1), ..., B(max_nodes): exact, none negative, together at most 1."""
    max_nodes = int(max_nodes)
    if callable(budget):
        values = [_share(budget(depth)) for depth in range(1, max_nodes + 1)]
    elif isinstance(budget, str) and budget in BUDGETS:
        values = [BUDGETS[budget](depth, max_nodes) for depth in range(1, max_nodes + 1)]
    else:
        raise PrivetError(f"budget must be 'decay', 'uniform' or a function of the depth; got {budget!r}.")
    together = sum(values, Fraction(0))
    if 1 < together <= 1 + Fraction(1, 10**9):  # what was meant to be 1, in floats
        values = [value / together for value in values]
    elif min(values) < 0 or together > 1:
        raise PrivetError(
            "The shares that budget gives to depths 1 to max_nodes must not be negative, nor exceed 1 together; they "
            f"add up to {float(together):.6g}."
        )
    return values


def _share(value: Any) -> Fraction:
    return Fraction(0) if is_number(value) and value == 0 else exact(value, "a share of the budget")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
