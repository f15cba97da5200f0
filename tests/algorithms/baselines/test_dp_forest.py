"""DP-ERT and DP-RF: their price, their shape, and that they learn something."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import privet
from listening import listened
from privet import Categorical, Numeric, PrivetError, Schema
from privet.algorithms.baselines import DPERTClassifier, DPERTRegressor, DPRFClassifier, DPRFRegressor
from privet.privacy.fixed_point import TARGET_ONE

FEATURES = {"x": Numeric(0, 1), "age": Numeric(0, 9, integer=True, missing=True), "town": Categorical(["a", "b", "c"])}
CLASSES = Schema(FEATURES, classes=["no", "yes"])
TARGET = Schema(FEATURES, target=(0.0, 20.0))
rng = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "x": rng.uniform(size=2000),
        "age": np.where(rng.uniform(size=2000) < 0.1, np.nan, rng.integers(0, 10, 2000)),
        "town": np.array(["a", "b", "c", "d"], dtype=object)[rng.integers(0, 4, 2000)],
    }
)
Y = (10 * (X["x"] > 0.4) + 5 * (X["town"] == "b")).to_numpy(dtype=float)
LABELS = np.where(Y > 7, "yes", "no")


def model_of(kind, **params):
    classes = kind in (DPERTClassifier, DPRFClassifier)
    return kind(CLASSES if classes else TARGET, n_trees=3, max_depth=2, **params), LABELS if classes else Y


kinds = pytest.mark.parametrize("kind", [DPERTClassifier, DPERTRegressor, DPRFClassifier, DPRFRegressor])


@kinds
def test_a_sound_forest_costs_epsilon_and_learns(kind, tmp_path):
    model, y = model_of(kind, epsilon=100, structure=0)
    model.fit(X, y)
    assert model.privacy_.epsilon <= 100
    assert model.privacy_.verify()
    assert len(model.forest_.trees) == 3
    assert model.score(X, y) > (0.64 if y is LABELS else 0.15)  # a constant: 0.59 and 0
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(privet.load(tmp_path / "model.json").predict(X), model.predict(X))


@kinds
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_without_noise_leaves_say_what_their_records_do(kind, variant):
    """At this epsilon a mean of one record is off by 0.01 with a chance below 1e-20."""
    model, y = model_of(kind, epsilon=1e6, variant=variant)
    for tree, leaves in zip(model.fit(X, y).forest_.trees, model.apply(X).T):
        for leaf in np.unique(leaves):
            own, node = y[leaves == leaf], tree.nodes[leaf]
            if y is LABELS:
                assert node.counts == ((own == "no").sum(), (own == "yes").sum())
            else:
                assert node.value == pytest.approx(own.mean(), abs=0.01)


@pytest.mark.parametrize("kind", [DPRFClassifier, DPRFRegressor])
def test_the_best_attribute_is_found(kind):
    model, y = model_of(kind, epsilon=1000)
    assert model.fit(X, y).score(X, y) > 0.8
    assert all(len(tree.nodes[0].children) in (4, 5, 6) for tree in model.forest_.trees)  # a child for each cell


def test_random_trees_have_two_children_everywhere():
    model, y = model_of(DPERTRegressor, epsilon=10)
    model.fit(X, y)
    assert all(len(node.children) in (0, 2) for node in model.forest_.nodes)
    same = [model_of(DPERTRegressor, epsilon=10, structure=3)[0].fit(X, y).forest_ for _ in range(2)]
    rules = [[node.rule for node in forest.nodes] for forest in same]
    assert rules[0] == rules[1]


@pytest.mark.parametrize("kind", [DPERTRegressor, DPRFRegressor])
def test_published_means_cost_infinity(kind):
    model, y = model_of(kind, epsilon=10, variant="published")
    receipt = model.fit(X, y).privacy_
    assert receipt.spent == math.inf
    assert receipt.shortfall
    assert receipt.verify()
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(("kind", "share"), [(DPERTRegressor, 1), (DPRFRegressor, 3)])
def test_printed_means_have_noise_of_the_printed_scale(kind, share):
    """2B / (N eps), N the records of a leaf: those of a tree's leaves are all records."""
    model = kind(epsilon=10, n_trees=3, max_depth=2, variant="published")
    scales = np.array(listened(model, X, Y, Schema(FEATURES, target=(-5, 20))).scales)
    epsilon = 10 / 3 / share  # of a tree, for its leaves
    assert (2 * 20 / (epsilon * scales * 25 / TARGET_ONE)).sum() == pytest.approx(3 * len(X))


@kinds
def test_no_records_are_enough(kind):
    model, y = model_of(kind, epsilon=1)
    assert len(model.fit(X[:0], y[:0]).predict(X)) == len(X)


@kinds
@pytest.mark.parametrize("params", [{"n_trees": 0}, {"max_depth": 0}, {"structure": -1}])
def test_parameters_that_make_no_sense_are_refused(kind, params):
    with pytest.raises(PrivetError):
        kind(**params).fit(X, Y)


@pytest.mark.parametrize("kind", [DPERTClassifier, DPERTRegressor])
def test_random_trees_are_counted_between_owners_as_they_are_on_one_machine(kind):
    """All that DP-ERT asks for are sums, which owners can mask."""
    pytest.importorskip("cryptography")
    from privet import FederatedCurator
    from privet.consortium.federated.channel import in_process

    model, y = model_of(kind, epsilon=10_000, structure=0)
    owners = [(X.iloc[i::3], y[i::3]) for i in range(3)]
    between = clone(model).fit_curator(FederatedCurator(model.schema, in_process(owners, model.schema)))
    assert between.privacy_.verify()
    together, apart = (each.fit(X, y).predict(X) if each is model else each.predict(X) for each in (model, between))
    if kind is DPERTClassifier:
        assert (together == apart).mean() > 0.99
    else:
        assert np.abs(together - apart).max() < 0.1
