"""One column of records, as numbers or as codes.

A column arrives as a NumPy array or as Arrow data, whichever costs no copy. What leaves is float64 or
small unsigned codes. No message contains a value, and no exception is chained to one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.schema_file import nearest
from privet.schema_values import Value, kind_of

Kind = Literal["text", "booleans", "numbers", "nothing"]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.unsignedinteger[Any]]

_FEW = 24
"""Up to here one vectorised comparison per category is the quickest way to encode numbers."""


def open_column(data: Any, where: str) -> Any:
    """The memory of a series, an array or a list, as NumPy numbers or as Arrow data.

    Only objects that Arrow cannot take as one type stay a NumPy array of objects.
    """
    import pyarrow as pa

    if isinstance(data, pa.Array | pa.ChunkedArray):
        return data
    if isinstance(data, np.ndarray):
        return _open_array(data, where)
    if isinstance(data, list | tuple):
        return _open_array(from_list(data, where), where)
    import narwhals.stable.v1 as nw

    # A frame's columns come as narwhals series already, and asking again would cost more than encoding.
    series = data if isinstance(data, nw.Series) else nw.from_native(data, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return _open_array(from_list(data, where), where)
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return native
    if isinstance(getattr(native, "dtype", None), np.dtype):
        return _open_array(native.to_numpy(), where)
    # Not narwhals' to_arrow for pandas: it turns Arrow strings into objects and back.
    column = attempt(_to_arrow, native) if series.implementation.is_pandas() else attempt(series.to_arrow)
    if column is None:
        raise _unsupported(where)
    return column


def from_list(data: Any, where: str) -> npt.NDArray[Any]:
    """An array from nested lists that keeps a mixture of text and numbers apart."""
    array = attempt(np.asarray, data)
    if array is not None and array.dtype.kind in "US":
        # NumPy has silently turned [["a", 1]] into text.
        array = attempt(lambda: np.array(data, dtype=object))
    if array is None:
        raise SchemaError(f"{where} must have rows of the same length, with one value per field")
    return cast("npt.NDArray[Any]", array)


def numbers(column: Any, where: str) -> Floats:
    """The column as float64, missing values as NaN; a view where the memory already is."""
    import pyarrow as pa
    import pyarrow.types as pt

    if isinstance(column, np.ndarray):
        floats = attempt(lambda: column.astype(np.float64, copy=False))
    else:
        kind_of_column(column, where)
        if pt.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not pt.is_float64(column.type):
            # safe=True would refuse integers beyond 2**53 instead of rounding them.
            column = attempt(lambda: column.cast(pa.float64(), safe=_is_text(column.type)))
        floats = None if column is None else _flat(column)
    if floats is None:
        raise SchemaError(f"{where} must hold numbers only; convert the text in it, or declare it categorical")
    return cast(Floats, floats)


def encode(column: Any, values: tuple[Value, ...], where: str) -> Codes:
    """Each value's index in ``values``; ``len(values)`` for unlisted and missing ones.

    Text is compared with text, booleans with booleans and numbers with numbers. A column of another
    kind is an error, unless it is empty: it would otherwise quietly become all "unlisted".
    """
    import pyarrow as pa

    if isinstance(column, np.ndarray):
        if column.dtype.kind == "O":
            return _object_codes(column, values, where)
    elif pa.types.is_dictionary(column.type):
        return _dictionary_codes(column, values, where)
    kind, wanted = kind_of_column(column, where), kind_of(values)
    if kind == "nothing":
        return np.full(len(column), len(values), code_dtype(values))
    if kind != wanted:
        raise SchemaError(f"{where} holds {kind}, but the schema lists {wanted}; convert one of the two")
    if kind == "text":
        return _text_codes(column, values)
    if isinstance(column, np.ndarray):
        return _boolean_codes(column, values) if kind == "booleans" else _number_codes(column, values)
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    plain = _flat(column.fill_null(False if kind == "booleans" else 0) if column.null_count else column)
    codes = _boolean_codes(plain, values) if kind == "booleans" else _number_codes(plain, values)
    if missing is not None:
        codes[missing] = len(values)
    return codes


def has_missing(column: Any) -> bool:
    """Whether any value is missing: null, None or NaN."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "f":
            return bool(np.isnan(column).any())
        return column.dtype.kind == "O" and any(map(_is_missing, column))
    import pyarrow.compute as pc

    return bool(pc.any(column.is_null(nan_is_null=True)).as_py())


