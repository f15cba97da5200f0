"""``HistogramTreeClassifier`` between owners, compiled: for the report's grid, whose depth 10 takes 72,000 fits.

The library's own fit spends its time on what a simulation does not need: scopes, events and exact fractions for
thousands of nodes. Here the same algorithm, on numeric features and two classes, has none of these, draws its noise
from a seeded generator and is asked for nothing but the test records that it gets right.
``tests/benchmarks/test_compiled_histogram_tree.py`` holds it against the library: equal trees without noise, equal
accuracy with it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

UNITS = 256.0
"""Bounds are counted in units of 2^-8, as the library does."""


@njit(cache=True)
def noise(scale: float, rng: np.random.Generator) -> float:
    """Two-sided geometric noise: the whole part of an exponential number is geometric."""
    return math.floor(scale * rng.standard_exponential()) - math.floor(scale * rng.standard_exponential())


@njit(cache=True)
def impurity(a: float, b: float) -> float:
    """n p (1 - p) by class shares that are cut to lie between 0 and 1."""
    n = a + b
    p, q = min(max(a / n, 0.0), 1.0), min(max(b / n, 0.0), 1.0)
    return n * (1 - p * p - q * q) / 2


@njit(cache=True)
def least_impurity(counts: np.ndarray) -> float:
    """What the best of an owner's thresholds leaves, of (bin, class) counts, the trivial one included; rounded down."""
    whole_a, whole_b = counts[:, 0].sum(), counts[:, 1].sum()
    least, a, b = np.inf, 0.0, 0.0
    for t in range(len(counts)):
        a += counts[t, 0]
        b += counts[t, 1]
        sides = 0.0
        if a + b > 0:
            sides += math.floor(UNITS * a * b / (a + b))
        c, d = whole_a - a, whole_b - b
        if c + d > 0:
            sides += math.floor(UNITS * c * d / (c + d))
        least = min(least, sides)
    return least


@njit(cache=True)
def best_split(noisy: np.ndarray, low: int, high: int) -> tuple[int, float]:
    """The threshold of least mean impurity between the bins that can reach a node; infinity if there is none."""
    whole_a, whole_b = noisy[:, 0].sum(), noisy[:, 1].sum()
    best, least, a, b = -1, np.inf, 0.0, 0.0
    for t in range(len(noisy) - 1):
        a += noisy[t, 0]
        b += noisy[t, 1]
        c, d = whole_a - a, whole_b - b
        if low <= t < high and a + b > 0 and c + d > 0:
            mean = round((impurity(a, b) + impurity(c, d)) / (whole_a + whole_b), 12)
            if mean < least:
                best, least = t, mean
    return best, least


