"""Output files: written whole or not at all, and never over something by accident."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from privet.cli.facts import for_programs
from privet.cli.screen import say
from privet.disk import whole_file
from privet.errors import PrivetError

ROWS = (".csv", ".parquet", ".pq")
"""What files with rows end in."""


def check_output(path: Path, force: bool, *inputs: Path, suffixes: tuple[str, ...] = ()) -> Path:
    """The file to write to, with links followed; an error, before any work, if it cannot or must not be written."""
    target = path.resolve()
    if suffixes and target.suffix.lower() not in suffixes:
        raise PrivetError(f"{path} must end in {' or '.join(suffixes)}")
    if not target.parent.is_dir():
        raise PrivetError(f"{path}: there is no folder {path.parent}; make it first")
    if not os.access(target.parent, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise PrivetError(f"{path} cannot be written: you have no right to; choose another place")
    if not target.exists():
        return target
    if not target.is_file():
        raise PrivetError(f"{path} is not a file; give the name of one")
    if any(target.samefile(other) for other in inputs):
        raise PrivetError(f"{path} is also read by this command; write somewhere else")
    if not force:
        raise PrivetError(f"{path} exists; --force overwrites it")
    return target


def rows_to(path: Path | None, tables: Iterable[Any]) -> None:
    """Write Arrow tables one below the other: as Parquet or CSV by the file's suffix, or as CSV to stdout.

    Who has them in a file is told how many rows it has.
    """
    if path is None and for_programs():
        say(rows=[row for table in tables for row in table.to_pylist()])
        return
    if path is None:
        _write_csv(sys.stdout.buffer, tables)
        sys.stdout.flush()
        return
    with whole_file(path) as part, part.open("wb") as file:
        n = (_write_csv if path.suffix.lower() == ".csv" else _write_parquet)(file, tables)
    say(f"Wrote {n:,} rows to {path}.", file=path, n_rows=n)


def _write_csv(file: Any, tables: Iterable[Any]) -> int:
    import pyarrow.csv as pc

    n = 0
    for i, table in enumerate(tables):
        pc.write_csv(table, file, _quoting(table, header=i == 0))
        n += len(table)
    return n


def _write_parquet(file: Any, tables: Iterable[Any]) -> int:
    import pyarrow.parquet as pq

    rows = iter(tables)
    first = next(rows)
    n = 0
    with pq.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], rows):
            writer.write_table(table)
            n += len(table)
    return n


def _quoting(table: Any, *, header: bool) -> Any:
    """CSV without quotes, unless a text has to have them: Arrow knows only all or none."""
    import pyarrow.csv as pc
    import pyarrow.types as pt

    texts = {*table.column_names}.union(*(c.unique().to_pylist() for c in table.columns if pt.is_string(c.type)))
    style = "needed" if any(not text or set(text) & set(',"\r\n') for text in texts) else "none"
    return pc.WriteOptions(include_header=header, quoting_style=style, quoting_header=style)
