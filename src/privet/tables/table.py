"""Where records come in and are checked against the schema.

Errors here are for whoever holds the data: they name the column and the rule, never a value, and they
are outside the privacy guarantee.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.schema import Categorical, Numeric, Schema
from privet.tables.column import (
    Codes,
    Floats,
    attempt,
    check_columns,
    encode,
    from_list,
    has_missing,
    numbers,
    open_column,
)
from privet.tables.csv_file import as_schema, csv_columns, csv_header, csv_types, is_csv
from privet.tables.unlisted import warn_unlisted

PIECE = 2**20
"""So many values of a column are converted at a time."""


class Table:
    """Checked access to the records' columns, one at a time; nothing is converted before it is asked for.

    Attributes:
        n_rows: The exact number of records: private.
        matrix: The array itself when it is all numbers and so is the schema, else None. It is not
            checked yet: whoever bins it looks for NaN and infinity in the same pass.

    With ``tells``, of rows to be predicted, unlisted categories that look like a mistake are warned of, once a column.
    """

    def __init__(
        self,
        schema: Schema,
        n_rows: int,
        column: Callable[[str], Any],
        matrix: npt.NDArray[Any] | None = None,
        tells: bool = False,
    ) -> None:
        self.schema = schema
        self._tells = {name for name in schema.names if tells}
        self.n_rows = n_rows
        self.matrix = matrix
        self._column = column

    def __len__(self) -> int:
        return self.n_rows

    def raw(self, name: str) -> Any:
        """A column as it came, unchecked."""
        return self._column(name)

    def numeric(self, name: str) -> Floats:
        """A numeric feature as float64, unclamped; NaN only where the schema says ``missing``."""
        return self._numbers(name, self._open(name), slice(None))

    def numeric_pieces(self, name: str) -> Iterator[tuple[slice, Floats]]:
        """The same, some rows at a time: of a column of another type no copy is made as a whole."""
        opened = self._open(name)
        for start in range(0, max(self.n_rows, 1), PIECE):
            rows = slice(start, start + PIECE)
            yield rows, self._numbers(name, opened, rows)

    def _open(self, name: str) -> list[tuple[str, Any]]:
        """The columns that a numeric feature is made of."""
        feature = self.schema.features[name]
        if not isinstance(feature, Numeric):
            raise SchemaError(f"column {name!r} is categorical in the schema; ask for its codes")
        return [(column, open_column(self._column(column), _where(column))) for column in feature.mean_of or (name,)]

    def _numbers(self, name: str, opened: list[tuple[str, Any]], rows: slice) -> Floats:
        feature = cast(Numeric, self.schema.features[name])
        columns = []
        for column, data in opened:
            values = numbers(data[rows], _where(column))
            instead = (
                "fill them, or allow them in the schema: missing = true, or Numeric(..., missing=True), before a fit"
            )
            check_finite(values, _where(column), missing=feature.missing, instead=instead)
            columns.append(values)
        if len(columns) == 1:
            return columns[0]
        mean = np.zeros(len(columns[0]))
        for values in columns:
            mean += values / len(columns)  # divided first: a sum of large numbers could overflow
        return mean

    def codes(self, name: str) -> Codes:
        """A categorical feature as indices into ``values``; ``len(values)`` is `other`."""
        feature, where = self.schema.features[name], f"column {name!r}"
        if not isinstance(feature, Categorical):
            raise SchemaError(f"{where} is numeric in the schema; ask for its numbers")
        opened = open_column(self._column(name), where)
        codes = encode(opened, feature.values, where)
        if not feature.other and (codes == len(feature.values)).any():
            raise SchemaError(f"{where} has missing or unlisted values; list them, or set other = true")
        if name in self._tells:
            self._tells.remove(name)
            warn_unlisted(name, opened, codes, feature.values)
        return codes


def _where(column: str) -> str:
    return f"column {column!r}"


def read_table(X: Any, schema: Schema, *, fitted_names: Sequence[str] | None = None, tells: bool = False) -> Table:
    """Open records: a pandas, polars or PyArrow table by column names, anything else by position.

    Columns may come in any order and there may be more than the schema has. With ``fitted_names``, the columns of the
    table that an inferred schema came from, scikit-learn's stricter rule holds: exactly these, in this order.
    """
    frame = open_frame(X)
    if frame is not None:
        if fitted_names is not None:
            _check_fitted_names(list(frame.columns), list(fitted_names))
        check_columns(frame.columns, schema.columns)
        return Table(schema, len(frame), frame.get_column, tells=tells)
    array = open_array(X)
    _check_numbers_as_names(getattr(X, "columns", ()))
    if array.shape[1] != len(schema.columns):
        raise SchemaError(
            f"X has {array.shape[1]} features, but Schema is expecting {len(schema.columns)} features as input"
        )
    position = {name: index for index, name in enumerate(schema.columns)}
    numeric = all(isinstance(feature, Numeric) and not feature.mean_of for feature in schema.features.values())
    fast = numeric and (array.dtype in (np.float64, np.float32) or array.dtype.kind in "iu")
    return Table(schema, len(array), lambda name: array[:, position[name]], array if fast else None, tells)


def read_labels(y: Any, schema: Schema) -> Codes:
    """Classes as indices into ``schema.classes``; a missing or unlisted one is an error."""
    if schema.classes is None:
        raise SchemaError("the schema has no classes, so these labels cannot be read; add classes to the schema")
    column = open_column(one_dimensional(y), "the label")
    codes = encode(column, schema.classes, "the label")
    if (codes == len(schema.classes)).any():
        if has_missing(column):
            raise SchemaError("the label has missing values (NaN); leave these records out")
        if _holds_numbers(column, schema.classes):
            raise SchemaError("the label holds numbers, but the schema lists text; convert one of the two")
        raise SchemaError(
            "the label has values that the schema does not list among its classes; small and capital letters, and "
            "spaces, make a difference"
        )
    return codes


def _holds_numbers(column: Any, classes: tuple[Any, ...]) -> bool:
    """Whether text, as CSV files have it, is all numbers, and no class is one."""
    if isinstance(column, np.ndarray) or not isinstance(classes[0], str):
        return False
    import pyarrow as pa

    numbers, own = (attempt(pa.array(values).cast, pa.float64()) for values in (column.unique().to_pylist(), classes))
    return numbers is not None and own is None


def read_targets(y: Any, schema: Schema) -> Floats:
    """Regression targets, clamped to ``schema.target``; NaN and infinity are errors."""
    if schema.target is None:
        raise SchemaError("the schema has no target range, so these targets cannot be read; add target to the schema")
    targets = numbers(open_column(one_dimensional(y), "the target"), "the target")
    check_finite(targets, "the target", missing=False, instead="leave these records out, or fill them")
    return np.clip(targets, *schema.target)


def label_in(X: Any, schema: Schema) -> Any:
    """The label's column of a data frame that has it, as files do; None otherwise."""
    frame = open_frame(X) if schema.label is not None else None
    return frame.get_column(schema.label) if frame is not None and schema.label in frame.columns else None


