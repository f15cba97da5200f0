"""DP-DF: greedy trees that count every node, then prune; numbers in bins (Fletcher and Islam 2015).

What DiPriMe's authors compare with is a forest of trees with a child for each value, whose attributes are chosen at a
"local" sensitivity and whose branches are cut where they gain nothing. What their text leaves open (how the budget is
divided, that trees have different roots, the rule for cutting) follows the authors' public program. There is no
regressor: DiPriMe's authors found no simple analogue, since both ideas are about class counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet.algorithms.baselines.bdpt import published_price
from privet.algorithms.baselines.dp_forest import BinnedForest
from privet.algorithms.forest import ForestClassifier
from privet.algorithms.parameters import public_generator
from privet.privacy.scores import Gini
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import even_grid
from privet.tree.forest import Forest
from privet.tree.frontier import Frontier
from privet.tree.growing import GrowingTree


class DPDFClassifier(BinnedForest, ForestClassifier):
    """A forest of greedy trees with noisy counts in every node, cut back where their branches gain nothing: DP-DF.

    ``variant="sound"`` costs ``epsilon``: every tree has all records and a share of it, divided evenly among the counts
    and the choices of a path. A choice is by the count-weighted Gini impurity. Each tree has a root of its own as long
    as there are attributes for that. From the bottom up, children whose noisy counts are together no purer than those
    of their parent are cut off, but for the root's. Worth using to see what counting and cutting gain over DP-RF.

    ``variant="published"`` takes the sensitivity of the mean impurity at a *noisy* node size, which may be far above
    the true one: it reads exact sizes, and costs infinity (docs/theory.md, B3).

    Parameters
    ----------
    schema, epsilon, n_trees, max_depth, n_bins, n_candidates, variant, structure, random_state
        As for ``DPRFClassifier``.
    """

    _shortfall = "The sensitivity of a choice is taken at a noisy node size, which may exceed the true one."

    def _needs(self, able: frozenset[str]) -> set[str]:
        return super()._needs(able) | {"choose"} | ({"peek"} if self.variant == "published" else set())

    def _grow(self, curtain: Curtain, start: Node, budget: Fraction) -> Forest:
        grid = even_grid(curtain.schema, self.n_bins)
        curtain.grid(grid)
        draws = public_generator(self.structure, self.random_state)
        share = budget / self.n_trees / (2 * self.max_depth + 1)
        roots = Frontier.sprout(curtain, curtain.copies(start, self.n_trees), grid)
        frontier = roots.only(())
        used: frozenset[int] = frozenset()  # the attributes of the roots so far
        for root, end in roots.items():
            options = self._options(end, draws, but=used)
            if not len(options):  # more trees than attributes
                options = self._options(end, draws)
            grown = self._level(roots.only([root]), {root: options}, share)
            used |= frozenset().union(*(child.used for child in grown.values()))
            frontier = replace(frontier, growing={**frontier, **grown})
        for _ in range(1, self.max_depth):
            choices = {node: self._options(end, draws) for node, end in frontier.items()}
            frontier = self._level(frontier, choices, share)
        frontier.count(share)
        return Forest(curtain.schema, tuple(_pruned(tree).finish() for tree in frontier.trees))

    def _level(self, frontier: Frontier, options: Mapping[Node, Candidates], share: Fraction) -> Frontier:
        """Count all nodes, and split those that seem to have records and that something parts."""
        sizes = {node: int(np.maximum(counts, 0).sum()) for node, counts in frontier.count(share).items()}
        ready = {node: own for node, own in options.items() if len(own) and sizes[node] > 0}
        prices = dict.fromkeys(ready, share)
        if self.variant == "published":
            exact = frontier.only(ready).exact_counts()
            prices = {node: published_price(share, sizes[node], max(int(exact[node].sum()), 1)) for node in ready}
        return frontier.split(frontier.choose(ready, Gini(), prices, mechanism="exponential"))


def _pruned(tree: GrowingTree) -> GrowingTree:
    """Cut off children that are no purer than their parent, by noisy counts, none of which is below 0."""
    counts = [np.maximum(np.array(node.counts), 0) for node in tree.nodes]
    for i in reversed(range(len(tree.nodes))):  # children before their parents
        node = tree.nodes[i]
        node.counts = tuple(int(count) for count in counts[i])
        if i > 0 and node.children and all(tree.nodes[child].rule is None for child in node.children):
            below = np.stack([counts[child] for child in node.children])
            if _impurity(below) >= _impurity(counts[i][None]):
                node.rule, node.children = None, ()
    return tree


def _impurity(counts: np.ndarray) -> float:
    """The mean Gini impurity of parts with these class counts; 1, more than any, where they are all empty."""
    sizes = counts.sum(axis=1)
    within = sizes - (counts**2).sum(axis=1) / np.maximum(sizes, 1)
    return float(within.sum() / sizes.sum()) if sizes.sum() else 1.0
