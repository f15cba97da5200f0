"""The curator of files: Parquet and CSV of any size, read as a stream and counted as in memory.

Each batch of records is checked and cut into cells once, one byte for each feature as a rule; the cells are kept in
files that are mapped into memory (``scratch.py``), where the kernels of memory count them. So what is in memory at any
time is a few batches, a row number for each record and level of a tree, and labels; and answers are those of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from privet.curators.memory import MemoryCurator
from privet.curators.person_weights import person_weights
from privet.curators.records import Binned, Block, Piece, check_size, n_persons_of
from privet.curators.scratch import Scratch
from privet.errors import SchemaError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.unit import Unit
from privet.progress import Progress
from privet.questions.grid import Grid, public_grid
from privet.schema import Schema
from privet.tables.column import code_dtype
from privet.tables.files import Files, Stretch, cores, names_files, naming
from privet.tables.persons import read_persons

FEW = 2**14
"""So few records are read by one thread."""


class FileCurator(MemoryCurator):
    """Holds records that are in files, and answers private questions about them.

    ``where`` is a Parquet or CSV file, a folder, a pattern such as ``"folder/*.parquet"``, or a list of them; the
    schema names the columns of the label and, if there are persons, of their ids. All that could be wrong with the
    files is found here, as they are read. ``cache`` is a folder on a disk with space for a byte for each record and
    feature: by default the environment variable PRIVET_CACHE, or the user's cache folder. ``progress`` is as in
    ``privet.progress``: by default a bar where stderr is a terminal.
    """

    trust = "The machine that trained the model read all files, and kept what it read on its disk; nobody else had to."

    def __init__(
        self,
        where: Any,
        schema: Schema,
        *,
        ledger: Ledger | None = None,
        mechanisms: Mechanisms | None = None,
        cache: Any = None,
        progress: Any = None,
    ) -> None:
        self._begin(schema, ledger, mechanisms)
        scratch = Scratch(cache)
        files = Files(where, schema, scratch=scratch.folder)
        self.records = FileRecords(files, scratch, self._mechanisms.generator, progress)


class FileRecords:
    """Records of files, in cells on disk. The order of records is that of the files."""

    def __init__(
        self, files: Files, scratch: Scratch, generator: np.random.Generator | None = None, progress: Any = None
    ) -> None:
        self.schema = files.schema
        self._files, self._scratch, self._progress = files, scratch, progress
        self.persons, self._every_weight = self._read_persons(generator)
        self.weights = self._every_weight
        self.n_persons = files.n if self.persons is None else n_persons_of(self.persons)
        self._starts = [stretch.start for stretch in files.stretches]
        self.n = files.n
        if self.weights is not None and not self.weights.all():
            counts = [int(np.count_nonzero(self.weights[s.start : s.start + s.n])) for s in files.stretches]
            self._starts = [0, *np.cumsum(counts).tolist()][:-1]
            kept = np.flatnonzero(self.weights)
            assert self.persons is not None
            self.n, self.persons, self.weights = len(kept), self.persons[kept], self.weights[kept]
        check_size(max(self.n_persons * Unit.of(self.schema).weight, self.n), self.schema)
        classes = self.schema.classes
        self.labels = scratch.array((self.n,), np.float64 if classes is None else code_dtype(classes))
        self.targets = self.labels if classes is None else None
        self._own_grid = public_grid(self.schema)
        self._own = self._cut(self._own_grid, self._read_labels)

    @property
    def own(self) -> Binned:
        return self._own

    def binned(self, grid: Grid) -> Binned:
        return self._own if grid == self._own_grid else self._cut(grid)

    def cells(self, grid: Grid, features: Sequence[int]) -> np.ndarray:
        binned = self.binned(grid)
        cells = self._scratch.array((self.n, len(features)), np.uint16)
        for column, f in enumerate(features):
            cells[:, column] = binned.column(f)
        return cells

    def _read_persons(self, generator: np.random.Generator | None) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Each record's person and weight. The ids are the one column that is in memory as a whole, for a while."""
        import pyarrow as pa

        if self.schema.person is None:
            return None, None
        ids = pa.table({self.schema.person: self._files.column(self.schema.person)})
        persons = read_persons(ids, None, self.schema)
        assert persons is not None
        return persons, person_weights(persons, Unit.of(self.schema), generator)

    def _cut(self, grid: Grid, also: Callable[[Piece, slice], None] | None = None) -> Binned:
        """Read all files, put records into the cells of a grid, and do what else is to be done with each piece."""
        sizes = np.diff(grid.offsets)
        features = [np.flatnonzero(sizes <= 256), np.flatnonzero(sizes > 256)]
        widths: list[type] = [np.uint8, np.uint16]
        blocks = [Block(own, self._scratch.array((self.n, len(own)), w)) for own, w in zip(features, widths)]

        def keep(piece: Piece, place: slice) -> None:
            for block, part in zip(blocks, (piece.own.narrow, piece.own.wide)):
                block.cells[place] = part.cells
            if also is not None:
                also(piece, place)

        self._read(grid, keep)
        return Binned(blocks[0], blocks[1], self._scratch.array)

    def _read_labels(self, piece: Piece, place: slice) -> None:
        self.labels[place] = piece.labels

    def _read(self, grid: Grid, keep: Callable[[Piece, slice], None]) -> None:
        """Read all stretches, as many at a time as there are cores; the first that is wrong, in their order, raises."""

        def read(stretch: Stretch, start: int) -> int:
            for piece in pieces(self._files, stretch, grid, self._every_weight):
                keep(piece, slice(start, start + piece.n))
                start += piece.n
            return stretch.size

        with Progress(self._progress, "Reading", self._files.size) as bar, ThreadPoolExecutor(cores()) as pool:
            stretches = self._files.stretches
            alone = self._files.n < FEW  # to start threads would take longer
            try:
                for size in (map if alone else pool.map)(read, stretches, self._starts):
                    bar.advance(size)
            finally:
                pool.shutdown(cancel_futures=True)


def pieces(files: Files, stretch: Stretch, grid: Grid, weights: np.ndarray | None) -> Iterator[Piece]:
    """The records of a stretch, checked and cut, a batch at a time; ``weights`` are those of all records."""
    schema, start = files.schema, stretch.start
    assert schema.label is not None
    with naming(stretch.file.path):
        for table in files.batches(stretch, [*schema.columns, schema.label], threads=len(files.stretches) < cores()):
            own = None if weights is None else weights[start : start + len(table)]
            yield Piece(table, table.column(schema.label), schema, own, grid)
            start += len(table)


def curator_of(X: Any, y: Any, schema: Schema, groups: Any, **options: Any) -> MemoryCurator:
    """The curator of a table, or of the files that ``X`` names."""
    if not names_files(X):
        return MemoryCurator(X, y, schema, groups=groups, **options)
    if y is not None or groups is not None:
        raise SchemaError(
            "files have the label's and the person's columns in them, as the schema names them: give X alone"
        )
    return FileCurator(X, schema, **options)
