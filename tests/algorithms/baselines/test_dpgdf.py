"""DPGDF: the sound tree keeps its budget, the published one is the printed law and says what it costs."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Ledger, MemoryCurator, Numeric, PrivetError, Schema
from privet.algorithms.baselines import DPGDFClassifier
from privet.algorithms.baselines.dpgdf import _label_budget
from privet.audit.exact import outputs

SCHEMA = Schema(
    {"letter": Categorical(["x", "y", "z"]), "noise": Categorical(["u", "v"]), "number": Numeric(0, 10)},
    classes=["no", "yes"],
)


def people(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"letter": rng.choice(["x", "y", "z"], n), "noise": rng.choice(["u", "v"], n), "number": rng.uniform(0, 10, n)}
    )
    return X, np.where((X["letter"] == "y") ^ (rng.random(n) < 0.1), "yes", "no")


X, Y = people()


def test_half_of_the_budget_chooses_splits_and_half_labels():
    model = DPGDFClassifier(SCHEMA, epsilon=1, max_depth=2).fit(X, Y)
    charged = {(event.question, event.charged) for event in model.privacy_.events}
    assert charged == {("choose a split", Fraction(1, 4)), ("choose a label", Fraction(1, 2))}
    assert model.privacy_.spent == model.privacy_.epsilon == 1
    assert not model.privacy_.shortfall


def test_one_category_is_split_off_at_a_time():
    model = DPGDFClassifier(SCHEMA, epsilon=1000, max_depth=1).fit(X, Y)
    assert model.tree_.nodes[0].rule.part in (bytes([1, 0, 1, 1]), bytes([0, 1, 0, 0]))
    assert model.score(X, Y) > 0.85


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_numeric_features_can_be_left_out(variant):
    y = np.where(X["number"] > 6, "yes", "no")
    without = DPGDFClassifier(SCHEMA, epsilon=1000, n_bins=0, variant=variant).fit(X, y)
    assert 2 not in without.tree_.features
    assert DPGDFClassifier(SCHEMA, epsilon=1000, n_bins=10).fit(X, y).score(X, y) > 0.9


def test_without_categories_there_is_one_label():
    schema = Schema({"number": Numeric(0, 10)}, classes=["no", "yes"])
    for variant in ("sound", "published"):
        model = DPGDFClassifier(schema, epsilon=100, n_bins=0, variant=variant).fit(X[["number"]], Y)
        assert model.export_text() == "no"


def test_what_splits_cannot_use_goes_to_the_label():
    schema = Schema({"letter": Categorical(["x", "y"], other=False)}, classes=["no", "yes"])
    model = DPGDFClassifier(schema, epsilon=1, max_depth=4).fit(X[["letter"]].replace("z", "x"), Y)
    labels = {event.charged for event in model.privacy_.events if event.question == "choose a label"}
    assert labels == {Fraction(7, 8)}
    assert model.privacy_.spent == 1


def test_the_published_tree_costs_infinity_and_says_why():
    receipt = DPGDFClassifier(SCHEMA, epsilon=1, variant="published").fit(X, Y).privacy_
    assert receipt.claimed == 1
    assert receipt.spent == receipt.epsilon == math.inf
    assert "smooth sensitivity" in receipt.shortfall
    assert receipt.verify()


@pytest.mark.parametrize("y", [["no"] * 20, ["no", "yes"] * 5])
def test_the_published_tree_stops_where_records_are_pure_or_few(y):
    n = len(y)
    assert len(DPGDFClassifier(SCHEMA, epsilon=100, variant="published").fit(X.iloc[:n], y).tree_.nodes) == 1


@pytest.mark.parametrize(("lead", "epsilon"), [(0, 1), (1, 1), (3, 0.5), (40, 0.05), (10**6, 1)])
def test_published_labels_have_the_printed_odds(lead, epsilon):
    """A choice by counts with budget b has log-odds b * lead: that must be eps * exp(lead * eps)."""
    budget = _label_budget(np.array([5, 5 + lead]), Fraction(str(epsilon)))
    wanted = epsilon * math.exp(lead * epsilon) if lead * epsilon < 20 else 1e6
    assert float(budget * lead) == pytest.approx(wanted if lead else 0)


def test_published_labels_follow_the_printed_law():
    """A leaf that leads by 2 at epsilon 1, half of it for labels; probabilities are computed, not counted."""
    schema = Schema({"letter": Categorical(["x"], other=False)}, classes=["no", "yes"])
    table, y = pd.DataFrame({"letter": ["x"] * 4}), ["yes"] * 3 + ["no"]

    def run(mechanisms):
        curator = MemoryCurator(table, y, schema, ledger=Ledger(math.inf), mechanisms=mechanisms)
        return DPGDFClassifier(epsilon=1, variant="published").fit_curator(curator).export_text()

    law = outputs(run)
    assert law["yes"] - law["no"] == pytest.approx(0.5 * math.exp(2 * 0.5))


def test_the_published_tree_is_for_two_classes():
    schema = Schema(SCHEMA.features, classes=["no", "yes", "maybe"])
    with pytest.raises(PrivetError, match="two classes"):
        DPGDFClassifier(schema, epsilon=1, variant="published").fit(X, Y)
    assert DPGDFClassifier(schema, epsilon=100).fit(X, Y).score(X, Y) > 0.7


@pytest.mark.parametrize("params", [{"max_depth": 0}, {"n_bins": -1}, {"n_bins": 257}, {"variant": "printed"}])
def test_wrong_parameters_are_refused(params):
    with pytest.raises(PrivetError, match=next(iter(params))):
        DPGDFClassifier(SCHEMA, **params).fit(X, Y)
