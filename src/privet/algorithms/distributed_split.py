"""DP-TopDown between owners (paper 001): NoisyCounts and LocalRNM.

Both ask for nothing but what owners can answer who keep their records: noisy sums and each owner's own choice. How much
noise a sum has, and whom that trusts, is the curator's: with masked sums it is that of one machine; where every owner
adds the whole noise, as in the paper, it is that of each of them, and nobody has to be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from privet.algorithms.top_down import SoundSplit
from privet.curators.base import Node, Tally
from privet.curators.choices import left_counts
from privet.errors import SchemaError
from privet.tree.best_first import Leaf
from privet.tree.candidates import Candidates, Split
from privet.tree.criteria import gain
from privet.tree.proposals import proposals
from privet.tree.tree import Tree

MOST_PARTS = 256
"""A part's number is a byte."""


class _Distributed(SoundSplit):
    """Owners keep their records: leaves are labelled by noisy counts, which are probabilities too."""

    def label(self, tree: Tree, leaves: Mapping[Node, Leaf]) -> None:
        for node, counts in self.curator.tally(dict.fromkeys(leaves, Tally()), self.leaf_budget).items():
            tree.nodes[leaves[node].branch.number].counts = tuple(map(int, counts[0]))


class NoisyCounts(_Distributed):
    """Noisy counts of everything: a histogram for each feature, from which all splits are read off.

    The paper asks for counts of every splitting function apart, by label and side, by label and by side: nine times its
    claim. The counts of all functions of a feature are sums of one histogram's cells, and a record is in one cell of
    each histogram. So m histograms cost m tables, however many functions there are.
    """

    questions = frozenset({"tally"})

    def counted(
        self, candidates: Mapping[Node, Candidates], budgets: Mapping[Node, Fraction]
    ) -> dict[Node, tuple[Split, np.ndarray]]:
        features = self.functions.grid.features
        if any(cells.n_cells > MOST_PARTS for cells in features):
            raise SchemaError(f"split='noisy_counts' is for features of at most {MOST_PARTS} cells or categories.")
        tables = tuple(Split(f, bytes(range(cells.n_cells))) for f, cells in enumerate(features) if cells.n_cells > 1)
        told = [slice(*self.functions.grid.offsets[table.feature :][:2]) for table in tables]
        counted = {}
        for node, counts in self.curator.tally(dict.fromkeys(candidates, Tally(tables)), budgets).items():
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

    questions = frozenset({"choose_each", "tally"})

    def counted(
        self, candidates: Mapping[Node, Candidates], budgets: Mapping[Node, Fraction]
    ) -> dict[Node, tuple[Split, np.ndarray]]:
        if not candidates:
            return {}
        proposed = proposals(self.curator, candidates, self.score, budgets, mechanism="report_noisy_max")
        best = {
            node: max(own, key=lambda each: gain(self.model.criterion, each.counts).item())
            for node, own in proposed.items()
        }
        return {node: (each.split, each.counts) for node, each in best.items() if each.split is not None}
