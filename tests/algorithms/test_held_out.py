"""Held-out records score the model for nothing more: by the ledger, by the receipt, and by exact transcripts."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas
import pytest
from sklearn.base import clone

import privet
from privet import (
    BudgetError,
    BudgetWarning,
    CapabilityError,
    Categorical,
    Ledger,
    MemoryCurator,
    Numeric,
    PrivateForestClassifier,
    PrivateSearch,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    PrivetError,
    ReceiptError,
    Schema,
    SchemaError,
)
from privet.algorithms.base import PrivateClassifier
from privet.algorithms.held_out import Holdout, evaluate_on
from privet.algorithms.model_file import from_dict, to_dict
from privet.algorithms.private_search import PARTS
from privet.curators.desk import Desk
from privet.explain.coverage import digest
from privet.privacy.unit import Unit
from privet.questions.grid import public_grid
from privet.tree.frontier import Frontier
from tiny_tables import worst_loss

SCHEMA = Schema({"x": Numeric(0, 1), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
NUMBER = Schema({"x": Numeric(0, 1)}, target=(0, 1))
RNG = np.random.default_rng(0)
X = pandas.DataFrame({"x": RNG.random(4000), "s": RNG.choice(["a", "b"], 4000)})
Y = np.where(X["x"] + 0.3 * RNG.standard_normal(4000) > 0.5, "y", "n")


class HoldingOut:
    """A model that is fitted with a part of the records held out."""

    def __init__(self, model, **options):
        self.model, self.options = model, options
        self.epsilon, self.delta = model.epsilon, model.delta

    def fit_curator(self, curator):
        return self.model.fit_curator(curator, **self.options)


# -- the guarantee -----------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class OneLabel(PrivateClassifier):
    """A tree without splits: few transcripts, so that all can be followed."""

    def _grow(self, curtain, start, budget):
        grid = public_grid(curtain.schema)
        curtain.grid(grid)
        frontier = Frontier.sprout(curtain, [curtain.root(budget)], grid)  # a second root, as boosting has
        frontier.ends.label(budget)
        return frontier.finish()[0]


@pytest.mark.parametrize("case", ["two categories", "integers", "missing values"])
def test_no_transcript_of_learning_and_scoring_is_more_than_epsilon_apart(case):
    assert worst_loss(case, HoldingOut(OneLabel(epsilon=1.0), holdout=0.5), 1, (0, 1)) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("case", ["two categories", "integers", "missing values"])
def test_no_transcript_is_more_than_epsilon_apart_on_larger_tables(case):
    assert worst_loss(case, HoldingOut(OneLabel(epsilon=1.0), holdout=0.5), 2, (0, 1)) <= 1 + 1e-9


@pytest.mark.slow
def test_no_transcript_of_three_classes_is_more_than_epsilon_apart_on_larger_tables():
    """Nine cells of scores and a size make 3,072 transcripts of each table, so two kinds of records stand for all six:
    one label asks for no feature, and of the third class there is none."""
    model, kinds = HoldingOut(OneLabel(epsilon=1.0), holdout=0.5), [("a", "n"), ("b", "y")]
    assert worst_loss("three classes", model, 2, (0, 1), kinds=kinds) <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("case", ["two categories", "integers", "three classes"])
def test_no_transcript_of_a_tree_and_its_score_is_more_than_epsilon_apart(case):
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1, n_records=10**6)
    assert worst_loss(case, HoldingOut(model, holdout=0.5), 1, (0, 1)) <= 1 + 1e-9


def test_groups_cost_no_more():
    loss = worst_loss("one class", HoldingOut(OneLabel(epsilon=1.0), holdout=0.5, by="s"), 2, (0, 1))
    assert loss <= 1 + 1e-9


def test_scores_on_the_records_that_were_learned_from_would_be_caught(monkeypatch):
    monkeypatch.setattr(Holdout, "part", lambda self, desk: desk.gather())
    assert worst_loss("integers", HoldingOut(OneLabel(epsilon=1.0), holdout=0.5), 1, (0, 1)) > 1.2


@pytest.mark.parametrize(
    "model",
    [
        PrivateTreeClassifier(SCHEMA, epsilon=1),
        PrivateForestClassifier(SCHEMA, epsilon=1, n_trees=3, method="trees"),
        PrivateForestClassifier(SCHEMA, epsilon=1, method="boosting", progress=False),
    ],
    ids=["tree", "trees", "boosting"],
)
def test_all_together_spend_epsilon_once(model):
    with Ledger(2) as ledger:
        model.fit(X, Y, holdout=0.25)
    assert ledger.spent == model.privacy_.spent == 1
    assert model.verify()
    assert {event.scope.split("/")[2] for event in model.privacy_.events} == {"parts0:0", "parts0:1"}
    (score,) = [event for event in model.privacy_.events if event.question == "evaluate"]
    assert score.scope == model.evaluation_.scope == "/fit0:0/parts0:1/fit0:0"


@pytest.mark.parametrize("method", ["boosting", "trees"])
def test_with_a_delta_the_score_is_in_the_currency_of_the_model(method):
    with Ledger(10, delta=1e-6) as ledger:
        model = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, method=method, progress=False)
        model.fit(X, Y, holdout=0.25)
    assert model.verify()
    assert model.privacy_.epsilon <= 1
    if method == "boosting":
        assert ledger.spent <= 1
    again = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, method=method, progress=False).fit(X, Y, holdout=0.2)
    assert again.verify()


def test_a_pure_fit_in_a_ledger_with_a_delta_pays_no_more_for_its_score():
    spent = []
    for holdout in (None, 0.25):
        with Ledger(8, delta=1e-6) as ledger:
            PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=4000).fit(X, Y, holdout=holdout)
        spent.append(ledger.root.spent)
    assert spent[1] <= spent[0]


def test_nothing_learns_from_the_records_that_score(monkeypatch):
    """The algorithm's roots and all below hold the learning part alone."""
    seen = []
    plain = Desk.tally

    def tally(self, tallies, budget):
        seen.extend((self.path(node), self.held(node).n_rows) for node in tallies)
        return plain(self, tallies, budget)

    monkeypatch.setattr(Desk, "tally", tally)
    PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, progress=False).fit(X, Y, holdout=0.5)
    learned = {n for path, n in seen if path.startswith("/fit0:0/parts0:0")}
    scored = {n for path, n in seen if path.startswith("/fit0:0/parts0:1")}
    assert len(learned) == len(scored) == 1
    assert learned.pop() + scored.pop() == 4000


