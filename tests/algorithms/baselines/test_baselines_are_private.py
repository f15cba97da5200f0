"""Every sound baseline: on all tiny neighbouring tables no transcript's probabilities differ by more than epsilon."""

import pytest

from privet.algorithms.baselines import (
    BDPTClassifier,
    DiffPID3Classifier,
    DPDFClassifier,
    DPERTClassifier,
    DPERTRegressor,
    DPGDFClassifier,
    DPRFClassifier,
    DPRFRegressor,
    RandomTreeClassifier,
    SuLQID3Classifier,
)
from tiny_tables import SCHEMAS, TARGETS, worst_loss

FULL = 40.0
"""So large an epsilon that ID3's stopping rule lets nodes of one record be split."""

COUNTS = (0, 1)
"""Counts are cut to this window: every count multiplies the number of transcripts."""


@pytest.mark.parametrize("case", SCHEMAS)
@pytest.mark.parametrize("categories", ["order", "subsets"])
def test_random_tree(case, categories):
    model = RandomTreeClassifier(epsilon=1.0, max_depth=2, structure=0, categories=categories)
    found = worst_loss(case, model, most_records=1)
    assert found <= 1 + 1e-9
    assert found > 0.3 or case == "one class"  # a search that sees nothing would prove nothing


@pytest.mark.parametrize("case", SCHEMAS)
def test_dpgdf(case):
    model = DPGDFClassifier(epsilon=1.0, max_depth=1 if case == "two categories" else 2)
    assert worst_loss(case, model, most_records=1) <= 1 + 1e-9


@pytest.mark.parametrize("case", ["unlisted values", "integers", "one class"])
def test_bdpt(case):
    model = BDPTClassifier(epsilon=1.0, max_depth=1)
    assert worst_loss(case, model, most_records=1, window=COUNTS) <= 1 + 1e-9


@pytest.mark.parametrize("kind", [DPERTClassifier, DPRFClassifier])
@pytest.mark.parametrize("case", ["unlisted values", "integers", "one class"])
def test_forests_that_count(kind, case):
    """Two trees on the same records: each has half of the budget."""
    model = kind(epsilon=1.0, n_trees=2 if case == "one class" else 1, max_depth=1, structure=0)
    assert 0.3 < worst_loss(case, model, most_records=1, window=COUNTS) <= 1 + 1e-9


@pytest.mark.parametrize("kind", [DPERTRegressor, DPRFRegressor])
@pytest.mark.parametrize("case", TARGETS)
def test_forests_of_means(kind, case):
    """Two noisy sums for each leaf."""
    model = kind(epsilon=1.0, n_trees=1, max_depth=1, structure=0)
    assert 0.2 < worst_loss(case, model, most_records=1, window=COUNTS) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DPERTRegressor, DPRFRegressor])
def test_two_trees_of_means_share_the_budget(kind):
    model = kind(epsilon=1.0, n_trees=2, max_depth=1, structure=0)
    assert 0.2 < worst_loss("a target and a category", model, most_records=1, window=COUNTS) <= 1 + 1e-9


@pytest.mark.parametrize("case", ["integers", "one class", pytest.param("unlisted values", marks=pytest.mark.slow)])
def test_dp_df(case):
    """What is split follows from counts that were told, so a cut count is another algorithm's, and as private."""
    model = DPDFClassifier(epsilon=1.0, n_trees=1, max_depth=1, n_bins=2, structure=0)
    assert 0.2 < worst_loss(case, model, most_records=1, window=COUNTS) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("integers", {"numeric": "bins", "n_bins": 2}),
        ("one class", {}),
        pytest.param("integers", {"criterion": "entropy"}, marks=pytest.mark.slow),
        pytest.param("unlisted values", {"criterion": "gini"}, marks=pytest.mark.slow),
        pytest.param("missing values", {}, marks=pytest.mark.slow),
        pytest.param("three classes", {}, marks=pytest.mark.slow),
    ],
)
def test_diffp_id3(case, options):
    model = DiffPID3Classifier(epsilon=FULL, max_depth=1, **options)
    assert worst_loss(case, model, most_records=1, window=COUNTS) <= FULL + 1e-9


@pytest.mark.parametrize("case", ["one class", pytest.param("integers", marks=pytest.mark.slow)])
def test_sulq_id3(case):
    model = SuLQID3Classifier(epsilon=FULL, max_depth=1, n_bins=2)
    assert worst_loss(case, model, most_records=1, window=COUNTS) <= FULL + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("case", SCHEMAS)
def test_larger_tables(case):
    for model in (
        RandomTreeClassifier(epsilon=1.0, max_depth=2, structure=1),
        DPGDFClassifier(epsilon=1.0, max_depth=2),
    ):
        assert worst_loss(case, model, most_records=3) <= 1 + 1e-9


def test_the_search_would_catch_half_the_noise():
    class Careless(RandomTreeClassifier):
        def _limit(self, budget):
            return 2 * budget

        def _grow(self, curator, start, budget):
            return super()._grow(curator, start, 2 * budget)

    assert worst_loss("integers", Careless(epsilon=1.0, max_depth=1, structure=0), most_records=1) > 1.5
