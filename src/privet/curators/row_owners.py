"""A server's side of owners that share their rows, horizontally or vertically partitioned.

What owners and users deal is checked before it is used: zeros and ones, in each feature as many as there should be. A
program on shares is a polynomial in what it is given. Whoever could give it other numbers would read off a model what
no query tells, or make comparisons overflow that the proofs rely on. So the servers compute what is zero for honest
numbers, and look at nothing else (``Engine.must_be_zero``): x^2 - x, which modulo a power of two, as in a field, is 0
for 0 and 1 alone (x and x - 1 are not both even), and differences of sums. One multiplication.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.curators.mpc import Owners
from privet.errors import LeakError, SchemaError
from privet.privacy.unit import Unit
from privet.questions.codec import grid_words
from privet.questions.grid import Grid
from privet.schema import Schema
from privet.shares.engine import Engine, Secret

if TYPE_CHECKING:
    from privet.shares.replicated import ReplicatedEngine


def check_persons(schema: Schema, columns: Collection[Any] | None) -> None:
    """Raise SchemaError, before anything is shared or spent, if there are persons and no owner holds whole ones."""
    if schema.person is not None and columns:
        raise SchemaError(
            "Owners of different columns cannot cover persons: none of them holds whole ones. Leave person out of the "
            "schema and share one row of each person, or let each owner hold all columns of persons of its own."
        )


class RowOwners(Owners):
    """A server's lines to owners that share rows.

    ``columns`` names what each owner holds where they hold different features of the same records (vertical partition):
    for each the features' names and whether it has the labels. By default each owner has all features of records of
    its own (horizontal partition, Algorithm 11 with a known schema).
    """

    def __init__(
        self,
        engine: ReplicatedEngine,
        lines: Sequence[Any],
        schema: Schema,
        most_records: int,
        columns: Sequence[tuple[Sequence[str], bool]] | None = None,
    ) -> None:
        check_persons(schema, columns)
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

    def rows(self, grid: Grid) -> tuple[Secret, Secret, Secret | None]:
        """All rows, (flat cells, rows), (classes, rows) and, of persons, weights (1, rows), as this server's shares."""
        n_classes = len(self._schema.classes or ())
        if self._columns is None:
            digits = 0 if self._schema.person is None else Unit.of(self._schema).weight_bits
            n_lines = grid.n_cells + n_classes + digits
            self.tell("grid", features=grid_words(grid))
            self.tell("rows", records=self._each)
            whole = [self._receive(line, (n_lines, self._each)) for line in self._lines]
            joined = self.engine.concatenate(whole, axis=1) if len(whole) > 1 else whole[0]
            weights = joined[grid.n_cells + n_classes :] if digits else None
            return self._checked(joined[: grid.n_cells], joined[grid.n_cells : grid.n_cells + n_classes], grid, weights)
        cells_of: dict[str, Secret] = {}
        classes = None
        for line, (names, label) in zip(self._lines, self._columns):
            own = [cells for cells in grid.features if cells.name in names]
            words = [None if cells.cuts is None else cells.cuts.tolist() for cells in own]
            self._say(line, "columns", features=words, label=label, records=self._each)
            sizes = [cells.n_cells for cells in own]
            got = self._receive(line, (sum(sizes) + n_classes * label, self._each))
            for cells, end in zip(own, np.cumsum(sizes)):
                cells_of[cells.name] = got[end - cells.n_cells : end]
            classes = got[sum(sizes) :] if label else classes
        assert classes is not None
        return self._checked(self.engine.concatenate([cells_of[cells.name] for cells in grid.features]), classes, grid)

    def _checked(
        self, cells: Secret, classes: Secret, grid: Grid, digits: Secret | None = None
    ) -> tuple[Secret, Secret, Secret | None]:
        check_rows(self.engine, cells, classes, grid, digits)
        if digits is None:
            return cells, classes, None
        weights = (digits * (1 << np.arange(digits.shape[0])[:, None])).sum(0)
        return cells, classes, weights.reshape(1, weights.shape[0])

    def parts(self, weights: Sequence[int]) -> Secret:
        """Which of the parts each row is in, (parts, rows): drawn by its owner, of columns by the labels' owner."""
        drawn = self._drawn(len(weights), "draw", weights=list(weights))
        check_parts(self.engine, drawn)
        return drawn

    def samples(self, n: int, inverse_rate: int) -> Secret:
        """Which rows are in each of n samples, (n, rows): drawn by their owner."""
        if self._columns is not None:
            # Amplification is for those who do not know the sample, and one owner would know everybody's.
            raise LeakError(
                "Owners of columns cannot sample: the owner of the labels would know which of all records are in a "
                "sample, and what it costs counts for less only against those who do not. Choose sampling='parts'."
            )
        drawn = self._drawn(n, "sample", samples=n, inverse_rate=inverse_rate)
        check_samples(self.engine, drawn)
        return drawn

    def _drawn(self, n: int, do: str, **what: int | list[int]) -> Secret:
        if self._columns is None:
            self.tell(do, records=self._each, **what)
            drawn = [self._receive(line, (n, self._each)) for line in self._lines]
            return self.engine.concatenate(drawn, axis=1) if len(drawn) > 1 else drawn[0]
        line = next(line for line, (_, label) in zip(self._lines, self._columns) if label)
        self._say(line, do, records=self._each, **what)
        return self._receive(line, (n, self._each))


QUERIES = (
    "A query is not a row: it must have one 1 for each feature, and zeros. The run has ended; nothing was answered."
)
ROWS = (
    "What an owner shared are not rows: each must have one 1 for each feature and one for its class, or be all zeros. "
    "Owners of different columns must have the same number of records. The run has ended; nothing was asked."
)
DRAWN = "What an owner shared does not say which records are in which part. The run has ended."


def check_queries(engine: Engine, cells: Secret, grid: Grid) -> None:
    """One 1 among the cells of each feature, (flat cells, queries)."""
    _check(engine, cells, _by_feature(engine, cells, grid) - 1, QUERIES)


def check_rows(engine: Engine, cells: Secret, classes: Secret, grid: Grid, digits: Secret | None = None) -> None:
    """One 1 among the cells of each feature and one among the classes, or, of rows that fill up, none at all.

    ``digits`` are those of the rows' weights: each is 0 or 1.
    """
    there = classes.sum(0).reshape(1, classes.shape[1])
    bits = [cells, classes, there, *([] if digits is None else [digits])]
    _check(engine, engine.concatenate(bits), _by_feature(engine, cells, grid) - there, ROWS)


def check_parts(engine: Engine, drawn: Secret) -> None:
    """Every row is in one part or, where it fills up, in none."""
    there = drawn.sum(0).reshape(1, drawn.shape[1])
    _check(engine, engine.concatenate([drawn, there]), None, DRAWN)


def check_samples(engine: Engine, drawn: Secret) -> None:
    """Every row is in a sample or not."""
    _check(engine, drawn, None, DRAWN)


def _by_feature(engine: Engine, cells: Secret, grid: Grid) -> Secret:
    return engine.linear(cells, lambda rows: np.add.reduceat(rows, grid.offsets[:-1], axis=0))


def _check(engine: Engine, bits: Secret, zeros: Secret | None, otherwise: str) -> None:
    squares = bits * bits - bits
    engine.must_be_zero(squares if zeros is None else engine.concatenate([squares, zeros]), otherwise)
