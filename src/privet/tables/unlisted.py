"""Categories that the schema does not list, in rows that are to be predicted.

They count as "any other value", which is legal, and may be a typing error: ``Male`` where the schema has ``male``.
Whoever predicts is told how many there are, and never a value.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from privet.errors import DataWarning
from privet.schema_values import Value

_MOST_LOOKED_AT = 200_000


def warn_unlisted(name: str, column: Any, codes: np.ndarray, values: tuple[Value, ...]) -> None:
    """Warn of an opened column, with its codes, if its unlisted values look like a mistake."""
    if words := unlisted_words(column, codes, values):
        warnings.warn(f"column {name!r}: {words}.", DataWarning, stacklevel=2)


def unlisted_words(column: Any, codes: np.ndarray, values: tuple[Value, ...]) -> str:
    """What to say where unlisted values are listed ones but for letters and spaces, or where nothing else is there."""
    rows = np.flatnonzero(codes == len(values))[:_MOST_LOOKED_AT]
    if not len(rows):
        return ""
    taken = column[rows].tolist() if isinstance(column, np.ndarray) else column.take(rows).to_pylist()
    present = [value for value in taken if value is not None and value == value]
    listed = {_folded(value) for value in values if isinstance(value, str)}
    n_alike = sum(isinstance(value, str) and _folded(value) in listed for value in present)
    if n_alike:
        hint = "only small or capital letters, or spaces, are different from a listed one. Write it as the schema does"
        return f"{n_alike:,} of {len(codes):,} values count as 'any other value', and {hint}"
    if present and len(rows) == len(codes):
        return f"no value is listed in the schema ({len(codes):,} in all), and each counts as 'any other value'"
    return ""


def _folded(value: str) -> str:
    return value.strip().casefold()
