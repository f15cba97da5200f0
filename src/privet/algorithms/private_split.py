"""DP-TopDown's PrivateSplit (paper 001), the part that asks: where one curator can choose, and between owners.

Between owners NoisyCounts and LocalRNM ask for nothing but what owners can answer who keep their records: noisy sums
and each owner's own choice. How much noise a sum has, and whom that trusts, is the curator's: with masked sums it is
that of one machine; where every owner adds the whole noise, as in the paper, it is that of each of them, and nobody has
to be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privet.algorithms.parameters import is_number
from privet.algorithms.size import Size
from privet.errors import PrivetError, SchemaError
from privet.privacy.amounts import exact
from privet.privacy.scores import Entropy, Gini, RootGini, Score
from privet.privacy.unit import Unit
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.linear_maps import left_counts
from privet.questions.split import Split
from privet.questions.splits import Splits
from privet.questions.tally import Tally
from privet.tree.best_first import Offer
from privet.tree.criteria import CRITERIA, gain
from privet.tree.frontier import End, Frontier
from privet.tree.proposals import proposals

MECHANISMS = {
    "rnm": "report_noisy_max",
    "permute_and_flip": "permute_and_flip",
    "exponential": "exponential",
}
"""How a split is chosen in one place, by the name of the parameter."""

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

FIXED_POINT = 2**20
"""Published gains in whole numbers, so that noise can be added to them."""

MOST_RECORDS = 2**30
"""A larger hint counts as this: questions with less than a billionth of epsilon would only be noise."""


class BudgetedSplit:
    """What all share: how a ``TopDownClassifier`` deals out its budget, which leaves are too small, and labels."""

    def __init__(self, model: Any, curtain: Curtain, functions: Splits, start: Node, budget: Fraction) -> None:
        self.model, self.curtain, self.functions = model, curtain, functions
        self.leaf_budget = budget * exact(model.leaf_share, "leaf_share")
        self.split_budget = budget - self.leaf_budget
        self.shares = shares(model.budget, model.max_nodes)[: model.max_depth]
        self.min_weight = float(model.error) / model.max_nodes

    def budget(self, depth: int) -> Fraction:
        """What a node at this depth may spend, the root's is 0; nothing beyond the largest one."""
        return self.split_budget * self.shares[depth] if depth < len(self.shares) else Fraction(0)

    def printed_budget(self, depth: int) -> Fraction:
        """What the paper spends on a node's split: all of the root's budget; below, half of it is for the weight."""
        return self.budget(depth) / (2 if depth else 1)

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        raise NotImplementedError

    def worth_making(self, offers: Mapping[Node, Offer], leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        """Those that gain enough, of leaves that weigh enough."""
        return {
            node: offer
            for node, offer in offers.items()
            if offer.gain > self.model.min_gain and leaves[node].weight >= self.min_weight
        }

    def weights(self, offer: Offer, children: Frontier) -> tuple[float, ...]:
        return offer.weights  # counted with the split

    def label(self, leaves: Frontier) -> None:
        """Choose a label for every leaf."""
        leaves.label(self.leaf_budget, MECHANISMS[self.model.split])


class SoundSplit(BudgetedSplit):
    """Choose, then measure the winner. Everything that is decided follows from the schema and from private answers."""

    def __init__(self, model: Any, curtain: Curtain, functions: Splits, start: Node, budget: Fraction) -> None:
        size = Size.of(curtain, start, budget, model.n_records)
        super().__init__(model, curtain, functions, start, size.left)
        self.size = min(max(int(size.n), 1), MOST_RECORDS)
        self.score = selection_score(model.criterion, self.size * Unit.of(curtain.schema).weight)
        self.n_classes = len(curtain.schema.classes or ())

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        candidates = {
            node: Candidates(self.functions, self.n_classes, self.functions.allowed_within(end.reachable))
            for node, end in leaves.items()
            if self._worth_asking(end)
        }
        candidates = {node: options for node, options in candidates.items() if len(options)}
        counted = self.counted(candidates, {node: self.budget(leaves[node].depth) for node in candidates})
        gains = {node: float(gain(self.model.criterion, counts)) for node, (_, counts) in counted.items()}
        weights = {node: tuple(counts.sum(axis=1) / self.size) for node, (_, counts) in counted.items()}
        offers = {node: Offer(split, gains[node], weights[node]) for node, (split, _) in counted.items()}
        return self.worth_making(offers, leaves)

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

    def __init__(self, model: Any, curtain: Curtain, functions: Splits, start: Node, budget: Fraction) -> None:
        super().__init__(model, curtain, functions, start, budget)
        self.size = int(self._totals(curtain.peek([start])[start]).sum())
        self.leaf_budget /= 2  # its report-noisy-max has noise of 2 / budget

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        budgets = {node: self.printed_budget(end.depth) for node, end in leaves.items() if len(self.functions)}
        found = {node: self._report_noisy_max(node, budget) for node, budget in budgets.items() if budget}
        return self.worth_making(found, leaves)

    def _report_noisy_max(self, node: Node, budget: Fraction) -> Offer:
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
    """The score of a private choice; where it needs a public cap, about as many as all records together weigh.

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


MOST_PARTS = 256
"""A part's number is a byte."""


class _Distributed(SoundSplit):
    """Owners keep their records: leaves are labelled by noisy counts, which are probabilities too."""

    def label(self, leaves: Frontier) -> None:
        leaves.count(self.leaf_budget)


class NoisyCounts(_Distributed):
    """Noisy counts of everything: a histogram for each feature, from which all splits are read off.

    The paper asks for counts of every splitting function apart, by label and side, by label and by side: nine times its
    claim. The counts of all functions of a feature are sums of one histogram's cells, and a record is in one cell of
    each histogram. So m histograms cost m tables, however many functions there are.
    """

    def counted(
        self, candidates: Mapping[Node, Candidates], budgets: Mapping[Node, Fraction]
    ) -> dict[Node, tuple[Split, np.ndarray]]:
        features = self.functions.grid.features
        if any(cells.n_cells > MOST_PARTS for cells in features):
            raise SchemaError(f"split='noisy_counts' is for features of at most {MOST_PARTS} cells or categories.")
        tables = tuple(Split(f, bytes(range(cells.n_cells))) for f, cells in enumerate(features) if cells.n_cells > 1)
        told = [slice(*self.functions.grid.offsets[table.feature :][:2]) for table in tables]
        counted = {}
        for node, counts in self.curtain.tally(dict.fromkeys(candidates, Tally(tables)), budgets).items():
            histogram = np.zeros((self.functions.grid.n_cells, self.n_classes), dtype=np.int64)
            for cells, own in zip(told, np.split(counts, np.cumsum([table.n_children for table in tables])[:-1])):
                histogram[cells] = own
            indices = candidates[node].indices
            left = left_counts(self.functions, histogram)[indices]
            starts = self.functions.grid.offsets[self.functions.feature[indices]]
            ends = self.functions.grid.offsets[self.functions.feature[indices] + 1]
            up_to = np.concatenate([histogram[:1] * 0, np.cumsum(histogram, axis=0)])
            children = np.stack([left, up_to[ends] - up_to[starts] - left], axis=1)
            best = int(gain(self.model.criterion, children).argmax())
            counted[node] = self.functions.split(int(indices[best])), children[best]
        return counted


class LocalRNM(_Distributed):
    """Each owner's own best split by report-noisy-max, then noisy counts of what they chose, and the best of these.

    An owner's choice costs once for all owners, since a record is with one of them, and the counts one table for each
    different winner. On masked sums these have the noise of one machine's; the paper's have that of every owner.
    """

    def counted(
        self, candidates: Mapping[Node, Candidates], budgets: Mapping[Node, Fraction]
    ) -> dict[Node, tuple[Split, np.ndarray]]:
        if not candidates:
            return {}
        proposed = proposals(self.curtain, candidates, self.score, budgets, mechanism="report_noisy_max")
        best = {
            node: max(own, key=lambda each: gain(self.model.criterion, each.counts).item())
            for node, own in proposed.items()
        }
        return {node: (each.split, each.counts) for node, each in best.items() if each.split is not None}


# -- as printed ----------------------------------------------------------------------------------------------------

PRINTED_TABLES = 3
"""The noise of each of three kinds of counts is that of so many times the node's budget (appendix A.4)."""

PRINTED_CHOICE = Fraction(1, 10)
"""What report-noisy-max by Gini costs of its budget: its noise is 2 * 20 / m, and m times a gain moves by at most 4."""


class _Printed(_Distributed):
    """Every function is counted three times over: by label and side, by label, and by side (appendix A.4).

    The counts are asked for with the printed noise, and the ledger charges what that costs. What is left open: the
    number of all records is public or measured, as in the sound variants, because owners cannot be asked for it
    exactly; a side's class shares are those of its counts by label and side, none below 0; leaves are labelled by noisy
    counts.
    """

    def __init__(self, model: Any, curtain: Curtain, functions: Splits, start: Node, budget: Fraction) -> None:
        super().__init__(model, curtain, functions, start, budget)
        self.leaf_budget /= 2  # noise of 2 / budget, as report-noisy-max has

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        budgets = {node: self.printed_budget(end.depth) for node, end in leaves.items() if len(self.functions)}
        budgets = {node: budget for node, budget in budgets.items() if budget}
        return self.worth_making(self.found(budgets) if budgets else {}, leaves)

    def found(self, budgets: Mapping[Node, Fraction]) -> dict[Node, Offer]:
        """For each node the function of the largest noisy gain."""
        raise NotImplementedError

    def weights(self, offer: Offer, children: Frontier) -> tuple[float, ...]:
        budget = max(self.budget(end.depth) for end in children.values()) / 2
        sizes = children.sizes(budget) if budget else dict.fromkeys(children, 0)
        return tuple(sizes[node] / self.size for node in children)

    def best(self, splits: Mapping[Node, Sequence[Split]], budgets: Mapping[Node, Fraction]) -> dict[Node, Offer]:
        """Count these functions in all three ways, and take the best."""
        prices = {node: PRINTED_TABLES * budgets[node] for node in splits}
        by_both, by_label, by_side = (
            self.curtain.tally({node: Tally(tuple(map(table, own)), by_class) for node, own in splits.items()}, prices)
            for table, by_class in ((_as_it_is, True), (_undivided, True), (_as_it_is, False))
        )
        offers = {}
        for node, own in splits.items():
            gains = printed_gains(
                self.model.criterion,
                by_both[node].reshape(len(own), 2, self.n_classes),
                by_label[node],
                by_side[node].reshape(len(own), 2),
            )
            offers[node] = Offer(own[int(gains.argmax())], float(gains.max()))
        return offers


class PrintedNoisyCounts(_Printed):
    """NoisyCounts as printed: nine times its claim."""

    def found(self, budgets: Mapping[Node, Fraction]) -> dict[Node, Offer]:
        functions = [self.functions.split(i) for i in range(len(self.functions))]
        return self.best(dict.fromkeys(budgets, functions), budgets)


class PrintedLocalRNM(_Printed):
    """LocalRNM as printed, by Gini: half a node's budget for each owner's choice, half for counts of what they chose.

    The noise on an owner's gains is scaled by its private size; times that size, it is the same for all data, and only
    the choice is told. So it is private, for a tenth of what is claimed; the counts cost nine times their claim.
    """

    def found(self, budgets: Mapping[Node, Fraction]) -> dict[Node, Offer]:
        options = Candidates(self.functions, self.n_classes)
        halves = {node: budget / 2 for node, budget in budgets.items()}
        prices = {node: half * PRINTED_CHOICE for node, half in halves.items()}
        chosen = self.curtain.choose_each(dict.fromkeys(budgets, options), Gini(), prices, mechanism="report_noisy_max")
        proposed = {
            node: list(dict.fromkeys(choice.split for choice in own if choice.split is not None))
            for node, own in chosen.items()
        }
        return self.best(proposed, halves)


def printed_gains(criterion: str, by_both: np.ndarray, by_label: np.ndarray, by_side: np.ndarray) -> np.ndarray:
    """Gains from three kinds of noisy counts: (function, side, class), (function, class) and (function, side)."""
    impurity = CRITERIA[criterion]
    sides = _shares(by_side)
    return np.asarray(impurity(_shares(by_label)) - (sides * impurity(_shares(by_both))).sum(axis=1))


def _shares(counts: np.ndarray) -> np.ndarray:
    positive = np.maximum(counts, 0).astype(float)
    return positive / np.maximum(positive.sum(axis=-1, keepdims=True), 1e-300)


def _as_it_is(split: Split) -> Split:
    return split


def _undivided(split: Split) -> Split:
    """A table of one part: the node's records once more."""
    return Split(split.feature, bytes(len(split.part)))
