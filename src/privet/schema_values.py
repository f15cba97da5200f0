"""What a schema is made of: numbers, texts and lists, copied into exact built-in types and checked.

Each function reads what it is given once and answers a copy, so that nothing that the caller still holds, and no
subclass with methods of its own, is part of a schema.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Literal

from privet.errors import SchemaError
from privet.values import exact_str

Value = str | bool | int | float

MOST_CATEGORIES = 65_535
"""Codes are 16 bits wide and one is kept for values that are not listed."""


def kind_of(values: tuple[Value, ...]) -> Literal["text", "booleans", "numbers"]:
    """What categories or classes consist of."""
    if isinstance(values[0], str):
        return "text"
    return "booleans" if isinstance(values[0], bool) else "numbers"


def as_number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SchemaError(f"{what} must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError(f"{what} must be finite")
    return number + 0.0  # turns -0.0 into 0.0, so that equal ranges are written alike


def as_range(low: Any, high: Any) -> tuple[float, float]:
    low, high = as_number(low, "low"), as_number(high, "high")
    if low > high:
        raise SchemaError("low must not be above high; swap them?")
    if not math.isfinite(high - low):
        raise SchemaError("the range is too wide for floating point; choose a narrower one")
    return low, high


def as_target(target: Any) -> tuple[float, float]:
    if isinstance(target, str) or not isinstance(target, Iterable) or len(pair := tuple(target)) != 2:
        raise SchemaError("target must be two numbers: (low, high)")
    try:
        return as_range(*pair)
    except SchemaError as error:
        raise SchemaError(f"target: {error}") from None


def as_values(values: Any, what: str) -> tuple[Value, ...]:
    """Check categories or classes and give them one type: str, bool, int or float."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise SchemaError(f"{what} must be a list, such as ['no', 'yes']")
    plain = tuple(as_value(value, what) for value in values)
    if not plain:
        raise SchemaError(f"{what} must not be empty")
    if len(plain) > MOST_CATEGORIES:
        raise SchemaError(f"{what} must be at most {MOST_CATEGORIES:,}; group them, or leave the column out")
    types = {type(value) for value in plain}
    if types == {int, float}:
        if any(float(value) != value for value in plain):
            raise SchemaError(f"{what} mix fractions with integers too large to be told apart beside them")
        plain = tuple(float(value) for value in plain)
    elif len(types) > 1:
        raise SchemaError(f"{what} must be all text, all booleans or all numbers; put text in quotes")
    if len(set(plain)) < len(plain):
        twice = Counter(plain).most_common(1)[0][0]
        raise SchemaError(f"{what} must all be different, and {twice!r} is listed twice")
    return plain


def as_groups(groups: Any, values: tuple[Value, ...]) -> tuple[tuple[Value, ...], ...]:
    """Check that groups hold every one of the values once, and give them the values' type."""
    if isinstance(groups, str | Mapping) or not isinstance(groups, Iterable):
        raise SchemaError("groups must be a list of lists, such as [['Mon', 'Tue'], ['Sat', 'Sun']]")
    listed = [as_values(group, "each of groups") for group in groups]
    if not listed:
        return ()
    flat = as_values([value for group in listed for value in group], "groups")
    alike = {type(flat[0]), type(values[0])} in ({type(values[0])}, {int, float})
    if not alike or set(flat) != set(values):
        raise SchemaError("groups must hold every one of the values, each in one group, and nothing else")
    own = {value: value for value in values}
    return tuple(tuple(own[value] for value in group) for group in listed)


def as_value(value: Any, what: str) -> Value:
    """One value as exactly Python's own type, whatever NumPy, pandas or a subclass made of it."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, str):
        return as_text(value, what)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        whole = int(value)
        if not -(2**63) <= whole < 2**63:
            raise SchemaError(f"{what} must fit in 64-bit integers; write larger ones as text")
        return whole
    if isinstance(value, float):
        return as_number(value, f"each of the {what}")
    raise SchemaError(f"{what} must be text, booleans or numbers; leave missing values out")


def as_text(text: str, what: str) -> str:
    text = exact_str(text)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{what} must be valid Unicode") from None
    return text


def as_name(name: Any, what: str) -> str:
    if not isinstance(name, str) or not (text := as_text(name, what)):
        raise SchemaError(f"{what} must be text and not empty")
    return text


def as_columns(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise SchemaError("mean_of must be a list of column names")
    columns = tuple(as_name(name, "a column in mean_of") for name in names)
    if len(set(columns)) < len(columns):
        raise SchemaError("mean_of must not name a column twice")
    return columns


def check_flags(**flags: Any) -> None:
    """Raise unless all are true or false, which have no subclass."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise SchemaError(f"{name} must be true or false")
