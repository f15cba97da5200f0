"""The guarantee of sound HistogramTrees: on tiny neighbouring tables no transcript is more than epsilon apart.

Every private answer's probability is computed, for every sequence of answers. Each noisy number multiplies how many
there are, so numbers are cut to two values and there are few of them.
"""

import pytest

from privet import HistogramTreeClassifier
from privet.audit import bound_of_laws
from privet.audit.claims.privet import kinds
from privet.audit.exact import outputs, scripted_fits
from privet.curators import prices
from tiny_tables import worst_loss

CASES = ("integers", "missing values", "one class", "unlisted values")


@pytest.mark.parametrize("case", CASES)
def test_no_transcript_is_more_than_epsilon_apart(case):
    model = HistogramTreeClassifier(epsilon=1.0, max_depth=1, n_bins=2, leaves="labels")
    assert 0.3 < worst_loss(case, model, 1, (0, 1)) <= 1 + 1e-9


def test_saving_is_within_the_budget_too():
    model = HistogramTreeClassifier(epsilon=1.0, max_depth=1, n_bins=2, leaves="labels", save_budget=True)
    assert worst_loss("integers", model, 1, (0, 1)) <= 1 + 1e-9


def at_delta(epsilon, delta):
    """What the counts of one leaf show: no node has so many records that it is split.

    With the histogram cut to two values, that is: of an algorithm for which the same proof holds.
    """
    model = HistogramTreeClassifier(epsilon=epsilon, delta=delta, max_depth=1, n_bins=2, min_samples=10_000)
    one, other = (outputs(fit, (0, 1)) for fit in scripted_fits(model, kinds(1, (2, 0, 0, 0), 3)))
    return bound_of_laws(one, other, delta=delta).epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-2), (3.0, 1e-4)])
def test_gaussian_noise_is_within_epsilon_at_its_delta(epsilon, delta):
    assert 0.2 * epsilon < at_delta(epsilon, delta) <= epsilon


def test_a_quarter_of_the_gaussian_noise_is_caught_at_its_delta(monkeypatch):
    proper = prices.scale_for
    monkeypatch.setattr(prices, "scale_for", lambda sensitivity, ratio: proper(sensitivity, ratio) / 4)
    assert at_delta(1.0, 1e-2) > 1
