"""Rows of a table taken, joined and overwritten, whatever kind of table it is: arrays, and all that narwhals knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from privet.errors import PrivetError


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """These rows, in this order, as a table of the same kind."""
    frame = _frame(X)
    return np.asarray(X)[rows] if frame is None else nw.to_native(frame[np.asarray(rows).tolist()])


def joined(X: Any, more: Any) -> Any:
    """The rows of one table, then those of another with the same columns."""
    frame = _frame(X)
    if frame is None:
        return np.concatenate([np.asarray(X), np.asarray(more)])
    return nw.to_native(nw.concat([frame, nw.from_native(more, eager_only=True)], how="vertical"))


def mosaic(X: Any, rows: np.ndarray) -> Any:
    """A table of the same kind: column c has in line i the value of row ``rows[i, c]``."""
    frame = _frame(X)
    if frame is None:
        return np.asarray(X)[rows, np.arange(np.shape(X)[1])]
    lines = frame[rows[:, 0].tolist()]
    return nw.to_native(lines.with_columns(*(frame[name][rows[:, c].tolist()] for c, name in enumerate(frame.columns))))


def overwritten(X: Any, values: Mapping[Any, Any]) -> Any:
    """A copy in which every row has these values, by the columns' names; in arrays by their numbers."""
    frame = _frame(X)
    columns = range(np.shape(X)[1]) if frame is None else frame.columns
    for name in values:
        if name not in columns:
            raise PrivetError(f"A trigger names the column {name!r}, which the table has not.")
    if frame is None:
        changed = np.array(X)
        for column, value in values.items():
            changed[:, column] = value
        return changed
    return nw.to_native(
        frame.with_columns(**{str(name): nw.lit(value).cast(frame[name].dtype) for name, value in values.items()})
    )


def numbers_of(X: Any) -> np.ndarray:
    """The table as an array of numbers: texts and truth values by the order of their sorted values."""
    frame = _frame(X)
    columns = np.asarray(X).T if frame is None else [frame[name].to_numpy() for name in frame.columns]
    numbers = [
        np.unique(column.astype(str), return_inverse=True)[1] if column.dtype.kind not in "iuf" else column
        for column in map(np.asarray, columns)
    ]
    return np.column_stack(numbers).astype(float)


def _frame(X: Any) -> Any:
    """A data frame, or None for an array."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None
