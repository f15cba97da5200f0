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

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from privet.curators.hidden_scorer import HiddenScorer
from privet.curators.mpc import JointRoom, MpcCurator
from privet.curators.routing import child_of
from privet.curators.row_owners import RowOwners
from privet.curators.shared_rows import RowLevel, SharedRows
from privet.errors import LeakError
from privet.privacy.event import Event
from privet.privacy.joint_scores import joint_scores
from privet.privacy.scope import Scope
from privet.privacy.scores import Score
from privet.privacy.unit import Unit
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid
from privet.questions.linear_maps import children_of, correct_counts, prior_points
from privet.questions.shape import Shape
from privet.questions.split import Split
from privet.shares.engine import Secret
from privet.values import final


@final
class HiddenChoice:
    """A choice that nobody has seen: row ``row`` of ``table`` has a 1 at the candidate's place.

    ``table`` holds the choices of all nodes that were asked about together. What the curator splits by is what it has
    noted when it gave this out, not what stands here.
    """

    __slots__ = ("__weakref__", "row", "table")

    def __init__(self, table: Secret, row: int) -> None:
        self.table, self.row = table, row


@dataclass(frozen=True, eq=False)
class Issued:
    """What was chosen for a whole level: which level, among which candidates, and the answer."""

    level: RowLevel
    options: Candidates
    table: Secret


class Row(NamedTuple):
    """A node: a row of its level. All servers number nodes alike."""

    level: RowLevel
    place: int
    number: int


