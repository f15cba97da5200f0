"""Numbers with intervals, from noisy counts: sampling and noise both count.

The records that are scored are drawn by chance, so a cell's exact count has the variance of a Poisson number, about the
count itself; noise of a known variance comes on top, the same in every cell and independent. Where several records of a
person share one vote, a person's shares of the cells are the mean of a vote's, whose covariance is never larger (law of
total variance), so with persons for records all intervals are at least as wide as they have to be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet.rounding import rounded_down, rounded_up

Z = 1.959964
"""95% of a normal law are within so many standard deviations."""


@dataclass(frozen=True)
class Estimate:
    """A number, and between which numbers it is with 95% confidence."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    @property
    def percent(self) -> str:
        """A share as people read it.

        >>> Estimate(0.88881, 0.88114, 0.89628).percent
        '88.9% (88.1% to 89.7%)'
        """
        shown = self.outward(3)
        return f"{shown.value:.1%} ({shown.low:.1%} to {shown.high:.1%})"

    def outward(self, digits: int) -> Estimate:
        """With so many digits after the point, as it is shown everywhere: what is rounded still holds the interval.

        >>> Estimate(0.88881, 0.88114, 0.89628).outward(3)
        Estimate(value=0.889, low=0.881, high=0.897)
        """
        return Estimate(round(self.value, digits), rounded_down(self.low, digits), rounded_up(self.high, digits))


