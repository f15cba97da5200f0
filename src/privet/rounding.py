"""Numbers as they are shown: what holds "at most" is rounded up and what holds "at least" down, so it still holds."""

from __future__ import annotations

import math

_LAST_BIT = 1e-9
"""0.881 times 1000 is a little less than 881, and is 881 all the same."""

MOST_DIGITS = 300


def rounded_up(value: float, digits: int) -> float:
    """With so many digits after the point.

    >>> rounded_up(62.2459, 1), rounded_up(0.881, 3)
    (62.3, 0.881)
    """
    return -rounded_down(-value, digits)


def rounded_down(value: float, digits: int) -> float:
    """The same the other way: never more than the value.

    >>> rounded_down(62.2959, 1), rounded_down(0.881, 3)
    (62.2, 0.881)
    """
    if digits > MOST_DIGITS:  # floats reach no further
        return value
    unit = 10.0**digits
    return math.floor(value * unit + _LAST_BIT) / unit


def digits_for(value: float, figures: int) -> int:
    """How many digits after the point leave a number so many figures: fewer than none before a point far to the right.

    >>> digits_for(2.7183, 3), digits_for(22026.5, 3), digits_for(0.0, 3)
    (2, -2, 2)
    """
    return figures - 1 - (math.floor(math.log10(abs(value))) if value else 0)


def at_most(value: float, figures: int) -> str:
    """A number rounded up to so many figures, as text.

    >>> at_most(0.33333, 4), at_most(2.0, 4), at_most(math.inf, 4)
    ('0.3334', '2', 'inf')
    """
    return f"{rounded_up(value, digits_for(value, figures)) if math.isfinite(value) else value:.{figures}g}"


def at_least(value: float, figures: int) -> str:
    """The same, rounded down.

    >>> at_least(0.66667, 4), at_least(-math.inf, 4)
    ('0.6666', '-inf')
    """
    return f"{rounded_down(value, digits_for(value, figures)) if math.isfinite(value) else value:.{figures}g}"