# -- what it says ------------------------------------------------------------------------------------------------------


def test_the_score_is_that_of_the_model():
    model = PrivateTreeClassifier(SCHEMA, epsilon=5, random_state=0).fit(X, Y, holdout=0.5, by="s")
    accuracy = float((model.predict(X) == Y).mean())
    assert abs(model.evaluation_.accuracy.value - accuracy) < 0.05
    assert model.evaluation_.accuracy.low < accuracy < model.evaluation_.accuracy.high + 0.02
    assert list(model.evaluation_.by_group) == ["a", "b"]
    assert "accuracy" in str(model.evaluation_)


def test_without_a_holdout_there_is_no_score():
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y, holdout=0.2)
    assert model.evaluation_ is not None
    assert model.fit(X, Y).evaluation_ is None


def test_targets_are_scored_by_their_errors():
    model = PrivateTreeRegressor(NUMBER, epsilon=5, random_state=0).fit(X[["x"]], X["x"], holdout=0.5)
    error = np.abs(model.predict(X[["x"]]) - X["x"])
    assert model.verify()
    assert abs(model.evaluation_.mean_absolute_error.value - error.mean()) < 0.02
    assert abs(model.evaluation_.absolute_error(0.5).value - np.median(error)) < 0.03


def test_a_test_set_of_its_own_has_a_receipt_of_its_own():
    model = PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=0).fit(X[:2000], Y[:2000])
    with Ledger(1) as ledger:
        scores = model.evaluate(X[2000:], Y[2000:], epsilon=0.5)
    assert ledger.spent == Fraction(1, 2)
    assert scores.privacy_.verify()
    assert scores.privacy_.epsilon == Fraction(1, 2)
    assert abs(scores.n - 2000) < 200
    model.evaluation_ = scores
    assert model.verify()
    other = PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=1, max_depth=1).fit(X, Y)
    other.evaluation_ = scores
    with pytest.raises(ReceiptError, match="another model"):
        other.verify()


