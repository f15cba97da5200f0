"""Whose record is whose: the column of ids becomes numbers, and the ids stay where they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.schema import Schema
from privet.schema_file import nearest
from privet.tables.column import has_missing, kind_of_column, open_column
from privet.tables.table import open_frame

Persons = npt.NDArray[np.int64]

BLANKS = (
    "".join(c for c in map(chr, range(0x3001)) if c.isspace()) + "\xad\u180e\u200b\u200c\u200d\u2060\u2800\u3164\ufeff"
)
"""Characters that show nothing: an id of these alone is none."""


def read_persons(X: Any, groups: Any, schema: Schema) -> Persons | None:
    """Each record's person as a number from 0 on, in the order in which they come up; None if the schema names none.

    The ids are ``groups`` or, by default, the schema's column of a data frame. A missing id is an error: such a record
    would belong to nobody, and nobody would be protected. So is a float that cannot be told from other ids.
    """
    import pyarrow as pa

    if schema.person is None:
        if groups is not None:
            raise SchemaError(
                "groups says whose record is whose, and the schema has no person: write Schema(..., person='...', "
                "records_per_person=20), or leave groups out"
            )
        return None
    where = f"the person's column {schema.person!r}"
    column = _plain(open_column(_column(X, groups, schema.person), where), where)
    if has_missing(column) or _has_blanks(column):
        raise SchemaError(f"{where} has missing or blank ids; leave these records out, or find out whose they are")
    if isinstance(column, np.ndarray):
        _check_exact(column, where)
        column = pa.array(column.astype(np.float64) + 0.0 if column.dtype.kind == "f" else column)  # -0.0 is 0.0
    if len(column) == 0:
        return np.zeros(0, dtype=np.int64)
    return column.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _column(X: Any, groups: Any, person: str) -> Any:
    frame = open_frame(X)
    inside = frame is not None and person in frame.columns
    if groups is not None:
        if inside:
            raise SchemaError(f"X has the person's column {person!r} already; leave groups out")
        if len(getattr(groups, "shape", (0,))) != 1:
            raise SchemaError("groups must be one column: one person's id for each record")
        return groups
    if inside:
        return frame.get_column(person)
    if frame is None:
        raise SchemaError(
            f"the schema names a person, {person!r}, and an array has no names: give the persons' ids as "
            "fit(X, y, groups=ids), or a data frame with that column"
        )
    raise SchemaError(f"X has no column {person!r}, which says whose record is whose{nearest(person, frame.columns)}")


def _plain(column: Any, where: str) -> Any:
    """One piece of numbers or text: floats as an array, where 0.0 and -0.0 are one number."""
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        if column.dtype.kind == "O":
            raise SchemaError(f"{where} mixes types; make it all text or all whole numbers")
        return column
    kind_of_column(column, where)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # a categorical column may list ids that do not occur
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.to_numpy(zero_copy_only=False) if pa.types.is_floating(whole.type) else whole


def _has_blanks(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = getattr(column, "type", None)
    if kind not in (pa.string(), pa.large_string()):
        return False
    return pc.any(pc.equal(pc.utf8_trim(column, BLANKS), "")).as_py() is True


def _check_exact(column: np.ndarray, where: str) -> None:
    """Raise SchemaError for floats that are no whole numbers, or so large that two ids may have become one."""
    if column.dtype.kind != "f":
        return
    most = 2.0 ** (np.finfo(column.dtype).nmant + 1)
    if not ((np.trunc(column) == column) & (np.abs(column) < most)).all():
        raise SchemaError(
            f"{where} has fractions or numbers too large for its floating-point type, which may be several persons' "
            "ids rounded to one; read the column as text or as whole numbers"
        )
