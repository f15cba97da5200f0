"""Data that do not fit their schema, in coarse words, for whoever holds them: before anything is spent.

What the schema allows is not always what was meant. A category "F" where the schema lists "f" is an unlisted one; a
height in centimetres, where the schema has metres, is clamped. Both are legal, and the budget would go for nothing.

The words depend on records, so they are outside the guarantee: for the eyes of the data's holder, on a terminal. They
name a column and say "all", "most" or "many"; never a value, a number, or how many exactly. Nothing here is logged,
sent, or kept in a model, and where nobody sits at a terminal nothing is said unless somebody asks (``check_data``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.schema import Categorical, Numeric, Schema
from privet.schema_values import kind_of
from privet.tables.column import encode, numbers, open_column
from privet.tables.files import Files, names_files, naming, one_table
from privet.tables.table import Table, one_dimensional, open_frame, read_labels, read_table
from privet.tables.unlisted import unlisted_words

_SHARES = ((0.999, "all"), (0.5, "most"), (0.05, "many"))
"""From these shares on, a column is said to have such values in all, most or many records."""

_MOST_LOOKED_AT = 200_000
"""Records that are looked at, evenly spread: enough for words as coarse as these."""


@dataclass(frozen=True)
class Misfit:
    """A column that does not fit, and in which way."""

    column: str
    words: str

    def __str__(self) -> str:
        return f"column {self.column!r}: {self.words}"


def check_data(X: Any, y: Any, schema: Schema) -> list[Misfit]:
    """The columns of a table with many values that the schema does not list, or outside its ranges.

    For whoever holds the records: what it answers depends on them. ``y`` may be None. Of files that ``X`` names, some
    records are looked at. Raises SchemaError for data that the schema does not allow at all.
    """
    if names_files(X):
        X, y = _with_label(_files(X, schema).some(), schema)
    table = read_table(X, schema)
    found = [misfit for name in schema.names for misfit in _misfits(table, name)]
    if y is not None and schema.classes is not None:
        read_labels(y, schema)
    if y is not None and schema.target is not None:
        targets = _some(numbers(open_column(one_dimensional(y), "the target"), "the target"))
        found += _outside("the target", targets, *schema.target)
    if found and open_frame(X) is None and len(schema.columns) > 1:
        order = "an array has no names, so columns are taken by position: is their order the schema's?"
        found.append(Misfit("X", order))
    return found


def check_files(where: Any, schema: Schema) -> list[Misfit]:
    """The same of files of any size: all records are read for what is not allowed at all, a batch at a time."""
    files = _files(where, schema)
    step, some = max(1, files.n // _MOST_LOOKED_AT), []
    for stretch in files.stretches:
        with naming(stretch.file.path):
            for batch in files.batches(stretch):
                check_data(*_with_label(batch, schema), schema)
                some.append(batch.take(np.arange(0, len(batch), step)))
    X, y = _with_label(one_table(some), schema)
    return check_before_predicting(X, schema, y)


def _files(where: Any, schema: Schema) -> Files:
    return Files(where, schema, columns=None if schema.label else schema.columns)


def _with_label(table: Any, schema: Schema) -> tuple[Any, Any]:
    return table, table.column(schema.label) if schema.label else None


def tell_misfits(X: Any, y: Any, schema: Schema) -> None:
    """Say what does not fit to whoever sits at the terminal; where there is none, nothing is even looked at.

    A notebook is kept, and handed round: there whoever fits is told once how to ask, whatever the records are.
    """
    if not sys.stderr.isatty():
        if "ipykernel" in sys.modules:
            _tell_how_to_ask()
        return
    for misfit in check_data(X, y, schema):
        print(f"warning: {misfit}", file=sys.stderr)


def check_before_predicting(X: Any, schema: Schema, y: Any = None) -> list[Misfit]:
    """``check_data``, and columns where a value is a listed one but for capitals or spaces, or where none is listed.

    How many there are is told: the promise does not cover rows to be predicted, and a mistake is costly.
    """
    found, table = check_data(X, y, schema), read_table(X, schema)
    told = {own.column for own in found}
    for name, feature in schema.features.items():
        if isinstance(feature, Categorical) and name not in told:
            opened = open_column(table.raw(name), f"column {name!r}")
            words = unlisted_words(opened, table.codes(name), feature.values)
            found += [Misfit(name, words)] if words else []
    return found


def tell_before_predicting(X: Any, schema: Schema) -> None:
    """Say on stderr what does not fit."""
    for misfit in check_before_predicting(X, schema):
        print(f"warning: {misfit}", file=sys.stderr)


@cache
def _tell_how_to_ask() -> None:
    print(
        "In a notebook, fit does not say whether the data fit the schema: privet.check_data(X, y, schema) does. What "
        "it says depends on the records, and stays in the notebook unless its output is cleared.",
        file=sys.stderr,
    )


def refuse_misfits(X: Any, y: Any, schema: Schema) -> None:
    """Raise SchemaError if something does not fit."""
    refuse(check_data(X, y, schema))


def refuse(found: Sequence[Misfit]) -> None:
    if found:
        raise SchemaError("these data do not fit the schema; " + "; ".join(map(str, found)))


def _misfits(table: Table, name: str) -> Iterator[Misfit]:
    feature = table.schema.features[name]
    if isinstance(feature, Numeric):
        values = _some(table.numeric(name))
        yield from _outside(name, values, feature.low, feature.high)
        inside = values[~np.isnan(values)]
        if feature.integer and not feature.mean_of and (word := _word(inside != np.rint(inside))):
            yield Misfit(name, f"{word} values are no whole numbers, and the schema says integer")
        return
    unlisted = _some(table.codes(name)) == len(feature.values)
    if word := _word(unlisted):
        yield Misfit(
            name,
            f"{word} values are missing or not listed, and count as 'any other value'{_hint(table, name, feature)}",
        )


def _outside(name: str, values: np.ndarray, low: float, high: float) -> Iterator[Misfit]:
    ends = f"its range, {low:g} to {high:g},"
    for outside, where in ((values < low, "below"), (values > high, "above")):
        if word := _word(outside):
            yield Misfit(
                name,
                f"{word} values are {where} {ends} and become its nearest end; is the unit the same, is the "
                "range too narrow, or has a step before this one, such as a scaler, changed the numbers?",
            )


def _hint(table: Table, name: str, feature: Categorical) -> str:
    """Whether small and capital letters, or spaces around, are all that keeps many values from being listed."""
    import pyarrow as pa

    if kind_of(feature.values) != "text":
        return ""
    column = open_column(table.raw(name), f"column {name!r}")
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        return ""
    some = column.take(_some(np.arange(len(column)))).to_pylist()
    values = np.array([str(value) for value in some if value is not None])
    unlisted = values[~np.isin(values, feature.values)]
    for likeness, what in ((_stripped, "spaces around them"), (_folded, "small or capital letters and spaces")):
        alike = encode(open_column(likeness(unlisted), name), tuple(likeness(np.array(feature.values))), name)
        if _word(alike < len(feature.values)):
            return f"; {what} seem to be all that is different"
    return ""


def _stripped(values: np.ndarray) -> np.ndarray:
    return np.char.strip(values.astype(str))


def _folded(values: np.ndarray) -> np.ndarray:
    return np.char.lower(_stripped(values))


def _some(values: np.ndarray) -> np.ndarray:
    """A few of many, evenly spread."""
    return values[:: max(1, len(values) // _MOST_LOOKED_AT)]


def _word(flags: np.ndarray) -> str:
    """How many, coarsely; nothing if it is few, or if there are none."""
    share = float(np.mean(flags)) if len(flags) else 0.0
    return next((word for least, word in _SHARES if share >= least), "")
