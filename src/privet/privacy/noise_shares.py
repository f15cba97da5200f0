"""Shares of noise: what each of several parties adds, so that so many of them together have a law that is paid for.

Both laws are infinitely divisible, so the shares of any number of parties add up to the whole, and those of fewer, such
as the honest ones who are there, to the whole where it was divided among so many (docs/federated.md).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.privacy.poisson import PoissonTable, poisson_about_mean
from privet.values import decimals


def geometric_shares(n: int, scale: float, of: int, random_bytes: Callable[[int], bytes] = os.urandom) -> np.ndarray:
    """``n`` independent whole numbers; ``of`` of them, drawn by different parties, add up to two-sided geometric noise.

    Two-sided geometric noise with ratio a = exp(-1 / scale) is infinitely divisible. Its generating function is exp of
    the sum over k >= 1 of (a^k / k) (z^k + z^-k - 2), which is that of a Poisson number of terms, 2 L in the mean with
    L = -ln(1 - a), each with a fair sign and a size of the logarithmic law P(k) = a^k / (k L). A share has a mean of
    2 L / ``of`` terms instead; Poisson numbers add up, so ``of`` shares have the law of the whole. (It is the
    difference of two negative binomial numbers of shape 1 / ``of``, drawn without their many rejections.)

    Exact: every uniform number is known to 64 binary digits, and to more wherever those, and the rounding of the
    computation, leave open which whole number comes out.
    """
    law = _share_law(scale, of)
    terms = law.terms.draw(n, random_bytes)
    sizes = _logarithmic(int(terms.sum()), law, random_bytes)
    signs = np.frombuffer(random_bytes(len(sizes)), dtype=np.uint8) & 1
    shares = np.zeros(n, dtype=np.int64)
    np.add.at(shares, np.repeat(np.arange(n), terms), np.where(signs == 1, sizes, -sizes))
    return shares


class _ShareLaw:
    """The numbers that shares of one scale are drawn with."""

    def __init__(self, scale: float, of: int) -> None:
        self._numerator, self._denominator = scale.as_integer_ratio()
        self.log = float(self.log_exact(50))  # L
        self.terms = PoissonTable(lambda digits: 2 * self.log_exact(digits) / of)

    def log_exact(self, digits: int) -> Decimal:
        """L = -ln(1 - exp(-1 / scale)), to so many digits."""
        with decimals(2 * digits + 40):
            ratio = (-Decimal(self._denominator) / Decimal(self._numerator)).exp()
            if ratio < Decimal(10) ** (-digits - 20):  # -ln(1 - a) is a, to these digits
                return +ratio
            return -(1 - ratio).ln()


_share_law = lru_cache(maxsize=256)(_ShareLaw)

_CLEAR = 2.0**-26
_ROUNDING = 1e-11


def _logarithmic(n: int, law: _ShareLaw, random_bytes: Callable[[int], bytes]) -> np.ndarray:
    """``n`` numbers k >= 1 with P(k) = a^k / (k L): geometric, of a ratio q = 1 - exp(-L v) with v uniform.

    (Kemp 1981: the integral of (1 - q) q^(k-1) over v is a^k / (k L).) So k - 1 is the whole part of x = ln u / ln q
    with u uniform too. Floats give x to a relative 1e-13 where u and v are not next to 0 or 1, and their 64 digits to
    2^-38; where ``_ROUNDING`` of x, which is more than both, could change its whole part, it is computed anew with as
    many digits as it takes.
    """
    words = np.frombuffer(random_bytes(16 * n), dtype=np.uint64).reshape(2, n)
    u, v = words / 2.0**64
    decay = law.log * v
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_q = np.where(decay < math.log(2), np.log(-np.expm1(-decay)), np.log1p(-np.exp(-decay)))
        log_u = np.where(u < 0.5, np.log(u), np.log1p(-((~words[0] + np.uint64(1)) / 2.0**64)))
        x = log_u / log_q
        low, high = np.floor(x * (1 - _ROUNDING)), np.floor(x * (1 + _ROUNDING))
    clear = (np.minimum(u, 1 - u) > _CLEAR) & (v > _CLEAR) & (low == high)
    sizes = np.where(clear, low, 0).astype(np.int64) + 1
    for i in np.flatnonzero(~clear):
        sizes[i] = _logarithmic_exactly(int(words[0, i]), int(words[1, i]), law, random_bytes)
    return sizes


def _logarithmic_exactly(u: int, v: int, law: _ShareLaw, random_bytes: Callable[[int], bytes]) -> int:
    """The same from two words, with more digits until both ends of what they leave open have one whole part."""
    bits = 64
    while True:
        digits = bits // 3 + 40
        with decimals(2 * digits):
            room = Decimal(10) ** -digits
            if u and v:  # otherwise an end is open
                low = _quotient(u + 1, v, bits, law, digits) * (1 - room)
                high = _quotient(u, v + 1, bits, law, digits) * (1 + room)
                if int(low) == int(high):
                    return int(low) + 1
        u, v = (word << 64 | int.from_bytes(random_bytes(8), "little") for word in (u, v))
        bits += 64


def _quotient(u: int, v: int, bits: int, law: _ShareLaw, digits: int) -> Decimal:
    """ln u / ln(1 - exp(-L v)) of two binary fractions: it falls with u and grows with v."""
    if u == 2**bits:
        return Decimal(0)
    decay = law.log_exact(digits) * v / 2**bits
    q = 1 - (-decay).exp()
    return (Decimal(u) / 2**bits).ln() / q.ln()


def skellam_shares(n: int, scale: float, of: int, random_bytes: Callable[[int], bytes] = os.urandom) -> np.ndarray:
    """``n`` independent whole numbers; ``of`` of them, drawn by different parties, add up to Skellam noise.

    Skellam noise of standard deviation ``scale`` is the difference of two Poisson numbers of mean ``scale``^2 / 2.
    Poisson numbers add up, so the difference of two of an ``of``-th of that mean is a share of it. Exact.
    """
    mean = Fraction(scale) ** 2 / (2 * of)
    return poisson_about_mean(n, mean, random_bytes) - poisson_about_mean(n, mean, random_bytes)
