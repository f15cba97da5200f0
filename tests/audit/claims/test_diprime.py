"""DiPriMe's claims: medians that are taken for parallel, and noise scaled by a private size."""

import math
from collections import Counter

import numpy as np
import pytest

from law_draws import Drawing, LeafMean, draw
from privet.audit import statistical_bound
from privet.audit.claims import diprime
from privet.audit.claims.claim import alike


def test_draws_of_medians_follow_the_law():
    law, pair, rng, n = diprime.ParallelMedians(), diprime.equal_attributes(3, size=400), np.random.default_rng(5), 1000
    drawn = Counter(draw(law, *pair.one, rng) for _ in range(n))
    for output, log_p in law.log_law(*pair.one).items():
        assert abs(drawn[output] - n * math.exp(log_p)) <= 5 * math.sqrt(n * math.exp(log_p)) + 5


def test_noise_scaled_by_a_private_size_shows_in_the_tails():
    law, pair = LeafMean(threshold=6), alike(1)
    # Not as far out as the exact engine looks, so that it happens often enough to be counted.
    assert statistical_bound(Drawing(law), pair, runs=40_000, n_jobs=1, progress=False).epsilon > 1


@pytest.mark.slow
def test_the_statistical_engine_catches_parallel_medians():
    law, pair = diprime.ParallelMedians(), diprime.equal_attributes(8, size=1500, gap=0)
    assert statistical_bound(Drawing(law), pair, runs=8_000, progress=False).epsilon > 1.1
