"""Every curator whose answers must be those of memory, over a table that a test has in memory.

``hold(room, X, y, schema, groups)`` puts the records where the room keeps them, once, and returns a function of
``ledger`` and ``mechanisms`` that makes a curator of them. So a test of exact transcripts, of audits or of models runs
on every room: ``@pytest.mark.parametrize("room", ROOMS)``. A new room is one function here.
"""

import atexit
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import databases
from privet import Categorical, DaskCurator, FileCurator, MemoryCurator, Schema, SqlCurator
from privet.audit.read_once import OfTheSameRecords
from privet.curators.scratch import DiskFullError, Scratch


def hold(room, X, y, schema, groups=None):
    return ROOMS[room](X, y, schema, groups)


def _memory(X, y, schema, groups):
    """Read by the first curator; the others have its records, unless what counts of them is drawn."""
    read = []

    def make(**options):
        if not read or schema.person is not None or set(options) != {"ledger", "mechanisms"}:
            read.append(MemoryCurator(X, y, schema, groups=groups, **options))
            return read[-1]
        return OfTheSameRecords(read[0], **options)

    return make


def _files(X, y, schema, groups):
    """Two Parquet files, the second of which has two row groups."""
    schema, table = as_table(X, y, schema, groups)
    folder = tempfile.TemporaryDirectory()
    half = len(table) // 2
    pq.write_table(table[:half], Path(folder.name) / "0.parquet")
    pq.write_table(table[half:], Path(folder.name) / "1.parquet", row_group_size=max(1, (len(table) - half + 1) // 2))

    def make(**options):
        curator = FileCurator(folder.name, schema, cache=folder.name, **options)
        curator.folder = folder  # which is deleted when nobody needs it any more
        return curator

    return make


def _full_disk(X, y, schema, groups):
    """The same files, where the disk has no space for cells."""
    make = _files(X, y, schema, groups)

    def make_on_full_disk(**options):
        with patch.object(Scratch, "array", side_effect=DiskFullError("no space")):
            return make(**options)

    return make_on_full_disk


def no_space(scratch, shape, dtype):
    """What ``Scratch.array`` does on a full disk."""
    if not np.prod(shape):
        return np.zeros(shape, dtype)
    raise DiskFullError("no space")


def _dask(X, y, schema, groups):
    """Three partitions of a data frame, on two worker processes."""
    import dask.dataframe as dd

    schema, table = as_table(X, y, schema, groups)
    frame = dd.from_pandas(table.to_pandas(), npartitions=3, sort=False)
    return lambda **options: DaskCurator(frame, schema, dask_client(), **options)


def _duckdb(X, y, schema, groups):
    import duckdb

    schema, table = typed(*as_table(X, y, schema, groups))
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return lambda **options: SqlCurator(connection, "people", schema, **options)


def _postgres(X, y, schema, groups):
    schema, table = typed(*as_table(X, y, schema, groups))
    connection = databases.connect("postgres")
    kinds = {pa.int64(): "bigint", pa.float64(): "double", pa.string(): "text", pa.bool_(): "boolean"}
    types = {own.name: kinds.get(own.type, "text") for own in table.schema}
    rows = list(zip(*(own.to_pylist() for own in table.columns)))
    databases.store(connection, "postgres", "people", types, rows)
    return lambda **options: SqlCurator(connection, "people", schema, **options)


ROOMS = {
    "memory": _memory,
    "files": _files,
    "files on a full disk": _full_disk,
    "dask": _dask,
    "duckdb": _duckdb,
    "postgres": _postgres,
}
SLOW = {"dask", "duckdb", "postgres"}
"""A question takes these so long that tests which ask thousands are slow ones."""
IN_DATABASES = ("duckdb", "postgres")
"""They draw parts, and who of a person's records counts, by keys of their own: laws are memory's, draws are not."""


@cache
def dask_client():
    """A real cluster of two worker processes, for as long as the tests run."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    atexit.register(cluster.close)
    atexit.register(client.close)
    return client


def as_table(X, y, schema, groups=None):
    """Records as one Arrow table, and the schema that names the columns of their labels and persons."""
    columns = {name: _plain(X[name]) for name in schema.columns}
    if schema.person is not None:
        columns[schema.person] = _plain(X[schema.person] if groups is None else groups)
    if schema.label is None:
        of_persons = {"person": schema.person, "records_per_person": schema.records_per_person}
        schema = Schema(schema.features, classes=schema.classes, target=schema.target, label="label", **of_persons)
    return schema, pa.table({**columns, schema.label: _plain(y)})


def typed(schema, table):
    """The same with a type for each column: one without any value has none yet."""
    listed = {name: own.values for name, own in schema.features.items() if isinstance(own, Categorical)}
    listed[schema.label] = schema.classes
    for place, own in enumerate(table.schema):
        if pa.types.is_null(own.type):
            values = listed.get(own.name)
            kind = pa.array(values).type if values else pa.int64() if own.name == schema.person else pa.float64()
            table = table.set_column(place, own.name, table.column(place).cast(kind))
    return schema, table


def _plain(column):
    return column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(np.asarray(column).tolist())