@njit(cache=True)
def accuracy(
    train: np.ndarray,
    labels: np.ndarray,
    owner: np.ndarray,
    n_owners: int,
    test: np.ndarray,
    truth: np.ndarray,
    n_bins: int,
    epsilon: float,
    max_depth: int,
    saving: bool,
    sound: bool,
    stops_on_asked: bool,
    real_bounds: bool,
    min_samples: float,
    leaf_share: float,
    bounds_share: float,
    rng: np.random.Generator,
) -> float:
    """The share of test records that a tree gets right; ``train`` and ``test`` hold bins, (records, features)."""
    p = train.shape[1]
    leaf_budget = leaf_share * epsilon
    level_budget = (epsilon - leaf_budget) / max_depth
    rows, tests = np.arange(len(train)), np.arange(len(test))
    # A stack of nodes: their rows, their test rows, depth, saved budget and the bins that can reach them.
    ends = np.empty((max_depth + 2, 5), dtype=np.int64)
    budget_saved = np.empty(max_depth + 2)
    reach = np.empty((max_depth + 2, p, 2), dtype=np.int64)
    ends[0] = 0, len(train), 0, len(test), 0
    budget_saved[0] = 0.0
    reach[0, :, 0], reach[0, :, 1] = 0, n_bins - 1
    height, right = 1, 0
    counts = np.zeros((n_owners, p, n_bins, 2))
    noisy = np.zeros((p, n_bins, 2))
    while height:
        height -= 1
        start, end, first, last, depth = ends[height]
        saved = budget_saved[height]
        low, high = reach[height, :, 0].copy(), reach[height, :, 1].copy()
        feature, threshold, leaf = -1, -1, depth == max_depth
        if not leaf:
            counts[:] = 0
            for r in rows[start:end]:
                for j in range(p):
                    counts[owner[r], j, train[r, j], labels[r]] += 1
            saved += level_budget
            each = saved / p
            waiting = np.flatnonzero(low < high) if sound else np.arange(p)
            bounds = np.full(len(waiting), -np.inf)
            if saving and len(waiting):
                paid = bounds_share * each * len(waiting)
                saved -= paid
                each *= 1 - bounds_share
                scale = UNITS * (len(waiting) if sound else 1.25) / paid
                for i, j in enumerate(waiting):
                    bounds[i] = noise(scale, rng)
                    if real_bounds:
                        for k in range(n_owners):
                            bounds[i] += least_impurity(counts[k, j])
                order = np.argsort(bounds, kind="mergesort")
                waiting, bounds = waiting[order], bounds[order] / UNITS
            left, place, batch = len(waiting), 0, 1 if saving else len(waiting)
            least, large, seen_a, seen_b = np.inf, False, False, False
            sum_a, sum_b = 0.0, 0.0  # over the histograms that were asked for
            while place < left:
                reached, stop = np.inf, min(place + batch, left)
                for j in waiting[place:stop]:
                    for t in range(n_bins):
                        for c in range(2):
                            noisy[j, t, c] = counts[:, j, t, c].sum() + noise(1 / each, rng)
                    a, b = noisy[j, :, 0].sum(), noisy[j, :, 1].sum()
                    sum_a += a
                    sum_b += b
                    large |= a + b >= min_samples
                    seen_a |= a > 0
                    seen_b |= b > 0
                for j in waiting[place:stop]:
                    if sound and sum_a > 0 and sum_b > 0:  # all hold the same records
                        noisy[j, :, 0] += (sum_a / stop - noisy[j, :, 0].sum()) / n_bins
                        noisy[j, :, 1] += (sum_b / stop - noisy[j, :, 1].sum()) / n_bins
                    t, mean = best_split(noisy[j], low[j], high[j])
                    a, b = noisy[j, :, 0].sum(), noisy[j, :, 1].sum()
                    if mean < least:
                        feature, threshold, least = j, t, mean
                    if feature >= 0:
                        reached = min(reached, (a + b) * least)
                saved -= each * (stop - place)
                place = stop
                if saving:
                    left = max(place, min(left, np.searchsorted(bounds, reached, side="right")))
                    batch *= 2 if sound else 1
            leaf = not (large and seen_a and seen_b)
            if not (sound or stops_on_asked):  # in print all features have to say so
                leaf = leaf and left == len(waiting)
            leaf = leaf or feature < 0
        if leaf:
            paid = leaf_budget
            if sound:
                paid += saved + level_budget * max(0, max_depth - depth - 1)
            votes = noise(1 / paid, rng), noise(1 / paid, rng)
            a, b = votes
            for r in rows[start:end]:
                a += labels[r] == 0
                b += labels[r] == 1
            for r in tests[first:last]:
                right += truth[r] == (0 if a >= b else 1)
            continue
        middle, between = start, first
        for i in range(start, end):
            if train[rows[i], feature] <= threshold:
                rows[i], rows[middle] = rows[middle], rows[i]
                middle += 1
        for i in range(first, last):
            if test[tests[i], feature] <= threshold:
                tests[i], tests[between] = tests[between], tests[i]
                between += 1
        for side in range(2):
            if side == 0:
                ends[height] = start, middle, first, between, depth + 1
            else:
                ends[height] = middle, end, between, last, depth + 1
            budget_saved[height] = saved
            reach[height, :, 0], reach[height, :, 1] = low, high
            if side == 0:
                reach[height, feature, 1] = min(high[feature], threshold)
            else:
                reach[height, feature, 0] = max(low[feature], threshold + 1)
            height += 1
    return right / max(1, len(test))
