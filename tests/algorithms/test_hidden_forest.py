"""Hidden forests, in the open: what trees on parts or samples cost, and what each of them is told."""

from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, HiddenForestClassifier, Ledger, Numeric, PrivetError, Schema
from privet.algorithms.hidden_tree import budget_of_a_sample
from privet.privacy.event import amplified

SCHEMA = Schema({"age": Numeric(0, 80), "colour": Categorical(["r", "g", "b"], other=False)}, classes=["no", "yes"])


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.random(n) * 80, rng.choice(["r", "g", "b"], n)
    return X, np.where(X[:, 0].astype(float) > 32, "yes", "no")


X, Y = table()


@pytest.mark.parametrize("options", [{}, {"structure": "random"}, {"branches": "values"}, {"n_trees": 1}])
def test_trees_on_parts_cost_what_one_costs(options):
    model = HiddenForestClassifier(SCHEMA, epsilon=1, **{"n_trees": 3, "max_depth": 2, **options}).fit(X, Y)
    assert model.privacy_.spent <= 1
    assert model.privacy_.verify()
    assert len(model.forest_.trees) == options.get("n_trees", 3)


def test_trees_on_samples_cost_the_amplified_sum():
    with Ledger(1) as ledger:
        model = HiddenForestClassifier(SCHEMA, epsilon=1, n_trees=4, max_depth=1, sampling="poisson").fit(X, Y)
    assert Fraction(99, 100) < ledger.spent <= 1
    assert ledger.spent == model.privacy_.spent


@pytest.mark.parametrize("n_trees", [1, 2, 10])
@pytest.mark.parametrize("budget", [Fraction(1, 10), Fraction(1), Fraction(20)])
def test_a_samples_budget_is_the_largest_whose_amplified_sum_fits(budget, n_trees):
    each = budget_of_a_sample(budget, n_trees)
    assert each >= budget / n_trees - Fraction(1, 2**39)  # rounded down
    assert n_trees * amplified(each, n_trees) <= budget
    assert n_trees * amplified(each + Fraction(1, 2**30), n_trees) > budget


def test_much_budget_finds_the_rule():
    model = HiddenForestClassifier(SCHEMA, epsilon=500, n_trees=3, max_depth=1, n_values=5, random_state=0)
    assert model.fit(X, Y).score(X, Y) == 1


def test_a_hint_is_of_all_records_and_each_tree_sees_its_part():
    few, many = (HiddenForestClassifier(SCHEMA, epsilon=1, n_trees=4, n_records=n) for n in (40, 10**6))
    depths = [max(tree.depth for tree in model.fit(X, Y).forest_.trees) for model in (few, many)]
    assert depths[0] <= depths[1]
    assert few._tree().n_records == 10


def test_the_published_variant_says_what_it_costs():
    model = HiddenForestClassifier(SCHEMA, epsilon=1, n_trees=2, max_depth=1, variant="published").fit(X, Y)
    assert model.privacy_.epsilon == float("inf")


@pytest.mark.parametrize("params", [{"n_trees": 0}, {"sampling": "bootstrap"}, {"max_depth": 0}, {"labels": "loudest"}])
def test_wrong_parameters_are_refused_before_anything_is_spent(params):
    with Ledger(1) as ledger, pytest.raises(PrivetError, match=next(iter(params))):
        HiddenForestClassifier(SCHEMA, epsilon=1, **params).fit(X, Y)
    assert ledger.spent == 0
