"""The in-memory curator: one machine, all records as compact integer columns.

A record is a row of cell numbers, one byte for each feature with at most 256 cells and two for the others. A node
is a list of row numbers. All histograms of a level are counted in one pass over the rows of the smaller
siblings; the largest sibling is its parent's histogram less the others'. All sums are exact integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from privet.curators import kernels
from privet.curators.base import Curator
from privet.curators.boosting_room import BoostingRoom
from privet.curators.desk import Desk
from privet.curators.families import Families
from privet.curators.records import Binned, HeldRecords, Records
from privet.curators.seen import tell_if_seen
from privet.curators.table_sums import EACH_PART, add_step, table_sums
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.gradients import GRADIENT_PAIRS, SCORE_BITS
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.random_stopping import draw_runs
from privet.privacy.residuals import residual_pairs
from privet.privacy.samplers import draw_below, draw_parts
from privet.privacy.scope import Scope
from privet.questions.grid import Grid
from privet.questions.levels import Levels
from privet.questions.scorer import Scorer
from privet.questions.split import Split, Table
from privet.questions.tally import Step
from privet.schema import Schema

FEW_CLASSES = 8

AT_ONCE = 2**18
"""So many records are looked at together where each takes several numbers: some for each class, or for its target."""


class MemoryCurator(Curator):
    """Holds a table and its labels, or numeric targets, in memory and answers private questions about them.

    ``ledger`` is charged for every answer; by default that of the surrounding ``with Ledger(...)``, or else one without
    a limit that only keeps count. All that could be wrong with the table is found here, as it is read.
    """

    trust = "The machine that trained the model saw all records, and no other machine had to."
    scoring_trust = "The machine that scored the model saw all records that score it, and no other machine had to."
    records: HeldRecords
    _kind: type[MemoryRoom] | None = None
    _part_bytes: Callable[[int], bytes] | None = None

    def __init__(
        self,
        X: Any,
        y: Any,
        schema: Schema,
        *,
        groups: Any = None,
        ledger: Ledger | None = None,
        mechanisms: Mechanisms | None = None,
        kind: type[MemoryRoom] | None = None,
        part_bytes: Callable[[int], bytes] | None = None,
    ) -> None:
        """``groups``: the persons' ids, of a schema with a person, if they are no column of ``X``. ``kind``: of
        room, if not a trusted curator's. ``part_bytes``: what ``parts`` draws from, if not the operating system: a
        secret stream, of whoever must draw the same again."""
        self._begin(schema, ledger, mechanisms, kind or MemoryRoom)
        self.records = Records(X, y, schema, groups, self._mechanisms.generator, part_bytes)
        self._kind, self._part_bytes = kind, part_bytes

    def open(self) -> Desk:
        return self._desk(self.room())

    def tell_if_seen(self, epsilon: Fraction, *, scored: bool = False) -> None:
        """Warn whoever holds the records if this process has released something of them before (``seen.py``)."""
        tell_if_seen(self.records, epsilon, void=bool(self.void), scored=scored)

    def room(self) -> MemoryRoom:
        """These records, counted for one fit: exact numbers, for those behind the curtain."""
        return (self._kind or MemoryRoom)(self.records, self._mechanisms, self._part_bytes)


@dataclass(eq=False)
class Root:
    """What belongs to all nodes of one root: the records' boosted scores, and gradients at them, once there are any."""

    scores: np.ndarray | None = None
    pairs: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)


@dataclass(eq=False)
class Held:
    """A node's rows (None: all). ``family`` are the children of one split of ``parent``, this one among them."""

    rows: np.ndarray | None
    root: Root
    parent: Held | None = None
    family: list[Held] = field(default_factory=list, repr=False)

    @property
    def n_rows(self) -> int:
        return 0 if self.rows is None else len(self.rows)


