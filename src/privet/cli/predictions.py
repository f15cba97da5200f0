"""Predictions for files of any size: a few batches at a time, on all cores, in the files' order."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from privet.curators.scratch import Scratch
from privet.errors import DataWarning, PrivetError, SchemaError
from privet.progress import Progress
from privet.tables.column import attempt
from privet.tables.draft import listed
from privet.tables.files import Files, cores, naming
from privet.tables.misfit import check_before_predicting, refuse, tell_before_predicting
from privet.tables.table import column_names


def predictions(
    model: Any, files: Sequence[Path], id_column: str | None, *, proba: bool, strict: bool
) -> Iterator[pa.Table]:
    """What a model says of each record, with its id before that if a column is named.

    Tables to be put one below the other; the first has no records.
    """
    scratch, schema = Scratch().folder, model.schema_
    records = Files(files, schema, columns=schema.columns, scratch=scratch)
    present = [] if id_column is None else column_names(files[0])
    if id_column is not None and id_column not in present:
        raise SchemaError(f"there is no column {id_column!r} for --id; it has: {listed(present)}")
    ids = None if id_column is None else Files(files, schema, columns=[id_column], scratch=scratch, raw=True)
    kind = _predicted(model, records.empty(), proba).schema
    if ids is not None:
        if id_column in kind.names:
            raise PrivetError(f"the predictions already have a column {id_column!r}; rename it in the data")
        kind = pa.schema([*ids.empty().schema, *kind])
    if strict:
        refuse(check_before_predicting(records.some(), schema))
    with suppress(SchemaError):  # it is said below, with the name of the file
        tell_before_predicting(records.some(), schema)
    warnings.simplefilter("ignore", DataWarning)  # it was said
    yield kind.empty_table()
    waiting: deque[Future[pa.Table]] = deque()
    with Progress(None, "Predicting", records.size) as bar, ThreadPoolExecutor(cores()) as pool:
        for path, size, table, own_ids in _batches(records, ids):
            waiting.append(pool.submit(_rows, model, path, table, own_ids, proba, kind))
            bar.advance(size)
            if len(waiting) > 2 * cores():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _batches(records: Files, ids: Files | None) -> Iterator[tuple[Path, float, pa.Table, pa.Table | None]]:
    """The records with their ids, each batch with its file and how many bytes it was there, about."""
    for i, stretch in enumerate(records.stretches if records.n else ()):
        own = None if ids is None else pa.concat_tables(ids.batches(ids.stretches[i], threads=True))
        start = 0
        for table in records.batches(stretch, threads=True):
            size = stretch.size * len(table) / stretch.n
            yield stretch.file.path, size, table, None if own is None else own.slice(start, len(table))
            start += len(table)


def _rows(model: Any, path: Path, table: pa.Table, ids: pa.Table | None, proba: bool, kind: pa.Schema) -> pa.Table:
    with naming(path):
        found = _predicted(model, table, proba)
        rows = found if ids is None else pa.table([*ids.columns, *found.columns], names=kind.names)
        rows = attempt(rows.cast, kind)
        if rows is None:
            raise SchemaError(f"column {kind.names[0]!r} has another type than in the first file")
        return rows


def _predicted(model: Any, table: pa.Table, proba: bool) -> pa.Table:
    columns = {"prediction": pa.array(model.predict(table))}
    if proba:
        if model.schema_.classes is None:
            raise PrivetError("this model predicts numbers: there are no classes to give probabilities of")
        shares = model.predict_proba(table)  # refused where labels alone were released
        columns |= {f"probability_{name}": pa.array(shares[:, k]) for k, name in enumerate(model.classes_)}
    return pa.table(columns)
