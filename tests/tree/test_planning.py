"""The plan depends on public numbers only, spends exactly its budget, and deepens with n * epsilon."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from privet.privacy.scores import CorrectCount, Mixed
from privet.tree.planning import MOST_JOINT, gini_weights, plan_levels, plan_values, worthwhile

BUDGET = st.fractions(min_value=Fraction(1, 10**6), max_value=100)


def depth(plan):
    return len(plan.inner) + plan.joint


@given(st.floats(-1e6, 1e12), BUDGET, st.integers(0, 10**6), st.integers(1, 50), st.integers(1, 12))
def test_every_path_spends_exactly_the_budget(n, budget, n_candidates, n_classes, max_depth):
    plan = plan_levels(n, budget, n_candidates, n_classes, max_depth)
    assert sum(level.budget for level in plan.inner) + plan.last_budget == budget
    assert all(level.budget > 0 for level in plan.inner)
    assert plan.last_budget > 0
    assert 1 <= depth(plan) <= max_depth


@given(st.integers(0, 10**9), BUDGET, st.integers(1, 10**4), st.integers(1, 8))
def test_more_records_never_make_a_shallower_tree(n, budget, n_candidates, n_classes):
    few = plan_levels(n, budget, n_candidates, n_classes, 6)
    many = plan_levels(2 * n + 1, budget, n_candidates, n_classes, 6)
    assert depth(few) <= depth(many)


@given(st.floats(-1e9, 0), BUDGET)
def test_a_noisy_number_below_zero_gives_one_level(n, budget):
    assert depth(plan_levels(n, budget, 100, 2, 8)) == 1


def test_a_depth_is_used_from_its_threshold_on():
    needed = worthwhile(3, 500, 2)
    assert depth(plan_levels(needed * 1.001, Fraction(1), 500, 2, 4)) == 3
    assert depth(plan_levels(needed * 0.999, Fraction(1), 500, 2, 4)) == 2


def test_a_margin_asks_for_that_much_more():
    needed = worthwhile(2, 500, 2)
    assert depth(plan_levels(needed + 99, Fraction(1), 500, 2, 4, margin=100)) == 1
    assert depth(plan_levels(needed + 101, Fraction(1), 500, 2, 4, margin=100)) == 2


def test_later_levels_get_more():
    plan = plan_levels(10**9, Fraction(1), 500, 2, 4)
    budgets = [level.budget for level in plan.inner] + [plan.last_budget]
    assert budgets == sorted(budgets)


def test_shallow_trees_count_errors_and_deep_ones_gini():
    assert gini_weights(1) == ()
    assert gini_weights(2) == (0,)
    assert gini_weights(4) == (256, 256, 128)
    assert len(gini_weights(9)) == 8
    assert all(isinstance(level.score, Mixed) for level in plan_levels(10**9, Fraction(1), 500, 2, 4).inner)


def test_too_many_labellings_are_chosen_after_their_splits():
    n_candidates = MOST_JOINT // 90 + 1
    plan = plan_levels(10**9, Fraction(1), n_candidates, 10, 3)
    assert not plan.joint
    assert isinstance(plan.inner[-1].score, CorrectCount)
    assert len(plan.inner) == 3


@given(st.floats(0, 1e12), BUDGET, st.integers(0, 50), st.integers(1, 16), st.integers(1, 9), st.integers(0, 6))
def test_trees_of_values_spend_exactly_the_budget_and_most_of_it_below(
    n, budget, n_splits, width, n_classes, max_depth
):
    plan = plan_values(n, budget, n_splits, width, n_classes, max_depth)
    each = [level.budget for level in plan.inner]
    assert sum(each) + plan.last_budget == budget
    assert all(amount > 0 for amount in (*each, plan.last_budget))
    assert each == sorted(each)
    assert len(each) <= max_depth
    assert not plan.joint
    deeper = plan_values(2 * n + 1, budget, n_splits, width, n_classes, max_depth)
    assert len(deeper.inner) >= len(each)


def test_without_a_hint_a_tree_of_values_is_as_deep_as_it_may_be():
    assert len(plan_values(math.inf, Fraction(1, 10**6), 13, 7, 2, 5).inner) == 5
    assert len(plan_values(0, Fraction(1), 13, 7, 2, 5).inner) == 1
