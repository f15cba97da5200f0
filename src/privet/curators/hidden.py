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
from privet.curators.mpc import MpcCurator
from privet.curators.routing import child_of
from privet.curators.row_owners import RowOwners
from privet.curators.shared_rows import RowLevel, SharedRows
from privet.errors import LeakError
from privet.privacy.joint_scores import joint_scores
from privet.privacy.ledger import Scope
from privet.privacy.receipt import Event
from privet.privacy.sensitivity import Score
from privet.questions.candidates import Candidates, Choice, Split
from privet.questions.grid import Grid
from privet.questions.linear_maps import children_of, prior_points
from privet.questions.multiway import Multiway
from privet.questions.shape import Shape
from privet.shares.engine import Secret


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


class HiddenCurator(MpcCurator):
    """One server's curator of shared rows. ``owners`` is a ``RowOwners``."""

    capabilities = frozenset({"tally", "choose", "parts", "copies", "samples", "hidden"})
    trust = (
        "No single machine saw a record, a count or the tree: owners shared rows among three servers, of which no two "
        "may collude. Semi-honest, honest majority, not independently reviewed."
    )
    _owners: RowOwners

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._rows: SharedRows | None = None
        self._places: WeakKeyDictionary[Node, tuple[RowLevel, int]] = WeakKeyDictionary()

    @property
    def rows(self) -> int:
        """How many rows there are, empty ones included: public."""
        return self._most

    # -- public structure --------------------------------------------------------------------------------------------

    def _everything(self, scope: Scope) -> Node:
        everyone = self._engine.constant(np.ones((1, self._most), dtype=np.int64))
        return self._nodes_of(RowLevel(everyone), [scope])[0]

    def _use(self, grid: Grid) -> None:
        cells, classes = self._owners.rows(grid)
        self._rows = SharedRows(self._engine, cells, classes)

    def _nodes_of(self, level: RowLevel, scopes: Sequence[Scope]) -> tuple[Node, ...]:
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
        hidden = {node: split for node, split in splits.items() if isinstance(split, HiddenChoice)}
        if not hidden:
            return super().split(splits)  # type: ignore[arg-type]
        if len(hidden) < len(splits):
            raise LeakError("Split nodes by public splits or by hidden choices, not by both at once.")
        self._own(list(hidden))
        return self._split_hidden(hidden)

    def _split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        nodes, offsets = list(splits), self._cells().offsets
        n_children = [split.n_children for split in splits.values()]
        sends = np.zeros((sum(n_children), self._cells().n_cells), dtype=np.int64)
        starts = np.cumsum([0, *n_children])
        for start, split in zip(starts, splits.values()):
            part = np.frombuffer(split.part, dtype=np.uint8)
            sends[start + part.astype(np.int64), offsets[split.feature] + np.arange(len(part))] = 1
        goes = self._engine.linear(self._shared().cells, lambda rows: sends @ rows)
        members = self._members(nodes)[np.repeat(np.arange(len(nodes)), n_children)]
        level = RowLevel(members * goes)
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
        below = RowLevel(None, free, level, goes, self._child_totals(level, options, table, shape.width))
        scopes = [scope for node in nodes for scope in node.scope.split(shape.width)]
        children = self._nodes_of(below, scopes)
        w = shape.width
        return {node: children[i * w : (i + 1) * w] for i, node in enumerate(nodes)}

    def _child_totals(self, level: RowLevel, options: Candidates, table: Secret, width: int) -> Secret:
        """Class counts of all children: the chosen row of each node's table, (nodes * width, classes)."""
        children = self._level_children(level, options)  # (splits, width, classes, nodes)
        n_splits, _, classes, nodes = children.shape
        picks = table.transpose(1, 0).reshape(n_splits, 1, 1, nodes)
        chosen = self._engine.dot(children[:, : width - 1], picks, 0)  # (width - 1, classes, nodes)
        whole = self._totals_of(level).transpose(1, 0)
        last = (whole - chosen.sum(0)).reshape(1, classes, nodes)
        return self._engine.concatenate([chosen, last]).transpose(2, 0, 1).reshape(nodes * width, classes)

    def _parts(self, node: Node, n: int) -> list[Node]:
        """Each owner draws, for each of its records, the part that it is in, and shares that."""
        drawn = self._owners.parts(n)
        level = RowLevel(self._members([node]) * drawn)
        return list(self._nodes_of(level, node.scope.split(n, "parts")))

    def samples(self, node: Node, n: int, inverse_rate: int) -> list[Node]:
        """Each owner draws, for each of its records and each sample, whether it is there, and shares that.

        A record may be in several, so each sample is a level of its own.
        """
        self._own([node])
        scopes = [node.scope.sample(inverse_rate) for _ in range(n)]
        drawn = self._owners.samples(n, inverse_rate)
        members = self._members([node])
        return [self._nodes_of(RowLevel(members * drawn[i : i + 1]), [scope])[0] for i, scope in enumerate(scopes)]

    def copies(self, node: Node, n: int) -> list[Node]:
        self._own([node])
        level = RowLevel(self._members([node] * n))
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

    def _whole_level(self, nodes: Sequence[Node]) -> RowLevel:
        level = self._places[nodes[0]][0]
        if [self._places[node] for node in nodes] != [(level, i) for i in range(level.size)]:
            raise LeakError("Hidden questions are about a whole level, in order: nobody may see which nodes differ.")
        return level

    def _shared_histograms(self, nodes: Sequence[Node]) -> Secret:
        counts = RowLevel(self._members(nodes)).histograms(self._shared())
        return counts.transpose(2, 0, 1)

    def _shared_totals(self, nodes: Sequence[Node]) -> Secret:
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

    def _level_scores(self, level: RowLevel, options: Candidates, score: Score) -> Secret:
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


def _shape(options: Candidates) -> Shape:
    splits = options.splits
    assert splits is not None
    width = int(splits.n_children.max())
    if not (np.asarray(splits.n_children) == width).all():
        raise LeakError("Hidden splits have all the same number of children: nobody may see which one it is.")
    if isinstance(splits, Multiway) and len({split.feature for split in splits.splits}) < len(splits):
        raise LeakError("Hidden attributes are of different features.")
    return Shape(splits.grid, splits, width)
