"""Exact samplers that OpenDP lacks, from the operating system's randomness."""

from __future__ import annotations

import os

import numpy as np


def draw_parts(n_records: int, n_parts: int, generator: np.random.Generator | None = None) -> np.ndarray:
    """For each record, independently, one of ``n_parts`` with equal probability.

    Independent draws are what makes the parts' costs parallel (docs/theory.md): dealing the rows out in order or in
    equal chunks would let one inserted record move others from part to part.
    """
    if generator is not None:
        return generator.integers(n_parts, size=n_records)
    return _uniform(n_records, n_parts)


def survivors(tosses: np.ndarray) -> np.ndarray:
    """The numbers of those that win all their ``tosses`` of a coin with chance 1/e; no tosses are won at once.

    Each toss is the exact sampler of Canonne, Kamath and Steinke (2020): count how long coins of chance 1, 1/2, 1/3, ...
    keep coming up; the chance that the count of tosses until the first failure is odd is 1/e.
    """
    alive = np.arange(len(tosses))
    done = []
    toss = 0
    while len(alive):
        ready = tosses[alive] <= toss
        done.append(alive[ready])
        alive = alive[~ready]
        alive = alive[_one_in_e(len(alive))]
        toss += 1
    return np.sort(np.concatenate(done)) if done else alive


def _one_in_e(n: int) -> np.ndarray:
    """``n`` independent coins that come up with chance exactly 1/e."""
    came_up = np.zeros(n, dtype=bool)
    waiting = np.arange(n)
    k = 2  # the coin of chance 1/1 always comes up
    while len(waiting):
        again = _uniform(len(waiting), k) == 0
        came_up[waiting[~again]] = k % 2 == 1
        waiting = waiting[again]
        k += 1
    return came_up


def _uniform(n: int, below: int) -> np.ndarray:
    """``n`` independent whole numbers, each equally likely to be any from 0 to ``below`` - 1."""
    limit = 2**32 - 2**32 % below  # words from here on are drawn again, so that no number is favoured
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < n:
        words = np.frombuffer(os.urandom(4 * (n - len(drawn))), dtype=np.uint32)
        drawn = np.concatenate([drawn, (words[words < limit] % np.uint32(below)).astype(np.int64)])
    return drawn
