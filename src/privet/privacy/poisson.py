"""Exact Poisson numbers from the operating system's randomness.

A Poisson number of a small mean is read off a table of its chances. One of a large mean is a two-sided geometric number
around the mean, kept with a chance that makes it Poisson. In both cases a uniform number is compared with a chance by
its first 64 binary digits, and by more wherever these, and the rounding of the computation, leave open which is
smaller.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.privacy.samplers import one_sided_geometric
from privet.values import decimals

SMALL = 64
"""Means up to here have a table."""


def poisson_about_mean(n: int, mean: Fraction, random_bytes: Callable[[int], bytes] = os.urandom) -> np.ndarray:
    """``n`` Poisson numbers, each less the whole part of their mean, so that the largest means fit."""
    if mean <= SMALL:
        return _table(mean).draw(n, random_bytes) - math.floor(mean)
    return _large(mean).draw(n, random_bytes)


class PoissonTable:
    """Poisson numbers of a small mean, which ``mean(digits)`` gives to so many digits."""

    def __init__(self, mean: Callable[[int], Decimal]) -> None:
        self._mean = mean
        self.thresholds: np.ndarray = np.array([min(digits, 2**64 - 1) for digits in self._digits()], dtype=np.uint64)

    def _digits(self) -> list[int]:
        """The first 64 binary digits of the chances of at most 0, 1, ..., until they are all ones."""
        with decimals(80):
            mean = self._mean(60)
            term = total = (-mean).exp()
            table = [int(total * 2**64)]
            while table[-1] < 2**64 - 1:
                term = term * mean / len(table)
                total += term
                table.append(int(total * 2**64))
        return table

    def at_most(self, k: int, digits: int) -> Decimal:
        """The chance of at most ``k``."""
        with decimals(digits + 20):
            mean = self._mean(digits)
            term, total = Decimal(1), Decimal(1)
            for i in range(1, k + 1):
                term = term * mean / i
                total += term
            return total * (-mean).exp()

    def draw(self, n: int, random_bytes: Callable[[int], bytes] = os.urandom) -> np.ndarray:
        """The number of chances "at most k" that a uniform number is not below."""
        words = np.frombuffer(random_bytes(8 * n), dtype=np.uint64)
        drawn = np.searchsorted(self.thresholds, words, side="right").astype(np.int64)
        # A word that is equal to the first digits of a chance is above it or below it by its next digits.
        for i in np.flatnonzero(np.isin(words, self.thresholds)):
            drawn[i] = self.exactly(int(words[i]), random_bytes)
        return drawn

    def exactly(self, word: int, random_bytes: Callable[[int], bytes]) -> int:
        bits, k = 64, 0
        while True:
            digits = bits // 3 + 20
            chance = self.at_most(k, digits) * 2**bits
            if word + 1 <= chance * (1 - Decimal(10) ** (5 - digits)):
                return k
            if word >= chance * (1 + Decimal(10) ** (5 - digits)):
                k += 1
            else:
                word, bits = word << 64 | int.from_bytes(random_bytes(8), "little"), bits + 64


@lru_cache(maxsize=256)
def _table(mean: Fraction) -> PoissonTable:
    return PoissonTable(lambda digits: _decimal(mean, digits))


class _Large:
    """Poisson numbers of a large mean m, less its whole part m0: j with P(j) proportional to w(j) = p(m0 + j) / p(m0).

    Proposed is j with a chance in proportion to exp(-|j| / t), t about sqrt(m), and it is kept with the chance
    exp(ln w(j) + |j| / t - c). That is at most 1, because c is at least the largest of these exponents. On either side
    of 0 they are concave, growing, step by step outwards, by ln(m / (m0 + j + 1)) + 1/t and by ln((m0 + j) / m) + 1/t,
    which fall; so the largest is where these change their sign. About three of four proposals are kept.
    """

    def __init__(self, mean: Fraction) -> None:
        self._mean = mean
        self._whole = math.floor(mean)
        self._rest = float(mean - self._whole)
        self._width = math.isqrt(self._whole) + 1
        up = math.floor(float(mean) * math.expm1(1 / self._width) + self._rest)
        down = -math.floor(-float(mean) * math.expm1(-1 / self._width) + self._rest)
        near = np.array([j + step for j in (up, down) for step in range(-3, 4)], dtype=np.int64)
        # Some above what floats say, which is right to 1e-9: it only costs one proposal in a million.
        self._most = Fraction(float(self._exponents(near[near >= -self._whole + 16]).max()) + 2.0**-20)

    def _exponents(self, j: np.ndarray) -> np.ndarray:
        """ln w(j) + |j| / t to an absolute 1e-10 near its maximum, by the saddle-point form of Poisson chances.

        ln p(k) = -m f((k - m)/m) - ln(2 pi k) / 2 - s(k) with f(u) = (1 + u) ln(1 + u) - u and Stirling's series s(k).
        """
        mean, k = float(self._mean), self._whole + j.astype(float)
        tilt = mean * (_f((j - self._rest) / mean) - _f(np.array(-self._rest / mean)))
        flat = 0.5 * np.log1p(j / self._whole) + _stirling(k) - _stirling(np.array(float(self._whole)))
        return -tilt - flat + np.abs(j) / self._width

    def draw(self, n: int, random_bytes: Callable[[int], bytes] = os.urandom) -> np.ndarray:
        kept = np.empty(0, dtype=np.int64)
        while len(kept) < n:
            more = 3 * (n - len(kept)) // 2 + 64
            signs = np.frombuffer(random_bytes(more), dtype=np.uint8) & 1
            size = one_sided_geometric(more, self._width, 1, random_bytes)
            j = np.where(signs == 1, size, -size)[(signs == 1) | (size > 0)]  # 0 has one sign
            j = j[j >= -self._whole]
            words = np.frombuffer(random_bytes(8 * len(j)), dtype=np.uint64)
            kept = np.concatenate([kept, j[self._keeps(j, words, random_bytes)]])
        return kept[:n]

    def _keeps(self, j: np.ndarray, words: np.ndarray, random_bytes: Callable[[int], bytes]) -> np.ndarray:
        """Whether each uniform number, of which the first 64 digits are given, is below the chance of its j."""
        early = j < -self._whole + 16  # where Stirling's series is not good enough for floats
        exponents = self._exponents(np.where(early, 0, j)) - float(self._most)
        chance, uniform = np.exp(exponents), words / 2.0**64
        keep = uniform < chance
        # The chance is right to (1 + |exponent|) 1e-9 of its size, the uniform number to 2^-52.
        open_ = np.abs(uniform - chance) <= chance * (1 - exponents) * 1e-9 + 2.0**-52
        for i in np.flatnonzero(open_ | early):
            keep[i] = self.keeps_exactly(int(j[i]), int(words[i]), random_bytes)
        return keep

    def keeps_exactly(self, j: int, word: int, random_bytes: Callable[[int], bytes] = os.urandom) -> bool:
        bits = 64
        while True:
            digits = bits // 3 + 30
            chance = self._chance(j, digits) * 2**bits
            if word + 1 <= chance * (1 - Decimal(10) ** (5 - digits)):
                return True
            if word >= chance * (1 + Decimal(10) ** (5 - digits)):
                return False
            word, bits = word << 64 | int.from_bytes(random_bytes(8), "little"), bits + 64

    def _chance(self, j: int, digits: int) -> Decimal:
        """exp(ln w(j) + |j| / t - c) to so many digits."""
        work = digits + 30 + 2 * len(str(self._whole))
        with decimals(work):
            ratio = _log_factorial(self._whole + j, work) - _log_factorial(self._whole, work)
            exponent = j * _decimal(self._mean, work).ln() - ratio
            exponent += _decimal(Fraction(abs(j), self._width) - self._most, work)
            return exponent.exp()


_large = lru_cache(maxsize=256)(_Large)


def _f(u: np.ndarray) -> np.ndarray:
    """(1 + u) ln(1 + u) - u, without the cancellation near 0: there it is the sum of (-u)^i / (i (i - 1)), i >= 2."""
    near = np.abs(u) < 0.05
    small = np.where(near, u, 0.0)
    series = np.zeros_like(small)
    for i in range(14, 1, -1):
        series = series * -small + 1 / (i * (i - 1))
    large = np.where(near, 1.0, u)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(near, series * small * small, (1 + large) * np.log1p(large) - large)


def _stirling(k: np.ndarray) -> np.ndarray:
    """ln k! - ((k + 1/2) ln k - k + ln(2 pi) / 2), for k >= 16 to 1e-13."""
    k = np.maximum(k, 16.0)
    square = k * k
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / k


def _log_factorial(k: int, digits: int) -> Decimal:
    """ln k! to an absolute 10^-digits times its size: Stirling's series, whose error is below the first term left out.

    A small k is first raised, k! = (k + s)! / ((k + 1) ... (k + s)), until the series gets that far.
    """
    with decimals(digits + 10):
        raised = max(k, digits)
        x = Decimal(raised)
        total = (x + Decimal("0.5")) * x.ln() - x + (2 * _pi(digits)).ln() / 2
        power = x
        for i, bernoulli in enumerate(_bernoulli(digits), start=1):
            term = _decimal(bernoulli, digits + 10) / (2 * i * (2 * i - 1) * power)
            if abs(term) < Decimal(10) ** -digits:
                break
            total += term
            power *= x * x
        for factor in range(k + 1, raised + 1):
            total -= Decimal(factor).ln()
        return total


@lru_cache(maxsize=64)
def _bernoulli(n: int) -> tuple[Fraction, ...]:
    """The Bernoulli numbers B2, B4, ..., ``n`` of them, by their recurrence."""
    numbers = [Fraction(1)]
    for m in range(1, 2 * n + 1):
        numbers.append(-sum(math.comb(m + 1, k) * own for k, own in enumerate(numbers)) / Fraction(m + 1))
    return tuple(numbers[2::2])


@lru_cache(maxsize=64)
def _pi(digits: int) -> Decimal:
    """Machin's formula."""
    with decimals(digits + 20):

        def arctan_of_inverse(x: int) -> Decimal:
            term = total = Decimal(1) / x
            k = 1
            while abs(term) > Decimal(10) ** -(digits + 15):
                term /= -x * x
                k += 2
                total += term / k
            return total

        return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


def _decimal(value: Fraction, digits: int) -> Decimal:
    with decimals(digits + 10):
        return Decimal(value.numerator) / Decimal(value.denominator)
