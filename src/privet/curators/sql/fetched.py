"""Records of an engine that runs in the curator's own process: DuckDB. It reads them, and memory cuts and counts.

They are fetched once, a batch at a time, and kept as cells, a byte for each record and feature, where files keep theirs
(``scratch.py``). Counts, scores and gradients are then those of ``MemoryRoom``. A draw's parts are computed in the
database and come with the cells. Where the disk has no space, the database counts; boosting, whose rounds need each
record's score, has its cells in memory then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from privet.curators import kernels
from privet.curators.boosting_room import BoostingRoom
from privet.curators.memory import Held, MemoryRoom
from privet.curators.records import Binned, Block
from privet.curators.scratch import DiskFullError, Scratch
from privet.curators.sql.columns import LABEL, WEIGHT, Cell, Column, Draw, Number
from privet.curators.sql.expressions import column
from privet.curators.sql.room import DrawingSqlRoom, SqlRoom
from privet.curators.sql.source import Source
from privet.curators.sql.ways import SqlHeld, Way, routes_of
from privet.errors import CapabilityError
from privet.privacy.mechanisms import Mechanisms
from privet.questions.grid import Grid
from privet.questions.levels import Levels
from privet.questions.split import Split, Table
from privet.questions.tally import Step
from privet.schema import Schema
from privet.tables.column import code_dtype

New = Callable[[tuple[int, ...], Any], np.ndarray]
"""Makes an array of a shape and a type."""


class FetchedRecords:
    """All records of a table that weigh something, in the cells of one grid, and the parts they were drawn into."""

    persons: np.ndarray | None = None

    def __init__(self, schema: Schema, grid: Grid, draws: Sequence[Draw], most: int, new: New) -> None:
        """``most`` records at the most; ``new`` makes the arrays that they are in."""
        self.schema, self._grid, self._new = schema, grid, new
        sizes = np.diff(grid.offsets)
        widths = ((np.flatnonzero(sizes <= 256), np.uint8), (np.flatnonzero(sizes > 256), np.uint16))
        self._blocks = [Block(features, new((most, len(features)), kind)) for features, kind in widths]
        self._labels = new((most,), np.float64 if schema.classes is None else code_dtype(schema.classes))
        self._weights = new((most if schema.person is not None else 0,), np.uint8)
        self._parts = {draw: new((most,), np.min_scalar_type(len(draw.weights) - 1)) for draw in draws}
        self.n = 0

    def add(
        self,
        columns: Sequence[np.ndarray],
        label: np.ndarray,
        weights: np.ndarray | None,
        parts: Mapping[Draw, np.ndarray],
    ) -> None:
        """Some more records: the cells of categories, and numbers, which are cut here as in memory."""
        if weights is not None:
            some = weights > 0
            columns, label, weights = [own[some] for own in columns], label[some], weights[some]
            parts = {draw: own[some] for draw, own in parts.items()}
        rows = slice(self.n, self.n + len(label))
        self._labels[rows] = label
        if weights is not None:
            self._weights[rows] = weights
        for draw, own in parts.items():
            self._parts[draw][rows] = own
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
        self.own = Binned(narrow, wide, self._new)
        self.labels, self.n_persons = self._labels[: self.n], self.n
        self.targets = self.labels if self.schema.classes is None else None
        self.weights = self._weights[: self.n] if self.schema.person is not None else None
        self.parts = {draw: own[: self.n] for draw, own in self._parts.items()}
        return self

    def binned(self, grid: Grid) -> Binned:
        assert grid == self._grid
        return self.own

    def cells(self, grid: Grid, features: Sequence[int]) -> np.ndarray:
        return np.stack([self.binned(grid).column(f) for f in features], axis=1)


@dataclass(frozen=True, eq=False)
class Fetched:
    """The records on one grid, and those nodes that have been looked at."""

    grid: Grid
    records: FetchedRecords
    room: MemoryRoom
    nodes: WeakKeyDictionary[SqlHeld, Held] = field(default_factory=WeakKeyDictionary)

    def has(self, node: SqlHeld, grid: Grid) -> bool:
        """Whether a node's cells of this grid are here: it is told apart by them, and by draws made before."""
        return grid == self.grid and _tellable(node, grid) and _draws_above(node) <= self.records.parts.keys()

    def held(self, nodes: Sequence[SqlHeld]) -> list[Held]:
        """Nodes in memory: all that are new on a level are split apart at once."""
        new = [node for node in dict.fromkeys(nodes) if node not in self.nodes]
        if new:
            above = dict(zip(new, self._above(new)))
            ways: dict[Way, list[SqlHeld]] = {}
            for node in new:
                if isinstance(node.way.column, Cell):
                    ways.setdefault(node.way, []).append(node)
                else:
                    self.nodes[node] = self._same_or_drawn(node, above[node])
            splits = [(above[children[0]], _split(way, children)) for way, children in ways.items()]
            for children, family in zip(ways.values(), self.room.split(splits) if splits else ()):
                self.nodes.update((node, family[node.child]) for node in children)
        return [self.nodes[node] for node in nodes]

    def _above(self, nodes: Sequence[SqlHeld]) -> list[Held]:
        """What each of these nodes was made of: of one at the top, all records."""
        tops = {node: self.room.everything(None) for node in nodes if node.above is None}  # type: ignore[arg-type]
        below = [node for node in nodes if node.above is not None]
        found = dict(zip(below, self.held([node.above for node in below if node.above is not None]) if below else ()))
        return [tops[node] if node in tops else found[node] for node in nodes]

    def _same_or_drawn(self, node: SqlHeld, above: Held) -> Held:
        """A node that no split made: a part that was drawn, a copy, or a root with scores of its own."""
        if isinstance(node.way.column, Draw):
            parts = self.records.parts[node.way.column]
            return self.room.sampled(above, parts[self.room.rows_of(above)] == node.child)
        return self.room.anew(above, None) if node.root else above  # type: ignore[arg-type]


