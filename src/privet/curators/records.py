"""Records in memory, checked as they are read: afterwards nothing about them can be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from privet.curators import kernels
from privet.curators.person_weights import person_weights
from privet.errors import SchemaError
from privet.privacy.unit import Unit
from privet.questions.grid import Grid, public_grid
from privet.questions.split import Table, factors_of
from privet.schema import Numeric, Schema
from privet.tables.persons import read_persons
from privet.tables.table import check_lengths, read_labels, read_table, read_targets

MOST_RECORDS = 2**27
"""Up to here Gini scores, which square counts, are exact in 64-bit integers (``privacy/sensitivity.py``).

So are the sums of squared targets: each is at most 2^32.
"""

TURNED = 2**14
"""So many rows are turned into columns at a time: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class Block:
    """Features whose cell numbers share a width: a row-major matrix, one column for each."""

    features: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True, eq=False)
class Binned:
    """All records as cell numbers of a grid: those of one byte, and those of two.

    ``new`` makes an array of a shape and type, where what is made of them is kept.
    """

    narrow: Block
    wide: Block
    new: Callable[[tuple[int, ...], Any], np.ndarray] = np.empty

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        return self.narrow.cells, self.wide.cells

    @property
    def blocks(self) -> list[Block]:
        """Those that have any features."""
        return [block for block in (self.narrow, self.wide) if len(block.features)]

    @cached_property
    def place(self) -> Mapping[int, int]:
        """The column of each feature, counted through both blocks."""
        features = np.concatenate([self.narrow.features, self.wide.features]).tolist()
        return {feature: i for i, feature in enumerate(features)}

    @cached_property
    def columns(self) -> np.ndarray:
        """The cells of one byte once more, a row for each feature: what boosting reads."""
        cells = self.narrow.cells
        columns = self.new(cells.shape[::-1], np.uint8)
        for start in range(0, len(cells), TURNED):
            columns[:, start : start + TURNED] = cells[start : start + TURNED].T
        return columns

    def is_narrow(self, table: Table) -> bool:
        """Whether all its features are of one byte."""
        return all(self.place[split.feature] < len(self.narrow.features) for split in factors_of(table))

    def column(self, feature: int) -> np.ndarray:
        """Every record's cell of one feature."""
        place, n_narrow = self.place[feature], len(self.narrow.features)
        return self.narrow.cells[:, place] if place < n_narrow else self.wide.cells[:, place - n_narrow]


class HeldRecords(Protocol):
    """What a room counts: records in cells, wherever they are kept."""

    schema: Schema
    n: int
    n_persons: int
    labels: np.ndarray
    targets: np.ndarray | None
    persons: np.ndarray | None
    weights: np.ndarray | None

    @property
    def own(self) -> Binned:
        """The records in the cells of the schema's own grid."""

    def binned(self, grid: Grid) -> Binned:
        """The records in the cells of a grid of the schema."""

    def cells(self, grid: Grid, features: Sequence[int]) -> np.ndarray:
        """The cells of some features of a grid of the schema, a column for each."""


