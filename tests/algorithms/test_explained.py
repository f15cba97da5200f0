"""A model says what was released about it, or what to ask for: it makes nothing up."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from privet import (
    Categorical,
    HistogramTreeClassifier,
    Numeric,
    PrivateForestClassifier,
    PrivateTreeClassifier,
    PrivaTreeClassifier,
    Schema,
    TopDownClassifier,
)
from privet.errors import NotReleasedError, PrivetError
from privet.explain.text import tree_text
from privet.tree.growing import GrowingTree
from privet.tree.tree import Rule

SCHEMA = Schema({"age": Numeric(0, 100), "bmi": Numeric(10, 60)}, classes=["no", "yes"])
rng = np.random.default_rng(0)
X = np.column_stack([rng.uniform(0, 100, 2000), rng.uniform(10, 60, 2000)])
Y = np.where(X[:, 0] > 50, "yes", "no")
LABELS = [
    PrivateTreeClassifier(SCHEMA, epsilon=2, max_depth=3),
    TopDownClassifier(SCHEMA, epsilon=2),
    PrivaTreeClassifier(SCHEMA, epsilon=2),
    HistogramTreeClassifier(SCHEMA, epsilon=2, leaves="labels"),
]


@pytest.mark.parametrize("model", LABELS, ids=lambda model: type(model).__name__)
def test_labels_alone_have_no_importances_no_dependence_and_no_probabilities(model):
    """Age decides everything, and a tree of labels gave bmi an importance of .80 by halving records at each split."""
    model.fit(X, Y)
    for name in ("feature_importances_", "predict_proba", "predict_log_proba"):
        assert not hasattr(model, name)
        with pytest.raises(NotReleasedError, match=r"released a label for each leaf.*leaves='counts'"):
            getattr(model, name)
    with pytest.raises(PrivetError, match="no partial dependence"):
        model.partial_dependence("age", [20, 80])
    assert get_scorer("accuracy")(model, X, Y) > 0.8
    with pytest.raises(AttributeError, match="predict_proba"):
        get_scorer("neg_log_loss")(model, X, Y)


def test_before_a_fit_the_parameters_tell_whether_there_will_be_probabilities():
    assert not hasattr(PrivateTreeClassifier(SCHEMA, epsilon=1), "predict_proba")
    assert hasattr(PrivateTreeClassifier(SCHEMA, epsilon=1, leaves="counts"), "predict_proba")
    assert hasattr(PrivateForestClassifier(SCHEMA, epsilon=1), "predict_proba")


def test_counts_give_all_three():
    model = PrivateTreeClassifier(SCHEMA, epsilon=20, max_depth=3, leaves="counts").fit(X, Y)
    assert model.feature_importances_[0] > 0.9
    low, high = model.partial_dependence("age", [20, 80])
    assert low[0] > 0.9
    assert high[1] > 0.9
    assert get_scorer("roc_auc")(model, X, Y) > 0.9


def test_a_forest_that_came_out_as_one_tree_has_counts():
    model = PrivateForestClassifier(SCHEMA, epsilon=1, method="trees").fit(X, Y)
    assert all(tree.weighed for tree in model.forest_.trees)  # noise may leave a leaf with one class all the same
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.feature_importances_[0] > 0.5


# -- rules ------------------------------------------------------------------------------------------------------------


def test_rules_list_only_values_that_can_reach_the_node():
    schema = Schema({"s": Categorical(["a", "b", "c", "d"], other=False), "x": Numeric(0, 9)}, classes=["n", "y"])
    tree = GrowingTree(schema)
    ab, cd = tree.grow(0, Rule(0, None, bytes([0, 0, 1, 1])), 2)
    a, not_a = tree.grow(ab, Rule(0, None, bytes([0, 1, 1, 0])), 2)  # c and d cannot be here
    low, high = tree.grow(cd, Rule(1, (5.0,), bytes([0, 1])), 2)
    ends, middle = tree.grow(low, Rule(1, (2.0, 4.0, 7.0), bytes([0, 1, 0, 0])), 2)  # nor is x above 5
    for leaf in (a, not_a, high, ends, middle):
        tree.nodes[leaf].label = 0
    assert tree_text(tree.as_grown()).splitlines() == [
        "s is one of: a, b",
        "|   s is a: n",
        "|   s is b: n",
        "s is one of: c, d",
        "|   x <= 5",
        "|   |   x <= 2 or 4 < x <= 7: n",
        "|   |   2 < x <= 4: n",
        "|   x > 5: n",
    ]


def test_values_of_no_list_are_followed_too():
    schema = Schema({"s": Categorical(["a", "b", "c"])}, classes=["n", "y"])
    tree = GrowingTree(schema)
    a, rest = tree.grow(0, Rule(0, None, bytes([0, 1, 1, 1])), 2)
    b, others = tree.grow(rest, Rule(0, None, bytes([1, 0, 1, 1])), 2)
    for leaf in (a, b, others):
        tree.nodes[leaf].label = 0
    assert tree_text(tree.as_grown()).splitlines() == [
        "s is a: n",
        "s is not a",
        "|   s is b: n",
        "|   s is one of: c, any other value: n",
    ]
