"""The whole curve of epsilon and delta: below the truth at every point, all points at once.

Confidence is 1 - 1e-8 in each test.
"""

import math

import numpy as np
import pytest

from privet.audit import Pair
from privet.audit import statistical as engine
from privet.audit.curve import Curve, curve_of_samples, privacy_curve
from privet.errors import PrivetError

SURE = 1 - 1e-8
N = 300_000
RNG = np.random.default_rng()
PAIR = Pair(([[0]], [0]), ([[0], [1]], [0, 1]))


def flip(X, y):
    """Randomised response whether there are two records: epsilon ln 9."""
    return bool(np.random.default_rng().random() < (0.9 if len(y) == 2 else 0.1))


def test_the_curve_of_gaussian_noise_is_below_the_truth_and_near_it():
    from scipy.stats import norm

    curve = curve_of_samples(RNG.normal(0, 1, N), RNG.normal(1, 1, N), confidence=SURE)
    for epsilon in (0.0, 0.5, 1.0):
        truth = norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon)
        assert 0.65 * truth <= curve.delta_at(epsilon) <= truth
    assert curve.epsilon_at(0.1) < curve.epsilon_at(0.01) < curve.epsilon_at(0)


def test_the_curve_catches_a_promise_that_is_too_good():
    curve = privacy_curve(flip, PAIR, runs=10_000, confidence=SURE, n_jobs=1)
    assert curve.violates(1.0, 0.1)
    assert not curve.violates(math.log(9), 0.0)


def test_a_release_whose_copies_share_a_generator_is_refused_a_curve(monkeypatch):
    monkeypatch.setattr(engine, "_WORTH_WORKERS", 0.0)
    generator = np.random.default_rng()
    with pytest.raises(PrivetError, match="carries its own generator"):
        privacy_curve(lambda X, y: generator.random() < 0.1, PAIR, runs=20_000, n_jobs=2)


def test_a_curve_refuses_what_is_no_probability():
    curve = curve_of_samples([0] * 1000, [1] * 1000)
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(PrivetError, match="delta"):
            curve.violates(1.0, wrong)
    with pytest.raises(PrivetError, match="runs must"):
        privacy_curve(flip, PAIR, runs=-5)


def test_points_are_read_both_ways():
    """Half against a tenth: at no delta ln 5, at a tenth ln 4; at no epsilon four tenths."""
    curve = Curve(((0.5, 0.1), (0.9, 0.8)), confidence=0.95, runs=100)
    assert curve.epsilon_at(0.0) == pytest.approx(math.log(5))
    assert curve.epsilon_at(0.1) == pytest.approx(math.log(4))
    assert curve.epsilon_at(1.0) == 0
    assert curve.delta_at(0.0) == pytest.approx(0.4)
    assert curve.delta_at(10_000.0) == 0
    assert curve.violates(1.0, 0.2)
    assert not curve.violates(1.61, 0.0)  # just above ln 5


def test_equal_laws_have_a_flat_curve():
    curve = curve_of_samples(RNG.normal(size=5000), RNG.normal(size=5000), confidence=SURE)
    assert (curve.epsilon_at(0), curve.delta_at(0)) == (0, 0)


def test_too_few_runs_for_a_curve_are_refused_with_the_number_that_is_needed():
    with pytest.raises(PrivetError, match=r"at least \d+ are needed"):
        privacy_curve(flip, PAIR, runs=30)
    with pytest.raises(PrivetError, match="too few"):
        curve_of_samples([0] * 20, [1] * 20)
