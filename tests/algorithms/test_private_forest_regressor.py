"""The regression forest: boosted, or as many trees as the budget supports, together for its price."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import privet
from exact_transcripts import loss, transcripts
from privet import Ledger, MemoryCurator, Numeric, PrivateForestRegressor, PrivetError, ReceiptError, Schema
from privet.algorithms.verification import stated_of
from privet.explain.coverage import check
from privet.tree.additive import Additive

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
    model = PrivateForestRegressor(SCHEMA, epsilon=Fraction(1, 2), n_records=n, max_depth=1, method="trees").fit(X, Y)
    assert len(model.forest_.trees) == trees


def test_a_saved_forest_is_the_same_one(tmp_path):
    model = PrivateForestRegressor(SCHEMA, epsilon=5, n_trees=2).fit(X, Y)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(privet.load(tmp_path / "model.json").predict(X), model.predict(X))


@pytest.mark.parametrize(
    "params",
    [
        {"n_trees": 0},
        {"n_trees": 1.5},
        {"max_depth": 0},
        {"n_records": -1},
        {"n_trees": 2, "method": "boosting"},
        {"method": "best"},
        {"delta": 2.0},
        {"progress": 3},
    ],
)
def test_parameters_that_make_no_sense_are_refused_before_anything_is_spent(params):
    ledger = Ledger(10)
    with ledger, pytest.raises(PrivetError):
        PrivateForestRegressor(SCHEMA, **params).fit(X, Y)
    assert ledger.spent == 0


# -- boosting -------------------------------------------------------------------------------------------------------

MANY = rng.uniform(size=(8000, 2))
CURVED = 5 + 3 * np.sin(5 * MANY[:, 0]) * (MANY[:, 1] > 0.5)


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_boosting_learns_what_one_feature_says_only_with_another(delta):
    ledger = Ledger(10, delta=delta)
    with ledger:
        model = PrivateForestRegressor(SCHEMA, epsilon=8, delta=delta, random_state=0).fit(MANY, CURVED)
    assert isinstance(model.forest_, Additive)
    assert any(len(term.features) == 2 for term in model.forest_.terms)
    assert model.score(MANY, CURVED) > 0.9
    assert model.privacy_.spent <= 8
    assert model.verify()
    assert model.feature_importances_.sum() == pytest.approx(1)
    low, high = model.partial_dependence("x", [0.3, 0.95])
    assert low > high
    assert "begins at" in model.export_text()


def test_predictions_stay_in_the_range_whatever_the_noise():
    model = PrivateForestRegressor(SCHEMA, epsilon=Fraction(1, 100), method="boosting").fit(X[:50], Y[:50])
    assert ((model.predict(X) >= 0) & (model.predict(X) <= 10)).all()
    assert model.verify()


@pytest.mark.parametrize("n", [0, 1])
def test_almost_no_records_are_no_error(n):
    for method in ("boosting", "auto"):
        assert PrivateForestRegressor(SCHEMA, epsilon=1, method=method).fit(X[:n], Y[:n]).verify()


def test_few_records_are_a_tree_and_many_are_boosted():
    few = PrivateForestRegressor(SCHEMA, epsilon=1, n_records=20).fit(X, Y)
    many = PrivateForestRegressor(SCHEMA, epsilon=1, n_records=10**5).fit(X, Y)
    assert [isinstance(model.forest_, Additive) for model in (few, many)] == [False, True]


def test_a_target_of_one_value_can_be_boosted():
    schema = Schema({"x": Numeric(0, 1)}, target=(2.0, 2.0))
    model = PrivateForestRegressor(schema, epsilon=1, method="boosting").fit(X[:, :1], np.full(len(X), 2.0))
    assert (model.predict(X[:, :1]) == 2).all()


def test_a_saved_ensemble_is_the_same_one_and_a_changed_one_is_refused(tmp_path):
    model = PrivateForestRegressor(SCHEMA, epsilon=5, method="boosting").fit(X, Y)
    path = tmp_path / "model.json"
    model.save(path)
    np.testing.assert_array_equal(privet.load(path).predict(X), model.predict(X))
    path.write_text(path.read_text().replace('"start": ', '"start": 1'))
    with pytest.raises(ReceiptError):
        privet.load(path)


def test_a_calibration_without_its_answers_is_refused():
    model = PrivateForestRegressor(SCHEMA, epsilon=5, method="boosting").fit(X, Y)
    kept = {
        "start": [event for event in model.privacy_.events if event.question != "quantile of the target"],
        "calibration": model.privacy_.events[:-1],
    }
    for events in kept.values():
        with pytest.raises(ReceiptError, match="start and the calibration"):
            check(model.forest_, replace(model.privacy_, events=tuple(events)), stated_of(model))


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
