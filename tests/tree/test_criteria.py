"""Criteria on released counts: known values, concavity, and no surprises on noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.tree.criteria import CRITERIA, gain


@pytest.mark.parametrize("criterion", CRITERIA)
def test_impurity_is_zero_for_one_class_and_one_for_two_alike(criterion):
    impurity = CRITERIA[criterion]
    assert impurity(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])).tolist() == pytest.approx([0, 1, 0])


def test_gains_by_hand():
    children = np.array([[30, 10], [10, 50]])
    assert gain("gini", children) == pytest.approx(4 * 0.4 * 0.6 - 0.4 * 4 * 0.25 * 0.75 - 0.6 * 4 / 6 * 5 / 6)
    h = lambda q: -q * np.log2(q) - (1 - q) * np.log2(1 - q)  # noqa: E731
    assert gain("entropy", children) == pytest.approx(h(0.4) - 0.4 * h(0.25) - 0.6 * h(1 / 6))
    r = lambda q: 2 * np.sqrt(q * (1 - q))  # noqa: E731
    assert gain("root_gini", children) == pytest.approx(r(0.4) - 0.4 * r(0.25) - 0.6 * r(1 / 6))


@pytest.mark.parametrize("criterion", CRITERIA)
@given(st.lists(st.lists(st.integers(-50, 10**6), min_size=2, max_size=2), min_size=2, max_size=2))
def test_a_gain_is_between_zero_and_one_whatever_the_noise(criterion, cells):
    assert 0 <= gain(criterion, np.array(cells)) <= 1


@pytest.mark.parametrize("criterion", CRITERIA)
def test_nothing_is_gained_where_there_is_nothing(criterion):
    assert gain(criterion, np.zeros((3, 2, 2))).tolist() == [0, 0, 0]
    assert gain(criterion, np.array([[-5, -1], [-3, 0]])) == 0
    assert gain(criterion, np.array([[5, 5], [0, 0]])) == 0
