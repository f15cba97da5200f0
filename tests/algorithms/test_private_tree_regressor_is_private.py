"""The guarantee itself: on all tiny neighbouring tables no transcript's probabilities differ by more than epsilon."""

import pytest

from privet import PrivateTreeRegressor
from tiny_tables import worst_loss

CASES = ["a target and a category", "a target and integers"]


@pytest.fixture(autouse=True)
def few_quantiles(monkeypatch):
    monkeypatch.setattr("privet.curators.room.TARGET_CUTS", 3)


@pytest.mark.parametrize("most_records", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_no_transcript_is_more_than_epsilon_apart(case, most_records):
    """A public hint, so that the tree has a level; both quantiles, the split and four noisy sums are followed."""
    model = PrivateTreeRegressor(epsilon=1, n_records=200, max_depth=1)
    assert 0.3 < worst_loss(case, model, most_records, window=(0, 1)) <= 1 + 1e-9


def test_a_tree_that_measures_its_size_is_within_epsilon():
    model = PrivateTreeRegressor(epsilon=1, max_depth=1)
    assert 0 < worst_loss("a target and integers", model, 2, window=(0, 1)) <= 1 + 1e-9
