"""DiPriMe forests: balanced trees on parts of the records, at the price that is said, or that was printed."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import (
    Categorical,
    DiPriMeForestClassifier,
    DiPriMeForestRegressor,
    Ledger,
    Numeric,
    PrivetError,
    Schema,
)

FEATURES = {
    "x": Numeric(0, 1),
    "age": Numeric(0, 9, integer=True, missing=True),
    "town": Categorical(["a", "b", "c"]),
    "job": Categorical(range(15)),
}
CLASSES = Schema(FEATURES, classes=["no", "yes"])
TARGET = Schema(FEATURES, target=(0.0, 20.0))
ATTRIBUTES = ["random", "exp", "flip"]


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.uniform(size=n) ** 3,
            "age": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.integers(0, 10, n)),
            "town": np.array(["a", "b", "c", "d"], dtype=object)[rng.integers(0, 4, n)],
            "job": rng.integers(0, 16, n),
        }
    )
    y = 10 * (X["x"] > 0.1) + 5 * (X["town"] == "b") + rng.normal(size=n)
    return X, y.to_numpy()


X, Y = people()
LABELS = np.where(Y > 7, "yes", "no")


def models(**params):
    return (
        (DiPriMeForestClassifier(CLASSES, **params), LABELS),
        (DiPriMeForestRegressor(TARGET, **params), Y),
    )


@pytest.mark.parametrize("partition", [True, False])
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_sound_forest_costs_epsilon_and_learns(attribute, partition):
    for model, y in models(epsilon=20, attribute=attribute, partition=partition, n_trees=4, n_records=3000):
        model.fit(X, y)
        assert model.privacy_.epsilon <= 20
        assert model.privacy_.verify()
        assert len(model.forest_.trees) == 4
        assert model.score(X, y) > {"yes": 0.7, "no": 0.7}.get(y[0], 0.25)  # a constant: 0.53 and 0


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_the_published_price_is_what_it_costs(attribute):
    for model, y in models(epsilon=4, attribute=attribute, variant="published", max_depth=2, n_trees=3):
        receipt = model.fit(X, y).privacy_
        assert receipt.verify()
        assert receipt.claimed == 4
        if attribute == "flip" or y is Y:
            assert receipt.spent == math.inf
        elif attribute == "random":
            assert receipt.spent == 4  # the claim holds
            assert not receipt.shortfall
        else:
            # Of 2 for two levels: on each a half for each of four medians (there are only four features), a quarter.
            assert receipt.spent == 2 + 2 * (4 * Fraction(1, 2) + Fraction(1, 4))
            assert receipt.shortfall


def test_splits_are_balanced():
    model = DiPriMeForestRegressor(
        Schema({"x": Numeric(0, 1)}, target=(0, 20)), epsilon=100, n_trees=1, max_depth=3, random_state=0
    )
    leaves = model.fit(X[["x"]], Y).forest_.trees[0].nodes
    weights = [node.weight for node in leaves if node.is_leaf]
    assert len(weights) == 8
    assert min(weights) > 0.8 * 3000 / 8


@pytest.mark.parametrize(("n", "partition", "depth"), [(10**4, True, 5), (10**4, False, 8), (100, True, 0)])
def test_the_depth_gives_the_expected_occupancy(n, partition, depth):
    model = DiPriMeForestRegressor(TARGET, epsilon=5, partition=partition, n_records=n, n_trees=10)
    assert model._depth(None, None, Fraction(5)) == (depth, Fraction(5))


def test_a_published_forest_without_noise_is_the_median_forest():
    """At a huge epsilon medians, choices and means are exact."""
    schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, target=(0, 20))
    rng = np.random.default_rng(0)
    table = rng.uniform(size=(2000, 2))
    y = 10.0 * (table[:, 1] > 0.5)
    model = DiPriMeForestRegressor(
        schema, epsilon=1e9, attribute="exp", variant="published", partition=False, max_depth=1, n_trees=2
    ).fit(table, y)
    for tree in model.forest_.trees:
        assert tree.nodes[0].rule.feature == 1
        assert tree.nodes[0].rule.cuts[0] == pytest.approx(np.median(table[:, 1]), abs=0.01)
    assert model.score(table, y) > 0.9


def test_no_records_are_enough():
    for variant in ("sound", "published"):
        for model, y in models(epsilon=1, n_trees=2, max_depth=2, variant=variant, attribute="flip"):
            predicted = model.fit(X[:0], y[:0]).predict(X)
            assert len(predicted) == len(X)


def test_predictions_stay_inside_the_range():
    model = DiPriMeForestRegressor(TARGET, epsilon=0.01, n_trees=2, max_depth=3).fit(X, Y)
    assert ((model.predict(X) >= 0) & (model.predict(X) <= 20)).all()


def test_a_saved_forest_is_the_same_one(tmp_path):
    for model, y in models(epsilon=5, n_trees=3, max_depth=3):
        model.fit(X, y).save(tmp_path / "model.json")
        again = privet.load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.export_text() == model.export_text()
        assert model.export_text().count("tree ") == 3


@pytest.mark.parametrize(
    "params",
    [{"n_trees": 0}, {"max_depth": -1}, {"attribute": "best"}, {"rho": 1}, {"rho": 0}, {"n_candidates": 0},
     {"occupancy": 0}, {"structure": -1}, {"variant": "new"}, {"n_records": -1}],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused_before_anything_is_spent(params):
    ledger = Ledger(10)
    with ledger, pytest.raises(PrivetError):
        DiPriMeForestRegressor(TARGET, **params).fit(X, Y)
    assert ledger.spent == 0