class MemoryRoom(BoostingRoom):
    """Counts records of one machine, for one fit."""

    def __init__(
        self, records: HeldRecords, mechanisms: Mechanisms, part_bytes: Callable[[int], bytes] | None = None
    ) -> None:
        super().__init__(records.schema, mechanisms)
        self._records_of = records
        self._part_bytes = part_bytes
        self._range = records.schema.target
        self._weights = records.weights
        self._labels: Any = records.labels if records.targets is None else self._moments(records.targets)
        self._whole_targets: np.ndarray | None = None
        self._binned: Binned | None = None
        self._families: Families[Held] = Families()

    # -- structure -----------------------------------------------------------------------------------------------------

    def everything(self, scope: Scope) -> Held:
        return Held(None, Root())

    def anew(self, held: Held, scope: Scope) -> Held:
        return Held(held.rows, Root())

    def use(self, grid: Grid) -> None:
        self._grid = grid
        self._binned = self._records_of.binned(grid)
        self._families.forget()

    def forget_cells(self) -> None:
        """Let go of the records' cells until they are needed again."""
        self._binned = None

    def focus(self, low: float, high: float) -> None:
        if (low, high) != self._range:
            assert self._records_of.targets is not None
            self._range = low, high
            self._labels = None  # frees those of the range before
            self._labels = self._moments(self._records_of.targets)
            self._families.forget()

    def split(self, splits: Sequence[tuple[Held, Split]]) -> list[list[Held]]:
        binned, parents = self._cut(), [held for held, _ in splits]
        places = [binned.place[split.feature] for _, split in splits]
        n_children = [split.n_children for _, split in splits]
        tables = [split.parts for _, split in splits]
        rows, starts = kernels.partition_level(binned.cells, places, tables, n_children, *self._rows(parents))
        parts = iter([rows[a:b] for a, b in pairwise(starts)])
        families = []
        for parent, n in zip(parents, n_children):
            family: list[Held] = []
            family += (Held(next(parts), parent.root, parent, family) for _ in range(n))
            families.append(family)
        return families

    def parts(self, held: Held, weights: Sequence[int]) -> list[Held]:
        """Each record in one part, drawn with these weights."""
        drawn = self._drawn(self.rows_of(held), sum(weights), self._part_bytes)
        return self.parted(held, by_weights(drawn, weights), len(weights))

    def parted(self, held: Held, drawn: np.ndarray, n: int) -> list[Held]:
        """The node's records in ``n`` parts, of which each record's was drawn."""
        rows = self.rows_of(held)
        # A stable sort keeps the rows of each part increasing; of small numbers it is a few passes.
        order = np.argsort(drawn.astype(np.uint16 if n <= 2**16 else np.int64), kind="stable")
        lists = np.split(rows[order], np.cumsum(np.bincount(drawn, minlength=n))[:-1])
        return [Held(own, held.root) for own in lists]

    def samples(self, held: Held, n: int, inverse_rate: int) -> list[Held]:
        """Samples that each record is in with one chance in ``inverse_rate``."""
        rows = self.rows_of(held)
        return [self.sampled(held, self._drawn(rows, inverse_rate) == 0) for _ in range(n)]

    def sampled(self, held: Held, chosen: np.ndarray) -> Held:
        """Those of the node's records that were drawn."""
        return Held(self.rows_of(held)[chosen], held.root)

    def _drawn(self, rows: np.ndarray, n: int, random_bytes: Callable[[int], bytes] | None = None) -> np.ndarray:
        """For each record, or for each person and so for all their records together, one of ``n`` numbers."""
        persons = self._records_of.persons
        n_drawn = len(rows) if persons is None else self._records_of.n_persons
        drawn = draw_parts(n_drawn, n, self._mechanisms.generator, random_bytes)
        return drawn if persons is None else drawn[persons[rows]]

    def copies(self, held: Held, n: int) -> list[Held]:
        return [Held(held.rows, held.root) for _ in range(n)]

    def advance(self, steps: Sequence[tuple[Held, Step]]) -> None:
        for held, step in steps:
            every = self._scores_of(held.root)
            held.root.pairs.clear()
            add_step(self._cut(), step.split, step.values, held.rows, every[0 if len(every) == 1 else step.output])

    # -- exact counts --------------------------------------------------------------------------------------------------

    def totals(self, nodes: Sequence[Held]) -> np.ndarray:
        labels = [self._labels if held.rows is None else self._labels[held.rows] for held in nodes]
        if self.schema.classes is None:
            return np.stack([own.sum(axis=0) for own in labels])
        return np.stack([self._counts(own, held, self._width) for own, held in zip(labels, nodes)])

    def target_counts(self, held: Held, cuts: np.ndarray) -> np.ndarray:
        targets = self._records_of.targets
        assert targets is not None
        # As for features: a target at a cut is on its left.
        cells = np.searchsorted(cuts, targets if held.rows is None else targets[held.rows], side="left")
        return self._counts(cells, held, len(cuts) + 1)

    def _counts(self, numbers: np.ndarray, held: Held, n: int) -> np.ndarray:
        """How often each of the numbers below ``n`` comes up among a node's records, by their weights if they have."""
        if self._weights is None and n <= FEW_CLASSES and numbers.itemsize == 1:  # bincount would widen all numbers
            return np.array([np.count_nonzero(numbers == number) for number in range(n)])
        if self._weights is None:
            return np.bincount(numbers, minlength=n)
        own = self._weights if held.rows is None else self._weights[held.rows]
        return np.bincount(numbers, own, n).astype(np.int64)  # sums of small integers: floats hold them exactly

    def histograms(self, nodes: Sequence[Held]) -> np.ndarray:
        return self._families.histograms(nodes, self._count)

    def _count(self, to_count: Sequence[Held]) -> np.ndarray:
        """Count these nodes' histograms, all in one pass over their rows."""
        grid = self._cells()
        counts = np.zeros((len(to_count), grid.n_cells, self._width), dtype=np.int64)
        if to_count:
            rows, starts = self._rows(to_count)
            for block in self._cut().blocks:
                offsets = grid.offsets[block.features]
                if self.schema.classes is None:
                    kernels.sums(block.cells, offsets, grid.n_cells, self._labels, rows, starts, counts)
                else:
                    classes = self._labels, self._width
                    kernels.histograms(
                        block.cells, offsets, grid.n_cells, *classes, rows, starts, counts, self._weights
                    )
        return counts

    # -- what a released model says of records -------------------------------------------------------------------------

    def scored(self, held: Held, scorer: Scorer) -> np.ndarray:
        records, rows = self._records_of, self.rows_of(held)
        cells = records.cells(scorer.grid, scorer.features)
        truth = records.labels if records.targets is None else records.targets
        pieces = (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE))
        places = [scorer.places(cells[some], truth[some]) for some in pieces] or [np.zeros(0, dtype=np.int64)]
        return self._counts(np.concatenate(places), held, math.prod(scorer.shape)).reshape(scorer.shape)

    # -- gradients -----------------------------------------------------------------------------------------------------

    def gradients(self, held: Held, output: int, tables: Sequence[Table]) -> np.ndarray:
        return self._table_sums(held, tables, self._pairs(held.root, output)[:1])

    def gradients_and_hessians(self, held: Held, output: int, tables: Sequence[Table | Levels]) -> np.ndarray:
        return self._table_sums(held, tables, self._pairs(held.root, output))

    def _table_sums(self, held: Held, tables: Sequence[Table | Levels], values: Sequence[np.ndarray]) -> np.ndarray:
        """Exact sums of values over the parts of tables, one table below the other."""
        of_features = [table for table in tables if not isinstance(table, Levels)]
        if len(of_features) == len(tables):
            return table_sums(self._cut(), of_features, values, held.rows)
        return np.concatenate(
            [
                self._level_sums(own, held, values)
                if isinstance(own, Levels)
                else table_sums(self._cut(), [own], values, held.rows)
                for own in tables
            ]
        )

    def _level_sums(self, levels: Levels, held: Held, values: Sequence[np.ndarray]) -> np.ndarray:
        parts = np.searchsorted(levels.cuts, self._scores_of(held.root)[0], side="left").astype(np.uint8)
        sums = [kernels.part_sums(parts[None], [[(0, EACH_PART)]], own, held.rows)[0] for own in values]
        return np.stack(sums, axis=1)[: levels.n_children]

    def _pairs(self, root: Root, output: int) -> tuple[np.ndarray, np.ndarray]:
        """Every record's gradient and Hessian of one class, at its present score; of a target, of a clamp."""
        if output not in root.pairs:
            first, second = self._plain_pairs(root, output)
            if self._weights is not None:
                weights = self._weights.astype(np.int32)  # 32 bits hold 64 times a pair
                first, second = first * weights, second * weights
            root.pairs[output] = first, second
        return root.pairs[output]

    def _plain_pairs(self, root: Root, output: int) -> tuple[np.ndarray, np.ndarray]:
        if self.schema.classes is None:
            pairs = residual_pairs(self._residuals_of(root), output).astype(np.int32)
            return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        scores = self._scores_of(root)[0 if self._width == 2 else output]
        return kernels.look_up(scores, self._labels, output, GRADIENT_PAIRS, SCORE_BITS)

    def residual_counts(self, held: Held, points: np.ndarray) -> np.ndarray:
        every = np.abs(self._residuals_of(held.root))
        sizes = every if held.rows is None else every[held.rows]
        return self._counts(np.searchsorted(points, sizes, side="left"), held, len(points) + 1)

    def _residuals_of(self, root: Root) -> np.ndarray:
        """Every record's target, in fixed point over the whole range whatever the focus, less its score."""
        if self._whole_targets is None:
            assert self._records_of.targets is not None
            assert self.schema.target is not None
            self._whole_targets = _fixed(self._records_of.targets, *self.schema.target)
        return self._whole_targets - self._scores_of(root)[0]

    def _scores_of(self, root: Root) -> np.ndarray:
        """The boosted scores of a root's records: one row for two classes or a target, else one for each class."""
        if root.scores is None:
            n_classes = len(self.schema.classes or ())
            width = 1 if n_classes in (0, 2) else n_classes
            root.scores = np.zeros((width, self._records_of.n), dtype=np.int64)
        return root.scores

    def secret_runs(self, expected: int, options: int) -> list[int]:
        """Which of the options each of a secret number of runs takes: nobody but this room may know how many.

        No other room has it: a database's log, or a cluster's dashboard, would show them.
        """
        generator = self._mechanisms.generator
        drawn: list[int] = draw_below(np.full(draw_runs(expected, generator), options), generator).tolist()
        return drawn

    # -- small parts ---------------------------------------------------------------------------------------------------

    def _rows(self, level: Sequence[Held]) -> tuple[np.ndarray | None, np.ndarray]:
        """The rows of these nodes one after another (None: all rows, once), and where each node's begin."""
        if len(level) == 1 and level[0].rows is None:
            return None, np.array([0, self._records_of.n], dtype=np.int64)
        everything = np.arange(self._records_of.n if any(held.rows is None for held in level) else 0, dtype=np.int32)
        lists = [everything if held.rows is None else held.rows for held in level]
        return _joined(lists), np.concatenate([[0], np.cumsum([len(own) for own in lists], dtype=np.int64)])

    def rows_of(self, held: Held) -> np.ndarray:
        """The numbers of a node's records."""
        return np.arange(self._records_of.n, dtype=np.int32) if held.rows is None else held.rows

    def _cut(self) -> Binned:
        if self._binned is None:
            self._binned = self._records_of.binned(self._cells())
        return self._binned

    def _moments(self, targets: np.ndarray) -> np.ndarray:
        """Each target t in fixed point, rounded once and for all, as the row (1, t, t^2) that exact sums are made of.

        With weights, so many times.
        """
        assert self._range is not None
        moments = np.empty((len(targets), 3), dtype=np.int64)
        for start in range(0, len(targets), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            t = _fixed(np.clip(targets[some], *self._range), *self._range)
            moments[some] = np.stack([np.ones_like(t), t, t * t], axis=1)
            if self._weights is not None:
                moments[some] *= self._weights[some, None]
        return moments

    @property
    def _width(self) -> int:
        """How many numbers a cell holds: one for each class, or three moments of the targets."""
        return 3 if self.schema.classes is None else len(self.schema.classes)


def _joined(lists: Sequence[np.ndarray]) -> np.ndarray:
    """One list after another; the memory that they were cut from, where they lie there in this order: a level's do."""
    some = [own for own in lists if len(own)]
    at = [own.__array_interface__["data"][0] for own in some]
    whole = some[0].base if some else None
    follow = all(start + own.nbytes == end for start, own, end in zip(at, some, at[1:]))
    if isinstance(whole, np.ndarray) and follow and all(own.base is whole for own in some):
        first = (at[0] - whole.__array_interface__["data"][0]) // whole.itemsize
        return whole[first : first + sum(map(len, some))]
    return np.concatenate(lists)


def by_weights(drawn: np.ndarray, weights: Sequence[int]) -> np.ndarray:
    """Parts with these weights, from numbers that were drawn below their sum."""
    return drawn if len(weights) == sum(weights) else np.searchsorted(np.cumsum(weights), drawn, side="right")


def _fixed(targets: np.ndarray, low: float, high: float) -> np.ndarray:
    """Targets as whole numbers from 0 to ``TARGET_ONE``: parts of their range."""
    return np.rint((targets - low) / max(high - low, np.finfo(float).tiny) * TARGET_ONE).astype(np.int64)
