"""Exact samplers that OpenDP lacks, from the operating system's randomness."""

from __future__ import annotations

import os
from decimal import Decimal, localcontext
from functools import cache

import numpy as np


def draw_parts(n_records: int, n_parts: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """For each record, independently, one of ``n_parts`` with equal probability.

    Independent draws are what makes the parts' costs parallel (docs/theory.md): dealing the rows out in order
    or in equal chunks would let one inserted record move others from part to part.
    """
    if generator is not None:
        return generator.integers(n_parts, size=n_records)
    return _uniform(n_records, n_parts)


def survivors(gaps: np.ndarray) -> np.ndarray:
    """The numbers of those whose coin, of chance exactly exp(-gap) for a whole gap >= 0, comes up.

    A coin comes up if a uniform number in [0, 1) is below its chance. Both are compared by 64 binary digits;
    in the one case in 2^64 where these are equal, by the next 64, and so on. So the chance is exact, and
    nearly always one word of randomness decides.
    """
    words = np.frombuffer(os.urandom(8 * len(gaps)), dtype=np.uint64)
    chances = np.array([_digits_of_exp(k, 0) if k else 0 for k in range(64)], dtype=np.uint64)
    thresholds = chances[np.minimum(gaps, 63)]
    up = (words < thresholds) | (gaps == 0)
    for i in np.flatnonzero((words == thresholds) & (gaps != 0)):
        up[i] = _below(int(gaps[i]))
    return np.flatnonzero(up)


def _below(gap: int) -> bool:
    """Whether more digits of a uniform number are below those of exp(-gap), the first 64 being equal."""
    place = 1
    while (digits := _digits_of_exp(gap, place)) == (word := int.from_bytes(os.urandom(8), "little")):
        place += 1
    return word < digits


@cache
def _digits_of_exp(gap: int, place: int) -> int:
    """Binary digits 64 * place to 64 * place + 63 after the point of exp(-gap)."""
    if gap > 64 * (place + 1):  # exp(-gap) < 2^-gap: these digits are all zero
        return 0
    with localcontext(prec=60 + 20 * (place + 1) + gap):
        return int(Decimal(-gap).exp() * 2 ** (64 * (place + 1))) % 2**64


def _uniform(n: int, below: int) -> np.ndarray:
    """``n`` independent whole numbers, each equally likely to be any from 0 to ``below`` - 1."""
    limit = 2**32 - 2**32 % below  # words from here on are drawn again, so that no number is favoured
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        words = np.frombuffer(os.urandom(4 * (n - len(drawn))), dtype=np.uint32)
        drawn = np.concatenate([drawn, (words[words < limit] % np.uint32(below)).astype(np.int64)])
    return drawn
