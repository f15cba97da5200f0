"""DiPriMe's guarantee: on tiny neighbouring tables no transcript is more than epsilon apart, and published ones are."""

import numpy as np
import pytest

from exact_transcripts import loss, transcripts
from privet import DiPriMeForestClassifier, DiPriMeForestRegressor, Ledger, Numeric, Schema
from rooms import hold
from tiny_tables import TARGETS, worst_loss

ATTRIBUTES = ["random", "exp", "flip"]
TWO = {"i": Numeric(0, 1, integer=True), "j": Numeric(0, 2, integer=True)}


def law(model, schema, table, window):
    """The probabilities of all transcripts of a fit of ``model``; the last of each record is its label or target."""

    X = np.array([record[:-1] for record in table], dtype=float).reshape(-1, len(schema.features))
    make = hold("memory", X, [record[-1] for record in table], schema)

    def fit(mechanisms):
        model.fit_curator(make(ledger=Ledger(float("inf")), mechanisms=mechanisms))

    return transcripts(fit, window)


def losses(model, schema, kinds, window=(0, 0)):
    """Of every record that joins no other, or one of the first kind."""
    return [
        loss(law(model, schema, table, window), law(model, schema, [*table, added], window))
        for table in ([], [kinds[0]])
        for added in kinds
    ]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_no_transcript_of_a_classifier_is_more_than_epsilon_apart(attribute):
    """Two features, two trees of one level on disjoint parts; exact probabilities."""
    model = DiPriMeForestClassifier(
        epsilon=1, attribute=attribute, n_candidates=2, n_trees=2, max_depth=1, structure=1, rho=0.7
    )
    schema = Schema(TWO, classes=["n", "y"])
    assert 0 < max(losses(model, schema, [(0, 0, "n"), (1, 2, "y"), (0, 1, "y")])) <= 1 + 1e-9


@pytest.mark.parametrize("partition", [True, False])
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_no_transcript_of_a_regressor_is_more_than_epsilon_apart(attribute, partition):
    """The same with targets: medians, choices by squared error and, with one tree, the sums of its leaves."""
    schema = Schema(TWO, target=(-1, 1))
    n_trees, window = (2, (0, 0)) if partition else (1, (0, 1))
    model = DiPriMeForestRegressor(
        epsilon=1, attribute=attribute, n_candidates=2, n_trees=n_trees, max_depth=1, structure=1, partition=partition
    )
    found = max(losses(model, schema, [(0, 0, -1), (1, 2, 1), (0, 1, 0.5)], window))
    assert (0 if partition else 0.3) < found <= 1 + 1e-9


@pytest.mark.parametrize("case", TARGETS)
def test_no_tiny_table_shows_more_than_epsilon(case):
    model = DiPriMeForestRegressor(epsilon=1, n_trees=1, max_depth=1, structure=0)
    assert 0.3 < worst_loss(case, model, most_records=2, window=(0, 1)) <= 1 + 1e-9


@pytest.mark.slow
def test_trees_that_share_the_records_are_within_epsilon():
    model = DiPriMeForestRegressor(epsilon=1, n_trees=2, max_depth=1, partition=False, structure=0)
    assert 0.3 < worst_loss("a target and a category", model, most_records=1, window=(0, 1)) <= 1 + 1e-9


def test_published_means_show_more_than_is_claimed():
    """One record or two in the same leaf: the second one's noise is half as wide, which shows far out."""
    model = DiPriMeForestRegressor(epsilon=1, n_trees=1, max_depth=0, variant="published")
    schema = TARGETS["a target and integers"]
    one, two = (law(model, schema, [(0, 0.0)] * n, window=(-4, 8)) for n in (1, 2))
    assert loss(one, two) > 2
