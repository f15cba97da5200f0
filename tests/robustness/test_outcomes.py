"""What follows from retrainings: bounds that hold as often as they say, also where every run is the same."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from exact_learners import guaranteed
from privet.robustness import Concentrated, Pure
from privet.robustness.outcomes import Outcomes


def drawn(rng, runs):
    """Models of three kinds on ten records: good ones, middling ones, and a rare bad one."""
    kinds = rng.choice(3, size=runs, p=[0.7, 0.27, 0.03])
    chances = np.array([[0.95] * 10, [0.9] * 5 + [0.4] * 5, [0.1] * 10])[kinds]
    return rng.random((runs, 10)) < chances


def truth():
    """The exact law of how many of the ten are right."""
    from scipy.stats import binom

    k = np.arange(11)
    law = 0.7 * binom.pmf(k, 10, 0.95) + 0.03 * binom.pmf(k, 10, 0.1)
    return k / 10, law + 0.27 * np.convolve(binom.pmf(np.arange(6), 5, 0.9), binom.pmf(np.arange(6), 5, 0.4))


@pytest.mark.parametrize("guarantee", [Pure(Fraction(1, 2)), Concentrated(Fraction(1, 20))], ids=str)
def test_a_bound_is_wrong_no_more_often_than_it_says(guarantee):
    """200 certificates at confidence 0.8. False alarm: a binomial test at 1e-7 for each guarantee."""
    rng, alpha = np.random.default_rng(1), 0.2
    values, law = truth()
    true = {k: guaranteed(values, law, guarantee, k) for k in (0, 3)}
    chances = np.r_[[0.7 * 0.95 + 0.27 * 0.9 + 0.003] * 5, [0.7 * 0.95 + 0.27 * 0.4 + 0.003] * 5]
    wrong = 0
    for _ in range(200):
        found = Outcomes.of(drawn(rng, 60))
        too_high = any(found.guaranteed(guarantee, k, alpha) > true[k] for k in true)
        wrong += too_high or (found.chances(alpha / 2) > chances).any()
    assert binomtest(wrong, 200, alpha, alternative="greater").pvalue > 1e-7


def test_the_law_guarantees_more_than_the_points_and_these_more_than_the_mean():
    """With all known. The law of the share is a mixture; points differ among each other."""
    values, law = truth()
    chances = np.r_[[0.7 * 0.95 + 0.27 * 0.9 + 0.003] * 5, [0.7 * 0.95 + 0.27 * 0.4 + 0.003] * 5]
    for guarantee in (Pure(Fraction(1, 4)), Concentrated(Fraction(1, 20))):
        for k in (1, 2, 4, 8):
            by_law = guaranteed(values, law, guarantee, k)
            by_points = guarantee.worst(chances, k).mean()
            assert by_law >= by_points - 1e-9
            assert by_points >= guarantee.worst(chances.mean(), k) - 1e-9


def test_many_runs_come_near_the_truth():
    values, law = truth()
    found = Outcomes.of(drawn(np.random.default_rng(0), 100_000))
    for k in (0, 1, 4):
        true = guaranteed(values, law, Pure(Fraction(1, 4)), k)
        assert true - 0.03 < found.guaranteed(Pure(Fraction(1, 4)), k, 0.01) < true


def test_runs_that_are_all_alike_leave_room_for_what_was_not_seen():
    found = Outcomes.of(np.ones((100, 7), dtype=bool))
    assert 0.85 < found.guaranteed(Pure(Fraction(1, 10)), 0, 0.01) < 1
    assert found.guaranteed(Pure(Fraction(1, 10)), 100, 0.01) == pytest.approx(0, abs=1e-4)
    assert found.majority(Pure(Fraction(1, 10)), 5, 0.01) == 1
    assert found.majority(Pure(Fraction(1, 10)), 50, 0.01) == 0


def test_one_run_and_no_success_are_no_error():
    for matrix in (np.ones((1, 3), dtype=bool), np.zeros((5, 3), dtype=bool)):
        assert 0 <= Outcomes.of(matrix).guaranteed(Pure(Fraction(1)), 1, 0.05) < 0.1


def test_parts_are_joined():
    rng = np.random.default_rng(3)
    matrix = drawn(rng, 30)
    parts = [Outcomes.of(matrix[:10]), Outcomes.of(matrix[10:])]
    both, whole = Outcomes.joined(parts), Outcomes.of(matrix)
    assert both.right.tolist() == whole.right.tolist()
    assert both.hits.tolist() == whole.hits.tolist()
    assert both.mean == matrix.mean()
    assert both.error == pytest.approx(matrix.mean(axis=1).std(ddof=1) / np.sqrt(30))
