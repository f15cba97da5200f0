"""The plan of boosting spends its budget exactly, and its partitions are public."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.questions.grid import public_grid
from privet.questions.split import Product, Split
from privet.tree.rounds import MOST_ROUNDS, RECIPES, Tables, choice_ratio, pays_off, plan_rounds

GRID = public_grid(
    Schema(
        {
            "x": Numeric(0, 1),
            "y": Numeric(0, 1, missing=True),
            "few": Categorical(["a", "b"]),
            "many": Categorical(list(range(40))),
        },
        classes=[0, 1],
    )
)


@given(
    st.floats(-1e6, 1e12),
    st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6),
    st.sampled_from(["epsilon", "rho"]),
    st.integers(1, 9),
)
def test_the_rounds_spend_the_budget_and_every_class_has_its_turn(n, budget, currency, n_classes):
    plan = plan_rounds(n, budget, currency, n_classes)
    assert sum(turn.choice_budget + turn.tally_budget for turn in plan) == budget
    assert {turn.output for turn in plan} == ({1} if n_classes <= 2 else set(range(n_classes)))
    assert len(plan) <= MOST_ROUNDS * max(1, n_classes)
    budgets = [turn.tally_budget for turn in plan]
    assert budgets == sorted(budgets)
    assert [turn.products for turn in plan] == sorted(turn.products for turn in plan)
    assert all(0 < turn.step <= 1 for turn in plan)


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_more_records_are_worth_more_rounds(currency):
    lengths = [len(plan_rounds(n, Fraction(1, 50), currency, 2)) for n in (10, 10**4, 10**6, 10**12)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def drawn(currency, rounds=20):
    """The candidates of rounds that have products."""
    tables = Tables(GRID, RECIPES[currency], 10_000, 2)
    turn = plan_rounds(10**6, Fraction(1), currency, 2)[-1]
    return [tables.candidates(turn, choice_ratio(turn.choice_budget, currency)) for _ in range(rounds)]


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_single_features_are_all_there_in_few_parts_and_with_a_cell_for_missing_values(currency):
    most = RECIPES[currency].cells
    for options in drawn(currency):
        singles = [table for table in options.splits.tables if isinstance(table, Split)]
        assert {split.feature for split in singles} == {0, 1, 2, 3}
        for split in singles:
            part = split.parts
            assert sorted(set(part.tolist())) == list(range(split.n_children))
            assert split.n_children <= most
            if split.feature < 2:
                inner = part[: len(GRID.features[split.feature].cuts) + 1]
                assert (np.diff(inner.astype(int)) >= 0).all()
            if split.feature == 1:
                assert part[-1] not in part[:-1]


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_products_that_may_be_chosen_are_of_two_or_three_features_in_few_parts(currency):
    recipe = RECIPES[currency]
    for options in drawn(currency):
        chosen = [options.choice(i).table for i in range(len(options))]
        products = [table for table in chosen if isinstance(table, Product)]
        sizes = {len(product.factors) for product in products}
        assert sizes == ({2, 3} if recipe.triple else {2})
        for product in products:
            limit = recipe.pair if len(product.factors) == 2 else recipe.triple
            assert all(2 <= split.n_children <= limit for split in product.factors)


def test_a_table_of_many_parts_weighs_less():
    for options in drawn("rho", 3):
        few, many = (np.flatnonzero(options.splits.n_children == n) for n in (16, 27))
        assert options.splits.log_prior[few].min() > options.splits.log_prior[many].max()


def test_tables_are_the_same_for_everyone():
    one, other = ([options.splits.tables for options in drawn("rho", 3)] for _ in range(2))
    assert one == other
    assert one[0] != one[1]


def test_features_that_gained_are_drawn_more_often():
    wide = public_grid(Schema({f"x{i}": Numeric(0, 1) for i in range(20)}, classes=[0, 1]))
    tables = Tables(wide, RECIPES["rho"], 1000, 2)
    turn = plan_rounds(10**6, Fraction(1), "rho", 2)[-1]

    def times():
        several = (table for _ in range(20) for table in tables.candidates(turn, 0.1).splits.tables)
        return sum(table.factors[0].feature == 0 for table in several if isinstance(table, Product))

    before = times()
    tables.learn(Split(0, bytes(wide.features[0].n_cells)), 1, np.array([-400.0]), 1.0)
    assert times() > 1.5 * before
    tables.learn(Split(3, bytes(wide.features[3].n_cells)), 1, np.array([0.5]), 1.0)  # no more than noise
    assert tables._gains[1, 3] == 0


def test_a_schema_with_one_feature_has_no_products():
    lone = Tables(public_grid(Schema({"x": Numeric(0, 1)}, classes=[0, 1])), RECIPES["rho"], 1000, 2)
    options = lone.candidates(plan_rounds(10**6, Fraction(1), "rho", 2)[-1], 0.1)
    assert all(isinstance(table, Split) for table in options.splits.tables)


def test_several_classes_need_more_records_before_boosting_pays_off():
    budget = Fraction(1)
    assert pays_off(10_000, budget, "epsilon", 2, "labels")
    assert not pays_off(10_000, budget, "epsilon", 4, "labels")
    assert not pays_off(1_000, budget, "epsilon", 2, "labels")
    assert not pays_off(-50, budget, "rho", 2, "probabilities")  # a noisy number of records may be negative


def test_probabilities_are_boosted_where_labels_still_are_a_trees():
    assert pays_off(1_000, Fraction(1), "epsilon", 2, "probabilities")
    assert pays_off(5_000, Fraction(1, 10**4), "rho", 2, "probabilities")
    assert not pays_off(5_000, Fraction(1, 10**4), "rho", 2, "labels")
