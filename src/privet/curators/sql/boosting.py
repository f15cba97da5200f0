"""Boosting on records of an engine that runs in the curator's own process: DuckDB.

Every round needs each record's score, so cells are fetched once, as small integers, and held in memory: a byte for each
record and feature. Scores and gradients are then those of ``MemoryRoom``. All other questions are counted by SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from privet.curators.boosting_room import BoostingRoom
from privet.curators.memory import Held, MemoryRoom
from privet.curators.records import Binned, Block
from privet.curators.sql.expressions import column
from privet.curators.sql.room import DrawingSqlRoom, SqlRoom
from privet.curators.sql.source import LABEL, WEIGHT, Cell
from privet.curators.sql.ways import SqlHeld, routes_of
from privet.errors import CapabilityError
from privet.questions.grid import Grid
from privet.questions.levels import Levels
from privet.questions.split import Split, Table
from privet.questions.tally import Step
from privet.schema import Schema
from privet.tables.column import code_dtype


class FetchedRecords:
    """The records of one root, in the cells of one grid; all of those that weigh something."""

    persons: np.ndarray | None = None

    def __init__(self, schema: Schema, grid: Grid, cells: Sequence[np.ndarray], label: np.ndarray) -> None:
        self.schema, self._grid = schema, grid
        self.n = self.n_persons = len(label)
        self.targets = label.astype(np.float64) if schema.classes is None else None
        self.labels = label.astype(code_dtype(schema.classes)) if schema.classes is not None else label
        self.weights: np.ndarray | None = None
        sizes = np.diff(grid.offsets)
        narrow = self._block(cells, np.flatnonzero(sizes <= 256), np.uint8)
        wide = self._block(cells, np.flatnonzero(sizes > 256), np.uint16)
        self.own = Binned(narrow, wide)

    def _block(self, cells: Sequence[np.ndarray], features: np.ndarray, kind: type[np.unsignedinteger]) -> Block:
        found = np.empty((self.n, len(features)), dtype=kind)
        for place, f in enumerate(features):
            found[:, place] = cells[f]
        return Block(features, found)

    def binned(self, grid: Grid) -> Binned:
        assert grid == self._grid
        return self.own

    def cells(self, grid: Grid, features: Sequence[int]) -> np.ndarray:
        return np.stack([self.binned(grid).column(f) for f in features], axis=1)


class BoostingSqlRoom(SqlRoom, BoostingRoom):
    """Counts by SQL, and has the scores of records in memory."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._fetched: WeakKeyDictionary[SqlHeld, tuple[Grid, MemoryRoom]] = WeakKeyDictionary()
        self._rows_of: WeakKeyDictionary[SqlHeld, Held] = WeakKeyDictionary()
        self._advanced: WeakSet[SqlHeld] = WeakSet()

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

    def _root_of(self, held: SqlHeld) -> int:
        """Where in its path the root is whose scores its records have."""
        return max(i for i, own in enumerate(held.path()) if own.root)

    def _in_memory(self, held: SqlHeld) -> tuple[MemoryRoom, Held]:
        """The room of a node's root, and the node in it."""
        path, start, grid = held.path(), self._root_of(held), self._cells()
        root = path[start]
        if root not in self._fetched or self._fetched[root][0] != grid:
            if root in self._advanced:
                raise CapabilityError("Records in a database cannot have another grid once boosting has begun.")
            self._fetched[root] = grid, self._fetch(root, grid)
            self._rows_of[root] = Held(None, self._fetched[root][1].everything(None).root)  # type: ignore[arg-type]
        room, own = self._fetched[root][1], self._rows_of[root]
        for below in path[start + 1 :]:
            if below.way.column is None:
                continue
            if not isinstance(below.way.column, Cell) or below.way.column.grid != grid:
                raise CapabilityError("Records in a database are boosted as they were split on the present grid.")
            split = Split(below.way.column.feature, below.way.part, below.child + 1)
            own = room.split([(own, split)])[0][below.child]
        return room, own

    def _fetch(self, root: SqlHeld, grid: Grid) -> MemoryRoom:
        (route,) = routes_of([root])
        cells = [Cell(grid, f) for f in range(len(grid.features))]
        target = [column(self._name(LABEL))] if self.schema.target is not None else []
        arrays = self._database.arrays(self._routed(route, cells, target))
        label = arrays[self._name(LABEL) if target else "k"]
        columns = [arrays[self._name(own)] for own in cells]
        weights = arrays.get(self._name(WEIGHT))
        if weights is not None:
            counts = weights > 0
            label, columns, weights = label[counts], [own[counts] for own in columns], weights[counts]
        records = FetchedRecords(self.schema, grid, columns, label)
        records.weights = weights
        room = MemoryRoom(records, self._mechanisms)
        room.use(grid)
        return room


class DrawingBoostingSqlRoom(DrawingSqlRoom, BoostingSqlRoom):
    """The same, of records that have a key."""


def room_for(can_draw: bool, can_boost: bool) -> type[SqlRoom]:
    """The room of records that have a key or not, on an engine that gives out arrays or not."""
    if can_boost:
        return DrawingBoostingSqlRoom if can_draw else BoostingSqlRoom
    return DrawingSqlRoom if can_draw else SqlRoom
