"""Random trees: a structure that no record has a say in, and labels with the whole budget."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, Numeric, PrivetError, Schema
from privet.algorithms.baselines import RandomTreeClassifier
from privet.algorithms.baselines.random_tree import Drawer, grid_of

SCHEMA = Schema(
    {
        "real": Numeric(-1, 3, missing=True),
        "whole": Numeric(0, 7, integer=True),
        "log": Numeric(1, 1e6, log=True),
        "constant": Numeric(2, 2),
        "letter": Categorical(["x", "y", "z"]),
    },
    classes=["no", "yes"],
)


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "real": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(-1, 3, n)),
            "whole": rng.integers(0, 8, n),
            "log": np.exp(rng.uniform(0, 13, n)),
            "constant": 2.0,
            "letter": rng.choice(["x", "y", "z", "w"], n),
        }
    )
    return X, np.where(X["whole"] > 3, "yes", "no")


X, Y = people()


def rules(model):
    return [node.rule for node in model.tree_.nodes]


@pytest.mark.parametrize("categories", ["order", "subsets"])
def test_all_of_the_budget_is_spent_on_labels(categories):
    model = RandomTreeClassifier(SCHEMA, epsilon=0.5, categories=categories).fit(X, Y)
    assert {event.question for event in model.privacy_.events} == {"choose a label"}
    assert all(event.charged == Fraction(1, 2) for event in model.privacy_.events)
    assert model.privacy_.epsilon == Fraction(1, 2)
    assert model.privacy_.verify()
    assert model.tree_.depth <= 4


def test_the_structure_is_the_same_whatever_the_records():
    one = RandomTreeClassifier(SCHEMA, structure=5, epsilon=1000)
    other = RandomTreeClassifier(SCHEMA, structure=5, epsilon=1000)
    # Without simplification, which looks at labels: the paths of the charged scopes are the leaves.
    scopes = [event.scope for event in one.fit(X, Y).privacy_.events]
    assert scopes == [event.scope for event in other.fit(X.iloc[:3], Y[:3]).privacy_.events]
    assert not one.privacy_.void


def test_a_seed_repeats_structure_and_noise_and_voids_the_receipt():
    fits = [RandomTreeClassifier(SCHEMA, random_state=3, epsilon=0.01).fit(X, Y) for _ in range(2)]
    assert rules(fits[0]) == rules(fits[1])
    assert fits[0].privacy_.void
    several = [RandomTreeClassifier(SCHEMA, random_state=seed, epsilon=1000).fit(X, Y) for seed in range(5)]
    assert len({str(rules(model)) for model in several}) > 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.integers(1, 6))
def test_every_split_parts_what_can_reach_it(seed, subsets, depth):
    drawn = Drawer(SCHEMA, subsets, np.random.default_rng(seed)).draw(depth)
    grid = grid_of([drawn], SCHEMA)
    assert grid.schema == SCHEMA
    deepest = 0

    def walk(node, reachable, level):
        nonlocal deepest
        deepest = max(deepest, level)
        if not node.children:
            return
        assert SCHEMA.names[node.feature] != "constant"
        split = node.split(grid)
        cells = slice(grid.offsets[split.feature], grid.offsets[split.feature + 1])
        for side, child in enumerate(node.children):
            inside = reachable.copy()
            inside[cells] &= np.frombuffer(split.part, np.uint8) == side
            values = len(grid.features[split.feature].cuts) + 1 if node.left is None else None
            assert inside[cells][:values].any()  # a value, not only a missing one, goes to either side
            walk(child, inside, level + 1)

    walk(drawn, np.ones(grid.n_cells, dtype=bool), 0)
    assert deepest <= depth


def test_thresholds_are_spread_evenly_over_the_range():
    """Kolmogorov: with 4,000 draws a distance above 0.06 has a chance below 1e-12."""
    schema = Schema({"real": Numeric(-1, 3), "log": Numeric(1, 100, log=True)}, classes=["a", "b"])
    drawer = Drawer(schema, False, np.random.default_rng(1))
    nodes = [drawer.draw(1) for _ in range(8000)]
    for f, place in ((0, lambda t: (t + 1) / 4), (1, lambda t: np.log(t) / np.log(100))):
        spread = np.sort([place(node.threshold) for node in nodes if node.feature == f])
        assert len(spread) > 3000
        assert np.abs(spread - np.arange(len(spread)) / len(spread)).max() < 0.06


def test_nothing_to_part_is_one_label():
    schema = Schema({"a": Numeric(1, 1), "b": Categorical(["x"], other=False)}, classes=["no", "yes"])
    model = RandomTreeClassifier(schema, epsilon=1000).fit(pd.DataFrame({"a": [1.0, 1], "b": ["x", "x"]}), ["yes"] * 2)
    assert len(model.tree_.nodes) == 1
    assert model.predict(pd.DataFrame({"a": [1.0], "b": ["x"]})).tolist() == ["yes"]


@pytest.mark.parametrize(
    "params", [{"max_depth": 0}, {"max_depth": 17}, {"max_depth": 2.0}, {"categories": "all"}, {"structure": -1}]
)
def test_wrong_parameters_are_refused(params):
    with pytest.raises(PrivetError, match=next(iter(params))):
        RandomTreeClassifier(SCHEMA, **params).fit(X, Y)
