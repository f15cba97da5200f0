"""DP-TopDown (paper 001): best-first growth, one private split for each leaf that is worth one.

Greedy top-down learning keeps a queue of leaves, each with its best split, and makes the split that lowers the tree's
impurity most. DP-TopDown finds a leaf's split by a private choice from a public splitting class, weighs leaves by
noisy counts, stops at small or pure ones, and labels what is left by report-noisy-max. What a node may spend depends
on its depth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral
from typing import Any

from privet.algorithms.base import PrivateClassifier
from privet.algorithms.parameters import choice, fraction, hint, is_number, whole
from privet.algorithms.private_split import (
    MECHANISMS,
    BudgetedSplit,
    LocalRNM,
    NoisyCounts,
    PrintedLocalRNM,
    PrintedNoisyCounts,
    PublishedSplit,
    SoundSplit,
    shares,
)
from privet.curators.desk import Desk
from privet.errors import PrivetError, SchemaError
from privet.privacy.receipt import Receipt
from privet.questions.curtain import Curtain, Node
from privet.tree.best_first import grow_best_first
from privet.tree.criteria import CRITERIA
from privet.tree.frontier import Frontier
from privet.tree.splitting_class import SplittingClass
from privet.tree.tree import Tree

DISTRIBUTED = ("noisy_counts", "local_rnm")
"""How owners find a split together."""

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

MOST_NODES = 10**5


@dataclass(eq=False, repr=False, kw_only=True)
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
    schema, random_state
        As for ``PrivateTreeClassifier``.
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
        See above.

    Examples
    --------
    >>> from privet.datasets import load_adult
    >>> X, y, schema = load_adult()
    >>> model = TopDownClassifier(schema=schema, epsilon=1.0, max_nodes=32).fit(X, y)
    >>> bool(model.score(X, y) > 0.77), model.privacy_.epsilon <= 1, model.privacy_.verify()
    (True, True, True)
    """

    delta: float | None = None
    max_nodes: int = whole(512, most=MOST_NODES)
    max_depth: int | None = whole(None)
    criterion: str = choice(*CRITERIA)
    budget: str | Callable[[int], Any] = "decay"
    leaf_share: float = fraction(0.5)
    error: float = 0.1
    min_gain: float = 0.01
    split: str = choice(*MECHANISMS, *DISTRIBUTED)
    splitting_class: int | SplittingClass = 10
    n_records: int | None = hint()
    variant: str = "sound"

    def _check_params(self) -> None:
        if self.variant == "published" and self.split not in SHORTFALLS:
            known = " or ".join(map(repr, SHORTFALLS))
            raise PrivetError(f"The published variant has the paper's splits: split={known}; got {self.split!r}.")
        if self.variant == "published" and self.split == "local_rnm" and self.criterion != "gini":
            raise PrivetError(
                "The published split='local_rnm' is for criterion='gini': by the others an owner's noise depends on "
                "its private size in a way that only exact counts could tell."
            )
        if not (is_number(self.error) and 0 <= self.error <= 1):
            raise PrivetError(f"error must lie between 0 and 1; got {self.error!r}.")
        if not (is_number(self.min_gain) and math.isfinite(self.min_gain)):
            raise PrivetError(f"min_gain must be a number, such as 0.01; got {self.min_gain!r}.")
        if not (isinstance(self.splitting_class, SplittingClass) or _is_whole(self.splitting_class)):
            raise PrivetError(
                f"splitting_class is a number of thresholds or a SplittingClass; got {self.splitting_class!r}."
            )
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
        kinds: dict[str, tuple[type[BudgetedSplit], type[BudgetedSplit]]] = {
            "noisy_counts": (NoisyCounts, PrintedNoisyCounts),
            "local_rnm": (LocalRNM, PrintedLocalRNM),
        }
        return kinds.get(self.split, (SoundSplit, PublishedSplit))[self.variant == "published"]

    def _receipt(self, curator: Desk, budget: Fraction) -> Receipt:
        receipt = super()._receipt(curator, budget)
        return replace(receipt, shortfall=SHORTFALLS[self.split]) if receipt.spent > budget else receipt


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
