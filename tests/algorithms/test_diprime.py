"""DiPriMe forests: balanced trees on parts of the records, at the price that is said, or that was printed."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privet
from listening import laws, listened
from privet import (
    Categorical,
    DiPriMeForestClassifier,
    DiPriMeForestRegressor,
    Ledger,
    Numeric,
    PrivetError,
    Schema,
)
from privet.privacy.fixed_point import TARGET_ONE
from privet.questions.grid import public_grid
from privet.tree.forest import Forest
from privet.tree.tree import Tree, TreeNode

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
        (DiPriMeForestClassifier(CLASSES, **{"epsilon": 1, **params}), LABELS),
        (DiPriMeForestRegressor(TARGET, **{"epsilon": 1, **params}), Y),
    )


@pytest.mark.parametrize("partition", [True, False])
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_sound_forest_costs_epsilon_and_learns(attribute, partition):
    """For one public structure: attributes are drawn, and four trees may have drawn none that says much. Over the noise
    alone scores are over twenty standard deviations above what is asked for."""
    params = {"attribute": attribute, "partition": partition, "structure": 0}
    for model, y in models(epsilon=20, n_trees=4, n_records=3000, **params):
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


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-9])
def test_noise_in_the_number_of_records_buys_few_leaves(epsilon):
    """Without records the number is noise; twenty scales of it, which come with a chance of 1e-9, buy 45 leaves."""
    X, y = np.empty((0, 3)), np.empty(0)
    schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1), "w": Numeric(0, 1)}, target=(0, 20))
    for _ in range(5):
        model = DiPriMeForestRegressor(schema, epsilon=epsilon).fit(X, y)
        assert max(tree.depth for tree in model.forest_.trees) <= 6


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


# -- what medians and attributes are chosen from ------------------------------------------------------------------


def stump(schema, **params):
    """One tree of one level on all records."""
    kind = DiPriMeForestClassifier if schema.classes is not None else DiPriMeForestRegressor
    return kind(**{"epsilon": 4, "n_trees": 1, "max_depth": 1, "partition": False, "structure": 0, **params})


def categories(n, structure=0):
    """The sets of categories that a median of one attribute may send to the left; unlisted ones are not expected."""
    schema = Schema({"c": Categorical(range(n), other=False)}, target=(0, 1))
    curator = listened(stump(schema, structure=structure), np.zeros((1, 1)), [0.0], schema)
    return [
        frozenset(np.flatnonzero(np.frombuffer(split.part, np.uint8) == 0)) for split in curator.choices[0].splits()
    ]


@pytest.mark.parametrize("n", [2, 3, 10])
def test_up_to_ten_categories_are_parted_in_every_way(n):
    partings = {frozenset([left, frozenset(range(n)) - left]) for left in categories(n)}
    assert len(categories(n)) == len(partings) == 2 ** (n - 1) - 1


def test_more_categories_are_cut_along_a_public_random_order():
    orders = set()
    for structure in range(3):
        lefts = categories(11, structure)
        assert [len(left) for left in lefts] == list(range(1, 11))
        assert all(smaller < larger for smaller, larger in pairwise(lefts))
        assert lefts == categories(11, structure)  # of the public seed alone
        orders.add((*lefts,))
    assert len(orders | {tuple(frozenset(range(k)) for k in range(1, 11))}) == 4  # all different, none the schema's


def test_without_records_a_median_is_as_likely_as_the_cells_beside_it_are_wide():
    schema = Schema({"x": Numeric(-1, 3)}, target=(0, 1))
    # Priors are whole numbers of scores: at a small epsilon a score is worth so little that they are fine.
    law, *_ = laws(stump(schema, epsilon=1e-6), np.empty((0, 1)), [], schema)
    edges = np.concatenate([[-1], public_grid(schema, 256).features[0].cuts, [3]])
    widths = edges[2:] - edges[:-2]
    assert widths.max() > 10 * widths.min()
    np.testing.assert_allclose(np.exp(law), widths / widths.sum(), rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(0, 9), min_size=1), st.integers(0, 5))
def test_printed_permute_and_flip_has_one_cut_for_each_gap_between_records(values, structure):
    schema = Schema({"x": Numeric(0, 9, integer=True)}, target=(0, 1))
    model = stump(schema, attribute="flip", variant="published", structure=structure)
    curator = listened(model, np.array(sorted(values), dtype=float)[:, None], [0.0] * len(values), schema)
    asked = curator.choices[0]
    on_the_left = [sum(split.part[value] == 0 for value in values) for split in asked.splits()]
    assert sorted(on_the_left) == sorted({sum(value <= cut for value in values) for cut in range(9)})
    assert not asked.candidates[0].log_prior.any()  # all gaps alike, however wide


def test_that_cut_is_anywhere_in_its_gap():
    schema = Schema({"x": Numeric(0, 9, integer=True)}, target=(0, 1))
    seen = set()
    for structure in range(30):
        model = stump(schema, attribute="flip", variant="published", structure=structure)
        (split,) = listened(model, [[0.0], [9.0]], [0.0, 0.0], schema).choices[0].splits()
        seen.add(split.part.index(1))
    assert seen == set(range(1, 10))


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_choices_are_made_by_the_mechanism_that_is_asked_for(attribute, variant):
    for model, y in models(attribute=attribute, variant=variant, max_depth=2, n_trees=2):
        choices = [event for event in model.fit(X, y).privacy_.events if event.question.startswith("choose")]
        assert {event.mechanism for event in choices} == {"permute_and_flip" if attribute == "flip" else "exponential"}
        assert {event.lemma.partition("(")[0] for event in choices} == (
            {"quantile"} if attribute == "random" else {"quantile", "squared_error" if y is Y else "gini"}
        )


@pytest.mark.parametrize(("low", "high"), [(0, 20), (-10, 30), (-2, 1)])
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_an_attribute_is_chosen_with_the_exponent_of_its_variant(variant, low, high):
    """Printed: eps SSE / (2 (2B)^2), B the largest absolute target; sound, at the same price, eps SSE / range^2."""
    schema = Schema({name: Numeric(0, 1, integer=True) for name in ("i", "j")}, target=(low, high))
    table = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1]], dtype=float)
    y = low + (high - low) * np.array([0, 0, 0.25, 1, 0.75, 1])
    *medians, law = laws(stump(schema, attribute="exp", variant=variant), table, y, schema)[:3]
    assert [median.tolist() for median in medians] == [[0.0], [0.0]]  # each attribute has one cut
    error = [
        sum(((y[table[:, f] == side] - y[table[:, f] == side].mean()) ** 2).sum() for side in (0, 1)) for f in (0, 1)
    ]
    # Half of a level's 2 is for the choice.
    exponent = 1 / (2 * (2 * max(abs(low), abs(high))) ** 2) if variant == "published" else 1 / (high - low) ** 2
    assert abs(law[0] - law[1]) == pytest.approx(exponent * abs(error[1] - error[0]), rel=1e-4)


# -- what leaves say ----------------------------------------------------------------------------------------------


def test_printed_means_have_noise_of_the_printed_scale():
    """2B / (N eps), N the records of a leaf: those of all leaves are all records."""
    schema = Schema({"x": Numeric(0, 1)}, target=(-5, 20))
    model = stump(schema, variant="published", max_depth=2, rho=0.25)
    scales = np.array(listened(model, X[["x"]], Y, schema).scales)
    assert len(scales) == 4
    records = 2 * 20 / (3 * scales * 25 / TARGET_ONE)  # eps: three quarters of 4
    assert records.sum() == pytest.approx(len(X))


def test_trees_vote_with_their_probabilities():
    model = DiPriMeForestClassifier(CLASSES, epsilon=1, n_trees=1, max_depth=0).fit(X, LABELS)
    leaves = [TreeNode(counts=counts) for counts in ((49, 51), (49, 51), (100, -3))]
    model.forest_ = Forest(CLASSES, tuple(Tree(CLASSES, (leaf,)) for leaf in leaves))
    assert model.predict_proba(X[:1])[0].tolist() == pytest.approx([0.66, 0.34])
    assert model.predict(X[:1]) == ["no"]  # counting hands would say otherwise


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
        model.fit(X, y).save(tmp_path / "model.json", overwrite=True)
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