def _split(way: Way, children: Sequence[SqlHeld]) -> Split:
    assert isinstance(way.column, Cell)
    return Split(way.column.feature, way.part, max(node.child for node in children) + 1)


def _tellable(node: SqlHeld, grid: Grid) -> bool:
    """Whether all splits above a node are of this grid."""
    return all(own.way.column.grid == grid for own in node.path() if isinstance(own.way.column, Cell))


def _draws_above(node: SqlHeld) -> set[Draw]:
    return {own.way.column for own in node.path() if isinstance(own.way.column, Draw)}


class FetchingSqlRoom(SqlRoom, BoostingRoom):
    """Fetches cells once, where the disk has space for them, and counts them; scores of records are there anyway."""

    def __init__(self, source: Source, mechanisms: Mechanisms, writes: bool, scratch: Scratch) -> None:
        super().__init__(source, mechanisms, writes)
        self._scratch = scratch
        self._fetched: Fetched | None = None
        self._boosted: WeakKeyDictionary[SqlHeld, Fetched] = WeakKeyDictionary()  # by the root whose scores are there
        self._disk_is_full = False

    # -- counts --------------------------------------------------------------------------------------------------------

    def totals(self, nodes: Sequence[SqlHeld]) -> np.ndarray:
        counted = self._in_memory(nodes, MemoryRoom.totals)
        return super().totals(nodes) if counted is None else counted

    def _count(self, nodes: Sequence[SqlHeld]) -> np.ndarray:
        counted = self._in_memory(nodes, MemoryRoom.histograms)
        return super()._count(nodes) if counted is None else counted

    def _in_memory(
        self, nodes: Sequence[SqlHeld], count: Callable[[MemoryRoom, Sequence[Held]], np.ndarray]
    ) -> np.ndarray | None:
        """What memory counts of nodes; None if the database has to."""
        grid = self._grid
        if grid is None or self._disk_is_full or not nodes or not all(_tellable(node, grid) for node in nodes):
            return None
        try:
            all_fetched = [self._fetched_for(node, self._scratch.array) for node in nodes]
        except DiskFullError:
            self._disk_is_full = True
            return None
        if not all(fetched.has(node, grid) for fetched, node in zip(all_fetched, nodes)):
            return None
        by_fetched: dict[Fetched, list[int]] = {}
        for i, fetched in enumerate(all_fetched):
            by_fetched.setdefault(fetched, []).append(i)
        found: dict[int, np.ndarray] = {}
        for fetched, places in by_fetched.items():
            if self._range is not None:
                fetched.room.focus(*self._range)
            found.update(zip(places, count(fetched.room, fetched.held([nodes[i] for i in places]))))
        return np.stack([found[i] for i in range(len(nodes))])

    # -- scores of records ---------------------------------------------------------------------------------------------

    def advance(self, steps: Sequence[tuple[SqlHeld, Step]]) -> None:
        for held, step in steps:
            fetched, own = self._scored(held)
            self._boosted[_root_of(held)] = fetched
            fetched.room.advance([(own, step)])

    def gradients(self, held: SqlHeld, output: int, tables: Sequence[Table]) -> np.ndarray:
        fetched, own = self._scored(held)
        return fetched.room.gradients(own, output, tables)

    def gradients_and_hessians(self, held: SqlHeld, output: int, tables: Sequence[Table | Levels]) -> np.ndarray:
        fetched, own = self._scored(held)
        return fetched.room.gradients_and_hessians(own, output, tables)

    def residual_counts(self, held: SqlHeld, points: np.ndarray) -> np.ndarray:
        fetched, own = self._scored(held)
        return fetched.room.residual_counts(own, points)

    def check_scored(self, nodes: Sequence[SqlHeld]) -> None:
        for held in nodes:
            if self._grid is None or not _tellable(held, self._grid):
                raise CapabilityError("Records in a database are boosted as they were split on the present grid.")
            boosted = self._boosted.get(_root_of(held))
            if boosted is not None and not boosted.has(held, self._grid):
                raise CapabilityError(
                    "Records in a database cannot have another grid or draw once boosting has begun. Draw parts before "
                    "the first step, and boost on one grid."
                )

    def _scored(self, held: SqlHeld) -> tuple[Fetched, Held]:
        """Where a node's records have scores, and the node there."""
        self.check_scored([held])
        try:
            fetched = self._fetched_for(held, self._scratch.array)
        except DiskFullError:
            fetched = self._fetched_for(held, np.empty)
        return fetched, fetched.held([held])[0]

    # -- fetching ------------------------------------------------------------------------------------------------------

    def _fetched_for(self, node: SqlHeld, new: New) -> Fetched:
        """The records that a node is told apart in: fetched anew for another grid or draw, unless they have scores.

        With all draws that were made, also those that this node is not below: which of them records with scores have
        must not follow from when they were fetched, which the disk's space has a part in.
        """
        boosted = self._boosted.get(_root_of(node))
        if boosted is not None:
            return boosted
        there = self._fetched
        if there is not None and there.grid == self._cells() and self._draws <= there.records.parts.keys():
            return there
        self._fetched = there = None  # before there are others: its space is free again
        self._fetched = found = self._fetch(self._cells(), new)
        return found

    @property
    def _draws(self) -> Set[Draw]:
        """All that were made so far, in their order."""
        return {own: None for own in self._told_by if isinstance(own, Draw)}.keys()

    def _fetch(self, grid: Grid, new: New) -> Fetched:
        (route,) = routes_of([self.everything(None)])  # type: ignore[arg-type]
        draws = list(self._draws)
        columns: list[Column] = [
            Cell(grid, f) if own.cuts is None else Number(f) for f, own in enumerate(grid.features)
        ]
        target = [column(self._name(LABEL))] if self.schema.target is not None else []
        records = FetchedRecords(self.schema, grid, draws, self._source.n_records, new)
        for arrays in self._database.batches(self._routed(route, [*columns, *draws], target, once=True)):
            label = arrays[self._name(LABEL) if target else "k"]
            parts = {draw: arrays[self._name(draw)] for draw in draws}
            records.add([arrays[self._name(own)] for own in columns], label, arrays.get(self._name(WEIGHT)), parts)
        room = MemoryRoom(records.done(), self._mechanisms)
        room.use(grid)
        return Fetched(grid, records, room)


def _root_of(held: SqlHeld) -> SqlHeld:
    """The root whose scores a node's records have."""
    return next(own for own in reversed(held.path()) if own.root)


class DrawingFetchingSqlRoom(DrawingSqlRoom, FetchingSqlRoom):
    """The same, of records that have a key."""


def room_for(can_draw: bool, can_fetch: bool) -> type[SqlRoom]:
    """The room of records that have a key or not, on an engine that gives out arrays or not."""
    if can_fetch:
        return DrawingFetchingSqlRoom if can_draw else FetchingSqlRoom
    return DrawingSqlRoom if can_draw else SqlRoom
