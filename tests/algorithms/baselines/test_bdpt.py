"""BDPT: counts on every level within the budget, and the published tree with what it really costs."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, MemoryCurator, Numeric, PrivetError, Schema
from privet.algorithms.baselines import BDPTClassifier
from privet.algorithms.baselines.bdpt import _merged, count_shares, published_price

SCHEMA = Schema(
    {"letter": Categorical(["x", "y", "z"]), "number": Numeric(0, 100, integer=True)}, classes=["no", "yes"]
)


def people(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"letter": rng.choice(["x", "y", "z"], n), "number": rng.integers(0, 101, n)})
    return X, np.where((X["letter"] == "y") ^ (rng.random(n) < 0.1), "yes", "no")


X, Y = people()


@pytest.mark.parametrize("depth", [1, 3, 7])
def test_shares_grow_by_the_cube_root_of_two_and_are_all_of_it(depth):
    shares = count_shares(Fraction(3, 10), depth)
    assert sum(shares) == Fraction(3, 10)
    assert [float(b / a) for a, b in pairwise(shares)] == pytest.approx([2 ** (1 / 3)] * depth, rel=1e-5)


def test_every_node_is_counted_and_inner_ones_are_split():
    model = BDPTClassifier(SCHEMA, epsilon=1, max_depth=2).fit(X, Y)
    shares = count_shares(Fraction(1, 2), 2)
    charged = {(event.question, event.charged) for event in model.privacy_.events}
    assert charged == {("choose a split", Fraction(1, 4)), *(("tally", share) for share in shares)}
    assert model.privacy_.spent == model.privacy_.epsilon == 1
    assert {event.mechanism for event in model.privacy_.events} == {"exponential", "geometric"}
    assert all(model.tree_.nodes[leaf].counts is not None for leaf in model.tree_.leaves)


def test_with_budget_enough_it_finds_the_split():
    assert BDPTClassifier(SCHEMA, epsilon=1000).fit(X, Y).score(X, Y) > 0.85


def test_an_empty_node_is_not_split():
    model = BDPTClassifier(SCHEMA, epsilon=1000, max_depth=3).fit(X.iloc[:0], Y[:0])
    assert len(model.tree_.nodes) == 1


def test_the_published_tree_costs_infinity_and_says_why():
    receipt = BDPTClassifier(SCHEMA, epsilon=1, variant="published").fit(X, Y).privacy_
    assert receipt.claimed == 1
    assert receipt.spent == receipt.epsilon == math.inf
    assert "noisy node size" in receipt.shortfall
    assert receipt.verify()


def test_published_cells_hold_five_values_each():
    table = pd.DataFrame({"letter": ["x"] * 12, "number": [0, 3, 3, 4, 7, 9, 20, 21, 22, 23, 50, 99]})
    curator = MemoryCurator(table, ["no"] * 12, SCHEMA).open()
    cuts = _merged(curator, curator.root()).features[1].cuts
    assert len(cuts) == 2  # eleven different values: 0 3 4 7 9 | 20 21 22 23 50 | 99
    assert 9 <= cuts[0] < 20
    assert 50 <= cuts[1] < 99
    assert curator.ledger.spent == math.inf


@pytest.mark.parametrize("y", [["no"] * 20, ["no"]])
def test_the_published_tree_stops_where_records_are_pure_or_few(y):
    n = len(y)
    assert len(BDPTClassifier(SCHEMA, epsilon=100, variant="published").fit(X.iloc[:n], y).tree_.nodes) == 1


@pytest.mark.parametrize(("noisy", "size"), [(1, 1), (50, 2), (-3, 7), (1000, 1000)])
def test_published_exponents_are_the_printed_ones(noisy, size):
    """A choice with budget b weighs n times the mean impurity by b / 2: that must be eps / (2 Delta) for the mean."""
    n = max(noisy, 1)
    delta = 1 - (n / (n + 1)) ** 2 - (1 / (n + 1)) ** 2
    budget = float(published_price(Fraction(1, 8), noisy, size))
    assert budget / 2 * size == pytest.approx(0.125 / (2 * delta))


@pytest.mark.parametrize("params", [{"max_depth": 0}, {"n_bins": 1}, {"n_bins": 257}, {"variant": "printed"}])
def test_wrong_parameters_are_refused(params):
    with pytest.raises(PrivetError, match=next(iter(params))):
        BDPTClassifier(SCHEMA, **params).fit(X, Y)
