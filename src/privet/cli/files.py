"""Output files: written whole or not at all, and never over something by accident."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from privet.disk import whole_file
from privet.errors import PrivetError


def check_output(path: Path, force: bool, *inputs: Path, suffixes: tuple[str, ...] = ()) -> Path:
    """The file to write to, with links followed; an error, before any work, if it cannot or must not be written."""
    target = path.resolve()
    if suffixes and target.suffix.lower() not in suffixes:
        raise PrivetError(f"{path} must end in {' or '.join(suffixes)}")
    if not target.parent.is_dir():
        raise PrivetError(f"{path}: there is no folder {path.parent}; make it first")
    if not target.exists():
        return target
    if not target.is_file():
        raise PrivetError(f"{path} is not a file; give the name of one")
    if any(target.samefile(other) for other in inputs):
        raise PrivetError(f"{path} is also read by this command; write somewhere else")
    if not force:
        raise PrivetError(f"{path} exists; --force overwrites it")
    return target


def rows_to(path: Path | None, table: Any) -> None:
    """Write an Arrow table as Parquet or CSV by the file's suffix, or as CSV to stdout."""
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if path is None:
        pc.write_csv(table, sys.stdout.buffer, _quoting(table))
        sys.stdout.flush()
        return
    with whole_file(path) as part:
        if path.suffix.lower() == ".csv":
            pc.write_csv(table, part, _quoting(table))
        else:
            pq.write_table(table, part)


def _quoting(table: Any) -> Any:
    """CSV without quotes, unless a text has to have them: Arrow knows only all or none."""
    import pyarrow.csv as pc
    import pyarrow.types as pt

    texts = {*table.column_names}.union(*(c.unique().to_pylist() for c in table.columns if pt.is_string(c.type)))
    style = "needed" if any(not text or set(text) & set(',"\r\n') for text in texts) else "none"
    return pc.WriteOptions(quoting_style=style, quoting_header=style)