def check_lengths(X: Table, y: Codes | Floats) -> None:
    """Refuse features and labels that cannot belong to the same records."""
    if X.n_rows != len(y):
        raise SchemaError("X and y have inconsistent numbers of samples; give one label per record")


def read_file(path: str | Path, schema: Schema, *, with_label: bool = True) -> tuple[Any, Any]:
    """Read a CSV or Parquet file as an Arrow table of the features, and the label's column or None.

    CSV fields are parsed by the schema: a text category "001" stays text, an empty field is missing
    (unless the empty text is a listed category). Only columns that the schema names are read. With the label, which is
    for training, the table has the person's column, too.
    """
    path = Path(path)
    names = list(schema.columns)
    if not with_label:
        return _columns(path, schema, names), None
    if schema.label is None:
        raise SchemaError("the schema does not name the label's column; set label, or name in [label]")
    names += [schema.person] if schema.person is not None else []
    table = _columns(path, schema, [*names, schema.label])
    return table.select(names), table.column(schema.label)


def column_names(path: str | Path) -> list[str]:
    """The columns that a CSV or Parquet file has."""
    path = Path(path)
    if not is_parquet(path):
        return csv_header(path)
    import pyarrow.parquet as pq

    arrow = attempt(pq.read_schema, path)
    if arrow is None:
        raise SchemaError(f"{path} is not a readable Parquet file")
    return list(arrow.names)


def _columns(path: Path, schema: Schema, names: list[str]) -> Any:
    if is_parquet(path):
        return parquet_columns(path, names).select(names)
    return as_schema(csv_columns(path, csv_types(path, schema, names)), schema).select(names)


