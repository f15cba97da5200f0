"""Intervals hold what they promise: on simulated tables with noise, 95% of them hold the truth."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privet.evaluate.intervals import Estimate, area_under_curve, mean_area, positive_mean, quantile, ratio

RUNS = 3000
# The number that hold is binomial with 3,000 trials: below .925 or above .975 it is, by chance, less than 1e-9 of times
# (six standard deviations of .004 from .95).
LEAST, MOST = 0.925, 0.975


def noisy(rng, chances, n, variance):
    """Exact counts of a random number of records, with Laplace-like noise of this variance."""
    exact = rng.poisson(n * chances)
    alpha = 1 + 1 / variance - np.sqrt((1 + 1 / variance) ** 2 - 1) if variance else 0
    noise = rng.geometric(1 - alpha, exact.shape) - rng.geometric(1 - alpha, exact.shape) if variance else 0
    return exact + noise


def share_held(truth, found):
    return np.mean([own.low <= truth <= own.high for own in found])


@pytest.mark.parametrize("n", [200, 5000])
@pytest.mark.parametrize("right", [0.6, 0.97])
@pytest.mark.parametrize("variance", [0.0, 2.0, 200.0])
def test_shares_are_held(n, right, variance):
    rng = np.random.default_rng(5)
    chances = np.array([[right * 0.7, (1 - right) * 0.4], [(1 - right) * 0.6, right * 0.3]])
    worth = np.eye(2)
    found = [ratio(noisy(rng, chances, n, variance), worth, variance) for _ in range(RUNS)]
    assert share_held(right, found) >= LEAST
    if n == 5000 and right == 0.6:
        assert share_held(right, found) <= MOST


@pytest.mark.parametrize("variance", [0.0, 2.0, 50.0])
def test_means_are_held(variance):
    rng = np.random.default_rng(6)
    chances, worth = np.array([0.2, 0.5, 0.2, 0.1]), np.array([0.0, 0.3, 1.0, 4.0])
    found = [ratio(noisy(rng, chances, 3000, variance), worth, variance, 0, 4, own=True) for _ in range(RUNS)]
    assert LEAST <= share_held(float(chances @ worth), found) <= MOST


@pytest.mark.parametrize("variance", [0.0, 2.0, 50.0])
def test_means_of_losses_are_held_though_large_ones_are_rare(variance):
    rng = np.random.default_rng(6)
    chances, worth = np.array([0.5, 0.38, 0.1, 0.02]), np.array([0.05, 0.2, 1.5, 6.0])
    found = [positive_mean(noisy(rng, chances, 2000, variance), worth, variance, 6.0) for _ in range(RUNS)]
    assert LEAST <= share_held(float(chances @ worth), found) <= MOST


@pytest.mark.parametrize("variance", [0.0, 2.0, 50.0])
def test_areas_are_held(variance):
    rng = np.random.default_rng(7)
    chances = np.array([[0.3, 0.02], [0.2, 0.05], [0.1, 0.1], [0.03, 0.2]])
    first, second = chances[:, 0] / chances[:, 0].sum(), chances[:, 1] / chances[:, 1].sum()
    truth = float(second @ (np.cumsum(first) - first / 2))
    found = [area_under_curve(noisy(rng, chances, 3000, variance), variance, np.zeros(4)) for _ in range(RUNS)]
    assert LEAST <= share_held(truth, found) <= MOST


@pytest.mark.parametrize("variance", [0.0, 2.0, 50.0])
def test_mean_areas_of_several_classes_are_held(variance):
    rng = np.random.default_rng(11)
    scores = np.array([[0.8, 0.1, 0.1], [0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.1, 0.1, 0.8]])
    chances = (scores + 0.2) * np.array([[0.2], [0.3], [0.2], [0.1], [0.2]]) / 1.6
    truth = mean_area(1e9 * chances, scores, 0.0).value
    found = [mean_area(noisy(rng, chances, 3000, variance), scores, variance) for _ in range(RUNS)]
    assert LEAST <= share_held(truth, found) <= MOST


@pytest.mark.parametrize("variance", [0.0, 2.0, 50.0])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_quantiles_are_held(variance, q):
    rng = np.random.default_rng(8)
    ends = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
    chances = np.array([0.3, 0.25, 0.2, 0.2, 0.05])
    truth = float(np.interp(q, np.concatenate([[0], np.cumsum(chances)]), ends))
    found = [quantile(noisy(rng, chances, 3000, variance), ends, q, variance) for _ in range(RUNS)]
    # Between the ends of a wide bin the straight line knows more than it is credited with.
    assert LEAST <= share_held(truth, found) <= (MOST if q == 0.5 else 0.995)


def test_without_noise_the_area_is_the_rank_statistic():
    rng = np.random.default_rng(9)
    bins, label = rng.integers(0, 6, 500), rng.integers(0, 2, 500)
    counts = np.array([[((bins == b) & (label == k)).sum() for k in (0, 1)] for b in range(6)])
    found = area_under_curve(counts, 0.0, np.zeros(6))
    assert abs(found.value - roc_auc_score(label, bins)) < 1e-12


def test_next_to_nothing_says_next_to_nothing():
    for counts in (np.zeros((2, 2)), np.array([[1, -3], [0, 1]]), np.array([[2, 0], [0, 1]])):
        assert ratio(counts, np.eye(2), 200.0) == Estimate(ratio(counts, np.eye(2), 200.0).value, 0.0, 1.0)
    assert area_under_curve(np.array([[-1, 2], [0, 3]]), 2.0, np.zeros(2)) == Estimate(0.5, 0.0, 1.0)
    assert mean_area(np.array([[5, 2, 0], [1, 3, 0]]), np.eye(3)[:2], 2.0) == Estimate(0.5, 0.0, 1.0)
    assert positive_mean(np.array([-1, 0]), np.array([1.0, 2.0]), 2.0, 2.0) == Estimate(0.0, 0.0, 2.0)
    assert quantile(np.array([-1, 0]), np.array([0.0, 1.0, 2.0]), 0.5, 2.0) == Estimate(1.0, 0.0, 2.0)
    assert str(Estimate(0.5, 0.25, 0.75)) == "0.5 (0.25 to 0.75)"
