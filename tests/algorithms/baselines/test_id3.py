"""SuLQ-ID3 and DiffPID3: one child for each value, budgets as printed, and the stopping rule."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Numeric, PrivetError, Schema
from privet.algorithms.baselines import DiffPID3Classifier, SuLQID3Classifier

SCHEMA = Schema(
    {
        "letter": Categorical(["x", "y", "z"], other=False),
        "noise": Categorical(["u", "v"], other=False),
        "number": Numeric(0, 100),
    },
    classes=["no", "yes"],
)
BOTH = [SuLQID3Classifier, DiffPID3Classifier]


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"letter": rng.choice(["x", "y", "z"], n), "noise": rng.choice(["u", "v"], n), "number": rng.uniform(0, 100, n)}
    )
    return X, np.where((X["letter"] == "y") ^ (X["number"] > 40), "yes", "no")


X, Y = people()


def test_an_attribute_has_a_child_for_each_category():
    for model in (SuLQID3Classifier(SCHEMA, epsilon=1000), DiffPID3Classifier(SCHEMA, epsilon=1000)):
        tree = model.fit(X, Y).tree_
        features = {node.rule.feature: len(node.children) for node in tree.nodes if node.rule is not None}
        assert features[0] == 3
        assert model.score(X, Y) > 0.9


def test_bins_are_children_of_a_numeric_feature():
    y = np.where((X["number"] > 20) & (X["number"] <= 40), "yes", "no")
    for model in (SuLQID3Classifier(SCHEMA, epsilon=1000), DiffPID3Classifier(SCHEMA, epsilon=1000, numeric="bins")):
        rule = model.set_params(max_depth=1).fit(X, y).tree_.nodes[0].rule
        assert rule.feature == 2
        assert rule.cuts == pytest.approx((20, 40, 60, 80))
        assert model.score(X, y) == 1


def spent_along(model):
    """What was asked on the longest path, and for how much."""
    deepest = max((event.scope for event in model.privacy_.events), key=lambda scope: scope.count("/"))
    return Counter((e.question, e.charged) for e in model.privacy_.events if f"{deepest}/".startswith(f"{e.scope}/"))


def test_every_query_costs_what_the_paper_says():
    sulq = SuLQID3Classifier(SCHEMA, epsilon=600, max_depth=2).fit(X, Y)
    assert spent_along(sulq) == {("tally", Fraction(100)): 6}  # size and attributes, twice; size and counts
    assert max(event.sensitivity for event in sulq.privacy_.events) == 3  # of three tables
    binned = DiffPID3Classifier(SCHEMA, epsilon=600, max_depth=2, numeric="bins").fit(X, Y)
    assert spent_along(binned) == {("tally", Fraction(100)): 4, ("choose a split", Fraction(100)): 2}
    # One numeric feature: its threshold is a query more on each level.
    model = DiffPID3Classifier(SCHEMA, epsilon=800, max_depth=2).fit(X, Y)
    assert spent_along(model) == {("tally", Fraction(100)): 4, ("choose a split", Fraction(100)): 4}
    assert model.privacy_.spent == 800
    assert {event.mechanism for event in model.privacy_.events} == {"geometric", "exponential"}


@pytest.mark.parametrize("kind", BOTH)
def test_few_records_are_not_split(kind):
    """1000 records on 20 * 2 cells are 25 in each: far above sqrt(2) times the noise's scale for epsilon 60, and so far
    below it for 0.02 that they look like enough with a chance of exp(-50)."""
    some, labels = X.iloc[:1000], Y[:1000]
    sizes = {}
    for epsilon in (60, 0.02):
        options = {"numeric": "bins"} if kind is DiffPID3Classifier else {}
        model = kind(SCHEMA, epsilon=epsilon, max_depth=2, n_bins=20, **options).fit(some, labels)
        sizes[epsilon] = len(model.tree_.nodes)
        assert model.privacy_.verify()
        assert model.privacy_.spent <= Fraction(str(epsilon))
    assert sizes[0.02] == 1 < sizes[60]


@pytest.mark.parametrize("kind", BOTH)
def test_a_used_attribute_is_not_asked_about_again(kind):
    schema = Schema({"letter": SCHEMA.features["letter"]}, classes=["no", "yes"])
    model = kind(schema, epsilon=1000, max_depth=3).fit(X[["letter"]], Y)
    assert model.tree_.depth == 1
    assert model.privacy_.spent < 1000  # what nothing could be asked for is not spent


@pytest.mark.parametrize("kind", BOTH)
def test_no_time_is_spent_on_levels_that_have_no_node(kind):
    """A server would be busy for hours with a few words of a trainer."""
    assert kind(SCHEMA, epsilon=1, max_depth=10**12).fit(X, Y).tree_.depth == 0


@pytest.mark.parametrize("kind", BOTH)
def test_leaves_have_counts_and_real_probabilities(kind):
    model = kind(SCHEMA, epsilon=1000, max_depth=1).fit(X, Y)
    assert all(model.tree_.nodes[leaf].counts is not None for leaf in model.tree_.leaves)
    shares = np.unique(model.predict_proba(X))
    assert ((shares > 0) & (shares < 1)).any()


@pytest.mark.parametrize("kind", BOTH)
def test_no_records_at_all_train_without_an_error(kind):
    model = kind(SCHEMA, epsilon=1).fit(X.iloc[:0], Y[:0])
    assert set(model.predict(X)) <= {"no", "yes"}


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        *((kind, params) for kind in BOTH for params in ({"max_depth": 0}, {"n_bins": 1}, {"n_bins": 256})),
        (DiffPID3Classifier, {"criterion": "misclassification"}),
        (DiffPID3Classifier, {"numeric": "none"}),
        (DiffPID3Classifier, {"max_records": 0}),
    ],
)
def test_wrong_parameters_are_refused(kind, params):
    with pytest.raises(PrivetError, match=next(iter(params))):
        kind(SCHEMA, **params).fit(X, Y)
