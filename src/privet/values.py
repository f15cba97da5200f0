"""For values that keep what was checked: final classes, and exact copies of what a caller hands over.

An instance of a subclass of ``int``, ``float`` or ``str`` may answer differently each time it is asked. The copies
below are made by the built-in type itself, without calling any method of the instance's own. Nor may what is computed
depend on the decimal context that the caller has set.
"""

from __future__ import annotations

import operator
import typing
from contextlib import AbstractContextManager
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_HALF_EVEN,
    Context,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    final = typing.final
else:

    def final(cls: Any) -> Any:
        """Refuse subclasses of a class when they are written, and not only when types are checked.

        >>> @final
        ... class Word: pass
        >>> class Lie(Word): pass
        Traceback (most recent call last):
        ...
        TypeError: Word is final: it has no subclasses
        """

        def refuse(_: type, **options: Any) -> NoReturn:
            raise TypeError(f"{cls.__name__} is final: it has no subclasses")

        cls.__init_subclass__ = classmethod(refuse)
        return typing.final(cls)


def exact_int(value: Any) -> int:
    """A whole number, of Python or NumPy, as an ``int``; TypeError for anything else.

    >>> type(exact_int(True))
    <class 'int'>
    """
    return int.__int__(operator.index(value))


def exact_str(value: str) -> str:
    """A text as a ``str``; TypeError for anything else."""
    return str.__str__(value)


def decimal_context(digits: int) -> Context:
    """Decimal arithmetic of so many digits that takes nothing over from the context in force."""
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return Context(digits, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, capitals=1, clamp=0, flags=[], traps=traps)


def decimals(digits: int) -> AbstractContextManager[Context]:
    """The same as the context in force: the caller's rounding, range and traps stay outside.

    >>> from decimal import ROUND_DOWN, Decimal
    >>> with localcontext(Context(prec=2, rounding=ROUND_DOWN, Emax=1, traps=[])), decimals(5):
    ...     Decimal(200_000) / 3
    Decimal('66667')
    """
    return localcontext(decimal_context(digits))
