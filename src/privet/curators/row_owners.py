"""A server's side of owners that share their rows, horizontally or vertically partitioned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.curators.dealt import check_parts, check_rows, check_samples
from privet.curators.mpc import Owners
from privet.errors import LeakError, SchemaError
from privet.questions.codec import grid_words
from privet.questions.grid import Grid
from privet.shares.engine import Secret
from privet.shares.replicated import ReplicatedEngine


def refuse_persons(schema: Any) -> None:
    """Raise SchemaError, before anything is shared or spent, for a schema that names a person.

    Rows on shares are counted as they stand; that a record counts for a part of a person would have to be shared, too.
    """
    if schema.person is not None:
        raise SchemaError(
            "Hidden models cover one row: leave person out of the schema and share one row of each person, or train a "
            "model that is announced, which covers persons."
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
        schema: Any,
        most_records: int,
        columns: Sequence[tuple[Sequence[str], bool]] | None = None,
    ) -> None:
        refuse_persons(schema)
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
            return self._checked(joined[: grid.n_cells], joined[grid.n_cells :], grid)
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

    def _checked(self, cells: Secret, classes: Secret, grid: Grid) -> tuple[Secret, Secret]:
        check_rows(self.engine, cells, classes, grid)
        return cells, classes

    def parts(self, n: int) -> Secret:
        """Which of n parts each row is in, (n, rows): drawn by its owner, of vertical parts by the labels' owner."""
        drawn = self._drawn(n, "draw", parts=n)
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

    def _drawn(self, n: int, do: str, **what: int) -> Secret:
        if self._columns is None:
            self.tell(do, records=self._each, **what)
            drawn = [self._receive(line, (n, self._each)) for line in self._lines]
            return self.engine.concatenate(drawn, axis=1) if len(drawn) > 1 else drawn[0]
        line = next(line for line, (_, label) in zip(self._lines, self._columns) if label)
        self._say(line, do, records=self._each, **what)
        return self._receive(line, (n, self._each))
