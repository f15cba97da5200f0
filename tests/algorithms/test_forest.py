"""What forests share: a mean over their trees."""

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.algorithms.baselines import DPERTClassifier, DPERTRegressor
from privet.algorithms.forest import MOST_LEAVES, deepest

X = np.linspace(0, 1, 200)[:, None]
CLASSES = Schema({"x": Numeric(0, 1)}, classes=["yes", "no"])
NUMBERS = Schema({"x": Numeric(0, 1)}, target=(0, 1))


def test_a_forest_predicts_the_class_with_the_largest_mean_share():
    model = DPERTClassifier(CLASSES, epsilon=10, n_trees=3, max_depth=2, random_state=0)
    model.fit(X, np.where(X[:, 0] > 0.5, "yes", "no"))
    shares = np.mean([tree.shares[own] for tree, own in zip(model.forest_.trees, model.apply(X).T)], axis=0)
    assert model.classes_.tolist() == ["no", "yes"]  # sorted, whatever the schema's order
    assert model.predict_proba(X) == pytest.approx(shares[:, ::-1])
    assert model.predict(X).tolist() == [CLASSES.classes[k] for k in shares.argmax(axis=1)]


def test_a_forest_predicts_the_mean_of_its_trees_values():
    model = DPERTRegressor(NUMBERS, epsilon=10, n_trees=3, max_depth=2, random_state=0).fit(X, X[:, 0])
    values = np.mean([tree.values[own] for tree, own in zip(model.forest_.trees, model.apply(X).T)], axis=0)
    assert model.predict(X) == pytest.approx(values)


@pytest.mark.parametrize("n_trees", [1, 10, 1000, MOST_LEAVES, 2 * MOST_LEAVES])
def test_trees_of_the_largest_depth_have_no_more_leaves_than_are_held(n_trees):
    depth = deepest(n_trees)
    assert n_trees * 2**depth <= MOST_LEAVES or depth == 0
    assert n_trees * 2 ** (depth + 1) > MOST_LEAVES
