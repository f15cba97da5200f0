"""What every word is: a value of an exact, final, frozen type, whose constructor copied and checked all of itself.

Behind the curtain no caller's code runs. So a word holds built-in types and read-only arrays that nobody else has a
reference to, has no attribute that could be set, and cannot be subclassed; and curators take exact types alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from privet.errors import LeakError
from privet.values import exact_int, final


class Word:
    """Base of all words. Each is a dataclass with slots that fills in its fields by ``put``."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        cls.__setstate__ = Word._refuse_state  # type: ignore[attr-defined] # a dataclass would write one that sets all
        final(cls)  # a subclass could behave differently after it was checked

    def _refuse_state(self, state: Any) -> NoReturn:
        raise TypeError("A word stays what it was made as.")

    def __reduce__(self) -> NoReturn:
        raise TypeError("Words travel by questions.codec alone, whose constructors check them.")


def put(word: Word, **fields: Any) -> None:
    """Fill in the fields of a word that is being made, each once: one that was checked stays as it is."""
    for name, value in fields.items():
        if hasattr(word, name):
            raise TypeError("A word stays what it was made as.")
        object.__setattr__(word, name, value)


def whole(value: Any, low: int, high: int, what: str) -> int:
    """An exact ``int`` from ``low`` to ``high``."""
    try:
        number = exact_int(value)
    except TypeError:
        raise LeakError(f"{what} must be a whole number.") from None
    if not low <= number <= high:
        raise LeakError(f"{what} must be from {low} to {high}.")
    return number


def number(value: Any, what: str) -> float:
    """A finite ``float``."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise LeakError(f"{what} must be a number.") from None
    if not math.isfinite(found):
        raise LeakError(f"{what} must be a finite number.")
    return found


def flag(value: Any, what: str) -> bool:
    if type(value) not in (bool, np.bool_):
        raise LeakError(f"{what} is True or False.")
    return bool(value)


def text(value: Any, what: str) -> str:
    if type(value) is not str:
        raise LeakError(f"{what} is a name.")
    return value


def fraction(value: Any, what: str) -> Fraction:
    """A copy of an exact ``Fraction``: no float, no subclass."""
    if type(value) is not Fraction:
        raise LeakError(f"{what} must be a Fraction: floats do not add up exactly.")
    return Fraction(exact_int(value.numerator), exact_int(value.denominator))


def all_of(kinds: type | tuple[type, ...], values: Any, what: str) -> tuple[Any, ...]:
    """A tuple of values that are exactly of one kind, or of one of several, read once."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if type(values) is not tuple:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise LeakError(f"{what} must be a list.")
        values = tuple(values)
    if not all(type(value) in kinds for value in values):
        raise LeakError(f"{what} must be of type {' or '.join(kind.__name__ for kind in kinds)} itself.")
    return values


def exactly(kind: type, value: Any, what: str) -> Any:
    if type(value) is not kind:
        raise LeakError(f"{what} must be a {kind.__name__}.")
    return value


def array(values: Any, dtype: Any, what: str, *, ndim: int = 1) -> np.ndarray:
    """A copy that cannot be written to, not even by whoever sets its flags: its memory is that of a ``bytes``."""
    try:
        own = np.array(values, dtype=dtype, order="C", subok=False)
    except (TypeError, ValueError, OverflowError):
        raise LeakError(f"{what} must be an array of numbers.") from None
    if own.ndim != ndim:
        raise LeakError(f"{what} must have {ndim} {'axis' if ndim == 1 else 'axes'}.")
    return frozen(own)


def frozen(own: np.ndarray) -> np.ndarray:
    """As ``array``, of an array whose type is known."""
    return np.frombuffer(own.tobytes(), dtype=own.dtype).reshape(own.shape)
