"""What rooms share whose records are with owners: nodes have numbers, and the public structure is told in words.

Here a node is a number; which records it holds only its owners know, each for its own. ``owners/`` is the other end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from privet.curators.room import Room
from privet.privacy.scope import Scope
from privet.questions.codec import grid_words
from privet.questions.grid import Grid
from privet.questions.split import Split
from privet.questions.tally import Tally
from privet.schema import Schema


class Numbered(NamedTuple):
    """A node that owners know by its number, and the currency of its budgets."""

    number: int
    currency: str


class RemoteRoom(Room, ABC):
    """Tells the owners what nodes there are. ``numbers`` gives out numbers that no node of this run has."""

    def __init__(self, schema: Schema, numbers: Iterator[int]) -> None:
        super().__init__(schema)
        self._numbers = numbers

    @abstractmethod
    def tell(self, do: str, **what: Any) -> None:
        """Let the owners do something that has no answer."""

    def everything(self, scope: Scope) -> Numbered:
        (node,) = self._new(1, scope.currency)
        self.tell("root", node=node.number, **self.limits(scope))
        return node

    def gathered(self, scope: Scope) -> Numbered:
        (node,) = self._new(1, scope.currency)
        self.tell("gather", node=node.number)
        return node

    def anew(self, held: Numbered, scope: Scope) -> Numbered:
        (node,) = self._new(1, scope.currency)
        self.tell("root", node=node.number, within=held.number, **self.limits(scope))
        return node

    def limits(self, scope: Scope) -> dict[str, Any]:
        """What owners that keep ledgers of their own are told of a root's."""
        return {}

    def use(self, grid: Grid) -> None:
        self.tell("grid", features=grid_words(grid))
        self._grid = grid

    def split(self, splits: Sequence[tuple[Numbered, Split]]) -> list[list[Numbered]]:
        children = [self._new(split.n_children, node.currency) for node, split in splits]
        words = [
            [node.number, split.feature, split.part.hex(), numbers_of(own)]
            for (node, split), own in zip(splits, children)
        ]
        self.tell("split", splits=words)
        return children

    def parts(self, held: Numbered, weights: Sequence[int]) -> list[Numbered]:
        children = self._new(len(weights), held.currency)
        self.tell("parts", node=held.number, children=numbers_of(children), weights=list(weights))
        return children

    def copies(self, held: Numbered, n: int) -> list[Numbered]:
        children = self._new(n, held.currency)
        self.tell("copies", node=held.number, children=numbers_of(children))
        return children

    def _new(self, n: int, currency: str) -> list[Numbered]:
        return [Numbered(next(self._numbers), currency) for _ in range(n)]

    def _shape(self, tally: Tally) -> tuple[int, ...]:
        """The shape of a tally's answer."""
        rows = sum(table.n_children for table in tally.tables) if tally.tables else 1
        if tally.measure == "target":
            return rows, 2
        return (rows, len(self.schema.classes)) if tally.by_class and self.schema.classes else (rows,)


def numbers_of(nodes: Sequence[Numbered]) -> list[int]:
    return [node.number for node in nodes]
