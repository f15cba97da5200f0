"""Poisson numbers are exact: floats never decide what more digits would decide otherwise."""

from __future__ import annotations

import math
import os
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, poisson

from privet.privacy import poisson as module
from privet.privacy.poisson import SMALL, poisson_about_mean

large_means = st.one_of(
    st.fractions(min_value=SMALL + 1, max_value=10**6, max_denominator=1000),
    st.integers(10**6, 2**104).map(Fraction),
)


@pytest.mark.parametrize("mean", [Fraction(1, 50), Fraction(3), Fraction(129, 2), Fraction(1001, 7), Fraction(5000)])
def test_poisson_numbers_have_their_law(mean):
    """A false alarm in one of ten million runs."""
    n = 30_000
    drawn = poisson_about_mean(n, mean) + math.floor(mean)
    low, high = poisson.ppf([1e-3, 1 - 1e-3], float(mean))
    edges = np.unique(np.linspace(low, high, 40).astype(int))
    below = np.concatenate([[0], poisson.cdf(edges, float(mean)), [1]])
    seen = np.diff(np.concatenate([[0], np.searchsorted(np.sort(drawn), edges, side="right"), [n]]))
    expected = np.diff(below) * n
    kept = expected > 5
    assert chi2.sf(((seen - expected) ** 2 / np.maximum(expected, 1e-9))[kept].sum(), kept.sum()) > 1e-7


@given(large_means, st.floats(-8, 8), st.floats(0, 1, exclude_max=True))
@settings(max_examples=80, deadline=None)
def test_floats_never_keep_what_exact_numbers_would_not(mean, deviations, uniform):
    law = module._Large(mean)
    j = max(-law._whole, round(deviations * math.sqrt(law._whole)))
    word = int(uniform * 2**64)
    (kept,) = law._keeps(np.array([j]), np.array([word], dtype=np.uint64), os.urandom)
    chance = law._chance(j, 40) * 2**64
    if not word <= chance <= word + 1:
        assert kept == (word < chance)


@given(large_means, st.floats(-9, 9))
@settings(max_examples=80, deadline=None)
def test_no_chance_is_above_one(mean, deviations):
    """So what is proposed is thinned out to exactly the Poisson law."""
    law = module._Large(mean)
    j = max(-law._whole, round(deviations * math.sqrt(law._whole)))
    assert law._chance(j, 30) <= 1


@given(st.fractions(min_value=SMALL + 1, max_value=5000, max_denominator=7))
@settings(max_examples=20, deadline=None)
def test_the_likeliest_of_all_proposals_is_below_one_and_near_it(mean):
    law = module._Large(mean)
    j = np.arange(-law._whole + 16, 3 * law._whole)
    best = int(j[law._exponents(j).argmax()])
    assert 1 - Decimal(10) ** -5 < law._chance(best, 30) <= 1


@pytest.mark.parametrize("k", [0, 1, 5, 100, 10**6, 10**30])
def test_logarithms_of_factorials(k):
    with localcontext(prec=60):
        if k <= 10**6:
            exact = Decimal(math.factorial(min(k, 2000))).ln() if k <= 2000 else None
            expected = exact if exact is not None else Decimal(math.lgamma(k + 1))
            tolerance = Decimal(10) ** -45 if exact is not None else Decimal(10) ** -6
            assert abs(module._log_factorial(k, 50) - expected) <= tolerance
        # ln (k+1)! - ln k! = ln (k+1)
        step = module._log_factorial(k + 1, 100) - module._log_factorial(k, 100)
        assert abs(step - Decimal(k + 1).ln()) < Decimal(10) ** -50


def test_a_word_on_the_edge_is_decided_by_more_digits():
    law = module._Large(Fraction(1000, 3))
    with localcontext(prec=100):
        word = int(law._chance(7, 60) * 2**64)
        digits = int(law._chance(7, 60) * 2**128) % 2**64
    for beyond in (0, 2**64 - 1):
        assert law.keeps_exactly(7, word, lambda n, beyond=beyond: beyond.to_bytes(8, "little")) == (beyond < digits)
