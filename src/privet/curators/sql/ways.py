"""Nodes of records that stay in a database: how each came about, and one expression that tells a record's node.

A node is a path of released splits, and of draws, from all records down. Nodes that were split apart are disjoint, so
one CASE expression numbers many of them; nodes that overlap, such as copies, have one each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from sqlglot import exp

from privet.curators.sql.columns import Cell, Column, Draw
from privet.curators.sql.expressions import case, whole
from privet.questions.split import Split


@dataclass(frozen=True, eq=False)
class Way:
    """How the records of a node were told apart: by the parts of a column; without one, all go to child 0."""

    column: Column | None = None
    part: bytes = b"\0"

    @classmethod
    def by_split(cls, cell: Cell, split: Split) -> Way:
        return cls(cell, split.part)

    @classmethod
    def by_draw(cls, draw: Draw) -> Way:
        return cls(draw)

    def sends(self, child: int, value: exp.Expr) -> exp.Expr:
        """Whether a record goes to this child, by its value of the column."""
        if isinstance(self.column, Draw):
            return exp.EQ(this=value, expression=whole(child))
        return among(value, np.frombuffer(self.part, dtype=np.uint8) == child)


@dataclass(eq=False)
class SqlHeld:
    """A node: the child of ``above`` by a way. ``parent`` and ``family`` are those of a split, for ``Families``.

    ``totals`` are its exact counts, where they followed from its parent's, on the target's range ``at``. ``root`` has
    scores of its own (``boosting.py``).
    """

    above: SqlHeld | None = None
    way: Way = field(default_factory=Way)
    child: int = 0
    parent: SqlHeld | None = None
    family: list[SqlHeld] = field(default_factory=list, repr=False)
    totals: np.ndarray | None = None
    at: Any = None
    root: bool = False

    @property
    def n_rows(self) -> int:
        return 0 if self.totals is None else int(self.totals[0] if self.at is not None else self.totals.sum())

    def path(self) -> list[SqlHeld]:
        """From all records down to this node."""
        found: list[SqlHeld] = []
        held: SqlHeld | None = self
        while held is not None:
            found.append(held)
            held = held.above
        return found[::-1]


class Route:
    """Disjoint nodes, numbered in their order."""

    def __init__(self) -> None:
        self.nodes: list[SqlHeld] = []
        self._ways: dict[SqlHeld, tuple[Way, dict[int, SqlHeld]]] = {}
        self._top: SqlHeld | None = None

    @property
    def columns(self) -> list[Column]:
        """What the expression looks at."""
        return [way.column for way, _ in self._ways.values() if way.column is not None]

    def takes(self, node: SqlHeld) -> bool:
        """Add a node, unless it may overlap with one that is here."""
        path = node.path()
        if self._top not in (None, path[0]) or node in self._ways or any(own in self.nodes for own in path):
            return False
        for own, below in pairwise(path):
            if own in self._ways and self._ways[own][0] is not below.way:
                return False
        self._top = path[0]
        for own, below in pairwise(path):
            self._ways.setdefault(own, (below.way, {}))[1][below.child] = below
        self.nodes.append(node)
        return True

    def expression(self, value: Callable[[Column], exp.Expr]) -> exp.Expr:
        """The number of the node that a record is in; NULL for a record that is in none."""
        numbers = {node: i for i, node in enumerate(self.nodes)}

        def below(held: SqlHeld) -> exp.Expr:
            if held in numbers:
                return whole(numbers[held])
            way, children = self._ways[held]
            if way.column is None:
                return below(children[0])
            ways = [(way.sends(child, value(way.column)), below(own)) for child, own in children.items()]
            return case(ways, exp.null())

        assert self._top is not None
        return below(self._top)


def routes_of(nodes: Sequence[SqlHeld]) -> Iterator[Route]:
    """As few routes as hold all nodes, each once."""
    routes: list[Route] = []
    for node in dict.fromkeys(nodes):
        if not any(route.takes(node) for route in routes):
            routes.append(Route())
            routes[-1].takes(node)
    yield from routes


def among(value: exp.Expr, wanted: np.ndarray) -> exp.Expr:
    """Whether a cell number is one of those that are wanted: by the stretches that these make."""
    last, ends = len(wanted) - 1, []
    for is_wanted, stretch in groupby(range(len(wanted)), key=lambda cell: bool(wanted[cell])):
        if is_wanted:
            cells = list(stretch)
            ends.append((cells[0], cells[-1]))
    tests: list[exp.Expr] = []
    for first, final in ends:
        if first == 0 and final == last:
            return exp.true()
        if first == final:
            tests.append(exp.EQ(this=value.copy(), expression=whole(first)))
        elif first == 0:
            tests.append(exp.LTE(this=value.copy(), expression=whole(final)))
        elif final == last:
            tests.append(exp.GTE(this=value.copy(), expression=whole(first)))
        else:
            tests.append(exp.Between(this=value.copy(), low=whole(first), high=whole(final)))
    return exp.or_(*tests, copy=False) if tests else exp.false()
