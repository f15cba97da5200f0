"""The guarantee of sound HistogramTrees: on tiny neighbouring tables no transcript is more than epsilon apart.

Every private answer's probability is computed, for every sequence of answers. Each noisy number multiplies how many
there are, so numbers are cut to two values and there are few of them.
"""

import pytest

from privet import HistogramTreeClassifier
from tiny_tables import worst_loss

CASES = ("integers", "missing values", "one class", "unlisted values")


@pytest.mark.parametrize("case", CASES)
def test_no_transcript_is_more_than_epsilon_apart(case):
    model = HistogramTreeClassifier(epsilon=1.0, max_depth=1, n_bins=2, leaves="labels")
    assert 0.3 < worst_loss(case, model, 1, (0, 1)) <= 1 + 1e-9


def test_saving_is_within_the_budget_too():
    model = HistogramTreeClassifier(epsilon=1.0, max_depth=1, n_bins=2, leaves="labels", save_budget=True)
    assert worst_loss("integers", model, 1, (0, 1)) <= 1 + 1e-9
