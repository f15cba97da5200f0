"""A published step on plain data, twice: something to draw from, and the exact law of what it releases.

What a law gives out is what the attacker looks at: the release itself, or a public function of it that takes a few
values, such as "is the released maximum at most 3?". Looking at less is post-processing, so a privacy loss found there
is a loss of the release.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Protocol

import numpy as np

LogLaw = dict[Hashable, float]


class Law(Protocol):
    def draw(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Hashable:
        """One run of the step, as the paper prints it."""
        ...

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        """The log-probability of each output."""
        ...


def log_not(log_p: float) -> float:
    """The log-probability of the opposite.

    >>> round(math.exp(log_not(math.log(0.25))), 12)
    0.75
    """
    if log_p >= 0:
        return -math.inf
    return math.log(-math.expm1(log_p)) if log_p > -math.log(2) else math.log1p(-math.exp(log_p))


def yes_or_no(log_yes: float) -> LogLaw:
    """The law of an event."""
    return {True: log_yes, False: log_not(log_yes)}


def log_laplace_above(t: float, scale: float) -> float:
    """Log-probability that Laplace noise exceeds ``t``.

    >>> round(math.exp(log_laplace_above(0.0, 3.0)), 12)
    0.5
    """
    if t >= 0:
        return math.log(0.5) - t / scale
    return math.log1p(-0.5 * math.exp(t / scale))
