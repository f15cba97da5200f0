"""The regression forest: as many trees as the budget supports, together for its price."""

from fractions import Fraction

import numpy as np
import pytest

import privet
from privet import Ledger, MemoryCurator, Numeric, PrivateForestRegressor, PrivetError, Schema
from privet.audit.exact import loss, transcripts

SCHEMA = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, target=(0.0, 10.0))
rng = np.random.default_rng(0)
X = rng.uniform(size=(3000, 2))
Y = 6 * (X[:, 0] > 0.3) + 2 * X[:, 1]


def test_trees_share_the_budget_and_the_records():
    model = PrivateForestRegressor(SCHEMA, epsilon=30, n_trees=3).fit(X, Y)
    assert len(model.forest_.trees) == 3
    assert model.privacy_.epsilon <= 30
    assert model.privacy_.verify()
    assert model.score(X, Y) > 0.9
    assert ((model.predict(X) >= 0) & (model.predict(X) <= 10)).all()
    # The size and the middle of the targets are measured once, whatever the number of trees.
    questions = [event.question for event in model.privacy_.events]
    assert questions.count("quantile of the target") == 2


@pytest.mark.parametrize(("n", "trees"), [(10, 1), (10**6, 1), (10**7, 4), (10**9, 8)])
def test_the_number_of_trees_follows_from_the_public_size(n, trees):
    model = PrivateForestRegressor(SCHEMA, epsilon=Fraction(1, 2), n_records=n, max_depth=1).fit(X, Y)
    assert len(model.forest_.trees) == trees


def test_a_saved_forest_is_the_same_one(tmp_path):
    model = PrivateForestRegressor(SCHEMA, epsilon=5, n_trees=2).fit(X, Y)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(privet.load(tmp_path / "model.json").predict(X), model.predict(X))


@pytest.mark.parametrize("params", [{"n_trees": 0}, {"n_trees": 1.5}, {"max_depth": 0}, {"n_records": -1}])
def test_parameters_that_make_no_sense_are_refused_before_anything_is_spent(params):
    ledger = Ledger(10)
    with ledger, pytest.raises(PrivetError):
        PrivateForestRegressor(SCHEMA, **params).fit(X, Y)
    assert ledger.spent == 0


def test_no_transcript_is_more_than_epsilon_apart(monkeypatch):
    """Two trees of one level: both quantiles, two splits and eight noisy sums, exactly."""
    monkeypatch.setattr("privet.curators.room.TARGET_CUTS", 1)
    schema = Schema({"i": Numeric(0, 1, integer=True)}, target=(0, 1))

    def law(table):
        def fit(mechanisms):
            X = np.array([record[:1] for record in table], dtype=float).reshape(-1, 1)
            y = [record[1] for record in table]
            curator = MemoryCurator(X, y, schema, ledger=Ledger(1e9), mechanisms=mechanisms)
            PrivateForestRegressor(epsilon=1, n_trees=2, max_depth=1, n_records=200).fit_curator(curator)

        return transcripts(fit, (0, 1))

    losses = [loss(law([]), law([added])) for added in ((0, 0.0), (1, 0.75))]
    assert 0.3 < max(losses) <= 1 + 1e-9