def test_scores_travel_in_the_model_file_and_are_covered_by_its_receipt(tmp_path):
    model = PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=0).fit(X, Y, holdout=0.2, by={"x": [0.5]})
    model.save(tmp_path / "model.json")
    assert str(privet.load(tmp_path / "model.json").evaluation_) == str(model.evaluation_)
    plain = json.loads(json.dumps(to_dict(model)))
    plain["evaluation"]["counts"][0] += 1
    with pytest.raises(ReceiptError, match="another model"):
        from_dict(plain).verify()
    del plain["evaluation"]
    with pytest.raises(ReceiptError, match="another model"):
        from_dict(plain).verify()
    moved = json.loads(json.dumps(to_dict(model)))
    moved["evaluation"]["scope"] = "/fit0:0"
    with pytest.raises(ReceiptError, match="paid for the model's scores"):
        from_dict(moved).verify()


@pytest.mark.parametrize(
    ("field", "said", "why"),
    [("variance", 1e-6, "less noise"), ("weight", 40, "less noise"), ("classes", ["a", "b"], "other classes")],
)
def test_scores_that_say_more_than_their_receipt_are_refused_even_with_a_digest_that_fits(field, said, why):
    model = PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=0).fit(X, Y, holdout=0.2)
    plain = json.loads(json.dumps(to_dict(model)))
    plain["evaluation"][field] = said
    plain["receipt"]["released"] = digest(model.tree_, plain["evaluation"])
    with pytest.raises(ReceiptError, match=why):
        from_dict(plain).verify()


@pytest.mark.parametrize("model", [PrivateTreeClassifier(SCHEMA), PrivateForestClassifier(SCHEMA, method="boosting")])
def test_scores_of_records_that_were_learned_from_are_refused_though_they_were_paid_for(model):
    model.set_params(epsilon=1).fit(X, Y, holdout=0.2)
    plain = json.loads(json.dumps(to_dict(model)).replace("parts0:1/fit0:0", "parts0:0/fit1:0"))
    plain["params"]["epsilon"] = 2
    plain["receipt"] |= dict.fromkeys(("claimed", "spent", "epsilon"), "2")
    plain["receipt"]["released"] = digest(getattr(model, model._released), plain["evaluation"])
    forged = from_dict(plain)
    assert forged.privacy_.verify()
    with pytest.raises(ReceiptError, match="learned from"):
        forged.verify()


# -- refusals, before anything is spent --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"holdout": 0}, PrivetError),
        ({"holdout": 1}, PrivetError),
        ({"holdout": -0.5}, PrivetError),
        ({"holdout": float("nan")}, PrivetError),
        ({"holdout": float("inf")}, PrivetError),
        ({"holdout": "some"}, PrivetError),
        ({"holdout": True}, PrivetError),
        ({"by": "s"}, PrivetError),
        ({"holdout": 0.2, "by": "sex"}, SchemaError),
        ({"holdout": 0.2, "by": "x"}, SchemaError),
        ({"holdout": 0.2, "by": {"x": [2]}}, SchemaError),
        ({"holdout": 0.2, "by": {"x": []}}, SchemaError),
        ({"holdout": 0.2, "by": {"x": ["a"]}}, SchemaError),
        ({"holdout": 0.2, "by": {"x": [10**400]}}, SchemaError),
        ({"holdout": 0.2, "by": {"s": [1]}}, SchemaError),
        ({"holdout": 0.2, "by": ["s"]}, SchemaError),
        ({"holdout": 0.2, "by": {"x": [0.5], "s": [1]}}, SchemaError),
    ],
)
def test_a_holdout_that_makes_no_sense_spends_nothing(options, error):
    with Ledger(1) as ledger, pytest.raises(error):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y, **options)
    assert ledger.spent == 0


