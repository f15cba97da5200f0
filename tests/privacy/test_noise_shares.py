"""Shares of noise add up to the noise that was paid for, and are exact.

Statistical tests have a false-alarm rate of one in ten million each.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from privet.privacy import noise_shares as shares
from privet.privacy.laws import log_geometric, log_geometric_shares, log_skellam
from privet.privacy.noise_shares import geometric_shares, skellam_shares


def chance_of(drawn, law, reach):
    """Of a chi-squared statistic as large as that of these numbers under exp(law(-reach..reach)), the rest together."""
    expected = np.exp(law(np.arange(-reach, reach + 1)))
    expected = np.append(expected, max(1 - expected.sum(), 1e-12)) * len(drawn)
    seen = np.append([(drawn == k).sum() for k in range(-reach, reach + 1)], (np.abs(drawn) > reach).sum())
    kept = expected > 5
    return chi2.sf((((seen - expected) ** 2) / expected)[kept].sum(), kept.sum() - 1)


@pytest.mark.parametrize(("scale", "of"), [(0.4, 3), (2.0, 1), (2.0, 2), (3.0, 9), (11.5, 4)])
def test_shares_add_up_to_two_sided_geometric_noise(scale, of):
    """A false alarm in one of ten million runs."""
    sums = sum(geometric_shares(20_000, scale, of) for _ in range(of))
    assert chance_of(sums, lambda k: log_geometric(k, scale), math.ceil(4 * scale)) > 1e-7


@pytest.mark.parametrize(("scale", "of"), [(2.0, 3), (20.0, 10)])
def test_a_share_is_a_difference_of_negative_binomials(scale, of):
    """A false alarm in one of ten million runs."""
    drawn = geometric_shares(40_000, scale, of)
    assert chance_of(drawn, lambda k: log_geometric_shares(k, scale, 1 / of), math.ceil(2 * scale)) > 1e-7


def test_shares_of_large_scales_are_as_wide_as_they_should_be():
    """Mean size and share of positive numbers of 20,000 sums, each within 6 standard errors."""
    sums = sum(geometric_shares(20_000, 1e7, 3) for _ in range(3)) / 1e7
    assert abs(np.abs(sums).mean() - 1) < 6 / math.sqrt(20_000)
    assert abs((sums > 0).mean() - 0.5) < 6 * 0.5 / math.sqrt(20_000)


@given(st.floats(0.01, 2.0**52), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**32))
@settings(max_examples=60)
def test_floats_never_draw_another_size_than_exact_numbers(scale, u, v, seed):
    """Where floats decide, any further digits of the two uniform numbers lead to the same size."""
    law = shares._share_law(scale, 2)
    more = np.random.default_rng(seed)
    fast = shares._logarithmic(1, law, lambda n: (u | v << 64).to_bytes(16, "little") if n == 16 else more.bytes(n))
    u_more, v_more = (word << 64 | int.from_bytes(more.bytes(8), "little") for word in (u, v))
    low = shares._quotient(u_more + 1, max(v_more, 1), 128, law, 60)
    high = shares._quotient(max(u_more, 1), v_more + 1, 128, law, 60)
    clear = 2**40 < u < 2**64 - 2**40 and v > 2**40 and high * (1 + Decimal(10) ** -8) - low < 1
    if clear and int(low * (1 - Decimal(10) ** -9)) == int(high * (1 + Decimal(10) ** -9)):
        assert fast.tolist() == [int(low) + 1]


@pytest.mark.parametrize("beyond", [0, 2**64 - 1])
def test_a_word_on_the_edge_of_a_chance_is_decided_by_more_digits(beyond):
    law = shares._share_law(2.0, 3)
    edge = int(law.terms.thresholds[1])
    digits = (law.terms.at_most(1, 60) * 2**128) % 2**64  # the next 64 of the chance of at most one term
    words = iter([edge.to_bytes(8, "little"), beyond.to_bytes(8, "little")])
    assert law.terms.draw(1, lambda n: next(words)).tolist() == [1 if beyond < digits else 2]


def test_extreme_words_are_drawn_on_until_they_decide():
    law = shares._share_law(2.0, 3)
    for u, v in ((0, 0), (0, 2**64 - 1), (2**64 - 1, 0), (2**64 - 1, 2**64 - 1)):
        assert shares._logarithmic_exactly(u, v, law, lambda n: b"\x12" * n) >= 1


# -- Skellam noise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "of"), [(0.4, 3), (2.0, 1), (5.0, 4), (30.0, 2)])
def test_shares_add_up_to_skellam_noise(scale, of):
    """From tables of chances, and for the last one from proposals that are kept or not."""
    sums = sum(skellam_shares(20_000, scale, of) for _ in range(of))
    assert chance_of(sums, lambda k: log_skellam(k, scale), math.ceil(3 * scale)) > 1e-7


@pytest.mark.parametrize(("scale", "of"), [(6.0, 4), (60.0, 7)])
def test_what_some_parties_know_leaves_the_shares_of_the_others(scale, of):
    """Of one party fewer than make up the whole, shares are that part of it."""
    sums = sum(skellam_shares(20_000, scale, of) for _ in range(of - 1))
    assert chance_of(sums, lambda k: log_skellam(k, scale, (of - 1) / of), math.ceil(3 * scale)) > 1e-7


@pytest.mark.parametrize("scale", [1e6, 2.0**40, 2.0**52])
def test_skellam_shares_of_large_scales_are_normal_to_the_eye(scale):
    """Variance, and the shares within one and two standard deviations, of 20,000 sums: within 6 standard errors."""
    sums = sum(skellam_shares(20_000, scale, 3) for _ in range(3)) / scale
    assert abs((sums**2).mean() - 1) < 6 * math.sqrt(2 / 20_000)
    for reach, p in ((1, 0.6826895), (2, 0.9544997)):
        assert abs((np.abs(sums) < reach).mean() - p) < 6 * math.sqrt(p * (1 - p) / 20_000)
    assert abs((sums > 0).mean() - 0.5) < 3 / math.sqrt(20_000)
