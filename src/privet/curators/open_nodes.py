"""The open nodes of a fit: which scope of the ledger each has, and what the room holds for it.

Only a desk looks here. A node that was not made by it, or belongs to another fit, has no place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from privet.curators.prices import Asked, Place
from privet.errors import LeakError
from privet.privacy.amounts import Amount
from privet.privacy.event import Event, add_up
from privet.privacy.scope import Scope, reserved_rho
from privet.privacy.unit import ROW, Unit
from privet.questions.curtain import Budget, Node, budgets


class OpenRoot(NamedTuple):
    """A root, and where the receipt has it."""

    scope: Scope
    path: str


class OpenNodes:
    """Nodes and their places. ``tops`` counts the scopes over all records that this fit has opened. ``unit`` is whom
    all prices are for."""

    def __init__(self, unit: Unit = ROW) -> None:
        self._unit = unit
        self.roots: list[OpenRoot] = []
        self._tops = 0
        self._places: WeakKeyDictionary[Node, Place] = WeakKeyDictionary()

    def clear(self) -> None:
        self._places.clear()

    def top(self, scope: Scope, held: Any) -> Node:
        """A node of all records."""
        self._tops += 1
        return self._node(scope, held, self._tops - 1)

    def root(self, scope: Scope, held: Any) -> Node:
        """A root of all records: charges on it are limited."""
        node = self.top(scope, held)
        self.roots.append(OpenRoot(scope, self.path(node)))
        return node

    def root_within(self, place: Place, scope: Scope, held: Any) -> Node:
        """A root of a node's records."""
        node = self._node(scope, held, place.top)
        self.roots.append(OpenRoot(scope, self.path(node)))
        return node

    def below(self, place: Place, scopes: Sequence[Scope], held: Iterable[Any]) -> tuple[Node, ...]:
        """Nodes that a node was made into."""
        return tuple(self._node(scope, own, place.top) for scope, own in zip(scopes, held))

    def _node(self, scope: Scope, held: Any, top: int) -> Node:
        node = Node()
        self._places[node] = Place(scope, held, top, self._unit)
        return node

    def place(self, node: Any) -> Place:
        place = self._places.get(node) if type(node) is Node else None
        if place is None:
            raise LeakError("This node is not one of this curator's, or not of this fit.")
        return place

    def path(self, node: Node) -> str:
        place = self.place(node)
        return renumbered(place.scope.path, place.top)

    def asked(self, asked: Mapping[Node, Any], kind: type | None = None) -> list[Asked]:
        """What is asked about which node: exact types, this desk's nodes, each once."""
        if not isinstance(asked, Mapping):
            raise LeakError("A question says for each node what is asked about it.")
        found = [Asked(node, self.place(node), word) for node, word in asked.items()]
        if kind is not None and not all(type(each.word) is kind for each in found):
            raise LeakError(f"This question takes a {kind.__name__} for each node.")
        if len({each.node for each in found}) < len(found):
            raise LeakError("A question names each node once.")
        return found

    def paid(self, asked: Mapping[Node, Any], kind: type | None, budget: Budget) -> list[Asked]:
        """What is asked about which node, each with a budget of its own."""
        free = self.asked(asked, kind)
        return [replace(each, budget=amount) for each, amount in zip(free, budgets([e.node for e in free], budget))]


def renumbered(path: str, top: int) -> str:
    """A scope's path with its first step numbered as in a ledger that has answered nothing else."""
    _, _, *below = path.split("/")
    return "/".join(["", f"fit{top}:0", *below])


def all_spent(roots: Sequence[OpenRoot]) -> Amount:
    """What roots have spent together: added up, but for those of disjoint parts, which count once."""
    return add_up([_counts_as(root, root.scope.spent) for root in roots])


def all_reserved(roots: Sequence[OpenRoot]) -> Fraction:
    """The most that they may cost together in rho, whatever is answered (``reserved_rho``)."""
    return Fraction(add_up([_counts_as(root, reserved_rho([root.scope])) for root in roots]))


def _counts_as(root: OpenRoot, amount: Amount) -> Event:
    return Event(root.path, "a root", "geometric", Fraction(0), 0.0, amount, "tally")