class Piece:
    """Some rows of a table with their labels or targets. All that could be wrong with them is found when it is made.

    They are cut into a grid at once, by default the schema's own, in the pass that looks for values which the schema
    does not allow. So a fit on that grid has its cells already, and one on another grid cannot be refused: free calls
    are blind.
    """

    persons: np.ndarray | None = None

    def __init__(
        self, X: Any, y: Any, schema: Schema, weights: np.ndarray | None = None, grid: Grid | None = None
    ) -> None:
        """``weights``: what each row weighs, of a schema with a person; those of weight 0 do not count."""
        self.schema = schema
        self._table = read_table(X, schema)
        self.targets = None if schema.target is None else read_targets(y, schema)
        self.labels = read_labels(y, schema) if self.targets is None else self.targets
        check_lengths(self._table, self.labels)
        self._kept: np.ndarray | None = None
        self.weights = weights
        if weights is not None:
            self._weigh(weights)
        self.n = self.n_persons = len(self.labels)
        self._own_grid = public_grid(schema) if grid is None else grid
        self._own = self._cut(self._own_grid, None)

    def _weigh(self, weights: np.ndarray) -> None:
        if len(weights) != self._table.n_rows:
            raise SchemaError("there must be one person's id for each record; groups has another length than X")
        if (weights == 0).any():
            self._kept = np.flatnonzero(weights)
            self.weights, self.labels = weights[self._kept], self.labels[self._kept]
            self.targets = None if self.targets is None else self.targets[self._kept]

    def binned(self, grid: Grid) -> Binned:
        """The records in the cells of a grid of the schema."""
        if grid == self._own_grid:
            return self._own
        return self._cut(grid, self._own if self._kept is None else None)

    @property
    def own(self) -> Binned:
        """The records in the cells of the grid that they were cut into at once: the schema's own, as a rule."""
        return self._own

    def cells(self, grid: Grid, features: Sequence[int]) -> np.ndarray:
        """The cells of some features of a grid of the schema, a column for each."""
        known = self._own if self._kept is None else None
        return self._fill(grid, np.array(features, dtype=np.int64), np.uint16, known).cells

    def values(self) -> Iterator[np.ndarray]:
        """Everything that questions depend on, some values at a time, always in the same order."""
        yield self.labels
        if self.weights is not None:
            yield self.weights
        for name, feature in self.schema.features.items():
            if isinstance(feature, Numeric):
                yield from (values for _, values in self._table.numeric_pieces(name))
            else:
                yield self._table.codes(name)

    def _cut(self, grid: Grid, known: Binned | None) -> Binned:
        sizes = np.diff(grid.offsets)
        return Binned(
            self._fill(grid, np.flatnonzero(sizes <= 256), np.uint8, known),
            self._fill(grid, np.flatnonzero(sizes > 256), np.uint16, known),
        )

    def _fill(self, grid: Grid, features: np.ndarray, width: type, known: Binned | None) -> Block:
        cells: np.ndarray = np.empty((self._table.n_rows, len(features)), dtype=width)
        missing = [grid.features[f].special for f in features]
        if self._table.matrix is not None and len(features) == len(grid.features):
            cuts_of = [c.cuts for c in grid.features if c.cuts is not None]
            flags = kernels.cut_matrix(self._table.matrix, cuts_of, cells, missing)
            for name, flag in zip(self.schema.names, flags):
                _refuse(name, flag)
            return Block(features, self._counting(cells))
        for column, f in enumerate(features):
            name, cuts = grid.features[f].name, grid.features[f].cuts
            if cuts is None:  # the cells of a category are the same in every grid
                cells[:, column] = self._table.codes(name) if known is None else known.column(f)
            else:
                for rows, values in self._table.numeric_pieces(name):
                    _refuse(name, kernels.cut_column(values, cuts, cells[rows, column], missing[column]))
        return Block(features, self._counting(cells))

    def _counting(self, cells: np.ndarray) -> np.ndarray:
        """The rows of those records that count."""
        return cells if self._kept is None else cells[self._kept]


class Records(Piece):
    """A whole table with its labels or targets; where the schema names a person, each record has its share of its
    person's weight, and those beyond the cap do not count (``person_weights.py``)."""

    def __init__(
        self,
        X: Any,
        y: Any,
        schema: Schema,
        groups: Any = None,
        generator: np.random.Generator | None = None,
        random_bytes: Callable[[int], bytes] | None = None,
    ) -> None:
        """``groups`` are the persons' ids, if they are no column of ``X``; from the other two is drawn which records of
        a person count, if not from the operating system."""
        persons = read_persons(X, groups, schema)
        weights = None if persons is None else person_weights(persons, Unit.of(schema), generator, random_bytes)
        super().__init__(X, y, schema, weights)
        self.n_persons = self._table.n_rows if persons is None else n_persons_of(persons)
        self.persons = persons if persons is None or self._kept is None else persons[self._kept]
        check_size(max(self.n_persons * Unit.of(schema).weight, self.n), schema)


def n_persons_of(persons: np.ndarray) -> int:
    """How many persons there are, numbered from 0 on."""
    return int(persons.max(initial=-1)) + 1


def check_size(n: int, schema: Schema) -> None:
    """Refuse more records than sums are exact for."""
    if n >= MOST_RECORDS:
        weight = Unit.of(schema).weight
        raise SchemaError(
            f"One curator holds fewer than {MOST_RECORDS:,} records"
            + ("." if schema.person is None else f", and counts each person as {weight}.")
        )


def _refuse(name: str, flag: int) -> None:
    if flag & 1:
        raise SchemaError(
            f"Column {name!r} contains NaN (missing values), which its schema does not allow. "
            "Declare it with missing=True, or fill the gaps with a public rule."
        )
    if flag & 2:
        raise SchemaError(f"Column {name!r} contains infinity. Replace it by an end of the column's range.")
