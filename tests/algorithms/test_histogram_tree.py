"""HistogramTree: what it asks for, what it pays, when it stops, and what it saves."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from listening import Able
from privet import (
    CapabilityError,
    Categorical,
    FederatedCurator,
    HistogramTreeClassifier,
    HistogramTreeRegressor,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivetError,
    Schema,
    load,
)
from privet.consortium.federated.channel import in_process
from privet.questions.grid import even_grid
from privet.tree.frontier import Frontier
from privet.tree.histogram_search import LevelSearch
from privet.tree.noisy_histograms import Found, feature_histograms

SCHEMA = Schema(
    {"x": Numeric(0, 1), "z": Numeric(0, 1, missing=True), "s": Categorical(["a", "b", "c"], other=False)},
    classes=["n", "y"],
)
PLENTY = 10**7


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"x": rng.uniform(size=n), "z": rng.uniform(size=n), "s": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])}
    )
    X.loc[X.index % 10 == 0, "z"] = np.nan
    y = np.where((X.x > 0.5) ^ (X.s == "c"), "y", "n")
    return X, y


def events_of(model, question):
    return [event for event in model.privacy_.events if event.question == question]


# -- accuracy: with a large budget it is an ordinary tree ------------------------------------------------------------


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("save_budget", [False, True])
@pytest.mark.parametrize("leaves", ["counts", "labels"])
def test_with_plenty_of_budget_it_finds_the_rule(variant, save_budget, leaves):
    X, y = table()
    model = HistogramTreeClassifier(
        SCHEMA, epsilon=PLENTY, max_depth=3, variant=variant, save_budget=save_budget, leaves=leaves
    ).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.privacy_.verify()


@pytest.mark.parametrize("save_budget", [False, True])
def test_a_regression_tree_with_plenty_of_budget_finds_the_steps(save_budget):
    X, y = table()
    schema = Schema(SCHEMA.features, target=(-1, 3))
    target = np.where(y == "y", 2.0, 0.5)
    model = HistogramTreeRegressor(schema, epsilon=PLENTY, max_depth=3, save_budget=save_budget).fit(X, target)
    assert np.allclose(model.predict(X), target, atol=1e-3)
    assert model.privacy_.verify()


def test_three_classes_and_probabilities():
    X, _ = table()
    schema = Schema(SCHEMA.features, classes=["a", "b", "c"])
    model = HistogramTreeClassifier(schema, epsilon=PLENTY, max_depth=2).fit(X, X.s)
    assert model.score(X, X.s) == 1.0
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_few_records_and_one_class_train_without_error():
    X, _ = table(5)
    for variant in ("sound", "published"):
        for rows in (slice(0, 0), slice(0, 1), slice(0, 5)):
            for save_budget in (False, True):
                model = HistogramTreeClassifier(SCHEMA, epsilon=1, variant=variant, save_budget=save_budget)
                assert set(model.fit(X[rows], ["n"] * len(X[rows])).predict(X)) <= {"n", "y"}


# -- between owners --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", [{}, {"noise": "own"}])
@pytest.mark.parametrize("save_budget", [False, True])
def test_owners_who_only_add_up_learn_the_same_tree(terms, save_budget):
    X, y = table(600)
    tables = [(X[i::3], y[i::3]) for i in range(3)]
    model = HistogramTreeClassifier(epsilon=PLENTY, max_depth=3, save_budget=save_budget)
    together = model.fit_curator(FederatedCurator(SCHEMA, in_process(tables, SCHEMA), **terms))
    assert together.score(X, y) == 1.0
    assert together.privacy_.verify()
    assert "owners kept their records" in together.privacy_.trust


def test_owners_learn_a_regression_tree_with_bounds():
    X, y = table(600)
    schema = Schema(SCHEMA.features, target=(-1, 3))
    target = np.where(y == "y", 2.0, 0.5)
    tables = [(X[i::3], target[i::3]) for i in range(3)]
    model = HistogramTreeRegressor(epsilon=PLENTY, max_depth=3, save_budget=True)
    model.fit_curator(FederatedCurator(schema, in_process(tables, schema)))
    assert np.allclose(model.predict(X), target, atol=1e-2)
    assert model.privacy_.verify()


@pytest.mark.parametrize("save_budget", [False, True])
@pytest.mark.parametrize("owners", [1, 4])
def test_with_a_delta_a_record_in_many_histograms_costs_less(save_budget, owners):
    """Accounted in rho, by L2: the noise of a level grows with the root of the number of features."""
    X, y = table(2000)
    model = HistogramTreeClassifier(epsilon=2, delta=1e-6, max_depth=2, save_budget=save_budget)
    if owners == 1:
        curator = MemoryCurator(X, y, SCHEMA, ledger=Ledger(2, delta=1e-6))
    else:
        tables = [(X[i::owners], y[i::owners]) for i in range(owners)]
        curator = FederatedCurator(SCHEMA, in_process(tables, SCHEMA, limit=2, delta=1e-6), delta=1e-6)
    model.fit_curator(curator)
    assert model.privacy_.verify()
    assert model.privacy_.delta == Fraction(1, 10**6)
    assert 1.9 < model.privacy_.spent <= 2
    first = model.privacy_.events[0]
    assert first.mechanism == ("gaussian" if owners == 1 else "skellam_shares")
    assert first.lemma == ("euclidean_least_impurity(3)" if save_budget else "euclidean_tally(3)")


def test_a_regression_tree_with_a_delta():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 20))
    y = np.where(X[:, 3] > 0.5, 1.0, -1.0)
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(20)}, target=(-2, 2))
    model = HistogramTreeRegressor(schema, epsilon=1, delta=1e-6, max_depth=2).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.privacy_.verify()


def test_a_delta_is_refused_where_it_means_nothing():
    X, y = table(30)
    with pytest.raises(PrivetError, match="knows no delta"):
        HistogramTreeClassifier(SCHEMA, epsilon=1, delta=1e-6, variant="published").fit(X, y)
    with pytest.raises(PrivetError, match="delta"):
        HistogramTreeClassifier(SCHEMA, epsilon=1, delta=2).fit(X, y)
    with Ledger(1), pytest.raises(PrivetError, match="adds up pure epsilons"):
        HistogramTreeClassifier(SCHEMA, epsilon=1, delta=1e-6).fit(X, y)
    with pytest.raises(PrivetError, match="adds up pure epsilons"):
        HistogramTreeClassifier(epsilon=1, delta=1e-6).fit_curator(
            FederatedCurator(SCHEMA, in_process([(X, y)] * 3, SCHEMA))
        )


# -- what it asks for and pays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("save_budget", [False, True])
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_the_sound_variant_never_costs_more_than_epsilon(save_budget, epsilon):
    X, y = table(300)
    model = HistogramTreeClassifier(SCHEMA, epsilon=epsilon, save_budget=save_budget).fit(X, y)
    assert model.privacy_.epsilon <= Fraction(str(epsilon))
    assert model.privacy_.verify()
    assert not model.privacy_.shortfall


def test_every_path_of_the_sound_variant_spends_all_of_its_budget():
    """What is saved or not needed is the leaf's."""
    X, y = table(300)
    for seed in range(5):
        model = HistogramTreeClassifier(SCHEMA, epsilon=1, random_state=seed, save_budget=True).fit(X, y)
        assert model.privacy_.spent == 1


