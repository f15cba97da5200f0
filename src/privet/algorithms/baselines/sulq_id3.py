"""SuLQ-ID3: an attribute is chosen by noisy counts of all attributes (Blum et al. 2005; Friedman and Schuster 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.algorithms.baselines.id3 import ID3Classifier
from privet.algorithms.parameters import whole
from privet.questions.curtain import Node
from privet.questions.grid import Grid, even_grid
from privet.questions.multiway import MOST_CHILDREN, attributes
from privet.questions.split import Split
from privet.questions.tally import Tally
from privet.schema import Schema
from privet.tree.frontier import End, Frontier


@dataclass(eq=False, repr=False, kw_only=True)
class SuLQID3Classifier(ID3Classifier):
    """ID3 on noisy counts: one child for each value, the attribute with the largest noisy information gain.

    Costs ``epsilon``, as its authors claim: 2 (max_depth + 1) queries along a path, of which the counts of all
    attributes together are one, at the price of as many tables as there are attributes. That is why it is weak: with
    m attributes the noise is m times that of a choice. Worth using only to see that.

    It is the version of Friedman and Schuster (their Algorithm 1), with geometric instead of Laplace noise: Blum et al.
    add Gaussian noise, which has no pure epsilon. Half of their query measures each value's count apart from its counts
    by class; here that is the sum of these, and the cells have the whole query, which halves their noise. Noisy counts
    below 0 count as 0. Numeric features, which they do not treat, are cut into public bins of one width.

    Parameters
    ----------
    schema, epsilon, random_state
        As for ``PrivateTreeClassifier``.
    max_depth : int
        The largest depth.
    n_bins : int
        How many bins a numeric feature has.
    """

    n_bins: int = whole(5, 2, MOST_CHILDREN - 1)

    def _needs(self, able: frozenset[str]) -> set[str]:
        return {"tally"}

    def _cells(self, schema: Schema) -> Grid:
        return even_grid(schema, self.n_bins)

    def _most_values(self, grid: Grid, end: End) -> int:
        return max((split.n_children for split in attributes(grid).within(end.reachable)), default=0)

    def _choose(self, ready: Frontier, query: Fraction) -> dict[Node, Split]:
        allowed = {node: attributes(ready.grid).within(end.reachable) for node, end in ready.items()}
        counts = ready.curtain.tally({node: Tally(splits) for node, splits in allowed.items()}, query)
        chosen = {}
        for node, splits in allowed.items():
            tables = np.split(counts[node], np.cumsum([split.n_children for split in splits])[:-1])
            chosen[node] = splits[int(np.argmin([_entropy(np.maximum(table, 0)) for table in tables]))]
        return chosen


def _entropy(table: np.ndarray) -> float:
    """The entropy of the classes that is left in the values, times their count; the gain is what this is less."""
    sizes = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, sizes, out=np.ones(table.shape), where=table > 0)
    return float(-(table * np.log(shares)).sum())
