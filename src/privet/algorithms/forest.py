"""What forests share: a released ``forest_``, predictions that are means over its trees, leaves measured at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.algorithms.base import PrivateClassifier, PrivateEstimator, PrivateRegressor, shares_of, values_of
from privet.privacy.fixed_point import TARGET_ONE
from privet.questions.candidates import Split
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.questions.tally import Tally
from privet.tree.forest import Forest
from privet.tree.growth import Branch, branches, sprout
from privet.tree.means import set_means
from privet.tree.tree import Tree


class PrivateForest(PrivateEstimator):
    """Base of the forests: ``_grow`` returns a Forest."""

    forest_: Forest
    _released = "forest_"


class ForestClassifier(PrivateForest, PrivateClassifier):
    """Base of the forests that vote: each tree gives the class probabilities of its leaf, and their mean decides."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean over the trees of each class's share of the noisy counts of a row's leaf."""
        leaves = self.apply(X)
        order = np.argsort(np.array(self.schema_.classes))
        total = np.zeros((len(leaves), self.n_classes_))
        for tree, own in zip(self.forest_.trees, leaves.T):
            total += shares_of(tree, self.n_classes_)[:, order][own]
        return total / len(self.forest_.trees)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest mean probability."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


class ForestRegressor(PrivateForest, PrivateRegressor):
    """Base of the forests that predict numbers: the mean of the trees' values."""

    def predict(self, X: Any) -> np.ndarray:
        """The mean over the trees of the values of a row's leaves."""
        leaves = self.apply(X)
        total = np.zeros(len(leaves))
        for tree, own in zip(self.forest_.trees, leaves.T):
            total += values_of(tree)[own]
        return total / len(self.forest_.trees)


MOST_LEAVES = 2**20
"""Of all trees together: more take long to grow and gigabytes to hold."""


def deepest(n_trees: int) -> int:
    """The largest depth that so many binary trees may have."""
    return int(math.log2(max(MOST_LEAVES / n_trees, 1)))


@dataclass(frozen=True, eq=False)
class Shoot:
    """A growing end of one of the forest's trees."""

    number: int
    tree: Tree
    branch: Branch


def sprouts(trees: Sequence[Tree], roots: Sequence[Node], grid: Grid) -> dict[Node, Shoot]:
    """The frontier of trees that are still single leaves, one for each root."""
    return {
        node: Shoot(number, tree, branch)
        for number, (root, tree) in enumerate(zip(roots, trees))
        for node, branch in sprout(tree, root, grid).items()
    }


def split_shoots(
    curtain: Curtain, frontier: Mapping[Node, Shoot], chosen: Mapping[Node, Split], grid: Grid
) -> dict[Node, Shoot]:
    """The shoots that grow out of those that are split."""
    grown: dict[Node, Shoot] = {}
    for node, children in curtain.split(chosen).items():
        shoot = frontier[node]
        ends = branches(shoot.tree, shoot.branch, chosen[node], grid)
        grown |= {child: Shoot(shoot.number, shoot.tree, end) for child, end in zip(children, ends)}
    return grown


def count_leaves(curtain: Curtain, leaves: Mapping[Node, Shoot], budget: Fraction) -> None:
    """Noisy class counts for every leaf of every tree."""
    for node, counts in curtain.tally(dict.fromkeys(leaves, Tally()), budget).items():
        shoot = leaves[node]
        shoot.tree.nodes[shoot.branch.number].counts = tuple(int(count) for count in counts[0])


def average_leaves(curtain: Curtain, leaves: Mapping[Node, Shoot], budget: Fraction) -> None:
    """A noisy mean for every leaf of every tree, by two sums."""
    assert curtain.schema.target is not None
    sums = curtain.tally({node: Tally(measure="target") for node in leaves}, budget)
    by_tree: dict[int, dict[int, np.ndarray]] = {}
    for node, shoot in leaves.items():
        by_tree.setdefault(shoot.number, {})[shoot.branch.number] = sums[node][0]
    trees = {shoot.number: shoot.tree for shoot in leaves.values()}
    for number, own in by_tree.items():
        set_means(trees[number], own, curtain.schema.target, noise=1 / float(budget))


def average_leaves_as_printed(curtain: Curtain, leaves: Mapping[Node, Shoot], budget: Fraction, grid: Grid) -> None:
    """Exact means with noise of scale 2B / (N eps), B the largest absolute target: that costs infinity."""
    assert curtain.schema.target is not None
    low, high = curtain.schema.target
    widest = 2 * max(abs(low), abs(high)) / (high - low) if high > low else 0.0
    for node, cells in curtain.peek(list(leaves)).items():
        n, total, _ = (int(moment) for moment in cells[: grid.offsets[1]].sum(axis=0))  # each record is in one cell
        place = 0.5
        if n and widest:
            scale = widest * TARGET_ONE / (n * float(budget))
            place = float(curtain.noise(np.array([total // n]), scale)[0]) / TARGET_ONE
        leaf = leaves[node].tree.nodes[leaves[node].branch.number]
        leaf.value = low + (high - low) * place  # not clamped: printed predictions may leave the range
        leaf.weight = 1.0  # the paper releases no sizes
