"""Records of an engine that runs in the curator's own process: DuckDB. It reads them, and memory cuts and counts.

They are fetched once, a batch at a time, and kept as cells, a byte for each record and feature: where that is at most
half a gigabyte, and always for boosting, whose rounds need each record's score. Counts, scores and gradients are then
those of ``MemoryRoom``. With more records, or after draws, the database counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from privet.curators import kernels
from privet.curators.boosting_room import BoostingRoom
from privet.curators.memory import Held, MemoryRoom
from privet.curators.records import Binned, Block
from privet.curators.sql.columns import LABEL, WEIGHT, Cell, Column, Number
from privet.curators.sql.expressions import column
from privet.curators.sql.room import DrawingSqlRoom, SqlRoom
from privet.curators.sql.ways import SqlHeld, Way, routes_of
from privet.errors import CapabilityError
from privet.questions.grid import Grid
from privet.questions.levels import Levels
from privet.questions.split import Split, Table
from privet.questions.tally import Step
from privet.schema import Schema
from privet.tables.column import code_dtype

FETCHED = 2**29
"""So many cells are fetched to be counted; with more, the database counts them, and may keep them on its disk."""


class FetchedRecords:
    """The records of one root, in the cells of one grid; all of those that weigh something."""

    persons: np.ndarray | None = None

    def __init__(self, schema: Schema, grid: Grid, most: int) -> None:
        """``most`` records at the most."""
        self.schema, self._grid = schema, grid
        sizes = np.diff(grid.offsets)
        self._blocks = [
            Block(features, np.empty((most, len(features)), dtype=kind))
            for features, kind in ((np.flatnonzero(sizes <= 256), np.uint8), (np.flatnonzero(sizes > 256), np.uint16))
        ]
        self._labels = np.empty(most, dtype=code_dtype(schema.classes) if schema.classes is not None else np.float64)
        self._weights = np.empty(most if schema.person is not None else 0, dtype=np.uint8)
        self.n = 0

    def add(self, columns: Sequence[np.ndarray], label: np.ndarray, weights: np.ndarray | None) -> None:
        """Some more records: the cells of categories, and numbers, which are cut here as in memory."""
        if weights is not None:
            some = weights > 0
            columns, label, weights = [own[some] for own in columns], label[some], weights[some]
        rows = slice(self.n, self.n + len(label))
        self._labels[rows] = label
        if weights is not None:
            self._weights[rows] = weights
        for block in self._blocks:
            for place, f in enumerate(block.features):
                cells, own = self._grid.features[f], columns[f]
                if own.dtype.kind == "f":
                    assert cells.cuts is not None
                    kernels.cut_column(own, cells.cuts, block.cells[rows, place], cells.special)
                else:
                    block.cells[rows, place] = own
        self.n = rows.stop

    def done(self) -> FetchedRecords:
        """All are there."""
        narrow, wide = (Block(block.features, block.cells[: self.n]) for block in self._blocks)
        self.own = Binned(narrow, wide)
        self.labels, self.n_persons = self._labels[: self.n], self.n
        self.targets = self.labels if self.schema.classes is None else None
        self.weights = self._weights[: self.n] if self.schema.person is not None else None
        return self

    def binned(self, grid: Grid) -> Binned:
        assert grid == self._grid
        return self.own

    def cells(self, grid: Grid, features: Sequence[int]) -> np.ndarray:
        return np.stack([self.binned(grid).column(f) for f in features], axis=1)


@dataclass(frozen=True, eq=False)
class Fetched:
    """The records of a root on one grid, and those of its nodes that have been looked at."""

    grid: Grid
    room: MemoryRoom
    nodes: WeakKeyDictionary[SqlHeld, Held]

    def held(self, nodes: Sequence[SqlHeld]) -> list[Held]:
        """Nodes below the root in memory: all that are new on a level are split apart at once."""
        new = [node for node in dict.fromkeys(nodes) if node not in self.nodes]
        if new:
            above = self.held([_above(node) for node in new])
            ways: dict[Way, tuple[Held, list[SqlHeld]]] = {}
            for node, own in zip(new, above):
                if isinstance(node.way.column, Cell):
                    ways.setdefault(node.way, (own, []))[1].append(node)
                else:
                    self.nodes[node] = own  # a copy
            splits = [(own, _split(way, children)) for way, (own, children) in ways.items()]
            for (_, children), family in zip(ways.values(), self.room.split(splits) if splits else ()):
                self.nodes.update((node, family[node.child]) for node in children)
        return [self.nodes[node] for node in nodes]


def _above(node: SqlHeld) -> SqlHeld:
    assert node.above is not None
    return node.above


def _split(way: Way, children: Sequence[SqlHeld]) -> Split:
    assert isinstance(way.column, Cell)
    return Split(way.column.feature, way.part, max(node.child for node in children) + 1)


class FetchingSqlRoom(SqlRoom, BoostingRoom):
    """Fetches cells once, where they fit into memory, and counts them there; scores of records are there anyway."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._fetched: WeakKeyDictionary[SqlHeld, Fetched] = WeakKeyDictionary()
        self._advanced: WeakSet[SqlHeld] = WeakSet()

    # -- counts --------------------------------------------------------------------------------------------------------

    def totals(self, nodes: Sequence[SqlHeld]) -> np.ndarray:
        return self._by_room(nodes, MemoryRoom.totals) if self._fit(nodes) else super().totals(nodes)

    def _count(self, nodes: Sequence[SqlHeld]) -> np.ndarray:
        return self._by_room(nodes, MemoryRoom.histograms) if self._fit(nodes) else super()._count(nodes)

    def _fit(self, nodes: Sequence[SqlHeld]) -> bool:
        """Whether the cells of these nodes' roots are fetched, or may be."""
        if self._grid is None or self._source.n_records * len(self._grid.features) > FETCHED or not nodes:
            return False
        roots = {node.path()[self._root_of(node)] for node in nodes}
        if any(root in self._advanced and self._fetched[root].grid != self._grid for root in roots):
            return False  # what is kept has their scores; it would be refused once it is paid for
        below = (own.way.column for node in nodes for own in node.path()[self._root_of(node) + 1 :])
        return all(way is None or (isinstance(way, Cell) and way.grid == self._grid) for way in below)

    def _by_room(
        self, nodes: Sequence[SqlHeld], count: Callable[[MemoryRoom, Sequence[Held]], np.ndarray]
    ) -> np.ndarray:
        """What is counted of nodes, those of each root together."""
        by_root: dict[SqlHeld, list[int]] = {}
        for i, node in enumerate(nodes):
            by_root.setdefault(node.path()[self._root_of(node)], []).append(i)
        found: dict[int, np.ndarray] = {}
        for root, places in by_root.items():
            fetched = self._fetched_of(root)
            if self._range is not None:
                fetched.room.focus(*self._range)
            found.update(zip(places, count(fetched.room, fetched.held([nodes[i] for i in places]))))
        return np.stack([found[i] for i in range(len(nodes))])

    # -- scores of records ---------------------------------------------------------------------------------------------

    def advance(self, steps: Sequence[tuple[SqlHeld, Step]]) -> None:
        for held, step in steps:
            room, own = self._in_memory(held)
            self._advanced.add(held.path()[self._root_of(held)])
            room.advance([(own, step)])

    def gradients(self, held: SqlHeld, output: int, tables: Sequence[Table]) -> np.ndarray:
        room, own = self._in_memory(held)
        return room.gradients(own, output, tables)

    def gradients_and_hessians(self, held: SqlHeld, output: int, tables: Sequence[Table | Levels]) -> np.ndarray:
        room, own = self._in_memory(held)
        return room.gradients_and_hessians(own, output, tables)

    def residual_counts(self, held: SqlHeld, points: np.ndarray) -> np.ndarray:
        room, own = self._in_memory(held)
        return room.residual_counts(own, points)

    def _in_memory(self, held: SqlHeld) -> tuple[MemoryRoom, Held]:
        """The room of a node's root, and the node in it."""
        path, start = held.path(), self._root_of(held)
        for below in path[start + 1 :]:
            if below.way.column is not None and (
                not isinstance(below.way.column, Cell) or below.way.column.grid != self._cells()
            ):
                raise CapabilityError("Records in a database are boosted as they were split on the present grid.")
        fetched = self._fetched_of(path[start])
        return fetched.room, fetched.held([held])[0]

    # -- fetching ------------------------------------------------------------------------------------------------------

    def _root_of(self, held: SqlHeld) -> int:
        """Where in its path the root is whose scores its records have."""
        return max(i for i, own in enumerate(held.path()) if own.root)

    def _fetched_of(self, root: SqlHeld) -> Fetched:
        grid = self._cells()
        if root not in self._fetched or self._fetched[root].grid != grid:
            if root in self._advanced:
                raise CapabilityError("Records in a database cannot have another grid once boosting has begun.")
            room = self._fetch(root, grid)
            top = room.everything(None)  # type: ignore[arg-type]
            self._fetched[root] = Fetched(grid, room, WeakKeyDictionary({root: top}))
        return self._fetched[root]

    def _fetch(self, root: SqlHeld, grid: Grid) -> MemoryRoom:
        (route,) = routes_of([root])
        columns: list[Column] = [
            Cell(grid, f) if own.cuts is None else Number(f) for f, own in enumerate(grid.features)
        ]
        target = [column(self._name(LABEL))] if self.schema.target is not None else []
        records = FetchedRecords(self.schema, grid, self._source.n_records)
        for arrays in self._database.batches(self._routed(route, columns, target, once=True)):
            label = arrays[self._name(LABEL) if target else "k"]
            records.add([arrays[self._name(own)] for own in columns], label, arrays.get(self._name(WEIGHT)))
        room = MemoryRoom(records.done(), self._mechanisms)
        room.use(grid)
        return room


class DrawingFetchingSqlRoom(DrawingSqlRoom, FetchingSqlRoom):
    """The same, of records that have a key."""


def room_for(can_draw: bool, can_fetch: bool) -> type[SqlRoom]:
    """The room of records that have a key or not, on an engine that gives out arrays or not."""
    if can_fetch:
        return DrawingFetchingSqlRoom if can_draw else FetchingSqlRoom
    return DrawingSqlRoom if can_draw else SqlRoom
