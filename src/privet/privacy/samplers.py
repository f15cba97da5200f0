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
    thresholds = _first_digits()[np.minimum(gaps, 63)]
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
def _first_digits() -> np.ndarray:
    """The first 64 binary digits of exp(-gap) for the gaps below 64; beyond, they are all zero."""
    return np.array([_digits_of_exp(k, 0) if k else 0 for k in range(64)], dtype=np.uint64)


@cache
def _digits_of_exp(gap: int, place: int) -> int:
    """Binary digits 64 * place to 64 * place + 63 after the point of exp(-gap)."""
    if gap > 64 * (place + 1):  # exp(-gap) < 2^-gap: these digits are all zero
        return 0
    with localcontext(prec=60 + 20 * (place + 1) + gap):
        return int(Decimal(-gap).exp() * 2 ** (64 * (place + 1))) % 2**64


def one_sided_geometric(n: int, numerator: int, denominator: int) -> np.ndarray:
    """``n`` independent whole numbers k >= 0, each with P(k) = (1 - a) a^k, a = exp(-denominator / numerator).

    Exact and vectorised: OpenDP's sampler takes some ten microseconds for each number, this one less than one. Count
    in steps of ratio exp(-1 / numerator): such a number is some whole units of ``numerator`` steps, each time one more
    with chance 1/e, and a rest below one unit with chances in proportion to exp(-rest / numerator), which is drawn
    evenly and kept with that chance. ``denominator`` steps to a point: that keeps it geometric (Canonne, Kamath and
    Steinke, 2020).
    """
    # Whole units: in one long row of coins of chance 1/e, the runs of those that come up.
    fails = np.array([-1])
    n_coins = 0
    while len(fails) <= n:
        more = 2 * (n + 1 - len(fails)) + 16
        came_up = np.zeros(more, dtype=bool)
        came_up[survivors(np.ones(more, dtype=np.int64))] = True
        fails = np.concatenate([fails, n_coins + np.flatnonzero(~came_up)])
        n_coins += more
    whole = np.diff(fails[: n + 1]) - 1
    rest = np.zeros(n if numerator == 1 else 0, dtype=np.int64)
    while len(rest) < n:
        drawn = _uniform(2 * (n - len(rest)) + 16, numerator)
        rest = np.concatenate([rest, drawn[_below_one_survives(drawn, numerator)]])
    return (whole * numerator + rest[:n]) // denominator


def _below_one_survives(gaps: np.ndarray, unit: int) -> np.ndarray:
    """Coins of chance exp(-g), g = gap / unit in [0, 1): in a row of coins of chances g/1, g/2, ... the first to fail
    is an odd one. (The k-th is the first to fail with chance g^(k-1)/(k-1)! - g^k/k!.)
    """
    up = np.zeros(len(gaps), dtype=bool)
    alive, k = np.arange(len(gaps)), 1
    while len(alive):
        tossed = _uniform(len(alive), unit * k) < gaps[alive]
        up[alive[~tossed]] = k % 2 == 1
        alive, k = alive[tossed], k + 1
    return up


def _uniform(n: int, below: int) -> np.ndarray:
    """``n`` independent whole numbers, each equally likely to be any from 0 to ``below`` - 1."""
    width = 4 if below <= 2**32 else 8
    words_in_all = 2 ** (8 * width)
    limit = words_in_all - words_in_all % below  # words from here on are drawn again, so that no number is favoured
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        words = np.frombuffer(os.urandom(width * (n - len(drawn))), dtype=f"u{width}")
        kept = words if limit == words_in_all else words[words < limit]
        drawn = np.concatenate([drawn, (kept % below).astype(np.int64)])
    return drawn