def kind_of_column(column: Any, where: str) -> Kind:
    """What a column holds. Only missing values, or none at all, is "nothing"."""
    import pyarrow.types as pt

    if isinstance(column, np.ndarray):
        if column.dtype.kind == "b":
            return "booleans"
        if column.dtype.kind == "f" and np.isnan(column[:1]).all() and np.isnan(column).all():
            return "nothing"
        if column.dtype.kind in "fiu":
            return "numbers"
        raise SchemaError(f"{where} mixes types; make it all text, all booleans or all numbers")
    if column.null_count == len(column):
        return "nothing"
    kind = column.type.value_type if pt.is_dictionary(column.type) else column.type
    if pt.is_boolean(kind):
        return "booleans"
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind):
        return "numbers"
    if _is_text(kind):
        return "text"
    raise _unsupported(where)


def code_dtype(values: tuple[Value, ...]) -> type[np.uint8] | type[np.uint16]:
    """The smallest type that holds every code and the one for unlisted values."""
    return np.uint8 if len(values) < 256 else np.uint16


def check_columns(present: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a table that lacks columns, naming them and what they may be called there."""
    missing = [name for name in wanted if name not in set(present)]
    if not missing:
        return
    if len(missing) == len(wanted):
        # Probably no header at all, and then a hint would quote the first record.
        raise SchemaError(f"none of the columns that are needed is there, such as {missing[0]!r}; is there a header?")
    hints = ", ".join(f"{name!r}{nearest(name, set(present) - set(wanted))}" for name in missing)
    why = "all of them are needed, also where a model does not use one: without them it may be the wrong table"
    raise SchemaError(f"columns that the schema names are missing: {hints}; {why}")


def attempt(function: Callable[..., Any], *args: Any) -> Any:
    """What the function returns, or None if it fails.

    NumPy's and Arrow's messages quote values. Ours must not be raised while one of theirs is being
    handled, since Python would chain them.
    """
    import pyarrow as pa

    try:
        return function(*args)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None


def _open_array(array: npt.NDArray[Any], where: str) -> Any:
    kind = array.dtype.kind
    if array.ndim != 1:
        raise SchemaError(f"{where} must be one-dimensional, with one value per record")
    if kind in "fiub":
        return array if array.dtype.itemsize <= 8 else array.astype(np.float64)
    if kind == "c":
        raise SchemaError(f"Complex data not supported: {where} must hold real numbers")
    if kind not in "OUT":
        raise _unsupported(where)
    objects = array.astype(object, copy=False)
    column = attempt(_to_arrow, objects)
    return objects if column is None else column


def _to_arrow(data: Any) -> Any:
    import pyarrow as pa

    return pa.array(data, from_pandas=True)


def _unsupported(where: str) -> SchemaError:
    return SchemaError(f"{where} must hold numbers, text or booleans; convert dates and other types first")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def _is_text(kind: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _flat(column: Any) -> npt.NDArray[Any]:
    """NumPy's view of Arrow data without nulls; several chunks are copied into one."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_decimal(column.type):
        column = column.cast(pa.float64())
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            return cast("npt.NDArray[Any]", column.to_numpy())
    return cast("npt.NDArray[Any]", column.to_numpy(zero_copy_only=False))


def _text_codes(column: Any, values: tuple[Value, ...]) -> Codes:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    if pt.is_string_view(column.type):
        column = column.cast(pa.large_string())
    found = pc.index_in(column, value_set=pa.array(values, column.type))
    codes = _flat(found.fill_null(len(values)) if found.null_count else found)
    return codes.astype(code_dtype(values))


def _dictionary_codes(column: Any, values: tuple[Value, ...], where: str) -> Codes:
    """Encode the dictionary once and look its codes up; unused entries play no role."""
    import pyarrow as pa

    if column.null_count == len(column):
        return np.full(len(column), len(values), code_dtype(values))
    chunks = column.unify_dictionaries().chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = []
    for chunk in chunks:
        lookup = np.append(encode(chunk.dictionary, values, where), code_dtype(values)(len(values)))
        indices = chunk.indices
        if indices.null_count:
            indices = indices.cast(pa.int64()).fill_null(len(chunk.dictionary))
        parts.append(lookup.take(_flat(indices)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _boolean_codes(column: npt.NDArray[Any], values: tuple[Value, ...]) -> Codes:
    no, yes = (values.index(value) if value in values else len(values) for value in (False, True))
    # Arithmetic modulo 256, which is quicker than choosing.
    return column.astype(np.uint8) * np.uint8((yes - no) % 256) + np.uint8(no)


def _number_codes(column: npt.NDArray[Any], values: tuple[Value, ...]) -> Codes:
    dtype, unlisted = code_dtype(values), len(values)
    if column.dtype == np.float16:
        column = column.astype(np.float32)
    keys, index = _holdable(values, column.dtype)
    if not len(keys):
        return np.full(len(column), unlisted, dtype)
    if len(keys) <= _FEW:
        # Counted from 1 and turned back at the end, where "no match" wraps around to the largest code.
        codes = np.zeros(len(column), dtype)
        for key, code in zip(keys, index + 1):
            match = (column == key).view(np.uint8).astype(dtype, copy=False)
            codes += np.multiply(match, dtype(code), out=match)
        codes -= dtype(1)
        return cast(Codes, np.minimum(codes, dtype(unlisted), out=codes))
    order = np.argsort(keys)
    keys, index = keys[order], index[order]
    found = np.minimum(np.searchsorted(keys, column), len(keys) - 1)
    return cast(Codes, np.where(keys[found] == column, index[found], unlisted).astype(dtype))


def _holdable(values: tuple[Value, ...], dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The values that a column of this type can hold, and their indices.

    Integers are compared as integers, so 2**53 + 1 stays itself. Fractions are rounded to the column's
    precision: a float32 column can hold 0.1 in no other way.
    """
    held: list[tuple[int, float]] = []
    for index, value in enumerate(cast("tuple[int | float, ...]", values)):
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if value == int(value) and limits.min <= value <= limits.max:
                held.append((index, int(value)))
        elif isinstance(value, float) or float(value) == value:
            held.append((index, value))
    keys = np.array([value for _, value in held], dtype)
    if len(np.unique(keys)) < len(keys):
        keys = np.array([value for _, value in held], np.float64)
    return keys, np.array([index for index, _ in held], np.intp)


def _object_codes(column: npt.NDArray[Any], values: tuple[Value, ...], where: str) -> Codes:
    """Objects that Arrow cannot take as one type, such as integers beyond 64 bits: by hashing."""
    kind = kind_of(values)
    allowed: dict[str, tuple[type, ...]] = {
        "text": (str,),
        "booleans": (bool, np.bool_),
        "numbers": (int, float, np.number),
    }
    lookup: dict[Any, int] = {value: index for index, value in enumerate(values)}
    codes = np.full(len(column), len(values), code_dtype(values))
    for row, value in enumerate(column):
        if _is_missing(value):
            continue
        if not isinstance(value, allowed[kind]) or (kind == "numbers" and isinstance(value, bool)):
            raise SchemaError(f"{where} must hold {kind} only, as the schema lists; it mixes types")
        codes[row] = lookup.get(value, len(values))
    return codes
