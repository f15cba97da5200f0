"""Amounts of privacy budget: exact fractions, or infinity."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privet.errors import BudgetError
from privet.values import exact_int

Amount = Fraction | float  # a float only for infinity


def exact(amount: Fraction | float | int | str, name: str = "epsilon") -> Fraction:
    """The fraction a person means: 0.1 is one tenth, not the nearest binary number.

    >>> exact(0.1) * 3 == exact(0.3)
    True
    """
    if isinstance(amount, bool | np.bool_) or amount is None:
        raise BudgetError(f"{name} must be a positive number, not {amount!r}.")
    try:
        value = as_written(amount)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise BudgetError(f"{name} must be a positive, finite number; got {amount!r}.") from None
    if value <= 0:
        raise BudgetError(f"{name} must be greater than zero; got {amount!r}. Zero would allow no answer.")
    return value


def as_written(amount: Fraction | float | int | str) -> Fraction:
    """A new fraction, whatever kind of number is given; ValueError, TypeError or OverflowError if it is none."""
    if isinstance(amount, Fraction):
        return Fraction(exact_int(amount.numerator), exact_int(amount.denominator))
    if isinstance(amount, str) and "/" in amount and len(amount) < 1_000:
        return Fraction(amount)
    return Fraction(repr(float(amount)))


def as_limit(limit: Amount) -> Amount:
    """A limit as an exact fraction, or infinity."""
    try:
        return math.inf if limit == math.inf else as_written(limit)
    except (TypeError, ValueError):
        raise BudgetError("A scope's limit must be a number.") from None


def checked_delta(delta: Fraction | float | str) -> Fraction:
    """A delta as the fraction that a person means, between 0 and 1."""
    value = exact(delta, "delta")
    if value >= 1:
        raise BudgetError(f"delta is a small probability, far below one over the number of records; got {delta!r}.")
    return value


def is_charge(amount: Amount) -> bool:
    """Whether this is exactly a fraction or a whole number, not negative, or infinity; a subclass could change."""
    return amount >= 0 if type(amount) in (Fraction, int) else type(amount) is float and amount == math.inf


def minus(a: Amount, b: Amount, both_infinite: Amount = math.inf) -> Amount:
    """The difference, where infinity less infinity is what ``both_infinite`` says."""
    if isinstance(a, float):  # infinity: asked first, because fractions take long to compare with it
        return both_infinite if b == math.inf else a
    return a - b


def show(amount: Amount) -> str:
    """An amount for people: as many digits as matter, infinity as a word.

    >>> show(Fraction(1, 10)), show(math.inf)
    ('0.1', 'infinity')
    """
    try:
        return "infinity" if amount == math.inf else f"{float(amount):.10g}"
    except OverflowError:
        return "more than 1e308"