def test_plain_histograms_share_a_nodes_budget_and_ask_once_for_each_level():
    X, y = table(300)
    model = HistogramTreeClassifier(SCHEMA, epsilon=2, max_depth=1, random_state=0).fit(X, y)
    first, *leaves = model.privacy_.events
    assert (first.lemma, first.charged) == ("tally(3)", 1)
    assert {event.charged for event in leaves} == {1}


def test_one_hot_columns_are_what_the_published_variant_asks_for():
    X, y = table(300)
    model = HistogramTreeClassifier(SCHEMA, epsilon=2, max_depth=1, variant="published", random_state=0).fit(X, y)
    assert model.privacy_.events[0].lemma == "tally(5)"  # x, z and three categories
    assert model.privacy_.spent == 2  # Algorithm 5 keeps its promise


def test_the_published_bounds_cost_what_the_theory_says():
    """p bounds, each with the whole of a quarter of the node's budget for a change of 5/4 that is 1 in truth."""
    p = 50
    schema = Schema({f"x{j}": Numeric(0, 1) for j in range(p)}, classes=[0, 1])
    X = np.random.default_rng(0).uniform(size=(200, p))
    y = (X[:, 0] > 0.5).astype(int)
    model = HistogramTreeClassifier(
        schema, epsilon=2, max_depth=1, variant="published", save_budget=True, random_state=0
    ).fit(X, y)
    (bounds,) = events_of(model, "owner sum")
    assert bounds.charged == p * Fraction(1, 4) * Fraction(4, 5)
    assert bounds.scale == pytest.approx(256 * 5, rel=1e-9)  # 5/4 over a quarter, in units of 1/256
    assert model.privacy_.spent > 10
    assert "every feature" in model.privacy_.shortfall
    sound = HistogramTreeClassifier(schema, epsilon=2, max_depth=1, save_budget=True, random_state=0).fit(X, y)
    (bounds,) = events_of(sound, "owner sum")
    assert bounds.charged == Fraction(1, 4)


def test_saving_leaves_out_features_that_cannot_win_and_hands_their_budget_down():
    rng = np.random.default_rng(1)
    p = 8
    schema = Schema({f"x{j}": Numeric(0, 1) for j in range(p)}, classes=[0, 1])
    X = rng.uniform(size=(5000, p))
    y = (X[:, 3] > 0.5).astype(int)
    for variant in ("sound", "published"):
        model = HistogramTreeClassifier(
            schema, epsilon=200, max_depth=2, variant=variant, save_budget=True, random_state=0, min_samples=10
        ).fit(X, y)
        at_root = [e for e in events_of(model, "tally") if "split" not in e.scope]
        assert [event.lemma for event in at_root] == ["tally(1)"]  # the one feature that parts the classes
        node = Fraction(200, 4)
        assert at_root[0].charged == node * Fraction(3, 4) / p
        below = [e for e in events_of(model, "owner sum") if "split" in e.scope]
        spent = at_root[0].charged + (node / 4)
        if below and variant == "sound":
            assert below[0].charged == (node + node - spent) / 4
    assert model.tree_.nodes[0].rule.feature == 3


