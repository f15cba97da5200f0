"""What curators share whose records are with owners: nodes have numbers, and the public structure is told in words.

Here a node is a scope and a number; which records it holds only its owners know, each for its own. ``own.py`` is the
other end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from privet.curators.base import Node, Tally
from privet.curators.central import CentralCurator
from privet.curators.owners.records_at_owner import grid_words
from privet.errors import LeakError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.scope import Scope
from privet.questions.candidates import Split
from privet.questions.grid import Grid
from privet.schema import Schema


class RemoteCurator(CentralCurator):
    """Checks and charges as any curator does, and tells the owners what nodes there are."""

    def __init__(self, schema: Schema, ledger: Ledger, mechanisms: Mechanisms) -> None:
        super().__init__(schema, ledger, mechanisms)
        self._numbers: WeakKeyDictionary[Node, int] = WeakKeyDictionary()
        self._issued = 0

    @abstractmethod
    def _tell(self, do: str, **what: Any) -> None:
        """Let the owners do something that has no answer."""

    def _everything(self, scope: Scope) -> Node:
        (node,) = self._open([scope])
        self._tell("root", node=self._numbers[node], **self._limits(scope))
        return node

    def _limits(self, scope: Scope) -> dict[str, Any]:
        """What owners that keep ledgers of their own are told of a root's."""
        return {}

    def _use(self, grid: Grid) -> None:
        self._tell("grid", features=grid_words(grid))

    def _split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        children = {node: self._open(node.scope.split(split.n_children)) for node, split in splits.items()}
        words = [
            (self._numbers[node], split.feature, split.part.hex(), [self._numbers[child] for child in children[node]])
            for node, split in splits.items()
        ]
        self._tell("split", splits=words)
        return children

    def _parts(self, node: Node, n: int) -> list[Node]:
        return self._again("parts", node, node.scope.split(n, "parts"))

    def copies(self, node: Node, n: int) -> list[Node]:
        self._own([node])
        return self._again("copies", node, [node.scope.copy() for _ in range(n)])

    def _again(self, do: str, node: Node, scopes: Sequence[Scope]) -> list[Node]:
        nodes = self._open(scopes)
        self._tell(do, node=self._numbers[node], children=[self._numbers[child] for child in nodes])
        return list(nodes)

    def _open(self, scopes: Sequence[Scope]) -> tuple[Node, ...]:
        nodes = tuple(Node(scope) for scope in scopes)
        for node in nodes:
            self._numbers[node] = self._issued
            self._issued += 1
        return nodes

    def _own(self, nodes: Sequence[Node]) -> None:
        if not all(node in self._numbers for node in nodes):
            raise LeakError("This node is not one of this curator's.")

    def _shape(self, tally: Tally) -> tuple[int, ...]:
        """The shape of a tally's answer."""
        rows = sum(table.n_children for table in tally.tables) if tally.tables else 1
        if tally.measure == "target":
            return rows, 2
        return (rows, len(self.schema.classes)) if tally.by_class and self.schema.classes else (rows,)

    # -- what needs counts in one place ------------------------------------------------------------------------------

    def _histograms(self, nodes: Sequence[Node]) -> np.ndarray:
        raise LeakError("Exact counts are with the owners.")

    _totals = _histograms

    def _targets_of(self, node: Node) -> np.ndarray:
        raise LeakError("Targets are with the owners.")

    def target_quantiles(self, *args: Any, **kwargs: Any) -> list[float]:
        self._cannot("target_quantiles")

    def noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._cannot("noise")

    def quantiles(
        self, node: Node, features: Sequence[int], probs: Sequence[Fraction], budget: Fraction
    ) -> dict[int, list[float]]:
        self._cannot("quantiles")

    def peek(self, nodes: Sequence[Node]) -> dict[Node, np.ndarray]:
        self._cannot("peek")
