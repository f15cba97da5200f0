"""Two neighbouring tables: what a guarantee is about, and so what an audit needs."""

from __future__ import annotations

import json
import math
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.schema import Schema

Table = tuple[Any, Any]
Record = tuple[Any, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """Two tables ``(X, y)`` that differ by exactly one record that one has and the other has not; the order is free.

    ``X`` may be whatever the audited estimator takes: a data frame or an array. With a ``schema`` that names a person,
    they are data frames with that column and differ by one person, with all their records; ``record`` is one of them.

    >>> pair = Pair(one=([[1, 5], [2, 6]], [0, 1]), other=([[2, 6]], [1]))
    >>> pair.record, pair.larger
    ((1, 5, 0), 'one')
    """

    one: Table
    other: Table
    schema: Schema | None = None
    larger: str = field(init=False)
    record: Record = field(init=False)

    def __post_init__(self) -> None:
        if isinstance(self.schema, str):
            raise PrivetError(
                "An audit needs a Schema, not schema='infer': what is read off the records is public at once, so there "
                "is no guarantee to test."
            )
        self._keep_checked_columns()
        one, other = Counter(self.records("one")), Counter(self.records("other"))
        more, less = one - other, other - one
        if self.schema is not None and self.schema.person is not None:
            _check_person(more or less, other if more else one, both=bool(more and less))
        elif more.total() + less.total() != 1:
            raise PrivetError(_how_far(more.total(), less.total()))
        larger = "one" if more else "other"
        object.__setattr__(self, "larger", larger)
        object.__setattr__(self, "record", next(iter(more or less)))

    def _keep_checked_columns(self) -> None:
        """Pass on what is compared and nothing else: an estimator would see columns that the tables do not share."""
        frames = {which: _frame(table_of(self, which)[0]) for which in ("one", "other")}
        named = {which: frame for which, frame in frames.items() if frame is not None}
        if self.schema is not None and self.schema.person is not None and len(named) < 2:
            raise PrivetError("A pair of tables of persons needs data frames: an array has no column for the person.")
        widths = {_width(table_of(self, which)[0]) for which in frames if which not in named} - {None}
        if len(widths) > 1:
            raise PrivetError("The two tables are not neighbours: they have different numbers of columns.")
        if self.schema is None and len(named) == 1:
            raise PrivetError("The two tables are not neighbours: the columns of only one of them have names.")
        for which, frame in named.items():
            columns = list(_columns(self.schema) if self.schema is not None else named["one"].columns)
            missing = not set(columns) <= set(frame.columns)
            if missing or (self.schema is None and len(columns) < len(frame.columns)):
                raise PrivetError("The two tables are not neighbours: their columns have different names.")
            if list(frame.columns) != columns:
                object.__setattr__(self, which, (frame.select(columns).to_native(), table_of(self, which)[1]))

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The columns that count, if they have names: the schema's, or those of the table ``one``."""
        frame = _frame(self.one[0])
        if frame is None:
            return None
        return _columns(self.schema) if self.schema is not None else tuple(frame.columns)

    def records(self, which: str) -> list[Record]:
        """The rows of a table, each with its label at the end."""
        X, y = table_of(self, which)
        frame, labels = _frame(X), [_plain(label) for label in _listed(y)]
        if frame is None:
            rows = [tuple(map(_plain, _listed(row))) for row in _listed(X)]
        else:
            rows = list(zip(*(map(_plain, frame.get_column(name).to_list()) for name in self.columns or ())))
        if len(rows) != len(labels):
            raise PrivetError(f"Table {which!r} has {len(rows)} rows and {len(labels)} labels.")
        return [(*row, label) for row, label in zip(rows, labels)]

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.records("one")), len(self.records("other"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which ``from_dict`` makes an equal pair. Missing values are None."""
        schema = None if self.schema is None else self.schema.to_dict()
        columns = None if self.columns is None else list(self.columns)
        tables = {which: [list(record) for record in self.records(which)] for which in ("one", "other")}
        return {"schema": schema, "columns": columns, **tables}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Pair:
        """Read a pair. With column names its tables are Arrow tables, without they are arrays."""
        schema = None if data.get("schema") is None else Schema.from_dict(data["schema"])
        columns = data.get("columns")
        width = max((len(record) - 1 for record in [*data["one"], *data["other"]]), default=1)
        return cls(table(data["one"], columns, schema, width), table(data["other"], columns, schema, width), schema)

    @classmethod
    def from_json(cls, text: str) -> Pair:
        return cls.from_dict(json.loads(text))

    def code(self) -> str:
        """Python that makes this pair again."""
        return f"from privet.audit import Pair\n\npair = Pair.from_json({self.to_json()!r})\n"

    def __repr__(self) -> str:
        return f"Pair({self.sizes[0]} and {self.sizes[1]} records, {self.larger!r} has {self.record!r} more)"


def pair_of(pair: Any) -> Pair:
    """A pair as it is; two tables as a pair."""
    if isinstance(pair, Pair):
        return pair
    if isinstance(pair, list | tuple) and len(pair) == 2:
        return Pair(*pair)
    raise PrivetError(f"An audit needs a Pair of two tables (X, y); got {type(pair).__name__}.")


def fresh(table: Table) -> Table:
    """A copy of a table: what an estimator does to its data in one run must not be seen in the next."""
    return _copied(table[0]), _copied(table[1])


def _copied(values: Any) -> Any:
    if isinstance(values, list | tuple):
        return deepcopy(values)
    return values.copy() if hasattr(values, "copy") else values  # tables of Arrow and Polars cannot be changed


def table_of(pair: Pair, which: str) -> Table:
    try:
        X, y = getattr(pair, which)
    except (TypeError, ValueError):
        raise PrivetError("A table is a pair (X, y): a data frame or an array, and its labels.") from None
    return X, y


def table(records: list[Any], columns: Any = None, schema: Schema | None = None, width: int = 1) -> Table:
    """A table ``(X, y)`` of records, each with its label at the end: named columns give Arrow, none an array.

    ``width`` is how many columns an array without records has, if no schema says it.
    """
    labels = np.array([record[-1] for record in records])
    rows = [tuple(record[:-1]) for record in records]
    if columns is None:
        width = len(schema.columns) if schema is not None else len(rows[0]) if rows else width
        if all(isinstance(value, int | float) for row in rows for value in row):
            return np.array(rows, dtype=float).reshape(len(rows), width), labels
        X = np.empty((len(rows), width), dtype=object)
        for i, row in enumerate(rows):
            X[i] = row
        return X, labels
    import pyarrow as pa

    types = {} if schema is None else {name: _arrow_type(feature) for name, feature in schema.features.items()}
    arrays = [pa.array([row[i] for row in rows], types.get(name)) for i, name in enumerate(columns)]
    return pa.table(arrays, names=list(columns)), labels


def _arrow_type(feature: Any) -> Any:
    """The type of a column that may be empty, or all missing."""
    import pyarrow as pa

    from privet.schema import Numeric

    if isinstance(feature, Numeric):
        return pa.float64()
    kind = type(feature.values[0])
    return {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}[kind]


def _frame(X: Any) -> Any:
    from privet.tables.table import open_frame

    return open_frame(X)


def _width(X: Any) -> int | None:
    """How many columns, if that is known."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2:
        return int(shape[1])
    return len(X[0]) if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple) else None


def _listed(values: Any) -> list[Any]:
    try:
        if hasattr(values, "to_numpy"):  # pandas, also with columns that have numbers instead of names
            values = values.to_numpy()
        return list(values.tolist() if isinstance(values, np.ndarray) else values)
    except TypeError:
        raise PrivetError("A table is a pair (X, y): a data frame or an array, and its labels.") from None


def _plain(value: Any) -> Any:
    """A value that compares: NumPy's numbers as Python's, every kind of missing value as None."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    if isinstance(value, np.generic):
        value = value.item()
    if (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    ):
        return None
    if not isinstance(value, str | bool | int | float):
        raise PrivetError("Records consist of text, numbers and truth values; other kinds cannot be compared.")
    return value


def _columns(schema: Schema) -> tuple[str, ...]:
    """The columns that count, the person's last."""
    return schema.columns if schema.person is None else (*schema.columns, schema.person)


def _check_person(more: Counter[Record], elsewhere: Counter[Record], both: bool) -> None:
    """Raise unless these records, which one table has more, are all of one person who is not in the other table."""
    people = {record[-2] for record in more}
    if both or len(people) != 1 or not people.isdisjoint(record[-2] for record in elsewhere):
        raise PrivetError(
            "The two tables are not neighbours: with a person in the schema they differ by one person, all of whose "
            "records one has and the other has not."
        )


def _how_far(more: int, less: int) -> str:
    if more == less == 0:
        return "The two tables are equal: neighbours differ by one record that one has and the other has not."
    return (
        f"The two tables are not neighbours: {more} records are only in the first and {less} only in the second. "
        "Neighbours differ by one record that one has and the other has not"
        + ("; a replaced record is two steps, with twice the epsilon." if more == less == 1 else ".")
    )