def test_histograms_are_asked_for_one_by_one_in_print_and_in_growing_batches_otherwise():
    rng = np.random.default_rng(1)
    schema = Schema({f"x{j}": Numeric(0, 1) for j in range(10)}, classes=[0, 1])
    X, y = rng.uniform(size=(100, 10)), rng.integers(0, 2, 100)
    sizes = {}
    for variant in ("sound", "published"):
        model = HistogramTreeClassifier(
            schema, epsilon=0.001, max_depth=1, variant=variant, save_budget=True, random_state=0
        ).fit(X, y)
        sizes[variant] = [event.lemma for event in events_of(model, "tally") if "split" not in event.scope]
    assert set(sizes["published"]) == {"tally(1)"}
    assert sizes["sound"][:2] == ["tally(1)", "tally(2)"]


# -- when it stops ---------------------------------------------------------------------------------------------------


def test_a_pure_or_small_node_is_a_leaf():
    X, y = table(400)
    pure = HistogramTreeClassifier(SCHEMA, epsilon=PLENTY).fit(X, ["y"] * len(X))
    assert len(pure.tree_.nodes) == 1
    small = HistogramTreeClassifier(SCHEMA, epsilon=PLENTY, min_samples=401).fit(X, y)
    assert len(small.tree_.nodes) == 1
    large = HistogramTreeClassifier(SCHEMA, epsilon=PLENTY, min_samples=399).fit(X, y)
    assert len(large.tree_.nodes) > 1


def test_in_print_a_node_that_left_features_out_is_split_since_not_all_of_them_say_leaf():
    histograms = feature_histograms(even_grid(SCHEMA, 10))
    desk = MemoryCurator(*table(20), SCHEMA).open()
    root = desk.root()
    for printed in (True, False):
        level = LevelSearch(
            histograms, Frontier.sprout(desk.curtain, [root], even_grid(SCHEMA, 10)), Fraction(1), printed=printed
        )
        level[root].order(np.array([0.0, *[50.0] * (len(histograms) - 1)]), one_by_one=True)
        level[root].read([Found(3, 0.1, 6.0)], np.array([[3.0, 3.0]]), min_samples=10)
        assert level.splits() == ({root: histograms.split(3)} if printed else {})


def test_splits_that_part_nothing_are_not_made_twice():
    schema = Schema({"i": Numeric(0, 1, integer=True)}, classes=["n", "y"])
    X = np.repeat([[0], [1]], 500, axis=0)
    y = np.random.default_rng(0).choice(["n", "y"], 1000)
    model = HistogramTreeClassifier(schema, epsilon=0.1, max_depth=5, random_state=0).fit(X, y)
    assert model.tree_.depth <= 1
    assert model.privacy_.spent == Fraction(1, 10)


# -- wrong use ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 0},
        {"max_depth": 17},
        {"n_bins": 1},
        {"n_bins": 255},
        {"min_samples": -1},
        {"min_samples": "ten"},
        {"leaf_share": 1},
        {"bounds_share": 0},
        {"save_budget": "yes"},
        {"leaves": "means"},
        {"variant": "printed"},
    ],
)
def test_parameters_that_make_no_sense_are_refused_before_anything_is_spent(params):
    X, y = table(20)
    with Ledger(1) as ledger, pytest.raises(PrivetError, match=next(iter(params))):
        HistogramTreeClassifier(SCHEMA, **params).fit(X, y)
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("params", "question"), [({"save_budget": True}, "owner_sum"), ({"leaves": "labels"}, "choose")]
)
def test_a_curator_that_could_not_answer_all_is_refused_before_anything_is_spent(params, question):
    curator = Able(*table(20), SCHEMA, able={"tally"})
    with pytest.raises(CapabilityError, match=f"cannot be asked for '{question}'"):
        HistogramTreeClassifier(epsilon=1, **params).fit_curator(curator)
    assert curator.ledger.spent == 0
    assert HistogramTreeClassifier(epsilon=1).fit_curator(curator).privacy_.verify()


def test_a_published_variant_is_refused_by_a_ledger_with_a_total():
    with Ledger(1), pytest.raises(PrivetError, match="published variant"):
        HistogramTreeClassifier(SCHEMA, epsilon=1, variant="published").fit(*table(20))


def test_models_can_be_saved(tmp_path):
    X, y = table(200)
    model = HistogramTreeClassifier(SCHEMA, epsilon=1, save_budget=True, random_state=0).fit(X, y)
    model.save(tmp_path / "model.json")
    assert (load(tmp_path / "model.json").predict(X) == model.predict(X)).all()


def test_infinite_budgets_are_refused():
    with pytest.raises(PrivetError):
        HistogramTreeClassifier(SCHEMA, epsilon=math.inf).fit(*table(20))
