"""Records in files of any size: Parquet, and CSV that is turned into Parquet once, read a stretch at a time.

Only the columns that the schema names are read. Errors name the file and the column, never a value.
"""

from __future__ import annotations

import glob
import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet.errors import SchemaError
from privet.schema import Categorical, Schema
from privet.schema_values import kind_of
from privet.tables.column import attempt, check_columns
from privet.tables.csv_file import as_schema, csv_batches, csv_types, is_csv
from privet.tables.table import Table, is_parquet

SUFFIXES = (".parquet", ".pq")
STRETCH = 2**18
"""Row groups of one file are read together up to so many records; a larger row group is a stretch of its own."""

BATCH = 2**21
"""Values that are read at a time: some megabytes, whatever the number of columns."""

SOME = 8
"""Places, evenly spread, that a look at some records is taken at."""


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A file with what Parquet says of it. ``source`` is its path, or the memory that a CSV file was turned into."""

    path: Path
    source: Any
    metadata: Any
    state: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some row groups of a file: ``n`` records, number ``start`` and following of all, in ``size`` bytes."""

    file: OpenFile
    groups: tuple[int, ...]
    start: int
    n: int
    size: int


class FilePart:
    """A stretch of Parquet files that may be read by another process, which must find the files where they are."""

    def __init__(self, files: Files, stretch: Stretch) -> None:
        # Elsewhere a file of the same size and time is the same one: its number there may be another.
        file = replace(stretch.file, state=stretch.file.state[:2])
        self._files, self._stretch = copy(files), replace(stretch, file=file)
        self._files.stretches, self._files.files = [self._stretch], [file]

    @property
    def path(self) -> Path:
        return self._stretch.file.path

    def read(self, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        return pa.concat_tables(self._files.batches(self._stretch, columns))


class Files:
    """Parquet and CSV files that hold one table, in the order of their names.

    ``where`` is a file, a folder or a pattern such as ``"folder/*.parquet"``, or a list of them. ``columns`` are read
    of each; by default those that a fit needs. ``scratch`` is the folder where CSV files are turned into Parquet: in
    files without a name, which nobody else can open and which are gone when this process ends. With ``raw``, columns
    are as they are there, whatever the schema says: those of a CSV file are text.
    """

    def __init__(
        self,
        where: Any,
        schema: Schema,
        *,
        columns: Sequence[str] | None = None,
        scratch: Path | None = None,
        raw: bool = False,
    ) -> None:
        self.schema = schema
        self.columns = tuple(training_columns(schema) if columns is None else columns)
        self._scratch, self._raw = scratch, raw
        self.files = [self._open(path) for path in find_files(where)]
        self.stretches: list[Stretch] = []
        self.n = 0
        for file in self.files:
            self._cut(file)
        self.stretches = self.stretches or [Stretch(self.files[0], (), 0, 0, 0)]  # so that nobody adds up nothing

    @property
    def size(self) -> int:
        """Bytes to be read."""
        return sum(stretch.size for stretch in self.stretches)

    def batches(
        self, stretch: Stretch, columns: Sequence[str] | None = None, *, threads: bool = False
    ) -> Iterator[Any]:
        """The records of a stretch as Arrow tables, a bounded number of values at a time.

        ``threads``: let Arrow read columns in parallel, where nobody reads stretches in parallel.
        """
        import pyarrow as pa

        names, file = list(self.columns if columns is None else columns), stretch.file
        self._check_state(file)
        if not stretch.n:
            yield self.empty().select(names)
            return
        opened = attempt(_parquet, file, self._dictionaries(file.metadata.schema.to_arrow_schema()))
        options = {"row_groups": list(stretch.groups), "columns": names, "use_threads": threads}
        batches = opened and opened.iter_batches(batch_size=max(1024, BATCH // len(names)), **options)
        while True:
            try:
                batch = None if batches is None else attempt(next, batches)
            except StopIteration:
                self._check_state(file)
                return
            if batch is None:
                raise SchemaError(f"{file.path} is not a readable Parquet file")
            yield pa.Table.from_batches([batch]).select(names)

    def column(self, name: str) -> Any:
        """One column of all records, in their order."""
        import pyarrow as pa

        pieces = [(s.file, alike(batch.column(0))) for s in self.stretches for batch in self.batches(s, [name])]
        kind = pieces[0][1].type if pieces else pa.large_string()
        for file, piece in pieces:
            if piece.type != kind:
                raise SchemaError(f"{file.path}: column {name!r} has another type than in the files before it")
        return pa.chunked_array([chunk for _, piece in pieces for chunk in piece.chunks], kind)

    def table(self) -> Table:
        """Checked access to all records, to be predicted: a column is read when it is asked for."""
        return Table(self.schema, self.n, self.column, tells=True)

    def some(self) -> Any:
        """Records from a few places, as one Arrow table: for a look at what they are like."""
        step = max(1, len(self.stretches) // SOME)
        return one_table([next(self.batches(stretch)) for stretch in self.stretches[::step]])

    def empty(self) -> Any:
        """The first file's columns, without records."""
        return self.files[0].metadata.schema.to_arrow_schema().empty_table().select(list(self.columns))

    def _open(self, path: Path) -> OpenFile:
        state = _state(path)
        source = path if is_parquet(path) else self._parquet_of_csv(path)
        opened = attempt(_parquet, OpenFile(path, source, None, state), ())
        if opened is None:
            raise SchemaError(f"{path} is not a readable Parquet file")
        names = list(opened.schema_arrow.names)
        with naming(path):
            check_columns(names, self.columns)
            if len(set(names)) < len(names):
                raise SchemaError("several columns have the same name; rename them")
        return OpenFile(path, source, opened.metadata, state)

    def _parquet_of_csv(self, path: Path) -> Any:
        """A CSV file as Parquet, in memory that a file without a name backs."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = csv_types(path, self.schema, self.columns)
        if self._raw:
            types = dict.fromkeys(types, pa.string())
        with tempfile.TemporaryFile(dir=self._scratch) as file:
            with pq.ParquetWriter(file, pa.schema(types.items()), compression="lz4") as writer:
                for batch in csv_batches(path, types):
                    writer.write_batch(batch if self._raw else as_schema(batch, self.schema))
            file.flush()
            return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def _cut(self, file: OpenFile) -> None:
        """List the file's stretches."""
        wanted, n, size = set(self.columns), 0, 0
        groups: list[int] = []
        names = [file.metadata.schema.column(i).path.partition(".")[0] for i in range(file.metadata.num_columns)]
        ours = [i for i, name in enumerate(names) if name in wanted or file.metadata.schema.column(i).path in wanted]
        for i in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(i)
            if n and n + group.num_rows > STRETCH:
                self._add(file, groups, n, size)
                groups, n, size = [], 0, 0
            groups.append(i)
            n += group.num_rows
            size += sum(group.column(j).total_compressed_size for j in ours)
        self._add(file, groups, n, size)

    def _add(self, file: OpenFile, groups: list[int], n: int, size: int) -> None:
        if n:
            self.stretches.append(Stretch(file, tuple(groups), self.n, n, size))
            self.n += n

    def _dictionaries(self, arrow: Any) -> tuple[str, ...]:
        """Columns of text that are read with their dictionary, which is looked up once for many records."""
        import pyarrow as pa

        features = {} if self._raw else self.schema.features
        text = {n for n, f in features.items() if isinstance(f, Categorical) and kind_of(f.values) == "text"}
        return tuple(n for n in self.columns if n in text and arrow.field(n).type in (pa.string(), pa.large_string()))

    def _check_state(self, file: OpenFile) -> None:
        now = _state(file.path) if isinstance(file.source, Path) and file.path.exists() else ()
        if isinstance(file.source, Path) and now[: len(file.state)] != file.state:
            raise SchemaError(f"{file.path} has changed since it was opened; fit again")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put a file's name before what is said to be wrong with it."""
    try:
        yield
    except SchemaError as error:
        told = str(error)
    else:
        return
    raise SchemaError(told if told.startswith(str(path)) else f"{path}: {told}")


def names_files(X: Any) -> bool:
    """Whether this is where records are, rather than records: a path, a pattern, or a list of them."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(each, str | os.PathLike) for each in X)
    return isinstance(X, str | os.PathLike)


def find_files(where: Any) -> list[Path]:
    """The files of a path, folder or pattern, or of a list of them: each once, in the order of their names."""
    found: list[Path] = []
    for each in where if isinstance(where, list | tuple) else [where]:
        found += _files_of(Path(each))
    if not found:
        raise SchemaError("give at least one file, folder or pattern, such as 'folder/*.parquet'")
    inodes: dict[tuple[int, int], Path] = {}
    for path in found:
        is_parquet(path)  # refuses what is neither, or not there
        state = path.stat()
        if inodes.setdefault((state.st_dev, state.st_ino), path) is not path:
            raise SchemaError(f"{path} is given twice: its records would count twice")
    return found


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        inside = (own for own in path.rglob("*") if (own.suffix.lower() in SUFFIXES or is_csv(own)) and own.is_file())
        # Names that begin so are other programs' own: what they write beside the data, or have not finished.
        found = [own for own in inside if not any(part[0] in "._" for part in own.relative_to(path).parts)]
        if not found:
            raise SchemaError(f"{path} has no .parquet or .csv file in it")
        return sorted(found)
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    matching = sorted(Path(own) for own in glob.glob(str(path), recursive=True))
    if not matching:
        raise SchemaError(f"no file matches {path}")
    return [file for own in matching for file in _files_of(own)]


def cores() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def training_columns(schema: Schema) -> list[str]:
    """What a fit reads of files: the features' columns, the label's and the person's."""
    if schema.label is None:
        raise SchemaError("the schema does not name the label's column; set label, or name in [label]")
    return [*schema.columns, *([] if schema.person is None else [schema.person]), schema.label]


def one_table(looks: Sequence[Any]) -> Any:
    """Some tables as one, for a look at what they are like; the first where files have other types."""
    import pyarrow as pa

    table = attempt(lambda: pa.concat_tables(looks, promote_options="permissive"))
    return looks[0] if table is None else table


def alike(column: Any) -> Any:
    """A column of text, or of whole numbers, in one type whatever its file has."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pt.is_string(column.type) or pt.is_string_view(column.type):
        return column.cast(pa.large_string())  # which may be longer than 2 GB in all
    return column.cast(pa.int64()) if pt.is_integer(column.type) and column.type != pa.uint64() else column


def _parquet(file: OpenFile, dictionaries: Sequence[str]) -> Any:
    import pyarrow.parquet as pq

    options = {"read_dictionary": list(dictionaries), "pre_buffer": False, "buffer_size": 2**20}
    return pq.ParquetFile(file.source, metadata=file.metadata, **options)


def _state(path: Path) -> tuple[int, ...]:
    """What changes when somebody writes to a file, or puts another one in its place under the same size and time."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns, state.st_ino, state.st_ctime_ns
