"""Predictions of many rows are those of few, to the last bit, and refuse the same tables in the same words."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from privet import (
    Categorical,
    Numeric,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateTreeClassifier,
    Schema,
    SchemaError,
)
from privet.algorithms import prediction
from privet.tree.tree import Rule, Tree, TreeNode

NUMBERS = {"a": Numeric(0, 1), "b": Numeric(0, 9, integer=True), "c": Numeric(-1, 1, missing=True)}
MIXED = {**NUMBERS, "town": Categorical(["x", "y", "z"]), "sex": Categorical(["f", "m"], other=False)}
RNG = np.random.default_rng(0)
N = 300
TABLE = pd.DataFrame(
    {
        "a": RNG.random(N),
        "b": RNG.integers(10, size=N).astype(float),
        "c": np.where(RNG.random(N) < 0.2, np.nan, RNG.random(N) * 3 - 1.5),
        "town": RNG.choice(list("xyzw"), N),
        "sex": RNG.choice(["f", "m"], N),
    }
)
LABELS = np.where(TABLE["a"] + (TABLE["town"] == "x") * TABLE["b"] / 5 > 0.7, "yes", "no")
MODELS = [
    (PrivateTreeClassifier, {"leaves": "counts"}),
    (PrivateForestClassifier, {"method": "trees", "n_trees": 3}),
    (PrivateForestClassifier, {"method": "boosting"}),
    (PrivateForestClassifier, {"method": "boosting", "delta": 1e-6}),
    (PrivateForestRegressor, {"n_records": 10**6}),
]


def fitted(kind, options, features):
    return _fitted(kind, tuple(options.items()), features is NUMBERS)


@cache
def _fitted(kind, options, numbers):
    features, options = NUMBERS if numbers else MIXED, dict(options)
    regression = kind is PrivateForestRegressor
    schema = Schema(features, target=(0, 1)) if regression else Schema(features, classes=["no", "yes", "often"][:2])
    y = TABLE["a"] if regression else LABELS
    return kind(schema, epsilon=8, random_state=0, **options).fit(TABLE[list(features)], y)


def predicted(model, X):
    return model.predict(X) if isinstance(model, PrivateForestRegressor) else model.predict_proba(X)


@pytest.mark.parametrize(("kind", "options"), MODELS)
@pytest.mark.parametrize("features", [NUMBERS, MIXED], ids=["matrix", "frame"])
def test_many_rows_are_predicted_as_few_are(kind, options, features, monkeypatch):
    model = fitted(kind, options, features)
    X = TABLE[list(features)]
    X = X.to_numpy() if features is NUMBERS else X
    few = predicted(model, X)
    assert len(np.unique(few, axis=0)) > 1
    monkeypatch.setattr(prediction, "MANY", 0)
    assert np.array_equal(predicted(model, X), few)


@pytest.mark.parametrize("spoil", [np.nan, np.inf])
@pytest.mark.parametrize("features", [NUMBERS, MIXED], ids=["matrix", "frame"])
def test_what_the_schema_does_not_allow_is_refused_in_the_same_words(spoil, features, monkeypatch):
    model = fitted(*MODELS[2], features)
    X = TABLE[list(features)].copy()
    X.loc[7, "a"] = spoil
    X = X.to_numpy() if features is NUMBERS else X
    words = []
    for many in (prediction.MANY, 0):
        monkeypatch.setattr(prediction, "MANY", many)
        with pytest.raises(SchemaError) as error:
            model.predict(X)
        words.append(str(error.value))
    assert words[0] == words[1]


def test_a_tree_with_several_rules_on_a_feature_is_descended_cell_by_cell(monkeypatch):
    schema = Schema({"x": Numeric(0, 9, missing=True), "y": Numeric(0, 9)}, classes=[0, 1, 2])
    nodes = (
        TreeNode(rule=Rule(0, (3.0, 6.0), bytes([0, 1, 0, 1])), children=(1, 2)),
        TreeNode(rule=Rule(0, (5.0,), bytes([0, 1, 1])), children=(3, 4)),
        TreeNode(label=0),
        TreeNode(label=1),
        TreeNode(label=2),
    )
    tree = Tree(schema, nodes)
    values = np.array([0, 3, 3.5, 5, 5.5, 6, 6.5, 9, np.nan])
    columns = {0: values, 1: np.zeros(len(values))}
    monkeypatch.setattr(prediction, "MANY", 0)
    from privet.tables.table import read_table

    found = prediction.fast_leaves(tree, read_table(np.stack([values, columns[1]], axis=1), schema))
    assert found.tolist() == tree.apply(columns, len(values)).tolist() == [3, 3, 2, 2, 2, 2, 4, 4, 2]
