"""Records of files, read as a stream: checked and cut into cells once, which are kept on disk.

What is in memory at any time is a few batches; the cells are in files that are mapped into memory (``scratch.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from privet.curators.person_weights import person_weights
from privet.curators.records import Binned, Block, Piece, check_size, n_persons_of
from privet.curators.scratch import Scratch
from privet.privacy.unit import Unit
from privet.progress import Progress
from privet.questions.grid import Grid, public_grid
from privet.schema import Numeric, Schema
from privet.tables.column import code_dtype
from privet.tables.files import Files, Stretch, cores, naming
from privet.tables.persons import read_persons

Found = TypeVar("Found")

FEW = 2**14
"""So few records are read by one thread."""


class FileRecords:
    """Records of files, in cells on disk. The order of records is that of the files."""

    def __init__(self, files: Files, scratch: Scratch, whose: Whose, progress: Any = None) -> None:
        self.schema = files.schema
        self._files, self._scratch, self._progress = files, scratch, progress
        self._every_weight = whose.weights
        self.persons, self.weights, self.n_persons = whose.persons, whose.weights, whose.n_persons
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
        def read(stretch: Stretch, start: int) -> None:
            for piece in pieces(self._files, stretch, grid, self._every_weight):
                keep(piece, slice(start, start + piece.n))
                start += piece.n

        for _ in each_stretch(self._files, self._progress, read, self._starts):
            pass


class Whose:
    """Each record's person and weight, where the schema names a person.

    The ids are the one column of files that is in memory as a whole, for a while.
    """

    def __init__(self, files: Files, generator: np.random.Generator | None = None) -> None:
        import pyarrow as pa

        self.persons: np.ndarray | None = None
        self.weights: np.ndarray | None = None
        self.n_persons = files.n
        schema = files.schema
        if schema.person is not None:
            self.persons = read_persons(pa.table({schema.person: files.column(schema.person)}), None, schema)
            assert self.persons is not None
            self.weights = person_weights(self.persons, Unit.of(schema), generator)
            self.n_persons = n_persons_of(self.persons)


def each_stretch(files: Files, progress: Any, work: Callable[..., Found], *more: Sequence[Any]) -> Iterator[Found]:
    """What is made of each stretch, in order, as many at a time as there are cores; the first that is wrong raises."""
    alone = files.n < FEW  # to start threads would take longer
    with Progress(progress, "Reading", files.size) as bar, ThreadPoolExecutor(cores()) as pool:
        try:
            done = (map if alone else pool.map)(work, files.stretches, *more)
            read = 0
            for stretch, found in zip(files.stretches, done):
                read += stretch.size
                bar.note(f"{read / 1e6:,.0f} of {files.size / 1e6:,.0f} MB")
                bar.advance(stretch.size)
                yield found
        finally:
            pool.shutdown(cancel_futures=True)


def pieces(files: Files, stretch: Stretch, grid: Grid, weights: np.ndarray | None) -> Iterator[Piece]:
    """The records of a stretch, checked and cut, a batch at a time; ``weights`` are those of all records."""
    schema, start = files.schema, stretch.start
    assert schema.label is not None
    with naming(stretch.file.path):
        for table in files.batches(stretch, [*schema.columns, schema.label], threads=len(files.stretches) < cores()):
            own = None if weights is None else weights[start : start + len(table)]
            matrix = as_matrix(table, schema)
            yield Piece(table if matrix is None else matrix, table.column(schema.label), schema, own, grid)
            start += len(table)


def as_matrix(table: Any, schema: Schema) -> np.ndarray | None:
    """An Arrow table of plain numbers as an array, which is cut in one go; None if it has something else in it."""
    import pyarrow.types as pt

    if not all(isinstance(feature, Numeric) and not feature.mean_of for feature in schema.features.values()):
        return None
    columns = [table.column(name) for name in schema.columns]
    if not all(pt.is_integer(own.type) or pt.is_float32(own.type) or pt.is_float64(own.type) for own in columns):
        return None
    rows = np.empty((len(columns), len(table)))
    for row, own in zip(rows, columns):
        row[:] = own.to_numpy()
    return rows.T
