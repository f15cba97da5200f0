"""What many retrainings gave, and what follows from it at a stated confidence.

Each retraining draws a model, independently of the others; ``right`` is how many test records it labels as wanted. From
the ranked ``right`` follows a lower bound on the whole law of the accuracy, and from how often each record was right a
lower bound on its chance. Both hold for all guarantees and all numbers of poisoned records at once: these only map
probabilities to smaller ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privet.audit.bound import lowest
from privet.robustness.guarantee import SLACK, Guarantee

_GROWTH = 1.15
"""Ranks that are looked at grow by this factor: each one more costs confidence, each one fewer accuracy."""

_EVEN = 40
"""So many ranks are evenly spaced, for wide laws."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """``right`` records in each retraining, and for each record its ``hits``: the retrainings in which it was right."""

    right: np.ndarray
    hits: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> Outcomes:
        """Of a row for each retraining, with a truth value for each record."""
        return cls(matrix.sum(axis=1), matrix.sum(axis=0))

    @classmethod
    def joined(cls, parts: list[Outcomes]) -> Outcomes:
        return cls(np.concatenate([part.right for part in parts]), np.sum([part.hits for part in parts], axis=0))

    @property
    def runs(self) -> int:
        return len(self.right)

    @property
    def mean(self) -> float:
        """The mean share of records that are right: an estimate, not a bound."""
        return float(self.right.mean() / len(self.hits))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(self.right.std(ddof=1) / len(self.hits) / np.sqrt(self.runs)) if self.runs > 1 else float("nan")

    def guaranteed(self, guarantee: Guarantee, distance: int, alpha: float) -> float:
        """A lower bound on the mean share after ``distance`` units differ, wrong with a chance of at most ``alpha``.

        The better of two bounds, each with half of ``alpha``: by the law of the share, and by each record's own chance.
        """
        by_law = guaranteed_mean(self.right / len(self.hits), guarantee, distance, alpha / 2)
        return max(by_law, self.by_points(guarantee, distance, alpha / 2) - SLACK, 0.0)

    def by_points(self, guarantee: Guarantee, distance: int, alpha: float) -> float:
        """The mean over records of ``worst`` of their chance to be right."""
        return float(guarantee.worst(self.chances(alpha), distance).mean())

    def majority(self, guarantee: Guarantee, distance: int, alpha: float) -> float:
        """The share of records whose wanted label keeps more than half of the chance: a majority of many models."""
        return float((guarantee.worst(self.chances(alpha), distance) > 0.5).mean())

    def chances(self, alpha: float) -> np.ndarray:
        """A lower bound on each record's chance to be right; all hold together but for a chance of ``alpha``."""
        return lowest(self.hits, self.runs, alpha / len(self.hits))


def guaranteed_mean(shares: np.ndarray, guarantee: Guarantee, distance: int, alpha: float) -> float:
    """A lower bound on a share's mean after ``distance`` units differ, from independent ``shares`` drawn before.

    Wrong with a chance of at most ``alpha``, half of it for each of two bounds. If all was known, that by the law would
    never be the worse one; with few runs and a wide law, the mean is known better.
    """
    by_law = _by_law(shares, guarantee, distance, alpha / 2)
    by_mean = float(guarantee.worst(_mean_at_least(shares, alpha / 2), distance))
    return max(0.0, by_law - SLACK, by_mean - SLACK)


def _by_law(shares: np.ndarray, guarantee: Guarantee, distance: int, alpha: float) -> float:
    """The integral over t of ``worst`` of the chance that the share is above t (docs/theory.md, C2).

    The chance that a new model's share is at least the j-th smallest of n is a Beta(n - j + 1, j) number or more (C3).
    So each rank gives a bound; some ranks share ``alpha``.
    """
    ranked = np.sort(shares)[_ranks(len(shares)) - 1]
    return float(np.diff(ranked, prepend=0.0) @ guarantee.worst(_at_least(len(shares), alpha), distance))


def _mean_at_least(shares: np.ndarray, alpha: float) -> float:
    """A lower bound on the mean of numbers in [0, 1], by their variance (Maurer and Pontil 2009, Theorem 4)."""
    n, log_odds = len(shares), np.log(2 / alpha)
    if n < 2:
        return 0.0
    return max(
        0.0, float(shares.mean() - np.sqrt(2 * shares.var(ddof=1) * log_odds / n) - 7 * log_odds / (3 * (n - 1)))
    )


@lru_cache(maxsize=64)
def _ranks(runs: int) -> np.ndarray:
    steps = int(np.log(runs) / np.log(_GROWTH)) + 2
    even = np.arange(1, _EVEN + 1) * runs / _EVEN
    return np.unique(np.clip(np.ceil(np.r_[_GROWTH ** np.arange(steps), even]), 1, runs).astype(int))


@lru_cache(maxsize=64)
def _at_least(runs: int, alpha: float) -> np.ndarray:
    """For each rank j a lower bound on the chance to be at least the j-th smallest of ``runs``: the Beta's quantile."""
    ranks = _ranks(runs)
    return lowest(runs - ranks + 1, runs, alpha / len(ranks))
