"""Claims about owners who add up: shares of noise, and bounds that are paid for too little."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from law_draws import draw
from privet.audit.claims import federated
from privet.audit.claims.claim import alike


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_bounds_that_the_estimator_asks_for_follow_the_law(variant):
    law, pair, n = federated.BoundsSeen(0.9, variant), alike(100, 3, label=1), 300
    drawn = Counter(draw(law, *pair.other, np.random.default_rng()) for _ in range(n))
    for output, log_p in law.log_law(*pair.other).items():
        assert abs(drawn[output] - n * math.exp(log_p)) <= 6 * math.sqrt(n * math.exp(log_p)) + 6


def test_shares_that_nobody_knows_are_laplace_noise():
    law = federated.GammaShares(5, 0, count=5, width=1e-5)
    assert law.exact_bound(alike(5)).epsilon == pytest.approx(0.1, abs=1e-4)


def test_our_shares_cost_what_they_claim_up_to_what_they_tolerate_and_more_beyond():
    pair = alike(5)
    for unknown, holds in ((4, True), (3, True), (2, False)):
        law = federated.GeometricShares(5, 5 - unknown, 0, of=3)
        epsilon = law.exact_bound(pair).epsilon
        assert (epsilon <= 0.1 + 1e-9) == holds
    exact = federated.GeometricShares(5, 1, 1, of=3)
    assert exact.exact_bound(pair).epsilon == pytest.approx(0.1, abs=1e-6)
    drawn = np.array([draw(exact, *pair.one, None) for _ in range(4000)])
    law = exact.log_law(*pair.one)
    for k in (0, 1, -1, 5, -30, 30):  # a false alarm of 1.2e-7 in all
        share, found = math.exp(law[k]), int((drawn == k).sum())
        assert min(binom.cdf(found, len(drawn), share), binom.sf(found - 1, len(drawn), share)) > 1e-8


def test_our_skellam_shares_cost_what_they_claim_up_to_what_they_tolerate_and_more_beyond():
    pair = alike(5)
    bounds = [federated.SkellamShares(6, 6 - unknown, 0, of=4).exact_bound(pair, 1.0) for unknown in (5, 4, 2)]
    assert [bound.violated for bound in bounds] == [False, False, True]
    assert 0.8 < bounds[1].epsilon < 1 == bounds[1].proven  # the conversion from zCDP is not tight
    assert bounds[1].delta == 1e-6
    law = federated.SkellamShares(5, 1, 1, of=3)
    drawn = np.array([draw(law, *pair.one, None) for _ in range(4000)])
    for low, high in ((-99, 0), (0, 99), (-3, 3)):  # six times the standard error
        share = sum(math.exp(log_p) for k, log_p in law.log_law(*pair.one).items() if low <= k <= high)
        assert abs(((low <= drawn) & (drawn <= high)).mean() - share) < 6 * math.sqrt(share / len(drawn))
