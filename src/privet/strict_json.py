"""JSON that means one thing: no key twice, no number that JSON does not have."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

_HALF = re.compile("[\ud800-\udfff]")


def loads_strict(text: str | bytes) -> Any:
    """Read JSON; ValueError where a key is there twice, or a number is infinite or none.

    Readers disagree about which of two equal keys counts, so a file could say one thing to us and another to others.

    >>> loads_strict('{"epsilon": 1, "epsilon": 2}')
    Traceback (most recent call last):
    ...
    ValueError: the key 'epsilon' is there twice
    """
    return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_finite)


def object_of(text: str | bytes, otherwise: Exception) -> dict[str, Any]:
    """The object that a stranger's JSON holds, which means one thing; raises ``otherwise`` for anything else."""
    try:
        words = loads_strict(text)
    except (ValueError, RecursionError) as error:
        raise otherwise from error
    if not isinstance(words, dict):
        raise otherwise
    return words


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"the key {key[:50]!r} is there twice")
        content[key] = value
    return content


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


# -- what a value must be: TypeError for anything else -----------------------------------------------------------------


def as_text(value: Any) -> str:
    """Text that can be written."""
    if not is_text(value):
        raise TypeError("text expected")
    return str(value)


def is_text(value: Any) -> bool:
    """Whether this is text without halves of surrogate pairs, which JSON can name, and nobody can write."""
    return isinstance(value, str) and not _HALF.search(value)


def only(data: dict[str, Any], known: Iterable[str]) -> None:
    """Refuse keys that nothing reads: a digest of what was read would not cover what they say."""
    if not isinstance(data, dict) or not set(data) <= set(known):
        raise TypeError("an object with known keys expected")


def as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("list expected")
    return value


def as_whole(value: Any) -> int:
    """A whole number that fits in 64 bits."""
    if type(value) is not int or abs(value) >= 2**63:
        raise TypeError("whole number expected")
    return value


def as_number(value: Any) -> float:
    """A finite number."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError("finite number expected")
    return float(value)
