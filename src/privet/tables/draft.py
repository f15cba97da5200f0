"""A first schema, read off the data: a draft to be confirmed, never a private answer.

Every field comes out ``inferred``, which voids receipts until somebody has looked it up in public
documentation. A draft shows real ranges and values, so it is as confidential as the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from privet.errors import SchemaError
from privet.schema import DEFAULT_RECORDS_PER_PERSON, Categorical, Numeric, Schema
from privet.schema_file import nearest
from privet.schema_values import MOST_CATEGORIES, Value
from privet.tables.column import has_missing, kind_of_column, numbers, open_column
from privet.tables.csv_file import csv_columns, csv_header, empty_is_missing
from privet.tables.identifiers import looks_like_people
from privet.tables.table import (
    check_finite,
    is_parquet,
    one_dimensional,
    open_array,
    open_frame,
    parquet_columns,
)

Task = Literal["classification", "regression"]

MANY_CATEGORIES = 1000
FEW_CLASSES = 20
"""Whole-number labels with at most this many values are taken as classes."""

_NEARLY_ALL = 0.95
_NAMED = 30
DECIMAL_COMMA = "Numbers with a decimal comma? Replace it by a point: as text they are categories, one for each value."
_NUMBER_FOR_MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")


def infer(X: Any, y: Any, label: str | None = None, *, task: Task | None = None) -> Schema:
    """Read a schema off the records, with every field ``inferred``.

    Numbers get their smallest and largest value, everything else its sorted values. Arrays get the
    names x0, x1 and so on. Without ``task``, labels with a fraction mean regression. NaN and infinity
    are refused, since an inferred range could not say what they mean.
    """
    frame = open_frame(X)
    if frame is not None:
        names, shape = list(frame.columns), (len(frame), len(frame.columns))
        column: Callable[[int], Any] = lambda i: frame.get_column(names[i])  # noqa: E731
    else:
        array = open_array(X)
        names, shape = [f"x{i}" for i in range(array.shape[1])], array.shape
        column = lambda i: array[:, i]  # noqa: E731
    for found, what in ((shape[1], "feature"), (shape[0], "sample")):
        if not found:
            raise SchemaError(
                f"0 {what}(s) (shape=({shape[0]}, {shape[1]})) while a minimum of 1 is required: "
                "there is nothing to infer a schema from"
            )
    features = {name: _infer_field(column(i), f"column {name!r}") for i, name in enumerate(names)}
    opened = open_column(one_dimensional(y), "the label")
    if has_missing(opened):
        raise SchemaError("the label contains NaN or missing values; leave these records out")
    kind = kind_of_column(opened, "the label")
    if kind == "nothing":
        raise SchemaError("the label has 0 sample(s) while a minimum of 1 is required to infer a schema")
    if kind == "numbers":
        values = _finite(opened, "the label")
        fractions = bool((values != np.floor(values)).any())
        if task == "regression" or (task is None and fractions):
            return Schema(features, target=(values.min(), values.max()), label=label, inferred=True)
        if fractions:
            raise SchemaError("Unknown label type: continuous; a classifier needs classes, so use a regressor")
    elif task == "regression":
        raise SchemaError("the label must hold numbers for regression; use a classifier")
    return Schema(features, classes=_distinct(opened), label=label, inferred=True)


def draft_toml(path: str | Path, label: str, task: Task | None = None) -> str:
    """Draft a schema for a CSV or Parquet file, as commented TOML that `Schema.from_toml` reads.

    Each field says ``inferred = true`` until the user deletes that line. Columns that could not be a
    feature as they are (empty, dates, text that differs in nearly every record) are left out, with a
    comment that says why. The first that looks like an identifier of people is proposed as the person,
    and no such column is a feature. A CSV value such as 001 stays text.
    """
    import pyarrow as pa

    path = Path(path)
    as_text = not is_parquet(path)
    table = csv_columns(path, dict.fromkeys(csv_header(path), pa.string())) if as_text else parquet_columns(path)
    if label not in table.column_names:
        hint = nearest(label, table.column_names) or f"; it has {listed(table.column_names)}"
        raise SchemaError(f"{path} has no column {label!r}{hint}")
    if not table.num_rows:
        raise SchemaError(f"{path} has no records, so there is nothing to draft from")
    others = [name for name in table.column_names if name != label]
    people = [name for name in others if looks_like_people(name, len(table.column(name).unique()))]
    blocks = [_HEAD, _label_block(table.column(label), label, task, as_text), *map(_person_block, people[:1])]
    for name in others:
        note = _PEOPLE if name in people else _look(table.column(name), name, as_text)
        blocks.append(_feature_block(name, note))
    return "\n".join(blocks)


def listed(names: Sequence[str]) -> str:
    """The columns of a file, for a message: the first of many."""
    return ", ".join([*names[:_NAMED], *([f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else [])])


def _person_block(name: str) -> str:
    remarks = (
        "Looks like an identifier of people: the promise then covers a person with all their records.",
        "Delete this table if each person has one row, or if the promise is to cover rows and not people.",
        "records: how many records of one person count at most; a public choice, not read off the data.",
    )
    return _block("person", {"name": name, "records": DEFAULT_RECORDS_PER_PERSON}, remarks)


_HEAD = """\
# A draft, read off the data: keep it as confidential as the data until it is confirmed.
#
# Ranges, categories and classes count as public, so they must not come from the records.
# For each field below:
#   1. look its range or values up in public documentation (a codebook, a law, a form), not in the data;
#   2. correct them;
#   3. delete its line "inferred = true".
# While one such line is left, every receipt is void. Ranges end at round figures, which are a guess: a value of a
# record may be one of them. Has a number no public end? Take a range outside of which you no longer care: values beyond
# it count as its end.
#
# Does a column say whose record it is, and may one person have several rows? Name it under [person]: no feature.
# Is a column known only after what you want to predict? It gives the answer away: delete it.
"""


@dataclass(frozen=True)
class _Note:
    """What a column looks like: a field, or None if it should be left out, and what to say about it."""

    field: Numeric | Categorical | None
    remarks: tuple[str, ...]


_PEOPLE = _Note(None, ("Looks like an identifier of people: never a feature.",))


def _infer_field(data: Any, where: str) -> Numeric | Categorical:
    opened = open_column(data, where)
    listed = not isinstance(opened, np.ndarray) and _is_dictionary(opened)
    kind = kind_of_column(opened, where)
    if kind == "nothing" or (kind == "numbers" and not listed):
        return _numeric(_finite(opened, where), integer=_is_integer(opened))
    values = _distinct(opened)
    if len(values) > MOST_CATEGORIES:
        raise SchemaError(f"{where} has more than {MOST_CATEGORIES:,} categories; leave the column out")
    return Categorical(values, inferred=True)


def _numeric(values: Any, *, integer: bool, missing: bool = False) -> Numeric:
    low, high = float(values.min()), float(values.max())
    integer = integer and max(abs(low), abs(high)) <= 2**53
    return Numeric(low, high, integer=integer, missing=missing, inferred=True)


def _finite(opened: Any, where: str) -> Any:
    values = numbers(opened, where)
    check_finite(values, where, missing=False, instead="write a schema that allows them")
    return values


def _is_integer(opened: Any) -> bool:
    if isinstance(opened, np.ndarray):
        return opened.dtype.kind in "iu"
    import pyarrow.types as pt

    return bool(pt.is_integer(opened.type))


def _is_dictionary(opened: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_dictionary(opened.type))


def _distinct(opened: Any) -> tuple[Value, ...]:
    """The different values, sorted, without missing ones."""
    if isinstance(opened, np.ndarray):
        return tuple(np.unique(opened).tolist())
    if _is_dictionary(opened):
        opened = opened.cast(opened.type.value_type)
    return tuple(sorted(cast("list[Any]", opened.unique().drop_null().to_pylist())))


def _typed(column: Any, as_text: bool) -> tuple[Any, tuple[str, ...]]:
    """A CSV column, which comes as text, as the type its values look like."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not as_text:
        return column, ()
    present = pc.if_else(pc.is_in(column, pa.array(_NUMBER_FOR_MISSING)), pa.scalar(None, pa.string()), column)

    def all_match(pattern: str) -> bool:
        return pc.all(pc.match_substring_regex(present, pattern)).as_py() is True

    if all_match(r"^(true|false|True|False|TRUE|FALSE)$"):
        return pc.equal(pc.utf8_lower(present), "true"), ()
    if all_match(r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"):
        if pc.any(pc.match_substring_regex(present, r"^-?0[0-9]")).as_py():
            remark = "Digits with leading zeros, so probably a code: kept as text."
            return empty_is_missing(column), (remark,)
        if all_match(r"^-?[0-9]{1,15}$"):
            return pc.cast(present, pa.int64()), ()
        return pc.cast(present, pa.float64()), ()
    if all_match(r"^-?[0-9.' ]*[0-9],[0-9]+$"):
        return empty_is_missing(column), (DECIMAL_COMMA,)
    return empty_is_missing(column), ()


def _look(column: Any, name: str, as_text: bool) -> _Note:
    if not name:
        return _Note(None, ("A column without a name: left out. Probably row numbers.",))
    column, remarks = _typed(column, as_text)
    try:
        kind = kind_of_column(column, name)
    except SchemaError:
        return _Note(None, ("Neither numbers, text nor booleans: left out. Convert it to use it.",))
    if kind == "nothing":
        return _Note(None, ("No value at all: left out.",))
    if kind == "numbers" and not _is_dictionary(column):
        return _look_at_numbers(column, name, remarks)
    return _look_at_categories(column, remarks)


def _look_at_numbers(column: Any, name: str, remarks: tuple[str, ...]) -> _Note:
    values = numbers(column, name)
    known = values[np.isfinite(values)]
    if np.isinf(values).any():
        remarks += ("Contains infinity, which is an error when training: replace it.",)
    if not len(known):
        return _Note(None, (*remarks, "No finite number: left out."))
    missing = bool(np.isnan(values).any())
    integer = _is_integer(column)
    distinct = len(np.unique(known))
    if distinct == 1:
        remarks += ("Constant in these records: useless, unless other records differ.",)
    elif integer and _mostly_distinct(distinct, len(known)):
        remarks += ("Nearly every value differs: if it is an identifier, delete this feature.",)
    elif integer and distinct <= 10:
        remarks += ("Few different values: if they are codes, not quantities, use values = [...] instead.",)
    if missing:
        remarks += ("Some values are missing.",)
    return _Note(_numeric(known, integer=integer, missing=missing), remarks)


def _look_at_categories(column: Any, remarks: tuple[str, ...]) -> _Note:
    values = _distinct(column)
    known = len(column) - column.null_count
    if _mostly_distinct(len(values), known):
        return _Note(None, (*remarks, "Nearly every value differs, as in an identifier: left out."))
    if len(values) > MOST_CATEGORIES:
        return _Note(None, (*remarks, f"More than {MOST_CATEGORIES:,} categories: left out. Group them first."))
    if len(values) > MANY_CATEGORIES:
        remarks += (f"More than {MANY_CATEGORIES:,} categories: group them, or list only the usual ones.",)
    if len(values) == 1:
        remarks += ("Constant in these records: useless, unless other records differ.",)
    if column.null_count:
        remarks += ("Some values are missing: they count as other.",)
    return _Note(Categorical(values, inferred=True), remarks)


def _mostly_distinct(distinct: int, known: int) -> bool:
    return known >= 20 and distinct >= _NEARLY_ALL * known


def _label_block(column: Any, label: str, task: Task | None, as_text: bool) -> str:
    column, remarks = _typed(column, as_text)
    kind = kind_of_column(column, f"the label {label!r}")
    if kind == "nothing":
        raise SchemaError(f"the label {label!r} has no values")
    entry: dict[str, Any] = {"name": label}
    if has_missing(column):
        remarks += ("Some labels are missing, which is an error when training: remove these records.",)
    values = [v for v in _distinct(column) if v == v]
    if task is None and kind == "numbers":
        whole = len(values) <= FEW_CLASSES and all(v == int(v) for v in values)
        task = "classification" if whole else "regression"
        instead = "target = [low, high]" if whole else "classes = [...]"
        taken = "classes" if whole else "amounts to predict"
        remarks += (f"Numbers, taken as {taken}; if that is wrong, write {instead} instead.",)
    if task == "regression":
        if kind != "numbers":
            raise SchemaError(f"the label {label!r} must hold numbers for regression; use classification")
        entry["target"] = list(outward(float(min(values)), float(max(values))))
        remarks += (
            "Targets outside the range count as its ends: a narrow range is worse for these and better for all others.",
        )
    else:
        entry["classes"] = values
        if len(values) > MANY_CATEGORIES:
            raise SchemaError(f"the label {label!r} has more than {MANY_CATEGORIES:,} classes; is it a number?")
        if len(values) == 1:
            remarks += ("There is only one class in these records: add the others.",)
    return _block("label", entry | {"inferred": True}, remarks)


def _feature_block(name: str, note: _Note) -> str:
    key = f"features.{_toml_key(name)}"
    if note.field is None:
        return _block(key, {}, note.remarks, left_out=True)
    if isinstance(note.field, Categorical):
        entry: dict[str, Any] = {"values": list(note.field.values), "other": True}
        if not any("missing" in remark for remark in note.remarks):
            remark = "Is the list complete? Then write other = false: noise has one value less to choose."
            return _block(key, entry | {"inferred": True}, (*note.remarks, remark))
    else:
        ends = outward(note.field.low, note.field.high)
        entry = dict(zip(("low", "high"), map(int, ends) if note.field.integer else ends))
        entry |= {flag: True for flag in ("integer", "missing") if getattr(note.field, flag)}
        if not note.field.missing:
            remark = "May rows that you predict one day have empty cells here? Then add missing = true."
            return _block(key, entry | {"inferred": True}, (*note.remarks, remark))
    return _block(key, entry | {"inferred": True}, note.remarks)


def _block(key: str, entry: dict[str, Any], remarks: tuple[str, ...], *, left_out: bool = False) -> str:
    lines = [f"# [{key}]" if left_out else f"[{key}]", *(f"# {remark}" for remark in remarks)]
    for name, value in entry.items():
        comment = "  # confirmed in public documentation? Then delete this line" if name == "inferred" else ""
        lines += [f"{name} = {_toml_value(value)}{comment}"]
    return "\n".join(lines) + "\n"


def outward(low: float, high: float) -> tuple[float, float]:
    """A range that is a little wider, with round ends: no draft should show the smallest and the largest value.

    >>> outward(0.42, 80.0), outward(-8019.0, 102127.0), outward(3.0, 3.0)
    ((0.0, 80.0), (-10000.0, 110000.0), (3.0, 3.0))
    """
    if not 0 < high - low < math.inf:
        return low, high
    power = math.floor(math.log10(high - low) - math.log10(2))
    step = 10.0 ** abs(power)  # divided by where it is below one, so that the ends are the nearest to round numbers
    if power < 0:
        return math.floor(low * step) / step, math.ceil(high * step) / step
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _toml_key(name: str) -> str:
    import tomli_w

    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def _toml_value(value: Any) -> str:
    """A value in TOML; a list is wrapped instead of spread over a line for each item."""
    import tomli_w

    if not isinstance(value, list):
        return tomli_w.dumps({"_": value}).removeprefix("_ = ").removesuffix("\n")
    items = [_toml_value(item) for item in value]
    short = f"[{', '.join(items)}]"
    return short if len(short) < 90 else "[\n" + "\n".join(_wrapped(items)) + "\n]"


def _wrapped(items: list[str]) -> Iterator[str]:
    line = "   "
    for item in items:
        if len(line) + len(item) > 100 and line.strip():
            yield line
            line = "   "
        line += f" {item},"
    yield line
