"""Histograms of nodes, with as little counting as their families allow.

The children of a split add up to their parent. So where a parent's histogram is known, its largest child is what the
others leave of it, and only the smaller ones are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

KEPT = 2**29
"""The most bytes of histograms that are kept for later questions; with more, they are counted anew."""


class Relative(Protocol):
    """A node: its parent, all children of the split that it came from, itself among them, and about how large it is."""

    @property
    def parent(self) -> Any: ...
    @property
    def family(self) -> Sequence[Any]: ...
    @property
    def n_rows(self) -> int: ...


Node = TypeVar("Node", bound=Relative)


class Families(Generic[Node]):
    """The histograms that are known on the present grid."""

    def __init__(self) -> None:
        self.known: WeakKeyDictionary[Node, np.ndarray] = WeakKeyDictionary()

    def forget(self) -> None:
        """On another grid, or with other targets, everything is counted anew."""
        self.known = WeakKeyDictionary()

    def histograms(self, nodes: Sequence[Node], count: Callable[[Sequence[Node]], np.ndarray]) -> np.ndarray:
        """Of these nodes; ``count`` counts some, all in one pass."""
        known = self.known
        wanted = dict.fromkeys([*nodes, *self._smaller_siblings(dict.fromkeys(nodes))])
        by_subtraction = {node: None for node in wanted if self._follows_from_others(node, wanted)}
        to_count = [node for node in wanted if node not in known and node not in by_subtraction]
        known.update(zip(to_count, count(to_count)))
        for node in by_subtraction:
            others = (known[sibling] for sibling in node.family if sibling is not node)
            known[node] = known[node.parent] - sum(others)
        answer = np.stack([known[node] for node in nodes])
        if len(known) * answer[0].nbytes > KEPT:
            known.clear()
        for node in nodes:
            # A parent whose children are all known is not asked again as a rule; it would be counted anew.
            if node.parent is not None and all(sibling in known for sibling in node.family):
                known.pop(node.parent, None)
        return answer

    def _smaller_siblings(self, asked: Collection[Node]) -> list[Node]:
        """Nodes that are not asked for, but whose sibling is and has more rows than they: they are counted instead."""
        smaller: list[Node] = []
        for node in asked:
            if node not in self.known and node.parent is not None and node.parent in self.known:
                others = [sibling for sibling in node.family if sibling not in self.known and sibling not in asked]
                if sum(other.n_rows for other in others) < node.n_rows:
                    smaller += others
        return list(dict.fromkeys(smaller))

    def _follows_from_others(self, node: Node, asked: Collection[Node]) -> bool:
        """Whether this is the largest unknown node of a family that is asked for, or known, with its parent known."""
        if node in self.known or node.parent is None or node.parent not in self.known:
            return False
        unknown = [sibling for sibling in node.family if sibling not in self.known]
        return all(sibling in asked for sibling in unknown) and node is max(unknown, key=lambda own: own.n_rows)
