"""Growing best-first: of all leaves with a split on offer, the one that promises most is split next."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from privet.questions.candidates import Split
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Grid
from privet.tree.growth import Branch, branches
from privet.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf of the growing tree: where it is, at which depth (the root's is 1), and which share of all records it
    holds, by a noisy count.
    """

    branch: Branch
    depth: int
    weight: float


@dataclass(frozen=True, eq=False)
class Offer:
    """A leaf's split, what it promises, and, where they were measured with it, its children's weights."""

    split: Split
    gain: float
    weights: tuple[float, ...] = ()


class PrivateSplit(Protocol):
    """Finds splits for leaves, spending their budgets."""

    def offers(self, leaves: Mapping[Node, Leaf]) -> dict[Node, Offer]:
        """The offers of these leaves; one that is not worth a split, or whose split is not worth it, has none."""
        ...

    def weights(self, offer: Offer, nodes: tuple[Node, ...], depth: int) -> tuple[float, ...]:
        """The shares of all records that the new leaves of an offer, at this depth, hold."""
        ...


@dataclass
class Queue:
    """Leaves with an offer: that with the largest weight times gain comes first, of equal ones the oldest."""

    _heap: list[tuple[float, int, Node, Offer]] = field(default_factory=list)
    _n_pushed: int = 0

    def push(self, leaves: Mapping[Node, Leaf], offers: Mapping[Node, Offer]) -> None:
        for node, offer in offers.items():
            heapq.heappush(self._heap, (-leaves[node].weight * offer.gain, self._n_pushed, node, offer))
            self._n_pushed += 1

    def pop(self) -> tuple[Node, Offer]:
        _, _, node, offer = heapq.heappop(self._heap)
        return node, offer

    def __bool__(self) -> bool:
        return bool(self._heap)


def grow_best_first(
    curtain: Curtain, tree: Tree, start: Node, grid: Grid, private_split: PrivateSplit, max_nodes: int
) -> dict[Node, Leaf]:
    """Make the most promising split until none is on offer or ``max_nodes`` were made; returns the leaves.

    The children of a split are asked about together, so that one of them need not be counted.
    """
    leaves = {start: Leaf(Branch(0, np.ones(grid.n_cells, dtype=bool)), depth=1, weight=1.0)}
    queue = Queue()
    queue.push(leaves, private_split.offers(leaves))
    for left in reversed(range(max_nodes)):
        if not queue:
            break
        node, offer = queue.pop()
        parent = leaves.pop(node)
        nodes = curtain.split({node: offer.split})[node]
        ends = branches(tree, parent.branch, offer.split, grid)
        weights = private_split.weights(offer, nodes, parent.depth + 1)
        children = {n: Leaf(end, parent.depth + 1, weight) for n, end, weight in zip(nodes, ends, weights)}
        leaves |= children
        if left:
            queue.push(leaves, private_split.offers(children))
    return leaves
