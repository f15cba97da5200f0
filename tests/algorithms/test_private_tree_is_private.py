"""The guarantee itself: on all tiny neighbouring tables no transcript's probabilities differ by more than epsilon."""

import pytest

from privet import PrivateTreeClassifier
from tiny_tables import SCHEMAS, worst_loss


@pytest.mark.parametrize("case", SCHEMAS)
def test_no_transcript_is_more_than_epsilon_apart(case):
    # The public hint makes the plan as deep as it may be, whatever the records.
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=2, n_records=10**6)
    assert worst_loss(case, model, most_records=2) <= 1 + 1e-9


@pytest.mark.parametrize("case", SCHEMAS)
def test_counts_at_the_leaves_are_within_the_budget_too(case):
    # One level and counts cut to 0 or 1: every count multiplies the number of transcripts.
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1, leaves="counts", n_records=10**6)
    assert worst_loss(case, model, most_records=1, window=(0, 1)) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("case", SCHEMAS)
def test_no_transcript_is_more_than_epsilon_apart_on_larger_tables(case):
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=2, n_records=10**6)
    assert worst_loss(case, model, most_records=3) <= 1 + 1e-9
    counting = PrivateTreeClassifier(epsilon=1.0, max_depth=1, leaves="counts", n_records=10**6)
    assert worst_loss(case, counting, most_records=2, window=(0, 1)) <= 1 + 1e-9


@pytest.mark.parametrize("most_records", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_branches_that_nothing_can_part_keep_within_their_budget(most_records):
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=4, n_records=10**9)
    assert worst_loss("two categories", model, most_records) <= 1 + 1e-9


def test_a_measured_size_is_within_the_budget_too():
    # So large an epsilon that the noisy number of records decides between depths within the window.
    model = PrivateTreeClassifier(epsilon=60.0, max_depth=2)
    assert worst_loss("two categories", model, most_records=1, window=(0, 6)) <= 60 + 1e-9


def test_the_search_would_catch_half_the_noise():
    class Careless(PrivateTreeClassifier):
        def _limit(self, budget):
            return 2 * budget

        def _grow(self, curator, start, budget):
            return super()._grow(curator, start, 2 * budget)

    model = Careless(epsilon=1.0, max_depth=2, n_records=10**6)
    assert worst_loss("integers", model, most_records=2) > 1.2
