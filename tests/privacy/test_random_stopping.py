"""The best of a secret number of runs costs three times a run, and hardly less."""

import numpy as np
import pytest

from privet.privacy.random_stopping import COST, draw_runs


def law_of_best(run, stop):
    """The chance that each (answer, score) is released, by the closed form; ``run`` has a column for each score."""
    at_least = np.cumsum(run.sum(axis=0)[::-1])[::-1]
    above = at_least - run.sum(axis=0)
    return stop * run / ((stop + (1 - stop) * above) * (stop + (1 - stop) * at_least))


def law_of_best_by_counting(run, stop, most=4000):
    """The same by adding up over how often one runs."""
    up_to = np.cumsum(run.sum(axis=0))
    below = up_to - run.sum(axis=0)
    k = np.arange(1, most + 1)[:, None]
    best = (stop * (1 - stop) ** (k - 1) * (up_to**k - below**k)).sum(axis=0)
    return best * run / run.sum(axis=0)


def test_the_closed_form_is_the_sum_over_runs():
    rng = np.random.default_rng(0)
    for stop in (0.02, 0.3, 1.0):
        run = rng.dirichlet(np.ones(12)).reshape(3, 4)
        np.testing.assert_allclose(law_of_best(run, stop), law_of_best_by_counting(run, stop), rtol=1e-9)
        assert law_of_best(run, stop).sum() == pytest.approx(1)


def test_no_law_of_a_run_loses_more_than_three_times_and_some_lose_nearly_that():
    rng, epsilon, worst = np.random.default_rng(1), 0.5, 0.0
    for _ in range(3000):
        base = rng.dirichlet(np.full(12, 0.3)).reshape(3, 4) + 1e-12
        # Laws that are epsilon-DP at its edge: each chance is one of two that differ by e^epsilon, but for scaling.
        high = rng.random((3, 4)) < 0.5
        runs = [np.where(high, a, b) * base for a, b in ((np.exp(epsilon / 2), 1), (1, np.exp(epsilon / 2)))]
        runs = [run / run.sum() for run in runs]
        one = np.abs(np.log(runs[0] / runs[1])).max()
        loss = np.abs(np.log(law_of_best(runs[0], 0.01) / law_of_best(runs[1], 0.01))).max()
        assert loss <= COST * one + 1e-9
        worst = max(worst, loss / one)
    assert worst > 2


def test_the_number_of_runs_is_geometric():
    rng = np.random.default_rng(2)
    drawn = np.array([draw_runs(4, rng) for _ in range(20_000)])
    for k in range(1, 8):
        chance = 0.75 ** (k - 1) * 0.25
        assert abs((drawn == k).mean() - chance) < 6 * np.sqrt(chance / 20_000)  # once in 1e8, and the seed is fixed
    assert draw_runs(1) == 1
    assert draw_runs(3) >= 1