class HiddenRoom(JointRoom):
    """Nodes are rows of 0 and 1 on shares, level by level."""

    _owners: RowOwners
    scorer = HiddenScorer

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._rows: SharedRows | None = None
        self._issued: WeakKeyDictionary[HiddenChoice, Issued] = WeakKeyDictionary()

    def _heaviest(self, unit: Unit) -> int:
        """As much as the digits of a weight can say: that there are so many digits is all that is checked of them."""
        return (1 << unit.weight_bits) - 1

    # -- structure -----------------------------------------------------------------------------------------------------

    def everything(self, scope: Scope) -> Row:  # type: ignore[override]
        everyone = self._engine.constant(np.ones((1, self.most_records), dtype=np.int64))
        return self._of(RowLevel(everyone), 1)[0]

    def gathered(self, scope: Scope) -> Row:  # type: ignore[override]
        return self.everything(scope)

    def anew(self, held: Row, scope: Scope) -> Row:  # type: ignore[override]
        return self._of(RowLevel(self._members([held])), 1)[0]

    def use(self, grid: Grid) -> None:
        self._rows = SharedRows(self._engine, *self._owners.rows(grid))
        self._grid = grid

    def _of(self, level: RowLevel, size: int) -> list[Row]:
        level.size = size
        return [Row(level, i, next(self._numbers)) for i in range(size)]

    def _shared(self) -> SharedRows:
        assert self._rows is not None
        return self._rows

    def split(self, splits: Sequence[tuple[Row, Split]]) -> list[list[Row]]:  # type: ignore[override]
        offsets = self._cells().offsets
        n_children = [split.n_children for _, split in splits]
        sends = np.zeros((sum(n_children), self._cells().n_cells), dtype=np.int64)
        starts = np.cumsum([0, *n_children])
        for start, (_, split) in zip(starts, splits):
            sends[start + split.parts.astype(np.int64), offsets[split.feature] + np.arange(len(split.part))] = 1
        goes = self._engine.linear(self._shared().cells, lambda rows: sends @ rows)
        members = self._members([node for node, _ in splits])[np.repeat(np.arange(len(splits)), n_children)]
        children = self._of(RowLevel(members * goes), sum(n_children))
        return [children[a:b] for a, b in pairwise(starts)]

    def split_hidden(self, splits: Sequence[tuple[Row, HiddenChoice]]) -> list[list[Row]]:
        """By hidden choices, which this curator gave out for this level, all of them in order."""
        level = self._whole_level([node for node, _ in splits])
        issued = [self._issued.get(choice) if type(choice) is HiddenChoice else None for _, choice in splits]
        given = issued[0]
        if given is None or any(own is not given for own in issued) or given.level is not level:
            raise LeakError("Hidden choices split the level that they were made for, all of it.")
        if given.options.labelled or [choice.row for _, choice in splits] != list(range(len(splits))):
            raise LeakError("Hidden choices split the level that they were made for, all of it.")
        shape, table = Shape.of(given.options), given.table
        if shape.grid != self._cells():  # a row has one 1 for each feature of the present grid, and of no other
            raise LeakError("Hidden choices split nodes on the grid that they were made on.")
        goes = child_of(self._engine, shape, table, level.members(self._engine), self._shared().cells)
        free = None
        if shape.once:
            left = table * -1 + 1 if level.free is None else level.free - table
            free = left[np.repeat(np.arange(len(splits)), shape.width)]
        below = RowLevel(None, free, level, goes, self._child_totals(level, given.options, table, shape.width))
        children, w = self._of(below, len(splits) * shape.width), shape.width
        return [children[i * w : (i + 1) * w] for i in range(len(splits))]

    def _child_totals(self, level: RowLevel, options: Candidates, table: Secret, width: int) -> Secret:
        """Class counts of all children: the chosen row of each node's table, (nodes * width, classes)."""
        children = self._level_children(level, options)  # (splits, width, classes, nodes)
        n_splits, _, classes, nodes = children.shape
        picks = table.transpose(1, 0).reshape(n_splits, 1, 1, nodes)
        chosen = self._engine.dot(children[:, : width - 1], picks, 0)  # (width - 1, classes, nodes)
        whole = self._totals_of(level).transpose(1, 0)
        last = (whole - chosen.sum(0)).reshape(1, classes, nodes)
        return self._engine.concatenate([chosen, last]).transpose(2, 0, 1).reshape(nodes * width, classes)

    def parts(self, held: Row, weights: Sequence[int]) -> list[Row]:  # type: ignore[override]
        """Each owner draws, for each of its records (persons), the part that it is in, and shares that."""
        drawn = self._owners.parts(weights)
        return self._of(RowLevel(self._members([held]) * drawn), len(weights))

    def samples(self, held: Row, n: int, inverse_rate: int) -> list[Row]:
        """Each owner draws, for each of its records (persons) and each sample, whether it is there, and shares that.

        A record may be in several, so each sample is a level of its own.
        """
        drawn = self._owners.samples(n, inverse_rate)
        members = self._members([held])
        return [self._of(RowLevel(members * drawn[i : i + 1]), 1)[0] for i in range(n)]

    def copies(self, held: Row, n: int) -> list[Row]:  # type: ignore[override]
        return self._of(RowLevel(self._members([held] * n)), n)

    # -- counts on shares ----------------------------------------------------------------------------------------------

    def _members(self, nodes: Sequence[Row]) -> Secret:
        levels = {id(node.level): node.level for node in nodes}
        if len(levels) == 1:
            (level,) = levels.values()
            members = level.members(self._engine)
            places = [node.place for node in nodes]
            return members if places == list(range(members.shape[0])) else members[np.array(places)]
        each = [node.level.members(self._engine)[node.place] for node in nodes]
        return self._engine.concatenate([own.reshape(1, own.shape[0]) for own in each])

    def _whole_level(self, nodes: Sequence[Row]) -> RowLevel:
        level = nodes[0].level
        if [(id(node.level), node.place) for node in nodes] != [(id(level), i) for i in range(level.size)]:
            raise LeakError("Hidden questions are about a whole level, in order: nobody may see which nodes differ.")
        return level

    def _shared_histograms(self, nodes: Sequence[Row]) -> Secret:  # type: ignore[override]
        counts = RowLevel(self._members(nodes)).histograms(self._shared())
        return counts.transpose(2, 0, 1)

    def _shared_totals(self, nodes: Sequence[Row]) -> Secret:  # type: ignore[override]
        return self._members(nodes) @ self._shared().classes.transpose(1, 0)

    def _totals_of(self, level: RowLevel) -> Secret:
        if level.totals is None:
            first = self._cells().offsets[1]
            level.totals = level.histograms(self._shared())[:first].sum(0).transpose(1, 0)
        return level.totals

    def _level_children(self, level: RowLevel, options: Candidates) -> Secret:
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

    # -- scores of hidden models ---------------------------------------------------------------------------------------

    def priced_sum(self, event: Event, asked: Any) -> Event:
        if isinstance(asked, HiddenScorer):
            asked.check_shares(self._engine)
            if asked.grid != self._grid:
                raise LeakError("A hidden model is scored on the grid that it was grown on.")
        return super().priced_sum(event, asked)

    def evaluate(self, asked: Sequence[tuple[Row, HiddenScorer]], events: Sequence[Event]) -> list[np.ndarray]:
        """Noisy counts of (group, predicted class, true class): all that is opened. A prediction is told to nobody."""
        self._progress("asking the hidden model about the rows that were held out")
        self._agree("evaluate", [event.scale for event in events], *((row.number, own.shape) for row, own in asked))
        for _, own in asked:
            own.check_tables(self._engine)
        exact = [own.counted(self._engine, self._shared(), self._members([row])) for row, own in asked]
        tables = [counts.reshape(*own.shape) for counts, (_, own) in zip(exact, asked)]
        return self._noisy(tables, [event.scale for event in events])

    # -- hidden choices ------------------------------------------------------------------------------------------------

    def priced_choice(self, event: Event, options: Candidates, score: Score) -> Event:
        low, high = self._scale_range(options, score, event.scale)
        self._engine.need(self._joint.hidden_bits(event.mechanism, high - low, len(options), event.scale))
        return super().priced_choice(event, options, score)

    def may_choose_hidden(self, asked: Sequence[tuple[Row, Candidates]], score: Score, events: Sequence[Event]) -> None:
        """Raise LeakError, before anything is charged, unless this is one choice for a whole level."""
        options = asked[0][1]
        self._whole_level([node for node, _ in asked])
        if any(own is not options for _, own in asked):
            raise LeakError("A hidden choice has one list of candidates and one budget for all nodes of a level.")
        _check_hidden(options)
        if events[0].mechanism == "peek":
            low, high = self._scale_range(options, score, 0.0)
            self._engine.need(self._joint.hidden_bits("exact", high - low, len(options), 1.0))

    def choose_hidden(
        self, asked: Sequence[tuple[Row, Candidates]], events: Sequence[Event], score: Score, mechanism: str
    ) -> list[HiddenChoice]:
        level, options, scale = asked[0][0].level, asked[0][1], events[0].scale
        self._progress(f"a hidden choice among {len(options)} candidates for each of {len(asked)} nodes")
        self._agree("hidden", mechanism, scale, len(asked), options.n_classes, options.labelled, options.stop)
        low, high = self._scale_range(options, score, scale)
        scores = self._level_scores(level, options, score) + prior_points(options.log_prior, scale)
        free = None if options.splits is None or options.labelled else level.free
        table = self._joint.select_hidden(mechanism, scores, low, high - low, scale, free)
        return self._given_out(level, options, table)

    def draw_hidden(self, nodes: Sequence[Row], options: Candidates) -> list[HiddenChoice]:
        level = self._whole_level(nodes)
        _check_hidden(options)
        self._agree("draw", len(nodes), len(options))
        return self._given_out(level, options, self._joint.draw_hidden(len(nodes), len(options), level.free))

    def _given_out(self, level: RowLevel, options: Candidates, table: Secret) -> list[HiddenChoice]:
        issued = Issued(level, options, table)
        choices = [HiddenChoice(table, i) for i in range(level.size)]
        self._issued.update(dict.fromkeys(choices, issued))
        return choices

    def _level_scores(self, level: RowLevel, options: Candidates, score: Score) -> Secret:
        """The scores of all candidates of every node, (nodes, candidates)."""
        if options.splits is None:
            return self._totals_of(level)
        children = self._level_children(level, options)
        n_splits, width, classes, nodes = children.shape
        if not options.labelled:
            flat = children.transpose(3, 0, 1, 2).reshape(nodes * n_splits, width, classes)
            return joint_scores(self._engine, score, flat, self._most).reshape(nodes, n_splits)
        counts = [own.reshape(-1, nodes) for own in correct_counts(options, children)]
        scores = self._engine.concatenate(counts).transpose(1, 0)
        return self._engine.concatenate([scores, self._totals_of(level)], axis=1) if options.stop else scores


class HiddenCurator(MpcCurator):
    """One server's curator of shared rows. ``owners`` is a ``RowOwners``."""

    trust = (
        "No single machine saw a record, a count or the tree: owners shared rows among three servers, of which no two "
        "may collude. Semi-honest, honest majority, not independently reviewed."
    )
    room = HiddenRoom


def _check_hidden(options: Candidates) -> None:
    """Raise LeakError unless these can be chosen from on shares: all splits of a list, labels, or both."""
    if options.allowed is not None:
        raise LeakError("Hidden choices are among all splits of a list.")
    if options.splits is not None:
        Shape.of(options)
        if options.stop and not options.labelled:
            raise LeakError("A hidden choice does not stop but by a label: nobody may see which nodes are leaves.")
