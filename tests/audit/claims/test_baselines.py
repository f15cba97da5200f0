"""Claims of the papers' baselines: a sensitivity in an exponent, and one at a noisy size."""

import math

import numpy as np
import pytest

from privet.audit.claims import baselines
from privet.audit.claims.claim import alike


@pytest.mark.parametrize("lead", [1, 2, 3])
def test_a_smooth_sensitivity_in_the_exponent_costs_exponentially_much(lead):
    """The larger the lead, the smaller the "sensitivity", and the surer the label: one more record is told apart."""
    found = baselines.SmoothLabel().exact_bound(alike(lead)).epsilon
    assert found == pytest.approx(math.exp(lead + 1) - math.exp(lead), rel=0.02)


def test_a_label_goes_to_the_majority():
    law = baselines.SmoothLabel().log_law(None, np.array([0, 1, 1]))
    assert law[1] > law[0]
    assert np.logaddexp(law[0], law[1]) == pytest.approx(0)


def test_a_sensitivity_at_a_noisy_size_costs_more_the_larger_the_size_seems():
    pair = baselines.two_features()
    losses = [baselines.NoisySizeSensitivity(threshold).exact_bound(pair).epsilon for threshold in (10, 40, 160)]
    assert losses == sorted(losses)
    assert losses[-1] > 1


def test_the_record_that_joins_is_the_first_of_its_class():
    pair = baselines.nearly_pure(5)
    assert [len(table[1]) for table in (pair.one, pair.other)] == [5, 6]
    assert len(set(pair.one[1])) == 1 < len(set(pair.other[1]))