def test_a_curator_that_cannot_score_is_refused_before_anything_is_spent(monkeypatch):
    curator = MemoryCurator(X, Y, SCHEMA, ledger=Ledger(1))
    plain = MemoryCurator.open

    def open_without(self):
        desk = plain(self)
        desk.capabilities -= {"evaluate"}
        return desk

    monkeypatch.setattr(MemoryCurator, "open", open_without)
    with pytest.raises(CapabilityError, match="evaluate"):
        PrivateTreeClassifier(epsilon=1).fit_curator(curator, holdout=0.2)
    assert curator.ledger.spent == 0


def test_more_than_is_left_is_refused_for_a_test_set_too():
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, Y)
    with Ledger(0.1) as ledger, pytest.raises(BudgetError):
        model.evaluate(X, Y, epsilon=0.5)
    assert ledger.spent == 0
    with pytest.raises(PrivetError, match="hidden"):
        evaluate_on(object(), X, Y, 1.0, None)
    assert Holdout.of(0.2, None, SCHEMA) == replace(Holdout.of(0.5, None, SCHEMA), share=Fraction(1, 5))


# -- people ------------------------------------------------------------------------------------------------------------


def test_people_are_held_out_with_all_their_records():
    """400 people with 1 to 10 records each: the score counts people, each for one vote."""
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(400), rng.integers(1, 11, 400))
    table = pandas.DataFrame({"x": rng.random(len(person)), "patient": person})
    y = np.where(table["x"] > 0.5, "y", "n")
    schema = Schema({"x": Numeric(0, 1)}, classes=["n", "y"], person="patient", records_per_person=10)
    with Ledger(20) as ledger:
        model = PrivateTreeClassifier(schema, epsilon=20).fit(table, y, holdout=0.5)
    assert ledger.spent == model.privacy_.spent == 20
    assert model.verify()
    assert "person" in model.privacy_.unit
    assert model.evaluation_.weight == 12
    assert 120 < model.evaluation_.n < 280  # of 400 draws of one half: beyond eight standard deviations
    assert "persons" in str(model.evaluation_)
    assert model.evaluation_.accuracy.value > 0.9


def test_scores_of_rows_are_no_scores_of_people():
    """A test set whose receipt covers rows does not stand beside a model of people, and one of people does."""
    table = pandas.DataFrame({"x": np.linspace(0, 1, 300), "patient": np.arange(300) // 3})
    y = np.where(table["x"] > 0.5, "y", "n")
    rows = Schema({"x": Numeric(0, 1)}, classes=["n", "y"])
    people = Schema({"x": Numeric(0, 1)}, classes=["n", "y"], person="patient", records_per_person=3)
    model = PrivateTreeClassifier(people, epsilon=5).fit(table, y)
    model.evaluation_ = model.evaluate(table, y, epsilon=1)
    assert model.verify()
    of_rows = replace(model.evaluation_.privacy_, unit=str(Unit.of(rows)))
    model.evaluation_ = replace(model.evaluation_, privacy_=of_rows)
    with pytest.raises(ReceiptError, match="rows, or persons"):
        model.verify()


@pytest.mark.parametrize("search", [None, "trials", "random_stopping"])
def test_a_hint_is_of_all_records_and_a_plan_of_those_that_are_left(monkeypatch, search):
    seen, grow = [], PrivateTreeClassifier._grow

    def looked_at(self, *args):
        seen.append(self.n_records)
        return grow(self, *args)

    monkeypatch.setattr(PrivateTreeClassifier, "_grow", looked_at)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    rows = np.random.default_rng(0).random((900, 1))
    model = PrivateTreeClassifier(schema, epsilon=1, n_records=900, max_depth=2)
    if search is not None:
        model = PrivateSearch(schema=schema, candidates=[model, clone(model)], epsilon=1, method=search)
    model.fit(rows, (rows[:, 0] > 0.5).astype(int), holdout=0.2)
    part = 1 if search is None else PARTS[0] / sum(PARTS)  # what trials learn from
    assert min(seen) == pytest.approx(720 * part)
    assert max(seen) <= 720
    assert getattr(model, "best_estimator_", model).n_records == 900


def test_a_fit_that_measured_too_few_records_says_so():
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    rows = np.random.default_rng(0).random((200, 1))
    with pytest.warns(BudgetWarning, match="noise hides their number|a noisy count"):
        PrivateTreeClassifier(schema, epsilon=0.05, random_state=0).fit(rows, np.arange(200) % 2)
