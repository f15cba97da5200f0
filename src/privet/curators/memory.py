"""The in-memory curator: one machine, all records as compact integer columns.

A record is a row of cell numbers, one byte for each feature with at most 256 cells and two for the others. A node
is a list of row numbers. All histograms of a level are counted in one pass over the rows of the smaller
siblings; the largest sibling is its parent's histogram less the others'. All sums are exact integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from privet.curators import kernels
from privet.curators.base import Node
from privet.curators.central import CentralCurator
from privet.errors import LeakError, SchemaError
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms, SecureMechanisms
from privet.privacy.samplers import draw_parts
from privet.privacy.scope import Scope
from privet.privacy.sensitivity import gradient_pairs
from privet.questions.candidates import Split
from privet.questions.grid import Grid
from privet.schema import Schema
from privet.tables.table import Table, check_lengths, read_labels, read_table, read_targets

MOST_RECORDS = 2**27
"""Up to here Gini scores, which square counts, are exact in 64-bit integers (``privacy/scores.py``).

So are the sums of squared targets: each is at most 2^32.
"""


KEPT = 2**29
"""The most bytes of histograms that are kept for later questions; with more, they are counted anew."""


@dataclass(eq=False)
class _Held:
    """What the curator knows of a node: its rows (None: all).

    ``family`` are the children of one split of ``parent``, this one among them.
    """

    rows: np.ndarray | None
    parent: _Held | None = None
    family: list[_Held] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class _Block:
    """Features whose cell numbers share a width: a row-major matrix, one column for each."""

    features: np.ndarray
    cells: np.ndarray


class MemoryCurator(CentralCurator):
    """Holds a table and its labels, or numeric targets, in memory and answers private questions about them.

    ``ledger`` is charged for every answer; by default that of the surrounding ``with Ledger(...)``, or else one without
    a limit that only keeps count.
    """

    part_bytes: Callable[[int], bytes] | None = None
    """What ``parts`` draws from, if not the operating system: a secret stream, of whoever must draw the same again."""

    def __init__(
        self,
        X: Any,
        y: Any,
        schema: Schema,
        *,
        ledger: Ledger | None = None,
        mechanisms: Mechanisms | None = None,
    ) -> None:
        self._table: Table = read_table(X, schema)
        if schema.target is None:
            self._labels: np.ndarray = read_labels(y, schema)
        else:
            self._targets = read_targets(y, schema)
            self._labels = _moments(self._targets, *schema.target)
        check_lengths(self._table, self._labels)
        if self._table.n_rows >= MOST_RECORDS:
            raise SchemaError(f"The in-memory curator holds fewer than {MOST_RECORDS:,} records.")
        super().__init__(schema, ledger or Ledger.current() or Ledger(math.inf), mechanisms or SecureMechanisms())
        self._held: WeakKeyDictionary[Node, _Held] = WeakKeyDictionary()
        self._blocks: tuple[_Block, ...] = ()
        self._counted: WeakKeyDictionary[_Held, np.ndarray] = WeakKeyDictionary()  # histograms on the present grid
        self._scores_by_fit: dict[str, np.ndarray] = {}  # boosted scores, by the path of the root

    # -- public structure ---------------------------------------------------------------------------------------

    def _everything(self, scope: Scope) -> Node:
        return self._open([scope], [_Held(None)])[0]

    def _use(self, grid: Grid) -> None:
        sizes = np.diff(grid.offsets)
        self._blocks = (
            self._fill(grid, np.flatnonzero(sizes <= 256), np.uint8),
            self._fill(grid, np.flatnonzero(sizes > 256), np.uint16),
        )
        self._counted = WeakKeyDictionary()

    def _fill(self, grid: Grid, features: np.ndarray, width: type) -> _Block:
        cells: np.ndarray = np.empty((self._table.n_rows, len(features)), dtype=width)
        missing = [grid.features[f].special for f in features]
        if self._table.matrix is not None and len(features) == len(grid.features):
            cuts_of = [c.cuts for c in grid.features if c.cuts is not None]
            flags = kernels.cut_matrix(self._table.matrix, cuts_of, cells, missing)
            for name, flag in zip(self.schema.names, flags):
                _refuse(name, flag)
            return _Block(features, cells)
        for column, f in enumerate(features):
            name, cuts = grid.features[f].name, grid.features[f].cuts
            if cuts is None:
                cells[:, column] = self._table.codes(name)
            else:
                values = self._table.numeric(name)
                _refuse(name, kernels.cut_column(values, cuts, cells[:, column], missing[column]))
        return _Block(features, cells)

    def _aim(self, low: float, high: float) -> None:
        self._labels = _moments(np.clip(self._targets, low, high), low, high)
        self._counted = WeakKeyDictionary()

    def _split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        held = [self._held[node] for node in splits]
        narrow, wide = (block.cells for block in self._blocks)
        columns = np.concatenate([block.features for block in self._blocks]).tolist()  # through both blocks
        place = {feature: i for i, feature in enumerate(columns)}
        places = [place[split.feature] for split in splits.values()]
        tables = [np.frombuffer(split.part, dtype=np.uint8) for split in splits.values()]
        n_children = [split.n_children for split in splits.values()]
        rows, starts = kernels.partition_level((narrow, wide), places, tables, n_children, *self._rows(held))
        parts = [rows[a:b] for a, b in pairwise(starts)]
        children = {}
        for node, parent, n in zip(splits, held, n_children):
            family: list[_Held] = []
            family += (_Held(part, parent, family) for part in parts[:n])
            del parts[:n]
            children[node] = self._open(node.scope.split(n), family)
        return children

    def _parts(self, node: Node, n: int) -> list[Node]:
        held = self._held[node]
        rows = np.arange(self._table.n_rows, dtype=np.int32) if held.rows is None else held.rows
        drawn = draw_parts(len(rows), n, self._mechanisms.generator, self.part_bytes)
        # A stable sort keeps the rows of each part increasing; of small numbers it is a few passes.
        order = np.argsort(drawn.astype(np.uint16 if n <= 2**16 else np.int64), kind="stable")
        lists = np.split(rows[order], np.cumsum(np.bincount(drawn, minlength=n))[:-1])
        return list(self._open(node.scope.split(n, "parts"), [_Held(own) for own in lists]))

    def samples(self, node: Node, n: int, inverse_rate: int) -> list[Node]:
        self._own([node])
        held = self._held[node]
        rows = np.arange(self._table.n_rows, dtype=np.int32) if held.rows is None else held.rows
        drawn = [draw_parts(len(rows), inverse_rate, self._mechanisms.generator) == 0 for _ in range(n)]
        return [self._open([node.scope.sample(inverse_rate)], [_Held(rows[own])])[0] for own in drawn]

    def copies(self, node: Node, n: int) -> list[Node]:
        self._own([node])
        held = self._held[node]
        return [self._open([node.scope.copy()], [_Held(held.rows)])[0] for _ in range(n)]

    def _open(self, scopes: Sequence[Scope], held: Sequence[_Held]) -> tuple[Node, ...]:
        nodes = tuple(Node(scope) for scope in scopes)
        self._held.update(zip(nodes, held))
        return nodes

    # -- exact counts, behind the curtain ------------------------------------------------------------------------

    def _own(self, nodes: Sequence[Node]) -> None:
        if not all(node in self._held for node in nodes):
            raise LeakError("This node is not one of this curator's.")

    def _totals(self, nodes: Sequence[Node]) -> np.ndarray:
        if self.schema.classes is None:
            return np.stack([self._labels_of(node).sum(axis=0) for node in nodes])
        return np.stack([np.bincount(self._labels_of(node), minlength=self._width) for node in nodes])

    def _targets_of(self, node: Node) -> np.ndarray:
        rows = self._held[node].rows
        return self._targets if rows is None else self._targets[rows]

    def _labels_of(self, node: Node) -> np.ndarray:
        rows = self._held[node].rows
        return self._labels if rows is None else self._labels[rows]

    def _histograms(self, nodes: Sequence[Node]) -> np.ndarray:
        asked = [self._held[node] for node in nodes]
        counted = self._counted
        wanted = dict.fromkeys([*asked, *self._smaller_siblings(dict.fromkeys(asked))])
        by_subtraction = {held: None for held in wanted if self._follows_from_others(held, wanted)}
        to_count = [held for held in wanted if held not in counted and held not in by_subtraction]
        counted.update(zip(to_count, self._count(to_count)))
        for held in by_subtraction:
            assert held.parent is not None
            others = (counted[sibling] for sibling in held.family if sibling is not held)
            counted[held] = counted[held.parent] - sum(others)
        answer = np.stack([counted[held] for held in asked])
        if len(counted) * answer[0].nbytes > KEPT:
            counted.clear()
        for held in asked:
            # A parent whose children are all known is not asked again as a rule; it would be counted anew.
            if held.parent is not None and all(sibling in counted for sibling in held.family):
                counted.pop(held.parent, None)
        return answer

    def _smaller_siblings(self, asked: Collection[_Held]) -> list[_Held]:
        """Nodes that are not asked for, but whose sibling is and has more rows than they: they are counted instead."""
        smaller: list[_Held] = []
        for held in asked:
            if held not in self._counted and held.parent is not None and held.parent in self._counted:
                others = [sibling for sibling in held.family if sibling not in self._counted and sibling not in asked]
                if sum(map(_n_rows, others)) < _n_rows(held):
                    smaller += others
        return list(dict.fromkeys(smaller))

    def _follows_from_others(self, held: _Held, asked: Collection[_Held]) -> bool:
        """Whether this is the largest unknown node of a family that is asked for, or known, with its parent known."""
        if held in self._counted or held.parent is None or held.parent not in self._counted:
            return False
        unknown = [sibling for sibling in held.family if sibling not in self._counted]
        return all(sibling in asked for sibling in unknown) and held is max(unknown, key=_n_rows)

    def _count(self, to_count: Sequence[_Held]) -> np.ndarray:
        """Count these nodes' histograms, all in one pass over their rows."""
        grid = self._cells()
        counts = np.zeros((len(to_count), grid.n_cells, self._width), dtype=np.int64)
        if to_count:
            rows, starts = self._rows(to_count)
            for block in self._blocks:
                if not len(block.features):
                    continue
                offsets = grid.offsets[block.features]
                if self.schema.classes is None:
                    kernels.sums(block.cells, offsets, grid.n_cells, self._labels, rows, starts, counts)
                else:
                    kernels.histograms(
                        block.cells, offsets, grid.n_cells, self._labels, self._width, rows, starts, counts
                    )
        return counts

    def _gradients(self, nodes: Sequence[Node], output: int, features: Sequence[int] | None = None) -> np.ndarray:
        grid = self._cells()
        pairs = self._pairs(self._fit_of(nodes[0]), output)
        rows, starts = self._rows([self._held[node] for node in nodes])
        if features is None:
            pairs = np.ascontiguousarray(pairs[:, :1])
            pieces = [(block.cells, grid.offsets[block.features]) for block in self._blocks if len(block.features)]
            n_cells = grid.n_cells
        else:
            offsets = np.concatenate([[0], np.cumsum([grid.features[f].n_cells for f in features], dtype=np.int64)])
            pieces = [(self._column(f)[:, None], offsets[i : i + 1]) for i, f in enumerate(features)]
            n_cells = int(offsets[-1])
        sums = np.zeros((len(nodes), n_cells, pairs.shape[1]), dtype=np.int64)
        for cells, places in pieces:
            kernels.sums(cells, places, n_cells, pairs, rows, starts, sums)
        return sums

    def _column(self, feature: int) -> np.ndarray:
        """Every record's cell of one feature."""
        block = next(block for block in self._blocks if feature in block.features)
        return block.cells[:, int(np.flatnonzero(block.features == feature)[0])]

    def _pairs(self, fit: str, output: int) -> np.ndarray:
        """Every record's gradient and Hessian of one class, at its present score."""
        scores = self._scores_of(fit) / GRADIENT_ONE
        if scores.shape[1] == 1:
            chances = 1 / (1 + np.exp(-np.clip(scores[:, 0], -50, 50)))
        else:
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            chances = weights[:, output] / weights.sum(axis=1)
        return gradient_pairs(chances, self._labels == output)

    def _scores_of(self, fit: str) -> np.ndarray:
        """The boosted scores of a root's records: one column for two classes, else one for each."""
        if fit not in self._scores_by_fit:
            width = 1 if self._width == 2 else self._width
            self._scores_by_fit[fit] = np.zeros((self._table.n_rows, width), dtype=np.int64)
        return self._scores_by_fit[fit]

    def _advance(self, node: Node, feature: int, values: np.ndarray, output: int) -> None:
        rows = self._held[node].rows
        scores = self._scores_of(self._fit_of(node))[:, 0 if self._width == 2 else output]
        cells = self._column(feature)
        if rows is None:
            scores += values[cells]
        else:
            scores[rows] += values[cells[rows]]

    def _rows(self, level: Sequence[_Held]) -> tuple[np.ndarray | None, np.ndarray]:
        """The rows of these nodes one after another (None: all rows, once), and where each node's begin."""
        if len(level) == 1 and level[0].rows is None:
            return None, np.array([0, self._table.n_rows], dtype=np.int64)
        everything = np.arange(self._table.n_rows if any(held.rows is None for held in level) else 0, dtype=np.int32)
        lists = [everything if held.rows is None else held.rows for held in level]
        return np.concatenate(lists), np.concatenate([[0], np.cumsum([len(own) for own in lists], dtype=np.int64)])

    @property
    def _width(self) -> int:
        """How many numbers a cell holds: one for each class, or three moments of the targets."""
        return 3 if self.schema.classes is None else len(self.schema.classes)


def _moments(targets: np.ndarray, low: float, high: float) -> np.ndarray:
    """Each target t in fixed point, rounded once and for all, as the row (1, t, t^2) that exact sums are made of."""
    t = np.rint((targets - low) / max(high - low, np.finfo(float).tiny) * TARGET_ONE).astype(np.int64)
    return np.stack([np.ones_like(t), t, t * t], axis=1)


def _n_rows(held: _Held) -> int:
    return 0 if held.rows is None else len(held.rows)


def _refuse(name: str, flag: int) -> None:
    if flag & 1:
        raise SchemaError(
            f"Column {name!r} contains NaN (missing values), which its schema does not allow. "
            "Declare it with missing=True, or fill the gaps with a public rule."
        )
    if flag & 2:
        raise SchemaError(f"Column {name!r} contains infinity. Replace it by an end of the column's range.")
