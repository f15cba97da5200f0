"""A room in a database: records are binned once, and a level is one statement of counts.

Where the connection may write, cells go into a temporary table of small integers, once for each grid; where it may not,
every statement bins anew, in a subquery. A statement then numbers each record's node by a CASE expression of released
splits, and counts by a packed number of node, class and cell, one GROUP BY for each feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np
from sqlglot import exp

from privet.curators.families import Families
from privet.curators.room import CountingRoom
from privet.curators.sql import scores
from privet.curators.sql.columns import LABEL, WEIGHT, Cell, Column, Draw
from privet.curators.sql.expressions import (
    as_type,
    column,
    inside,
    named,
    paren,
    selected,
    table_named,
    whole,
    with_table,
)
from privet.curators.sql.source import Source
from privet.curators.sql.ways import Route, SqlHeld, Way, routes_of
from privet.privacy.event import Event
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.samplers import draw_salt
from privet.privacy.scope import Scope
from privet.privacy.scores import Score
from privet.questions.grid import Grid
from privet.questions.linear_maps import grouped
from privet.questions.scorer import Scorer
from privet.questions.split import Split

FEATURES_AT_ONCE = 100
"""So many features are counted by one statement, lest it grow too long for an engine."""


class SqlRoom(CountingRoom):
    """Counts the records of one table, for one fit, which is one transaction."""

    def __init__(self, source: Source, mechanisms: Mechanisms, writes: bool) -> None:
        super().__init__(source.schema, mechanisms)
        self._source, self._database = source, source.database
        self._writes = writes
        self._range = source.schema.target
        self._families: Families[SqlHeld] = Families()
        self._table: str | None = None
        self._kept: dict[Column, str] = {}
        self._told_by: dict[Column, None] = {}  # the columns that nodes were made by
        self._names: dict[Column, str] = {}
        self._salt = draw_salt(self._mechanisms.generator)

    def close(self) -> None:
        self._database.end()

    # -- structure -----------------------------------------------------------------------------------------------------

    def everything(self, scope: Scope) -> SqlHeld:
        return SqlHeld(root=True)

    def anew(self, held: SqlHeld, scope: Scope) -> SqlHeld:
        return SqlHeld(held, root=True)

    def copies(self, held: SqlHeld, n: int) -> list[SqlHeld]:
        return [SqlHeld(held) for _ in range(n)]

    def use(self, grid: Grid) -> None:
        self._grid = grid
        self._families.forget()

    def focus(self, low: float, high: float) -> None:
        if (low, high) != self._range:
            self._range = low, high
            self._families.forget()

    def split(self, splits: Sequence[tuple[SqlHeld, Split]]) -> list[list[SqlHeld]]:
        grid, families = self._cells(), []
        for held, split in splits:
            cell = Cell(grid, split.feature)
            self._told_by[cell] = None
            way, family = Way.by_split(cell, split), list[SqlHeld]()
            known = self._families.known.get(held)
            totals: Any = [None] * split.n_children
            if known is not None:
                totals = grouped(known[grid.offsets[split.feature] : grid.offsets[split.feature + 1]], split)
            family += (SqlHeld(held, way, i, held, family, own, self._range) for i, own in enumerate(totals))
            families.append(family)
        return families

    # -- exact counts --------------------------------------------------------------------------------------------------

    def totals(self, nodes: Sequence[SqlHeld]) -> np.ndarray:
        unknown = [held for held in nodes if held.totals is None or held.at != self._range]
        counted: dict[SqlHeld, np.ndarray] = {}
        for route in routes_of(unknown):
            counts = np.zeros((len(route.nodes), self._width), dtype=np.int64)
            self._add(self._counted(route, ()), counts.reshape(-1), counts)
            counted.update(zip(route.nodes, counts))
        return np.stack([counted[held] if held in counted else self._totals_of(held) for held in nodes])

    def _totals_of(self, held: SqlHeld) -> np.ndarray:
        assert held.totals is not None
        return held.totals

    def histograms(self, nodes: Sequence[SqlHeld]) -> np.ndarray:
        return self._families.histograms(nodes, self._count)

    def _count(self, nodes: Sequence[SqlHeld]) -> np.ndarray:
        n_cells = self._cells().n_cells
        found: dict[SqlHeld, np.ndarray] = {}
        for route in routes_of(nodes):
            by_class = self.schema.classes is not None
            shape = (len(route.nodes), self._width, n_cells) if by_class else (len(route.nodes), n_cells, self._width)
            counts = np.zeros(shape, dtype=np.int64)
            every = range(len(self._cells().features))
            for start in every[::FEATURES_AT_ONCE]:
                features = every[start : start + FEATURES_AT_ONCE]
                self._add(self._counted(route, features), counts.reshape(-1), counts)
            found.update(zip(route.nodes, counts.swapaxes(1, 2) if by_class else counts))
        return np.array([found[held] for held in nodes]).reshape(len(nodes), n_cells, self._width)

    def _add(self, statement: exp.Query, flat: np.ndarray, counts: np.ndarray) -> None:
        """Put the answers of a statement, a number of a place and counts, into their places."""
        answers = self._database.numbers(statement)
        if self.schema.classes is None:
            counts.reshape(-1, self._width)[answers[:, 0]] += answers[:, 1:]
        else:
            flat[answers[:, 0]] += answers[:, 1]

    def _counted(self, route: Route, features: Sequence[int]) -> exp.Query:
        """The statement of counts of a route's nodes: by the cells of features, or as a whole where there are none."""
        grid = self._grid
        cells = {f: Cell(self._cells(), f) for f in features}
        routed = self._routed(route, cells.values())
        n_places = len(route.nodes) * self._width * (grid.n_cells if grid is not None and features else 1)
        kind = "int" if n_places < 2**31 else "bigint"
        each = []
        for own in cells.values() if cells else [None]:
            place: exp.Expr = as_type(column("k"), kind)
            if own is not None:
                start = int(own.grid.offsets[own.feature])
                place = place * whole(own.grid.n_cells) + whole(start) + column(self._name(own))
            by = [column("k"), column(self._name(own))] if own and self._database.knows_ranges else [place.copy()]
            each.append(selected([named(place, "place"), *self._sums()], table_named("routed"), by=by))
        query: exp.Query = each[0]
        for other in each[1:]:
            query = exp.union(query, other, distinct=False, copy=False)
        return with_table(query, "routed", routed, self._database.materializes and len(each) > 1)

    def _routed(
        self, route: Route, cells: Iterable[Column], also: Sequence[exp.Expr] = (), *, once: bool = False
    ) -> exp.Select:
        """The records of a route's nodes: ``k`` numbers node and class, then come cells, weight and target.

        ``once``: nothing is kept for later statements.
        """
        needed = [*route.columns, *cells, LABEL, *([WEIGHT] if self.schema.person is not None else [])]
        names = {own: self._name(own) for own in dict.fromkeys(needed)}
        number = route.expression(lambda own: column(names[own]))
        if self.schema.classes is not None:
            first = exp.Mul(this=paren(number), expression=whole(self._width))
            number = exp.Add(this=first, expression=column(names[LABEL]))
        carried = [column(names[own]) for own in dict.fromkeys([*cells, *names.keys() & {WEIGHT}])]
        rows = inside(self._source.rows(names, self._salt), "binned") if once else self._rows(names)
        numbered = selected([named(number, "k"), *carried, *self._target(), *also], rows)
        there = exp.Not(this=exp.Is(this=column("k"), expression=exp.null()))
        return selected([exp.Star()], inside(numbered, "numbered"), where=there)

    def _target(self) -> list[exp.Expr]:
        if self.schema.target is None:
            return []
        assert self._range is not None
        return [named(self._source.fixed(column(self._name(LABEL)), *self._range), "t")]

    def _sums(self) -> list[exp.Expr]:
        """What is added up: records, by their weights if they have some, and moments of targets."""
        terms = []
        if self.schema.target is not None:
            t: exp.Expr = column("t")
            first = t if self.schema.person is None else t * as_type(column(self._name(WEIGHT)), "bigint")
            terms += [exp.Sum(this=first), exp.Sum(this=first.copy() * t.copy())]
        return [self._records_counted(), *(named(as_type(own, "bigint"), f"n{i + 1}") for i, own in enumerate(terms))]

    def _records_counted(self) -> exp.Expr:
        """How many records, by their weights if they have some."""
        if self.schema.person is None:
            n: exp.Expr = exp.Count(this=exp.Star())
        else:
            n = exp.Sum(this=as_type(column(self._name(WEIGHT)), "bigint"))
        return named(as_type(n, "bigint"), "n0")

    def target_counts(self, held: SqlHeld, cuts: np.ndarray) -> np.ndarray:
        (route,) = routes_of([held])
        bucket = self._database.bucket(column(self._name(LABEL)), [float(cut) for cut in cuts])
        routed = self._routed(route, (), [named(bucket, "b")])
        query = selected([column("b"), self._records_counted()], inside(routed, "routed"), by=[column("b")])
        answers = self._database.numbers(query)
        counts = np.zeros(len(cuts) + 1, dtype=np.int64)
        counts[answers[:, 0]] = answers[:, 1]
        return counts

    # -- what a released model says of records -------------------------------------------------------------------------

    def priced_sum(self, event: Event, asked: Any) -> Event:
        if isinstance(asked, Scorer):
            scores.check_computable(asked)
        return super().priced_sum(event, asked)

    def priced_preference(self, event: Event, scorers: Sequence[Scorer], score: Score) -> Event:
        for scorer in scorers:
            scores.check_computable(scorer)
        return super().priced_preference(event, scorers, score)

    def scored(self, held: SqlHeld, scorer: Scorer) -> np.ndarray:
        (route,) = routes_of([held])
        cells = {f: Cell(scorer.grid, f) for f in scorer.features}
        target = column(self._name(LABEL))
        truth = [target.copy()] if self.schema.target is not None else []
        routed = self._routed(route, cells.values(), [own.copy() for own in truth])

        def cell(feature: int) -> exp.Expr:
            return column(self._name(cells[feature]))

        told = [scores.group(scorer, cell), *scores.outputs(scorer, cell)]
        weight = [column(self._name(WEIGHT))] if self.schema.person is not None else []
        scored = [named(own, f"s{i}") for i, own in enumerate(told)]
        each = selected([column("k"), *scored, *weight, *truth], inside(routed, "routed"))
        by = [column("k"), *(column(f"s{i}") for i in range(len(told)))]
        if scorer.link == "error":  # the bin itself: targets are not to leave the database
            by[2] = scores.error_bin(scorer, self._database, column("s1"), target)
        counted = selected([*by, self._records_counted()], table_named("told"), by=[own.copy() for own in by])
        # Once for each record: an engine that puts the expression wherever it is used would compute it many times.
        query = with_table(counted, "told", each, self._database.materializes)
        answers = self._database.numbers(query)
        classes, groups, told_by, n = answers[:, 0], answers[:, 1], answers[:, 2:-1], answers[:, -1]
        if scorer.link == "error":
            places = groups * scorer.n_bins + told_by[:, 0]
        else:
            places = scorer.places_of_scores(groups, told_by, classes)
        table = np.zeros(scorer.shape, dtype=np.int64)
        np.add.at(table.reshape(-1), places, n)
        return table

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _rows(self, names: dict[Column, str]) -> exp.Expr:
        """Where these columns are to be had: in the temporary table, which is made if need be, or in a subquery."""
        if self._grid is not None and self._writes and any(isinstance(own, Cell) for own in names):
            self._keep(self._grid, names.keys())
        if self._table is not None and names.keys() <= self._kept.keys():
            return table_named(self._table)
        return inside(self._source.rows(names, self._salt), "binned")

    def _keep(self, grid: Grid, needed: Set[Column]) -> None:
        """Bin all records once, into small integers, unless what is needed is there already or would not be there then;
        not where an engine allows no table of so many columns."""
        cells = (Cell(grid, f) for f in range(len(grid.features)))
        columns = dict.fromkeys(chain(cells, self._told_by, [LABEL, WEIGHT]))
        if len(columns) > self._database.most_columns or needed <= self._kept.keys() or not needed <= columns.keys():
            return
        if self._table is not None:
            self._database.drop(self._table)
            self._table, self._kept = None, {}
        names = {own: self._name(own) for own in columns}
        stretches = self._source.stretches(columns)
        if stretches is not None:
            stretches.keep()
        self._table = self._database.keep(self._source.rows(names, self._salt, stretches))
        self._kept = names
        if stretches is not None:
            stretches.drop()

    def _name(self, own: Column) -> str:
        """The name of a column, the same in every statement of a fit."""
        return self._names.setdefault(own, f"c{len(self._names)}")

    @property
    def _width(self) -> int:
        """How many numbers a cell holds: one for each class, or three moments of the targets."""
        return 3 if self.schema.classes is None else len(self.schema.classes)


class DrawingSqlRoom(SqlRoom):
    """Records that have a key, by which they, or their persons, are drawn into parts."""

    def parts(self, held: SqlHeld, weights: Sequence[int]) -> list[SqlHeld]:
        """Each record in one part, drawn with these weights."""
        draw = Draw(draw_salt(self._mechanisms.generator), tuple(weights))
        self._told_by[draw] = None
        way = Way.by_draw(draw)
        return [SqlHeld(held, way, i) for i in range(len(weights))]
