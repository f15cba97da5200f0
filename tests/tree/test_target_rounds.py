"""The plan of boosting numeric targets spends its budget exactly; what rounds add is drawn to 0 by noise."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.residuals import RESIDUAL_COUNT
from privet.tree import target_rounds as t


@given(
    st.floats(-1e6, 1e12),
    st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6),
    st.sampled_from(["epsilon", "rho"]),
)
def test_the_plan_spends_the_budget(n, budget, currency):
    plan = t.plan_targets(n, budget, currency)
    rounds = sum(turn.choice_budget + turn.tally_budget for turn in plan.turns)
    clamps = len(plan.clamped) * plan.clamp_budget
    assert plan.median_budget + clamps + rounds + plan.calibration_budget == budget
    assert 0 in plan.clamped
    assert max(plan.clamped) < len(plan.turns) <= t.MOST_ROUNDS
    assert {turn.output for turn in plan.turns} == {0}


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_more_records_are_worth_more_rounds_and_boosting_at_all(currency):
    lengths = [len(t.plan_targets(n, Fraction(1, 50), currency).turns) for n in (10, 10**5, 10**7, 10**12)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    assert not t.pays_off(10, Fraction(1, 50), currency)
    assert t.pays_off(10**7, Fraction(1, 50), currency)


def sums(means, counts, clamp):
    """Sums of parts with these mean residuals, which are parts of the range, and so many records."""
    total = np.array(means) * TARGET_ONE / clamp * counts * GRADIENT_ONE
    return np.stack([np.rint(total).astype(np.int64), np.array(counts) * RESIDUAL_COUNT], axis=1)


def test_without_noise_a_round_adds_the_mean_residual():
    added = t.damped_means(sums([0.01, -0.02, 0.0], [100, 50, 7], 2000), 2000, noise=0.0)
    assert (added / TARGET_ONE).tolist() == pytest.approx([0.01, -0.02, 0.0], abs=2 / TARGET_ONE)


def test_no_round_adds_more_than_a_clamp_and_few_records_hardly_move():
    added = t.damped_means(np.array([[GRADIENT_ONE * 100, -5], [GRADIENT_ONE, RESIDUAL_COUNT]]), 500, noise=10.0)
    assert np.abs(added).max() <= 500
    assert abs(added[1]) < 5


def test_levels_lie_around_the_start():
    cuts = t.levels_around(1000, 160).cuts
    assert len(cuts) == t.LEVELS - 1
    assert cuts[len(cuts) // 2] == 1000
    assert cuts[0] > 1000 - 160
    assert t.levels_around(1000, 1).n_children >= 1  # few whole numbers: fewer levels


def test_levels_are_lifted_by_their_mean_residual_and_noisy_ones_by_that_of_all():
    exact = sums([0.1, -0.05, 0.02], [1000, 1000, 1000], TARGET_ONE)
    assert t.calibrated(exact, 20_000, noise=0.0) / TARGET_ONE == pytest.approx([0.1, -0.05, 0.02], abs=1e-3)
    noisy = t.calibrated(exact, 20_000, noise=1e6) / TARGET_ONE
    assert noisy == pytest.approx([0.07 / 3] * 3, abs=1e-3)
    assert np.isfinite(t.calibrated(np.zeros((3, 2), dtype=np.int64), 1, noise=1.0)).all()
