"""Claims about hidden trees: what a prediction shows, and noise that servers draw together."""

import math

import numpy as np
import pytest

from law_draws import DealtCount, JointCount, JointLabel, draw
from privet.audit.claims import hidden
from privet.audit.claims.claim import alike


def test_a_cut_exponent_makes_a_label_impossible():
    law = hidden.CutExponents()
    ten, eleven = (law.log_law(None, np.zeros(n, dtype=int)) for n in (10, 11))
    assert set(ten) == {0, 1}
    assert set(eleven) == {0}
    assert law.exact_bound(alike(10)).epsilon == math.inf


@pytest.mark.parametrize("rate", [0.2, 0.5, 1.0])
def test_a_sample_costs_the_amplified_epsilon_and_not_rate_times_epsilon(rate):
    found = hidden.PoissonSample(rate=rate).exact_bound(alike(0)).epsilon
    assert found == pytest.approx(math.log1p(rate * (math.e - 1)))
    assert (found > rate) == (rate < 1)


@pytest.mark.parametrize("kind", [JointCount, DealtCount])
def test_a_count_on_shares_costs_epsilon(kind):
    assert kind(epsilon=0.5).exact_bound(alike(0)).epsilon == pytest.approx(0.5)


@pytest.mark.parametrize("mechanism", ["permute_and_flip", "exponential", "report_noisy_max"])
def test_labels_chosen_on_shares_cost_no_more_than_epsilon_and_are_drawn_by_that_law(mechanism):
    """1,000 draws of each table within six standard errors: a false alarm in 1e-8."""
    law, pair, rng = JointLabel(mechanism), alike(10), np.random.default_rng(5)
    assert law.exact_bound(pair).epsilon <= 1 + 1e-9
    for table in (pair.one, pair.other):
        share = math.exp(law.log_law(*table)[1])
        drawn = np.mean([draw(law, *table, rng) for _ in range(1000)])
        assert abs(drawn - share) < 6 * math.sqrt(share * (1 - share) / 1000) + 0.005


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("kind", [JointCount, DealtCount])
def test_a_count_on_shares_is_above_zero_as_often_with_as_without_its_own_noise(n, kind):
    """400 draws within six standard errors: a false alarm in 2e-9."""
    law, rng, y = kind(), np.random.default_rng(1), np.zeros(n, dtype=int)
    share = math.exp(law.log_law(None, y)[True])
    drawn = np.mean([draw(law, None, y, rng) for _ in range(400)])
    assert abs(drawn - share) < 6 * math.sqrt(share * (1 - share) / 400)


def test_one_row_decides_what_a_published_tree_predicts():
    pair = hidden.two_perfect_attributes(8)
    published = hidden.Prediction("published").exact_bound(pair).epsilon
    sound = hidden.Prediction("sound").exact_bound(pair).epsilon
    assert sound <= 1 + 1e-9
    assert published > 1.5
