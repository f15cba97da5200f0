"""Growing best-first: of all leaves with a split on offer, the one that promises most is split next."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from privet.questions.curtain import Node
from privet.questions.split import Split
from privet.tree.frontier import End, Frontier


@dataclass(frozen=True, eq=False)
class Offer:
    """A leaf's split, what it promises, and, where they were measured with it, its children's weights."""

    split: Split
    gain: float
    weights: tuple[float, ...] = ()


class PrivateSplit(Protocol):
    """Finds splits for leaves, spending their budgets."""

    def offers(self, leaves: Mapping[Node, End]) -> dict[Node, Offer]:
        """The offers of these leaves; one that is not worth a split, or whose split is not worth it, has none."""
        ...

    def weights(self, offer: Offer, children: Frontier) -> tuple[float, ...]:
        """The shares of all records that the new leaves of an offer hold."""
        ...


@dataclass
class Queue:
    """Leaves with an offer: that with the largest weight times gain comes first, of equal ones the oldest."""

    _heap: list[tuple[float, int, Node, Offer]] = field(default_factory=list)
    _n_pushed: int = 0

    def push(self, leaves: Mapping[Node, End], offers: Mapping[Node, Offer]) -> None:
        for node, offer in offers.items():
            heapq.heappush(self._heap, (-leaves[node].weight * offer.gain, self._n_pushed, node, offer))
            self._n_pushed += 1

    def pop(self) -> tuple[Node, Offer]:
        _, _, node, offer = heapq.heappop(self._heap)
        return node, offer

    def __bool__(self) -> bool:
        return bool(self._heap)


def grow_best_first(frontier: Frontier, private_split: PrivateSplit, max_nodes: int) -> Frontier:
    """Make the most promising split until none is on offer or ``max_nodes`` were made; returns all ends.

    The children of a split are asked about together, so that one of them need not be counted.
    """
    leaves, queue = dict(frontier), Queue()
    queue.push(leaves, private_split.offers(leaves))
    for left in reversed(range(max_nodes)):
        if not queue:
            break
        node, offer = queue.pop()
        grown = replace(frontier, growing={node: leaves.pop(node)}).split({node: offer.split})
        weights = private_split.weights(offer, grown)
        children = {child: replace(end, weight=weight) for (child, end), weight in zip(grown.items(), weights)}
        leaves |= children
        if left:
            queue.push(leaves, private_split.offers(children))
    return replace(frontier, growing=leaves)
