"""Hidden forests: their trees' records are disjoint, and votes stay on shares to the end."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from hidden_programs import SCHEMA, horizontally, on_shares, queries_of, table
from privet import Categorical, HiddenForestClassifier, Ledger, MemoryCurator, Schema
from privet.algorithms.hidden_tree import budget_of_a_sample
from privet.audit.exact import outputs
from privet.errors import BudgetError
from privet.privacy.event import Event, amplified
from privet.privacy.receipt import Receipt
from privet.tree.hidden_shape import shape_of


@pytest.mark.parametrize("options", [{"branches": "values"}, {"branches": "thresholds"}, {"structure": "random"}])
def test_a_forest_costs_what_one_tree_costs(options):
    X, y = table(300)
    model = HiddenForestClassifier(SCHEMA, epsilon=0.6, n_trees=3, max_depth=2, n_values=4, **options).fit(X, y)
    assert len(model.forest_.trees) == 3
    assert model.privacy_.spent == Fraction(6, 10)
    assert model.privacy_.verify()


def test_samples_cost_the_amplified_sum_and_a_ledger_holds_them_to_it():
    X, y = table(300)
    model = HiddenForestClassifier(SCHEMA, epsilon=1, n_trees=5, sampling="poisson", max_depth=1, n_values=4)
    receipt = model.fit(X, y).privacy_
    each = budget_of_a_sample(Fraction(1), 5)
    assert 0.74 < each < 0.75  # more than a fifth, and less than the five fifths of the paper's claim
    assert receipt.spent == 5 * amplified(each, 5)
    assert 1 - 1e-9 < receipt.spent <= 1
    assert receipt.verify()
    assert Receipt.from_json(receipt.to_json()).verify()
    ledger = Ledger(Fraction(1, 2))
    sample = ledger.root.sample(2)
    ledger.charge([(sample, Event.example(Fraction(4, 5)))])  # costs ln(1 + (e^0.8 - 1) / 2) = 0.478
    assert 0.477 < ledger.spent < 0.479
    with pytest.raises(BudgetError, match="on a sample"):
        ledger.charge([(sample, Event.example(Fraction(1, 10)))])
    assert 0.477 < ledger.spent < 0.479
    assert len(ledger.events) == 1


def test_amplified_is_the_theory_pages_number_and_never_less_than_the_truth():
    assert round(float(amplified(Fraction(1), 5)), 4) == 0.2954
    for epsilon in (Fraction(1, 1000), Fraction(1, 3), Fraction(7), Fraction(250)):
        for m in (2, 5, 100):
            exact = math.log1p(math.expm1(float(epsilon)) / m)
            assert exact * (1 - 1e-12) <= float(amplified(epsilon, m)) <= min(exact * (1 + 1e-12), float(epsilon))
    assert amplified(Fraction(3), 1) == 3
    assert amplified(Fraction(0), 9) == 0


def test_on_tiny_tables_samples_lose_no_more_than_epsilon():
    schema = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
    model = HiddenForestClassifier(
        epsilon=1.0, n_trees=2, sampling="poisson", max_depth=1, n_values=2, branches="values"
    )
    kinds = [("a", "n"), ("a", "y")]

    def law(records):
        rows = np.array([record[:1] for record in records], dtype=object).reshape(-1, 1)
        labels = [record[1] for record in records]
        return outputs(
            lambda noise: str(
                model.fit_curator(
                    MemoryCurator(rows, labels, schema, ledger=Ledger(math.inf), mechanisms=noise)
                ).forest_.to_dict()
            )
        )

    worst = 0.0
    for records in ((), (kinds[0],)):
        one = law(records)
        for added in kinds:
            other = law((*records, added))
            worst = max(worst, *(abs(one[answer] - other[answer]) for answer in one))
            assert set(one) == set(other)
    assert 0.1 < worst <= 1 + 1e-9


def test_samples_on_shares_cost_the_same_and_vote():
    X, y = table(120)
    queries = queries_of(table(20, 9)[0], SCHEMA, shape_of(SCHEMA, "thresholds", 4))

    def program(curator, engine):
        model = HiddenForestClassifier(
            epsilon=2.0, n_trees=2, sampling="poisson", max_depth=1, n_values=4, branches="thresholds"
        ).fit_curator(curator)
        return engine.open(model.forest_.predict(engine, engine.constant(queries))), model.privacy_

    answers, receipt = on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=70)[0]
    assert (answers.sum(axis=1) == 1).all()
    assert 2 - 1e-9 < receipt.spent <= 2
    assert receipt.delta > 0
    assert receipt.verify()


@pytest.mark.parametrize("options", [{"branches": "values"}, {"branches": "thresholds"}])
def test_on_shares_the_trees_vote_and_only_the_winner_comes_out(options):
    X, y = table(300)
    asked, _ = table(40, 9)
    shape = shape_of(SCHEMA, options["branches"], 4)
    queries = queries_of(asked, SCHEMA, shape)

    def program(curator, engine):
        model = HiddenForestClassifier(epsilon=6.0, n_trees=3, max_depth=2, n_values=4, **options)
        forest = model.fit_curator(curator).forest_
        answers = engine.open(forest.predict(engine, engine.constant(queries)))
        each = [engine.open(tree.predict(engine, engine.constant(queries))).argmax(axis=1) for tree in forest.trees]
        return answers, each, model.privacy_

    answers, each, receipt = on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=200)[0]
    assert (answers.sum(axis=1) == 1).all()
    names = np.array(SCHEMA.classes)
    for answer, *votes in zip(answers, *each):
        counted = Counter(names[votes].tolist())
        most = max(counted.values())
        assert names[answer.argmax()] == min(name for name, n in counted.items() if n == most)
    assert receipt.spent == 6
    assert receipt.verify()
