"""DP-DF: counts in every node within the budget, roots that differ, and branches that gain nothing cut off."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Categorical, Numeric, PrivetError, Schema
from privet.algorithms.baselines import DPDFClassifier
from privet.algorithms.baselines.dp_df import _impurity, _pruned
from privet.tree.growing import GrowingTree
from privet.tree.tree import Rule

LETTERS = list("abc")
SCHEMA = Schema(
    {name: Categorical(LETTERS, other=False) for name in ("one", "two", "three")} | {"x": Numeric(0, 1)},
    classes=["no", "yes"],
)
rng = np.random.default_rng(0)
X = pd.DataFrame({name: rng.choice(LETTERS, 3000) for name in ("one", "two", "three")} | {"x": rng.random(3000)})
Y = np.where((X["one"] == "a") ^ (X["x"] > 0.6), "yes", "no")


def test_a_sound_forest_costs_epsilon_and_learns(tmp_path):
    model = DPDFClassifier(SCHEMA, epsilon=200, n_trees=3, max_depth=2, structure=0).fit(X, Y)
    assert model.privacy_.spent == model.privacy_.epsilon == 200
    assert model.privacy_.verify()
    assert {event.charged for event in model.privacy_.events} == {Fraction(200, 3 * 5)}
    assert model.score(X, Y) > 0.9
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(privet.load(tmp_path / "model.json").predict(X), model.predict(X))


def test_roots_differ_while_there_are_attributes():
    model = DPDFClassifier(SCHEMA, epsilon=1e4, n_trees=6, max_depth=1, structure=0).fit(X, Y)
    roots = [tree.nodes[0].rule.feature for tree in model.forest_.trees]
    assert len(set(roots[:4])) == 4
    assert len(roots) == 6


def test_branches_that_gain_nothing_are_cut():
    tree = GrowingTree(SCHEMA)
    split = Rule(0, None, bytes(range(3)))
    children = tree.grow(0, split, 3)
    for child in children[:2]:
        tree.grow(child, Rule(1, None, bytes(range(3))), 3)
    for i, node in enumerate(tree.nodes):  # one split gains nothing, and one does
        node.counts = (9, -1) if i in tree.nodes[2].children else (5, 5)
    pruned = _pruned(tree).finish()
    assert len(pruned.nodes) == 1 + 3 + 3
    assert {node.counts for node in pruned.nodes if node.is_leaf} == {(5, 5), (9, 0)}


def test_the_root_keeps_its_children():
    tree = GrowingTree(SCHEMA)
    tree.grow(0, Rule(0, None, bytes(range(3))), 3)
    for node in tree.nodes:
        node.counts = (1, 1)
    assert len(_pruned(tree).finish().nodes) == 4


@pytest.mark.parametrize(
    ("counts", "impurity"), [([[2, 2]], 0.5), ([[4, 0]], 0.0), ([[1, 1], [2, 0]], 0.25), ([[0, 0]], 1.0)]
)
def test_impurities(counts, impurity):
    assert _impurity(np.array(counts)) == impurity


def test_the_published_forest_costs_infinity_and_says_why():
    receipt = DPDFClassifier(SCHEMA, epsilon=1, n_trees=2, variant="published").fit(X, Y).privacy_
    assert receipt.claimed == 1
    assert receipt.spent == math.inf
    assert "noisy node size" in receipt.shortfall
    assert receipt.verify()


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_no_records_are_enough(variant):
    model = DPDFClassifier(SCHEMA, epsilon=1, n_trees=2, variant=variant).fit(X[:0], Y[:0])
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("params", [{"n_trees": 0}, {"max_depth": 0}, {"n_bins": 1}, {"n_candidates": 0}])
def test_parameters_that_make_no_sense_are_refused(params):
    with pytest.raises(PrivetError):
        DPDFClassifier(SCHEMA, **params).fit(X, Y)


def test_numbers_have_no_such_forest():
    with pytest.raises(PrivetError):
        DPDFClassifier(Schema({"x": Numeric(0, 1)}, target=(0, 1)), epsilon=1).fit(X[["x"]], X["x"])
