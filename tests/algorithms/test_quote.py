"""Quotes: what a fit would do with its budget, told before anything is spent."""

import math
from fractions import Fraction

import pytest

from privet import (
    Ledger,
    Numeric,
    PrivateForestClassifier,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    Schema,
)
from privet.algorithms.quote import quote
from privet.algorithms.registry import MODELS, model_class
from privet.errors import PrivetError

SCHEMA = Schema({"a": Numeric(0, 1), "b": Numeric(0, 10)}, classes=["no", "yes"])
TARGET = Schema(SCHEMA.features, target=(0, 1))


def test_a_quote_says_how_deep_what_each_answer_costs_and_how_large_its_noise_is():
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5, max_depth=3)
    told = model.quote(10_000)
    assert told.spent == pytest.approx(0.5)
    assert told.depth == 3
    assert told.warnings == ()
    assert [step.question for step in told.steps] == [
        "tally",
        *["choose a split"] * 2,
        "choose a split with its labels",
    ]
    assert sum(step.cost * step.times for step in told.steps) == pytest.approx(0.5)
    for step in told.steps:
        assert step.noise == pytest.approx(1 / step.cost, rel=1e-3)
        assert step.records == pytest.approx(10_000 / step.nodes)
    assert "noise of about" in str(told)
    assert "one row was in the records" in str(told)


def test_a_quote_charges_no_ledger_and_leaves_the_model_as_it_was():
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5)
    with Ledger(1) as ledger:
        model.quote(1000)
    assert ledger.spent == 0
    assert not hasattr(model, "tree_")


def test_boosting_is_quoted_in_rounds():
    told = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, method="boosting").quote(2000)
    assert told.depth is None
    assert max(step.times for step in told.steps) > 5
    assert "costs in rho" in str(told)


def test_persons_are_quoted_as_persons():
    schema = Schema(SCHEMA.features, classes=["no", "yes"], person="who", records_per_person=4)
    told = PrivateTreeClassifier(schema, epsilon=1, max_depth=2).quote(2000)
    assert told.unit == "one person, at most 4 records"
    for step in told.steps:
        assert step.noise == pytest.approx(1 / step.cost, rel=1e-3)  # one person, one vote


@pytest.mark.parametrize(
    ("epsilon", "n", "words"),
    [
        (1e-9, 10_000, "too small to learn much"),
        (1e300, 10_000, "promises nothing"),
        (0.1, 40, "mostly noise"),
        (8, 10_000, "weak promise"),
    ],
)
def test_a_budget_of_no_use_is_told_in_plain_words(epsilon, n, words):
    assert any(words in line for line in PrivateTreeClassifier(SCHEMA, epsilon=epsilon).quote(n).warnings)


@pytest.mark.parametrize("name", [name for name in MODELS if "Hidden" not in name and "MPC" not in name])
def test_every_estimator_that_learns_from_a_table_has_a_quote(name):
    kind = model_class(name)
    told = quote(kind(epsilon=1), 300, SCHEMA if kind._task == "classification" else TARGET)
    assert told.steps or told.depth == 0
    assert told.spent <= 1 + 1e-9 or told.spent == math.inf


def test_budgets_may_be_written_as_fractions():
    assert PrivateTreeClassifier(SCHEMA, epsilon="1/2").quote(1000).spent == pytest.approx(0.5)
    assert "too small" in PrivateTreeClassifier(SCHEMA, epsilon=Fraction(1, 10**12)).quote(1000).warnings[0]


def test_what_cannot_be_quoted_is_refused():
    with pytest.raises(PrivetError, match="needs a schema"):
        PrivateTreeClassifier(epsilon=1).quote(100)
    for n in (0, 10**9):
        with pytest.raises(PrivetError, match="1 to 1,000,000 records"):
            PrivateTreeRegressor(TARGET, epsilon=1).quote(n)


def test_a_quote_counts_persons_where_these_are_the_unit():
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], person="who", records_per_person=3)
    told = str(PrivateTreeClassifier(schema, epsilon=1).quote(500))
    assert "on 500 persons: epsilon 1" in told
    assert "beside 500 persons" in told
    assert " records\n" not in told


def test_a_quote_of_all_records_is_for_the_share_that_is_learned_from():
    whole = PrivateTreeClassifier(SCHEMA, epsilon=0.2, n_records=900).quote(900, holdout=0.2)
    left = PrivateTreeClassifier(SCHEMA, epsilon=0.2, n_records=720).quote(720)
    assert (whole.n_records, whole.depth, whole.steps) == (720, left.depth, left.steps)
    assert "scores the model on the 180 records that are held out" in str(whole)
    assert "scores the model" not in str(left)


def test_a_quote_says_whether_the_records_are_counted_privately():
    counted = PrivateTreeClassifier(SCHEMA, epsilon=1).quote(900, holdout=0.2)
    public = PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=900).quote(900, holdout=0.2)
    assert "counted privately; where it is public, n_records=900 (`fit --n-records 900`)" in str(counted)
    assert "counted privately" not in str(public)
    assert counted.depth < public.depth


def test_a_quote_hints_at_boosting_where_that_is_better():
    few, many = (PrivateTreeClassifier(SCHEMA, epsilon=1).quote(n) for n in (3_000, 4_000))
    assert few.hint == ""
    assert "PrivateForestClassifier is as a rule more accurate than one tree" in str(many)
    assert "privet models PrivateForestClassifier" in str(many)
    assert "PrivateForestRegressor" in PrivateTreeRegressor(TARGET, epsilon=1).quote(4_000).hint
    assert PrivateForestClassifier(SCHEMA, epsilon=1).quote(4_000).hint == ""


def test_a_quote_says_where_a_model_is_mostly_noise():
    assert "mostly noise" in PrivateTreeClassifier(SCHEMA, epsilon=0.1).quote(900).warnings[0]
    assert "mostly noise" not in str(PrivateTreeClassifier(SCHEMA, epsilon=1).quote(900))
