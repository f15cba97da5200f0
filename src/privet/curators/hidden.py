"""Rows on secret shares: three servers that may choose splits which nobody sees, and route records by them.

Owners share their rows instead of counts, one 1 among the cells of each feature and one among the classes, filled up
with rows of zeros to a public number: how many records there are stays hidden too. A node is a column of 0 and 1 over
all rows, on shares. Histograms of a level are one matrix product, so what is announced works as on any curator
(``mpc.py``), and what is hidden (``choose(..., hidden=True)``) is used on, on shares, by ``split``.

A hidden choice costs what an announced one costs. That it is hidden is no reason to charge less: whatever is learned
later from predictions follows from the choices (docs/hidden.md).

Semi-honest, honest majority, not independently reviewed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from privet.curators.base import Budget, Node
from privet.curators.central import children_of, prior_points
from privet.curators.mpc import MpcCurator, Owners
from privet.curators.own import grid_words
from privet.errors import LeakError
from privet.hidden.routing import child_of, members_of_children
from privet.hidden.shape import Shape
from privet.mpc.engine import Engine, Secret
from privet.privacy.joint_scores import joint_scores
from privet.privacy.ledger import Scope
from privet.privacy.receipt import Event
from privet.privacy.sensitivity import Score
from privet.tree.candidates import Candidates, Choice, Split
from privet.tree.grid import Grid
from privet.tree.multiway import Multiway

ROWS_AT_ONCE = 2**26
"""So many products of rows are held at a time."""


@dataclass(frozen=True, eq=False)
class HiddenChoice(Choice):
    """A choice that nobody has seen: row ``row`` of ``table`` has a 1 at the candidate's place.

    ``table`` holds the choices of all nodes that were asked about together.
    """

    options: Candidates
    table: Secret
    row: int

    @classmethod
    def of(cls, options: Candidates, table: Secret, row: int) -> HiddenChoice:
        return cls(None, None, options, table, row)


class SharedRows:
    """All rows: ``cells`` (flat cells, rows) and ``classes`` (classes, rows), 0 or 1."""

    def __init__(self, engine: Engine, cells: Secret, classes: Secret) -> None:
        self.engine = engine
        self.cells = cells
        self.classes = classes
        self.by_class = self._by_class()

    def _by_class(self) -> Secret:
        """The cells of each class's rows, one class after the other, (classes * cells, rows). One multiplication.

        The first class has what is left of the others.
        """
        n_classes, rows = self.classes.shape
        n_cells = self.cells.shape[0]
        others = self.classes[1:].reshape(n_classes - 1, 1, rows) * self.cells.reshape(1, n_cells, rows)
        first = self.cells - others.sum(0)
        return self.engine.concatenate([first.reshape(1, n_cells, rows), others]).reshape(n_classes * n_cells, rows)


class _Level:
    """Nodes that were made together; their members are built only when somebody needs them."""

    size = 0

    def __init__(
        self,
        members: Secret | None,
        free: Secret | None = None,
        above: _Level | None = None,
        goes: Secret | None = None,
        totals: Secret | None = None,
    ) -> None:
        self._members = members
        self.free = free  # which splits a node may still choose, (nodes, splits); None: all
        self._above = above
        self._goes = goes
        self.totals = totals  # class counts, (nodes, classes), where they follow from the level above
        self._histograms: Secret | None = None

    def members(self, engine: Engine) -> Secret:
        if self._members is None:
            assert self._above is not None
            assert self._goes is not None
            self._members = members_of_children(engine, self._above.members(engine), self._goes)
        return self._members

    def histograms(self, rows: SharedRows) -> Secret:
        """Counts of all cells by class and node, (cells, classes, nodes)."""
        if self._histograms is None:
            self._histograms = self._count(rows)
        return self._histograms

    def _count(self, rows: SharedRows) -> Secret:
        engine, by_class = rows.engine, rows.by_class
        n_classes, n_cells = rows.classes.shape[0], rows.cells.shape[0]
        above = self._above
        if self._members is None and above is not None and self._goes is not None:
            parents = above.members(engine)
            if parents.shape[0] > by_class.shape[0]:
                # More nodes than cells: it is cheaper to route the cells' columns than the nodes' members.
                return self._count_routed(rows, parents, self._goes, above.histograms(rows))
        members = self.members(engine)
        return _by_cell(by_class @ members.transpose(1, 0), n_classes, n_cells)

    def _count_routed(self, rows: SharedRows, parents: Secret, goes: Secret, before: Secret) -> Secret:
        engine, by_class = rows.engine, rows.by_class
        n_classes, n = rows.classes.shape
        n_cells, nodes, ways = rows.cells.shape[0], parents.shape[0], goes.shape[0]
        counts: dict[int, Secret] = {}
        chunk = max(1, ROWS_AT_ONCE // by_class.shape[0])
        for start in range(0, n, chunk):
            here = slice(start, start + chunk)
            own, among = by_class[:, here], parents[:, here].transpose(1, 0)
            for way in range(ways):
                some = (own * goes[way, here].reshape(1, own.shape[1])) @ among
                counts[way] = counts[way] + some if way in counts else some
        tables = [_by_cell(some, n_classes, n_cells) for some in counts.values()]
        last = before
        for table in tables:
            last = last - table
        each = [table.reshape(n_cells, n_classes, nodes, 1) for table in (*tables, last)]
        return engine.concatenate(each, axis=3).reshape(n_cells, n_classes, nodes * (ways + 1))


def _by_cell(counts: Secret, n_classes: int, n_cells: int) -> Secret:
    return counts.reshape(n_classes, n_cells, counts.shape[1]).transpose(1, 0, 2)


class HiddenCurator(MpcCurator):
    """One server's curator of shared rows. ``owners`` is a ``RowOwners``."""

    capabilities = frozenset({"tally", "choose", "hidden"})
    trust = (
        "No single machine saw a record, a count or the tree: owners shared rows among three servers, of which no two "
        "may collude. Semi-honest, honest majority, not independently reviewed."
    )
    _owners: RowOwners

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rows: SharedRows | None = None
        self._places: WeakKeyDictionary[Node, tuple[_Level, int]] = WeakKeyDictionary()

    # -- public structure --------------------------------------------------------------------------------------------

    def _everything(self, scope: Scope) -> Node:
        everyone = self._engine.constant(np.ones((1, self._most), dtype=np.int64))
        return self._nodes_of(_Level(everyone), [scope])[0]

    def _use(self, grid: Grid) -> None:
        cells, classes = self._owners.rows(grid)
        self._rows = SharedRows(self._engine, cells, classes)

    def _nodes_of(self, level: _Level, scopes: Sequence[Scope]) -> tuple[Node, ...]:
        nodes = self._open(scopes)
        level.size = len(nodes)
        self._places.update({node: (level, i) for i, node in enumerate(nodes)})
        return nodes

    def _shared(self) -> SharedRows:
        self._cells()
        assert self._rows is not None
        return self._rows

    def split(self, splits: Mapping[Node, Split | HiddenChoice]) -> dict[Node, tuple[Node, ...]]:
        """By public splits, or by hidden choices of a whole level."""
        if not splits:
            return {}
        self._own(list(splits))
        if all(isinstance(split, HiddenChoice) for split in splits.values()):
            return self._split_hidden(splits)  # type: ignore[arg-type]
        public = {node: split for node, split in splits.items() if isinstance(split, Split)}
        if len(public) < len(splits):
            raise LeakError("Split nodes by public splits or by hidden choices, not by both at once.")
        for split in public.values():
            self._fits(split)
        return self._split_in_public(public)

    def _split_in_public(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        nodes, offsets = list(splits), self._cells().offsets
        n_children = [split.n_children for split in splits.values()]
        sends = np.zeros((sum(n_children), self._cells().n_cells), dtype=np.int64)
        starts = np.cumsum([0, *n_children])
        for start, split in zip(starts, splits.values()):
            part = np.frombuffer(split.part, dtype=np.uint8)
            sends[start + part.astype(np.int64), offsets[split.feature] + np.arange(len(part))] = 1
        goes = self._engine.linear(self._shared().cells, lambda rows: sends @ rows)
        members = self._members(nodes)[np.repeat(np.arange(len(nodes)), n_children)]
        level = _Level(members * goes)
        scopes = [scope for node, n in zip(nodes, n_children) for scope in node.scope.split(n)]
        children = self._nodes_of(level, scopes)
        return {node: children[a:b] for node, a, b in zip(nodes, starts[:-1], starts[1:])}

    def _split_hidden(self, choices: Mapping[Node, HiddenChoice]) -> dict[Node, tuple[Node, ...]]:
        nodes = list(choices)
        level, options = self._whole_level(nodes), next(iter(choices.values())).options
        table = next(iter(choices.values())).table
        if options.labelled or any(
            choice.table is not table or choice.row != i for i, choice in enumerate(choices.values())
        ):
            raise LeakError("Hidden choices split the level that they were made for, all of it.")
        shape = _shape(options)
        rows = self._shared()
        goes = child_of(self._engine, shape, table, level.members(self._engine), rows.cells)
        free = None
        if shape.once:
            left = table * -1 + 1 if level.free is None else level.free - table
            free = left[np.repeat(np.arange(len(nodes)), shape.width)]
        below = _Level(None, free, level, goes, self._child_totals(level, options, table, shape.width))
        scopes = [scope for node in nodes for scope in node.scope.split(shape.width)]
        children = self._nodes_of(below, scopes)
        w = shape.width
        return {node: children[i * w : (i + 1) * w] for i, node in enumerate(nodes)}

    def _child_totals(self, level: _Level, options: Candidates, table: Secret, width: int) -> Secret:
        """Class counts of all children: the chosen row of each node's table, (nodes * width, classes)."""
        children = self._level_children(level, options)  # (splits, width, classes, nodes)
        n_splits, _, classes, nodes = children.shape
        picks = table.transpose(1, 0).reshape(n_splits, 1, 1, nodes)
        chosen = self._engine.dot(children[:, : width - 1], picks, 0)  # (width - 1, classes, nodes)
        whole = self._totals_of(level).transpose(1, 0)
        last = (whole - chosen.sum(0)).reshape(1, classes, nodes)
        return self._engine.concatenate([chosen, last]).transpose(2, 0, 1).reshape(nodes * width, classes)

    def parts(self, node: Node, n: int) -> list[Node]:
        """Each owner draws, for each of its records, the part that it is in, and shares that."""
        self._own([node])
        if n < 1:
            raise LeakError("Ask for at least one part.")
        drawn = self._owners.parts(n)
        level = _Level(self._members([node]) * drawn)
        return list(self._nodes_of(level, node.scope.split(n, "parts")))

    def samples(self, node: Node, n: int, inverse_rate: int) -> list[Node]:
        """Each owner draws, for each of its records and each sample, whether it is there, and shares that.

        A record may be in several, so each sample is a level of its own.
        """
        self._own([node])
        scopes = [node.scope.sample(inverse_rate) for _ in range(n)]
        drawn = self._owners.samples(n, inverse_rate)
        members = self._members([node])
        return [self._nodes_of(_Level(members * drawn[i : i + 1]), [scope])[0] for i, scope in enumerate(scopes)]

    def copies(self, node: Node, n: int) -> list[Node]:
        self._own([node])
        level = _Level(self._members([node] * n))
        return list(self._nodes_of(level, [node.scope.copy() for _ in range(n)]))

    # -- counts on shares --------------------------------------------------------------------------------------------

    def _members(self, nodes: Sequence[Node]) -> Secret:
        levels = {id(self._places[node][0]): self._places[node][0] for node in nodes}
        if len(levels) == 1:
            (level,) = levels.values()
            members = level.members(self._engine)
            places = [self._places[node][1] for node in nodes]
            return members if places == list(range(members.shape[0])) else members[np.array(places)]
        each = [self._places[node][0].members(self._engine)[self._places[node][1]] for node in nodes]
        return self._engine.concatenate([own.reshape(1, own.shape[0]) for own in each])

    def _whole_level(self, nodes: Sequence[Node]) -> _Level:
        level = self._places[nodes[0]][0]
        if [self._places[node] for node in nodes] != [(level, i) for i in range(level.size)]:
            raise LeakError("Hidden questions are about a whole level, in order: nobody may see which nodes differ.")
        return level

    def _shared_histograms(self, nodes: Sequence[Node]) -> Secret:
        counts = _Level(self._members(nodes)).histograms(self._shared())
        return counts.transpose(2, 0, 1)

    def _shared_totals(self, nodes: Sequence[Node]) -> Secret:
        return self._members(nodes) @ self._shared().classes.transpose(1, 0)

    def _totals_of(self, level: _Level) -> Secret:
        if level.totals is None:
            first = self._cells().offsets[1]
            level.totals = level.histograms(self._shared())[:first].sum(0).transpose(1, 0)
        return level.totals

    def _level_children(self, level: _Level, options: Candidates) -> Secret:
        """Class counts of all children of all splits of every node, (splits, children, classes, nodes)."""
        histograms = level.histograms(self._shared())
        n_cells, classes, nodes = histograms.shape
        first = self._cells().offsets[1]

        def of(rows: np.ndarray) -> np.ndarray:
            children = children_of(options, rows, rows[:first].sum(axis=0))
            return children.reshape(-1, rows.shape[1])

        n = len(options.indices)
        children = self._engine.linear(histograms.reshape(n_cells, classes * nodes), of)
        return children.reshape(n, children.shape[0] // n, classes, nodes)

    # -- hidden choices ----------------------------------------------------------------------------------------------

    def choose(
        self,
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
        hidden: bool = False,
    ) -> dict[Node, Any]:
        """As every curator; or, ``hidden``, for all nodes of a level, with one list of candidates and one budget.

        ``mechanism="exact"``, which only a hidden choice may be made by, is charged infinity.
        """
        if not hidden:
            return super().choose(candidates, score, budget, mechanism=mechanism)
        if not candidates:
            return {}
        nodes, options = list(candidates), next(iter(candidates.values()))
        self._own(nodes)
        level = self._whole_level(nodes)
        if any(own is not options for own in candidates.values()) or isinstance(budget, Mapping):
            raise LeakError("A hidden choice has one list of candidates and one budget for all nodes of a level.")
        if options.allowed is not None:
            raise LeakError("Hidden choices are among all splits of a list.")
        scale = self._pay_for_hidden(nodes, candidates, score, budget, mechanism)
        self._progress(f"a hidden choice among {len(options)} candidates for each of {len(nodes)} nodes")
        self._agree("hidden", mechanism, scale, len(nodes), options.n_classes, options.labelled, options.stop)
        low, high = self._scale_range(options, score, scale)
        scores = self._level_scores(level, options, score) + prior_points(options.log_prior, scale)
        free = None if options.splits is None or options.labelled else level.free
        table = self._joint.select_hidden(mechanism, scores, low, high - low, scale, free)
        return {node: HiddenChoice.of(options, table, i) for i, node in enumerate(nodes)}

    def draw_hidden(self, nodes: Sequence[Node], options: Candidates) -> dict[Node, HiddenChoice]:
        """One of the splits that a node may still choose, at random: free, because no record is looked at."""
        self._own(nodes)
        level = self._whole_level(nodes)
        self._agree("draw", len(nodes), len(options))
        table = self._joint.draw_hidden(len(nodes), len(options), level.free)
        return {node: HiddenChoice.of(options, table, i) for i, node in enumerate(nodes)}

    def _pay_for_hidden(
        self,
        nodes: Sequence[Node],
        candidates: Mapping[Node, Candidates],
        score: Score,
        budget: Budget,
        mechanism: str,
    ) -> float:
        options = candidates[nodes[0]]
        if mechanism == "exact":
            self._may_choose(options, score)
            low, high = self._scale_range(options, score, 0.0)
            self._engine.need(self._joint.hidden_bits("exact", high - low, len(options), 1.0))
            self.ledger.charge(
                (node.scope, Event(node.scope.path, "peek", "peek", Fraction(0), 0.0, math.inf, "peek"))
                for node in nodes
            )
            return 0.0
        return self._charge_choice(candidates, score, budget, mechanism)[0]

    def _choice_event(self, event: Event, options: Candidates, score: Score) -> Event:
        low, high = self._scale_range(options, score, event.scale)
        self._engine.need(self._joint.hidden_bits(event.mechanism, high - low, len(options), event.scale))
        return super()._choice_event(event, options, score)

    def _level_scores(self, level: _Level, options: Candidates, score: Score) -> Secret:
        """The scores of all candidates of every node, (nodes, candidates)."""
        if options.splits is None:
            return self._totals_of(level)
        children = self._level_children(level, options)
        n_splits, width, classes, nodes = children.shape
        if not options.labelled:
            flat = children.transpose(3, 0, 1, 2).reshape(nodes * n_splits, width, classes)
            return joint_scores(self._engine, score, flat, self._most).reshape(nodes, n_splits)
        labels = options.labellings(width)  # (children, labellings)
        correct = children[:, 0][:, labels[0]]
        for child in range(1, width):
            correct = correct + children[:, child][:, labels[child]]
        scores = correct.reshape(n_splits * labels.shape[1], nodes).transpose(1, 0)
        return self._engine.concatenate([scores, self._totals_of(level)], axis=1) if options.stop else scores


class RowOwners(Owners):
    """A server's lines to owners that share rows.

    ``columns`` names what each owner holds where they hold different features of the same records (vertical partition):
    for each the features' names and whether it has the labels. By default each owner has all features of records of
    its own (horizontal partition, Algorithm 11 with a known schema).
    """

    def __init__(
        self,
        engine: Engine,
        lines: Sequence[Any],
        schema: Any,
        most_records: int,
        columns: Sequence[tuple[Sequence[str], bool]] | None = None,
    ) -> None:
        self._columns = columns
        self._each = most_records
        self._schema = schema
        super().__init__(engine, lines, schema, most_records)
        if columns is not None:
            self.most_records = most_records  # all owners' rows are the same records
            self._check(columns)

    def _check(self, columns: Sequence[tuple[Sequence[str], bool]]) -> None:
        held = [name for names, _ in columns for name in names]
        if len(columns) != len(self._lines) or sorted(held) != sorted(self._schema.names):
            raise LeakError("Every feature of the schema must be held by exactly one owner.")
        if sum(label for _, label in columns) != 1:
            raise LeakError("Exactly one owner holds the labels.")

    def rows(self, grid: Grid) -> tuple[Secret, Secret]:
        """All rows, (flat cells, rows) and (classes, rows), as this server's shares."""
        n_classes = len(self._schema.classes)
        if self._columns is None:
            self.tell("grid", features=grid_words(grid))
            self.tell("rows", records=self._each)
            whole = [self._receive(line, (grid.n_cells + n_classes, self._each)) for line in self._lines]
            joined = self.engine.concatenate(whole, axis=1) if len(whole) > 1 else whole[0]
            return joined[: grid.n_cells], joined[grid.n_cells :]
        cells_of: dict[str, Secret] = {}
        classes = None
        for line, (names, label) in zip(self._lines, self._columns):
            own = [cells for cells in grid.features if cells.name in names]
            self._say(line, "columns", features=grid_words(Grid(tuple(own))), label=label, records=self._each)
            sizes = [cells.n_cells for cells in own]
            got = self._receive(line, (sum(sizes) + n_classes * label, self._each))
            for cells, end in zip(own, np.cumsum(sizes)):
                cells_of[cells.name] = got[end - cells.n_cells : end]
            classes = got[sum(sizes) :] if label else classes
        assert classes is not None
        return self.engine.concatenate([cells_of[cells.name] for cells in grid.features]), classes

    def parts(self, n: int) -> Secret:
        """Which of n parts each row is in, (n, rows): drawn by its owner, of vertical parts by the labels' owner."""
        return self._drawn(n, "draw", parts=n)

    def samples(self, n: int, inverse_rate: int) -> Secret:
        """Which rows are in each of n samples, (n, rows): drawn by the same owners."""
        return self._drawn(n, "sample", samples=n, inverse_rate=inverse_rate)

    def _drawn(self, n: int, do: str, **what: int) -> Secret:
        if self._columns is None:
            self.tell(do, records=self._each, **what)
            drawn = [self._receive(line, (n, self._each)) for line in self._lines]
            return self.engine.concatenate(drawn, axis=1) if len(drawn) > 1 else drawn[0]
        line = next(line for line, (_, label) in zip(self._lines, self._columns) if label)
        self._say(line, do, records=self._each, **what)
        return self._receive(line, (n, self._each))


def _shape(options: Candidates) -> Shape:
    splits = options.splits
    assert splits is not None
    width = int(splits.n_children.max())
    if not (np.asarray(splits.n_children) == width).all():
        raise LeakError("Hidden splits have all the same number of children: nobody may see which one it is.")
    if isinstance(splits, Multiway) and len({split.feature for split in splits.splits}) < len(splits):
        raise LeakError("Hidden attributes are of different features.")
    return Shape(splits.grid, splits, width)
