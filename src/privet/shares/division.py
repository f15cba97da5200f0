"""Whole division on shares, bit by bit as on paper: exact, and only comparisons."""

from __future__ import annotations

import numpy as np

from privet.shares.engine import Engine, Secret


def floor_divide(engine: Engine, dividend: Secret, divisor: Secret, quotient_bits: int, divisor_bits: int) -> Secret:
    """dividend // divisor, element by element, for 0 <= dividend < divisor * 2^quotient_bits.

    In public, 1 <= divisor < 2^divisor_bits. Restoring division: each place of the quotient, from the highest, is one
    comparison of what remains with the shifted divisor, and one multiplication. What remains is below twice the shifted
    divisor, so comparisons get narrower from place to place. quotient_bits times (5 + lg(bits)) rounds.
    """
    remainder, quotient = dividend, None
    for place in reversed(range(quotient_bits)):
        shifted = divisor * (1 << place)
        fits = engine.less(remainder, shifted, divisor_bits + place + 1) * -1 + 1
        remainder = remainder - fits * shifted
        quotient = fits * (1 << place) if quotient is None else quotient + fits * (1 << place)
    return engine.constant(np.zeros(dividend.shape, dtype=np.int64)) if quotient is None else quotient