def open_frame(X: Any) -> Any:
    """A narwhals data frame over a table whose columns have names; None if it is something else."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals.stable.v1 as nw
    import pyarrow as pa

    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if hasattr(X, "iloc") and X.ndim == 2 and not X.columns.is_unique:  # pandas, before narwhals objects
        raise SchemaError("X has several columns of the same name; rename them")
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise SchemaError("X is a lazy data frame; call its collect() first")
    if not isinstance(frame, nw.DataFrame):
        return None
    if len(set(frame.columns)) < len(frame.columns):
        raise SchemaError("X has several columns of the same name; rename them")
    named = sum(isinstance(name, str) for name in frame.columns)
    if 0 < named < len(frame.columns):
        raise SchemaError("X has names for some columns and numbers for others; give all of them names")
    # Numbered columns are positions, not names: pandas gives them to an array without names.
    return frame if named == len(frame.columns) else None


def _check_numbers_as_names(names: Any) -> None:
    """Refuse a data frame whose columns have numbers or several levels for names, or say that they are positions."""
    if not len(names):
        return
    if list(names) != list(range(len(names))):
        raise SchemaError(
            "X has columns whose names are numbers or have several levels: give them the schema's names, or pass "
            "X.to_numpy() if they are in the schema's order"
        )
    warnings.warn(
        "X is a data frame without names (its columns are 0, 1, 2, ...), so they are taken by position, in the "
        "schema's order. Name them to be sure, or pass X.to_numpy().",
        UserWarning,
        stacklevel=4,
    )


def open_array(X: Any) -> npt.NDArray[Any]:
    """A two-dimensional array over an array-like, without a copy where it is one already."""
    if hasattr(X, "iloc") and X.ndim == 1:
        raise SchemaError(
            "X is a Series, one row or one column. For one row write X.iloc[[0]], two brackets: it stays a data frame"
        )
    if hasattr(X, "tocsr") or type(X).__module__.startswith("sparse."):  # some are dictionaries
        raise SchemaError("X is a sparse matrix, which is not supported; use X.toarray()")
    if isinstance(X, dict):
        raise SchemaError("X is a dict. For one record write pandas.DataFrame([record]), with brackets: one row")
    if isinstance(X, np.ma.MaskedArray):
        raise SchemaError("X is a masked array, which is not supported; use X.filled(np.nan)")
    array = np.asarray(X) if isinstance(X, np.ndarray) or hasattr(X, "__array__") else from_list(X, "X")
    if array.dtype.kind == "c":
        raise SchemaError("Complex data not supported: X must hold real numbers")
    if array.ndim != 2:
        raise SchemaError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data using X.reshape(-1, 1) "
            "if it has a single feature or X.reshape(1, -1) if it is a single record. "
            "Of a list that is one record write [record]; with names, pandas.DataFrame([record], columns=...)."
        )
    return array


def is_parquet(path: Path) -> bool:
    """Whether it is a Parquet file rather than CSV, by its suffix; any other file is an error."""
    if not is_csv(path) and path.suffix.lower() not in (".parquet", ".pq"):
        raise SchemaError(
            f"{path} must be a .csv, .csv.gz, .tsv or .parquet file; rename it if it is one, or convert it"
        )
    if not path.is_file():
        raise SchemaError(f"{path}: no such file")
    return not is_csv(path)


def parquet_columns(path: Path, names: list[str] | None = None) -> Any:
    """Columns of a Parquet file, all by default."""
    import pyarrow.parquet as pq

    arrow = attempt(pq.read_schema, path)
    if arrow is not None and names is not None:
        check_columns(arrow.names, names)
    table = None if arrow is None else attempt(lambda: pq.read_table(path, columns=names))
    if table is None:
        raise SchemaError(f"{path} is not a readable Parquet file")
    return table


def check_finite(values: Floats, where: str, *, missing: bool, instead: str) -> None:
    """Refuse infinity, and NaN unless values may be missing."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):  # one pass and no temporary: nearly always all it takes
            return
    if not missing and np.isnan(values).any():
        raise SchemaError(f"{where} contains NaN or missing values; {instead}")
    if np.isinf(values).any():
        raise SchemaError(f"{where} contains infinity; replace it by a number")


def one_dimensional(y: Any) -> Any:
    """Labels as one column; a single column of a table is accepted with scikit-learn's warning."""
    if y is None:
        raise SchemaError(
            "y cannot be None: this requires y to be passed, but the target y is None, and X has no column that the "
            "schema names as the label. Pass y=df['COLUMN']"
        )
    frame = open_frame(y)
    shape = (len(frame), len(frame.columns)) if frame is not None else getattr(y, "shape", None)
    if frame is None and shape is None and isinstance(y, list | tuple):
        y = from_list(y, "y")
        shape = y.shape
    if shape is None or len(shape) == 1:
        return y
    if len(shape) != 2 or shape[1] != 1:
        raise SchemaError("y should be a 1d array with one label per record")
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
        "(n_samples, ), for example using ravel().",
        DataConversionWarning,
        stacklevel=3,
    )
    return frame.get_column(frame.columns[0]) if frame is not None else np.asarray(y)[:, 0]


def _check_fitted_names(present: list[str], fitted: list[str]) -> None:
    if present == fitted:
        return

    def listed(names: set[str]) -> str:
        return "".join(f"- {name}\n" for name in sorted(names)[:5]) + ("- ...\n" if len(names) > 5 else "")

    message = "The feature names should match those that were passed during fit.\n"
    unseen, gone = set(present) - set(fitted), set(fitted) - set(present)
    if unseen:
        message += "Feature names unseen at fit time:\n" + listed(unseen)
    if gone:
        message += "Feature names seen at fit time, yet now missing:\n" + listed(gone)
    if not unseen and not gone:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise SchemaError(message)
