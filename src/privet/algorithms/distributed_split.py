"""DP-TopDown between owners (paper 001): NoisyCounts and LocalRNM.

Both ask for nothing but what owners can answer who keep their records: noisy sums and each owner's own choice. How much
noise a sum has, and whom that trusts, is the curator's: with masked sums it is that of one machine; where every owner
adds the whole noise, as in the paper, it is that of each of them, and nobody has to be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privet.algorithms.private_split import SoundSplit
from privet.errors import SchemaError
from privet.privacy.scores import Gini
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
