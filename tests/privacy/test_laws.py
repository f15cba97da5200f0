"""The laws against brute force, and lemma L1 on all small scores."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.privacy.laws import (
    log_exponential,
    log_gaussian,
    log_gaussian_tail,
    log_geometric,
    log_geometric_tail,
    log_permute_and_flip,
    log_report_noisy_max,
)

LAWS = [log_permute_and_flip, log_exponential, log_report_noisy_max]
score_vectors = st.lists(st.integers(-30, 30), min_size=1, max_size=5)


def by_all_orders(scores, scale):
    """Permute-and-flip as it is defined: an order, then one coin after the other until one comes up."""
    p = [math.exp((q - max(scores)) / scale) for q in scores]
    chance = [0.0] * len(p)
    for order in itertools.permutations(range(len(p))):
        so_far = 1 / math.factorial(len(p))
        for r in order:
            chance[r] += so_far * p[r]
            so_far *= 1 - p[r]
    return np.array(chance)


def by_polynomials(scores, scale):
    """The integral of the product of (1 - p_j u), with the polynomial multiplied out in 200 digits."""
    with localcontext(prec=200, Emin=-(10**9)):
        p = [((Decimal(q) - max(scores)) / Decimal(scale)).exp() for q in scores]
        logs = []
        for r in range(len(p)):
            coefficients = [Decimal(1)]
            for j, pj in enumerate(p):
                if j != r:
                    longer = [*coefficients, Decimal(0)]
                    coefficients = [c - pj * (coefficients[i - 1] if i else 0) for i, c in enumerate(longer)]
            logs.append(float((p[r] * sum(c / (i + 1) for i, c in enumerate(coefficients))).ln()))
        return np.array(logs)


@settings(max_examples=100, deadline=None)
@given(score_vectors, st.sampled_from([0.3, 1.0, 7.5, 1000.0]))
def test_permute_and_flip_is_what_all_orders_give(scores, scale):
    found = np.exp(log_permute_and_flip(np.array(scores), scale))
    np.testing.assert_allclose(found, by_all_orders(scores, scale), rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0, 1e6])
@pytest.mark.parametrize("scores", [[0] * 40, list(range(30)), [0, 0, 0, 500, 500, 499], [7], [0, 10**6]], ids=str)
def test_the_quadrature_is_exact(scores, scale):
    found = log_permute_and_flip(np.array(scores), scale)
    np.testing.assert_allclose(found, by_polynomials(scores, scale), rtol=1e-12, atol=1e-11)


def by_all_noise(scores, scale):
    """Report-noisy-max as it is defined: every value of every noise within 40 scales, the tied share the win."""
    values = np.arange(min(scores) - math.ceil(40 * scale), max(scores) + math.ceil(40 * scale) + 1)
    a = math.exp(-1 / scale)
    at = [np.exp(log_geometric(values - q, scale)) for q in scores]
    below = [
        np.where(values > q, 1 - a ** np.maximum(values - q, 0) / (1 + a), a ** (q - values + 1.0) / (1 + a))
        for q in scores
    ]
    chance = np.zeros(len(scores))
    for r in range(len(scores)):
        others = [s for s in range(len(scores)) if s != r]
        for n in range(len(others) + 1):
            for tied in itertools.combinations(others, n):
                factors = (at[s] if s in tied else below[s] for s in others)
                chance[r] += math.prod(factors, start=at[r]).sum() / (n + 1)
    return chance


@settings(max_examples=60, deadline=None)
@given(score_vectors, st.sampled_from([0.3, 1.0, 7.5, 60.0]))
def test_report_noisy_max_is_what_all_noise_gives(scores, scale):
    found = np.exp(log_report_noisy_max(np.array(scores), scale))
    np.testing.assert_allclose(found, by_all_noise(scores, scale), rtol=1e-11, atol=1e-300)


def test_report_noisy_max_of_two_has_its_closed_form():
    """With two candidates, g apart: the difference of two noises is at least g, half of it where it is g."""
    for scale, g in ((1.0, 3), (20.0, 55), (400.0, 10_000), (0.5, 1000)):
        a = math.exp(-1 / scale)
        # P(Z - Z' = k) = c a^|k| (|k| + (1 + a^2) / (1 - a^2)), c = ((1 - a) / (1 + a))^2; summed from g on.
        c, d = ((1 - a) / (1 + a)) ** 2, (1 + a * a) / (1 - a * a)
        at = math.log(c * (g + d)) - g / scale
        above = math.log(c * ((g + 1 + d) / (1 - a) + a / (1 - a) ** 2)) - (g + 1) / scale
        found = log_report_noisy_max(np.array([0, g]), scale)[0]
        assert found == pytest.approx(np.logaddexp(above, at - math.log(2)), rel=1e-12)


def test_report_noisy_max_is_permute_and_flip_on_lowered_scores():
    """Its sampler's argument, computed: the mean over all one-sided geometric noise of permute-and-flip's law."""
    scores, a = np.array([0, 2, 3]), math.exp(-1)
    mean = np.zeros(3)
    for lowered in itertools.product(range(24), repeat=3):
        if sum(lowered) < 24:  # all but 1e-7 of the noise
            mean += (1 - a) ** 3 * a ** sum(lowered) * np.exp(log_permute_and_flip(scores - np.array(lowered), 1.0))
    np.testing.assert_allclose(mean, np.exp(log_report_noisy_max(scores, 1.0)), atol=1e-6)


@pytest.mark.parametrize(
    ("law", "n"),
    [(law, n) for law in LAWS for n in (1, 2, 3, 10, 40, 101, 300) if law is not log_report_noisy_max or n <= 40],
)
def test_the_chances_sum_to_one(law, n):
    scores = np.random.default_rng(n).integers(-1000, 1000, size=n)
    for scale in (0.01, 1.0, 300.0, 1e9):
        assert np.exp(law(scores, scale)).sum() == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("law", LAWS)
def test_equal_scores_are_equally_likely_and_a_single_one_is_certain(law):
    np.testing.assert_allclose(law(np.full(9, -4), 0.1), -math.log(9), rtol=1e-12)
    assert law(np.array([123456]), 0.1) == pytest.approx(0, abs=1e-14)


def test_huge_gaps_keep_their_logarithm():
    """Far beyond what a float probability can hold: with two candidates the lesser has p/2 and p/(1+p)."""
    scores = np.array([0, 10**12])
    assert log_permute_and_flip(scores, 1e-3)[0] == pytest.approx(-1e15 - math.log(2), rel=1e-15)
    assert log_exponential(scores, 1e-3)[0] == pytest.approx(-1e15, rel=1e-15)
    assert log_permute_and_flip(scores, 1e-3)[1] == pytest.approx(0, abs=1e-14)
    assert log_report_noisy_max(scores, 1e-3)[0] == pytest.approx(-1e15, rel=1e-12)
    assert log_report_noisy_max(scores, 1e-3)[1] == pytest.approx(0, abs=1e-14)


@settings(max_examples=100, deadline=None)
@given(score_vectors, st.integers(-(10**6), 10**6))
def test_a_common_offset_changes_nothing(scores, offset):
    for law in LAWS:
        np.testing.assert_array_equal(law(np.array(scores) + offset, 3.0), law(np.array(scores), 3.0))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("moves", "rho"), [((0, 1), 1), ((0, -1), 1), ((-1, 0, 1), 2), ((0, 1, 2), 2)], ids=["up", "down", "both", "two"]
)
def test_lemma_one_holds_for_all_small_scores_and_neighbours(law, moves, rho):
    """Every combination of small scores and moves: the log-ratio is at most rho / scale."""
    for scale in (0.5, 2.0):
        worst = 0.0
        for k, largest in ((2, 8), (3, 4), (4, 1)):
            known = itertools.product(range(-1, largest + 3), repeat=k)
            logs = {scores: law(np.array(scores), scale) for scores in known}
            for scores in itertools.product(range(largest + 1), repeat=k):
                for move in itertools.product(moves, repeat=k):
                    after = tuple(map(sum, zip(scores, move)))
                    worst = max(worst, np.abs(logs[scores] - logs[after]).max())
        assert worst <= rho / scale + 1e-12
        assert worst > 0.8 * rho / scale  # so the bound is not idle


def test_a_lead_that_vanishes_costs_permute_and_flip_its_whole_price():
    """Two candidates, the lesser one far behind: adding to it multiplies its chance by exp(1 / scale) exactly."""
    before, after = (log_permute_and_flip(np.array([0, q]), 2.0)[1] for q in (-50, -49))
    assert after - before == pytest.approx(0.5, abs=1e-13)


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 3.7, 200.0])
def test_geometric_noise_sums_to_one_and_a_step_costs_one_over_the_scale(scale):
    k = np.arange(-20_000, 20_001)
    logs = log_geometric(k, scale)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-11)
    assert np.abs(np.diff(logs)).max() <= 1 / scale * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0, 3.7, 200.0])
@pytest.mark.parametrize("k", [1, 2, 5, 100])
def test_the_tail_of_geometric_noise_is_the_sum_of_its_chances(scale, k):
    logs = log_geometric(np.arange(k, k + 50_000), scale)
    assert log_geometric_tail(k, scale) == pytest.approx(np.logaddexp.reduce(logs), abs=1e-10)


@pytest.mark.parametrize("scale", [0.05, 0.5, 3.7, 99.0, 101.0, 3000.0])
@pytest.mark.parametrize("scales", [0, 1, 4, 9])
def test_the_tail_of_gaussian_noise_is_the_sum_of_its_chances(scale, scales):
    k = max(1, round(scales * scale))
    logs = log_gaussian(np.arange(k, k + math.ceil(40 * scale) + 2), scale)
    assert log_gaussian_tail(k, scale) == pytest.approx(np.logaddexp.reduce(logs), abs=1e-6 if scale > 100 else 1e-12)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-3, 1e10, 2.0**52])
def test_extreme_scales_have_a_law(scale):
    assert log_geometric(0, scale) == pytest.approx(math.log(math.tanh(1 / (2 * scale))))
    assert log_geometric_tail(1, scale) < 0
    for law in LAWS:
        assert np.exp(law(np.array([0, 0]), scale)).tolist() == pytest.approx([0.5, 0.5])
