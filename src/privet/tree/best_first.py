"""Growing best-first: of all leaves with a split on offer, the one that promises most is split next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
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

    def weights(self, offer: Offer, children: Frontier) -> tuple[float, ...]:
        """The shares of all records that the new leaves of an offer hold."""


def grow_best_first(frontier: Frontier, private_split: PrivateSplit, max_nodes: int) -> Frontier:
    """Make the most promising split until none is on offer or ``max_nodes`` were made; returns all ends.

    The children of a split are asked about together, so that one of them need not be counted.
    """
    leaves, asked = dict(frontier), dict(frontier)
    heap: list[tuple[float, int, Node, Offer]] = []  # by weight times gain; of equal ones the oldest is first
    numbers = count()
    for _ in range(max_nodes):
        for node, offer in private_split.offers(asked).items():
            heappush(heap, (-leaves[node].weight * offer.gain, next(numbers), node, offer))
        if not heap:
            break
        _, _, node, offer = heappop(heap)
        grown = replace(frontier, growing={node: leaves.pop(node)}).split({node: offer.split})
        weights = private_split.weights(offer, grown)
        asked = {child: replace(end, weight=weight) for (child, end), weight in zip(grown.items(), weights)}
        leaves |= asked
    return replace(frontier, growing=leaves)
