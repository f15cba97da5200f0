"""DP-TopDown's claims: the counts that owners see, and the maximum that is told."""

import math
from collections import Counter

import numpy as np
import pytest

from claims_by_key import claim
from law_draws import draw
from privet.audit.claims import topdown
from privet.audit.claims.claim import alike


@pytest.mark.parametrize("split", ["noisy_counts", "local_rnm"])
def test_counts_that_the_estimator_asks_for_follow_the_law(split):
    law, pair, n = topdown.CountsSeen(split), alike(5, value=1, label=1), 300
    drawn = Counter(draw(law, *pair.other, np.random.default_rng()) for _ in range(n))
    for output, log_p in law.log_law(*pair.other).items():
        assert abs(drawn[output] - n * math.exp(log_p)) <= 6 * math.sqrt(n * math.exp(log_p)) + 6


def test_correct_counts_are_those_of_the_largest_class_on_each_side():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert topdown.correct_counts(X, np.array([0, 0, 1, 1])).tolist() == [4, 2]


@pytest.mark.parametrize("candidates", [1, 4, 10])
def test_a_told_maximum_costs_half_of_epsilon_for_each_candidate(candidates):
    """Its noise is for a change of the winner alone, and every candidate's score changes."""
    law = topdown.ReleasedMaximum(threshold=-1000.0)
    assert law.exact_bound(topdown.equal_candidates(candidates)).epsilon == pytest.approx(candidates / 2)


def test_the_published_estimator_has_nearly_all_of_its_budget_for_one_split():
    model, pair = claim("topdown-private-size").subject(), topdown.one_more_alike(2)
    assert (model.variant, model.max_nodes, model.leaf_share) == ("published", 1, 0.01)
    assert [len(table[1]) for table in (pair.one, pair.other)] == [1, 2]