def ratio(
    counts: np.ndarray, worth: np.ndarray, variance: float, low: float = 0.0, high: float = 1.0, *, own: bool = False
) -> Estimate:
    """The mean of what records are worth, cell by cell, between public bounds.

    The interval holds every mean m for which sum((worth - m) * counts), which is 0 on average if m is the mean, is
    within ``Z`` of its standard deviations (Fieller; of worths 0 and 1, without noise, Wilson's): so it is right also
    where n is noisy and where the mean is near a bound. ``own``: worths other than 0 and 1 have the variance that the
    counts themselves show.
    """
    counts, worth = counts.ravel().astype(float), worth.ravel().astype(float)
    n, total = float(counts.sum()), float(worth @ counts)
    zz = Z * Z
    noise = variance * np.array([len(worth), worth.sum(), worth @ worth])
    if own:
        spread = np.array([n, total, max(float(worth**2 @ counts), 0.0)])
    else:  # of a number in [low, high] with mean m, at most (high - m) * (m - low)
        spread = n * np.array([-1.0, -(low + high) / 2, -low * high])
    a, b, c = map(float, np.array([n * n, n * total, total * total]) - zz * (noise + spread))
    root = b * b - a * c
    if n <= 0 or a <= 0 or root < 0:
        middle = min(max(total / n if n > 0 else (low + high) / 2, low), high)
        return Estimate(middle, low, high)
    ends = (b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a
    value = min(max(total / n, low), high)
    return Estimate(value, min(max(ends[0], low), value), max(min(ends[1], high), value))


def positive_mean(
    counts: np.ndarray, worth: np.ndarray, variance: float, high: float, unknown: float = 0.0
) -> Estimate:
    """The mean of losses from 0 to ``high``, whose spread the counts themselves show.

    ``unknown`` is the variance of the losses' sum for what counts cannot tell: where inside a bin its records lie.

    By the delta method for its logarithm: where a few large losses are missing from a sample, the mean and its spread
    are too small together, which a logarithm makes up for.
    """
    counts, worth = counts.ravel().astype(float), worth.ravel().astype(float)
    n, total = float(counts.sum()), float(worth @ counts)
    if n <= 0 or total <= 0:
        return Estimate(0.0, 0.0, high)
    mean = total / n
    apart = (worth - mean) ** 2
    error = math.sqrt(max(float(apart @ counts), 0.0) + variance * float(apart.sum()) + unknown) / n
    reach = math.exp(min(Z * error / mean, 50))
    return Estimate(min(mean, high), min(mean / reach, high), min(mean * reach, high))


def area_under_curve(counts: np.ndarray, variance: float, inside: np.ndarray) -> Estimate:
    """The chance that a record of the second class has a higher score than one of the first.

    ``counts`` has (bins, 2); in the same bin it is taken to be 1/2 + ``inside``. By the delta method: the area is a
    ratio of sums of products of counts, whose noise is independent, so its numerator is right on average; the interval
    is made for its log-odds, and so stays inside.
    """
    counts = counts.astype(float)
    if not (counts.sum(axis=0) > 0).all():
        return Estimate(0.5, 0.0, 1.0)
    area, *slopes = _area(counts[:, 0], counts[:, 1], inside)
    return _of_areas(area, np.stack(slopes, axis=1), counts, variance)


def mean_area(counts: np.ndarray, scores: np.ndarray, variance: float) -> Estimate:
    """The mean over classes of the area of each against all others, records with the same score by halves.

    ``counts`` has (bins, classes). ``scores`` says how likely each bin takes each class to be, (bins, classes); bins
    that say the same of a class are one. The classes' areas come from the same counts: what a cell moves in one of them
    and in another is added up before it is squared.
    """
    counts = counts.astype(float)
    n_classes = counts.shape[1]
    if not (counts.sum(axis=0) > 0).all():
        return Estimate(0.5, 0.0, 1.0)
    areas, slopes = [], np.zeros(counts.shape)
    for k in range(n_classes):
        said, place = np.unique(scores[:, k], return_inverse=True)
        rest, own = (np.bincount(place, each, len(said)) for each in (np.delete(counts, k, 1).sum(1), counts[:, k]))
        area, of_rest, of_own = _area(rest, own, np.zeros(len(said)))
        areas.append(area)
        slopes += np.where(np.arange(n_classes) == k, of_own[place, None], of_rest[place, None]) / n_classes
    return _of_areas(float(np.mean(areas)), slopes, counts, variance)


def _area(first: np.ndarray, second: np.ndarray, inside: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The area, and how much one record more of either class in each bin moves it."""
    n0, n1 = first.sum(), second.sum()
    below = (np.cumsum(first) - first * (0.5 - inside)) / n0  # of the first class, the share under one of the second
    above = 1 - (np.cumsum(second) - second * (0.5 + inside)) / n1
    area = min(max(float(second @ below) / n1, 0.0), 1.0)
    return area, (above - area) / n0, (below - area) / n1


def _of_areas(area: float, slopes: np.ndarray, counts: np.ndarray, variance: float) -> Estimate:
    """An area with its interval, by how much each count moves it."""
    squares = slopes.ravel() ** 2
    error = math.sqrt(max(float(squares @ counts.ravel()), 0.0) + variance * float(squares.sum()))
    chance = min(max(area, 1e-6), 1 - 1e-6)
    reach = Z * error / (chance * (1 - chance))
    logit = math.log(chance / (1 - chance))
    return Estimate(area, *(1 / (1 + math.exp(-min(max(logit + sign * reach, -50), 50))) for sign in (-1, 1)))


def quantile(counts: np.ndarray, ends: np.ndarray, q: float, variance: float) -> Estimate:
    """The number that a share ``q`` of the records is at or below; ``counts[i]`` are between ``ends[i]`` and the next.

    At each end the share of records below is compared with q, in standard deviations of sampling and noise; where that
    crosses 0 and plus or minus ``Z``, between the ends by a straight line, are the value and its interval.
    """
    counts = counts.astype(float)
    n = counts.sum()
    if n <= 0:
        return Estimate(float(ends[len(ends) // 2]), float(ends[0]), float(ends[-1]))
    below = np.concatenate([[0.0], np.cumsum(counts)]) - q * n
    cells = np.arange(len(counts) + 1)
    noise = variance * (cells * (1 - q) ** 2 + (len(counts) - cells) * q * q)
    away = np.maximum.accumulate(below / np.sqrt(n * q * (1 - q) + noise))
    low, value, high = (float(np.interp(at, away, ends)) for at in (-Z, 0.0, Z))
    return Estimate(value, low, high)
