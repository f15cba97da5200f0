"""A receipt as plain data: the dearest path adds up to what was spent, as the receipt itself adds it up."""

import warnings
from fractions import Fraction

import pytest

from privet import Numeric, Schema
from privet.algorithms.registry import MODELS, model_class
from privet.algorithms.stand_in import stand_in
from privet.privacy.event import Event
from privet.privacy.receipt import Receipt
from privet.report.budget_facts import BudgetFacts

CLASSES = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"])
NUMBERS = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, target=(0, 1))


@pytest.mark.parametrize("name", MODELS)
def test_the_dearest_path_adds_up(name):
    kind = model_class(name)
    schema = NUMBERS if kind._task == "regression" else CLASSES
    X, y, _ = stand_in(schema, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        receipt = kind(schema=schema, epsilon=2).fit(X, y).privacy_
    facts = BudgetFacts(receipt).facts()
    assert sum(amount for _, amount in facts["dearest"]) == pytest.approx(float(receipt.spent), rel=1e-4)
    assert sum(group["times"] for group in facts["groups"]) == len(receipt.events)


def receipt_of(*scopes):
    events = tuple(Event(scope, "tally", "geometric", Fraction(1), 2.0, Fraction(1, 2), "tally(1)") for scope in scopes)
    return Receipt(Fraction(9), Fraction(1), Fraction(0), (), "somebody", events)


def test_scopes_are_numbered_and_unknown_ones_are_those_above():
    budget = BudgetFacts(receipt_of("/fit0:0", "/fit0:0/split0:1"))
    assert budget.number("/fit0:0/split0:1") == 2
    assert budget.number("/fit0:0/split0:0/split1:1") == budget.number("/fit0:0") == 1
    assert budget.facts()["parents"] == [-1, 0, 1]


def test_disjoint_records_pay_once_and_samples_less():
    both = BudgetFacts(receipt_of("/fit0:0/split0:0", "/fit0:0/split0:1")).facts()
    assert both["dearest"] == [[0, 0.5]]
    assert both["groups"][0]["parallel"]
    copies = BudgetFacts(receipt_of("/fit0:0/copy0:0", "/fit0:0/copy0:1")).facts()
    assert copies["dearest"] == [[0, 1.0]]
    sampled = BudgetFacts(receipt_of("/fit0:0/sample0:4")).facts()
    assert sampled["dearest"][0][1] < 0.2


def test_learning_and_scoring_have_a_sum_each():
    facts = BudgetFacts(receipt_of("/fit0:0/parts0:0", "/fit0:0/parts0:1")).facts()
    assert [part["name"] for part in facts["parts"]] == ["learning"]  # parts that do the same
    X, y, _ = stand_in(CLASSES, 300)
    receipt = model_class("PrivateTreeClassifier")(schema=CLASSES, epsilon=2).fit(X, y, holdout=0.3).privacy_
    facts = BudgetFacts(receipt).facts()
    assert [(part["name"], part["spent"]) for part in facts["parts"]] == [("learning", 2.0), ("scoring", 2.0)]
    for number, part in enumerate(facts["parts"]):
        assert all(facts["groups"][group]["part"] == number for group, _ in part["dearest"])
        assert sum(amount for _, amount in part["dearest"]) == pytest.approx(2, rel=1e-4)
    assert facts["together"].startswith("learning 2, scoring 2. No record is in both, so each pays 2")
    odd = model_class("PrivateTreeClassifier")(schema=CLASSES, epsilon=2.00012).fit(X, y, holdout=0.3).privacy_
    assert "so each pays 2.001 at most" in BudgetFacts(odd).facts()["together"]  # 2.000 would not be at most


def test_the_rough_count_of_a_plan_is_told_from_the_numbers_that_were_released():
    X, y, _ = stand_in(CLASSES, 300)
    make = model_class("PrivateTreeClassifier")
    groups = BudgetFacts(make(schema=CLASSES, epsilon=2, leaves="counts").fit(X, y, holdout=0.3).privacy_).facts()[
        "groups"
    ]
    sizes = [group for group in groups if group["asked"] == "About how many records are there in all?"]
    assert [(group["part"], group["times"]) for group in sizes] == [(0, 1), (1, 1)]
    assert all("moves this count" in group["noise"] and "spread" not in group for group in sizes)
    assert any("spread" in group for group in groups)  # of the leaves' counts
    scored = next(group for group in groups if group["asked"] == "How often is the finished model right?")
    assert "moves each number of the table" in scored["noise"]
    hinted = make(schema=CLASSES, epsilon=2, leaves="counts", n_records=300).fit(X, y, holdout=0.3).privacy_
    assert not any("this count" in group["noise"] for group in BudgetFacts(hinted).facts()["groups"])


def test_exact_values_leave_nothing_to_draw():
    event = Event("/fit0:0", "peek", "peek", Fraction(0), 0.0, float("inf"), "peek")
    facts = BudgetFacts(Receipt(Fraction(1), float("inf"), Fraction(0), ("x",), "somebody", (event,))).facts()
    assert facts["total"] is None
    assert facts["dearest"] == []
    assert facts["spent"][1] == [[0, None]]
