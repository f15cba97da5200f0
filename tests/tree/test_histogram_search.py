"""A search asks for the most promising histograms first, leaves out those that cannot win, and keeps the books."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.tree.histogram_search import NodeSearch
from privet.tree.noisy_histograms import Found


def read(search, *answers):
    """Tell a search of answers: a split's number, its impurity and the histogram's class counts."""
    totals = np.array([classes for _, _, classes in answers], dtype=float)
    search.read([Found(split, impurity, float(sum(own))) for split, impurity, own in answers], totals, min_samples=10)


def test_without_bounds_all_are_asked_for_at_once():
    search = NodeSearch([0, 2, 3], 4, Fraction(1))
    assert search.next_batch() == [0, 2, 3]
    assert search.pay([0, 2, 3]) == Fraction(3, 4)
    assert search.saved == Fraction(1, 4)  # what could part nothing is not asked for
    assert search.next_batch() == []


@pytest.mark.parametrize(("one_by_one", "sizes"), [(True, [1] * 7), (False, [1, 2, 4])])
def test_the_least_bounds_come_first(one_by_one, sizes):
    search = NodeSearch(range(7), 7, Fraction(1))
    search.order(np.array([3, 1, 2, 0, 6, 5, 4]), one_by_one=one_by_one)
    batches = []
    while batch := search.next_batch():
        batches.append(batch)
    assert [len(batch) for batch in batches] == sizes
    assert [i for batch in batches for i in batch] == [3, 1, 2, 0, 6, 5, 4]


def test_a_bound_above_what_was_reached_strikes_out_and_saves():
    search = NodeSearch(range(4), 4, Fraction(4))
    assert search.set_apart(Fraction(1, 4)) == 1
    search.order(np.array([0.0, 9.0, 10.0, 11.0]), one_by_one=True)
    assert search.pay(search.next_batch()) == Fraction(3, 4)
    read(search, (7, 0.1, (50, 50)))  # 100 records: 10 is reached
    assert search.waiting == [1, 2]
    assert not search.asked_for_all
    read(search, (8, 0.05, (100, 100)))
    read(search, (9, 0.2, (10, 10)))  # its own size, the least impurity so far
    assert search.waiting == []
    assert search.best == 8
    assert search.saved == 4 - 1 - Fraction(3, 4)


def test_a_leaf_is_what_all_that_were_asked_for_call_one():
    small = NodeSearch([0, 1], 2, Fraction(1))
    read(small, (0, 0.1, (4, 4)), (1, 0.1, (5, 4)))
    assert small.says_leaf
    assert small.asked_for_all
    read(small, (0, 0.1, (6, 4)))
    assert not small.says_leaf
    pure = NodeSearch([0, 1], 2, Fraction(1))
    read(pure, (0, 0.0, (40, -1)), (1, 0.0, (40, 0)))
    assert pure.says_leaf
    read(pure, (0, 0.0, (-40, 1)))  # another class, says another histogram
    assert not pure.says_leaf


@given(
    st.lists(st.tuples(st.floats(0, 0.25), st.floats(-100, 100)), min_size=1, max_size=6),
    st.lists(st.floats(-50, 50), max_size=6),
)
def test_what_is_struck_out_does_not_depend_on_how_answers_arrive(answers, bounds):
    def after(batches):
        search = NodeSearch(range(len(bounds)), 12, Fraction(1))
        search.order(np.array(bounds), one_by_one=True)
        for batch in batches:
            read(search, *[(i, impurity, (size, 0.0)) for i, (impurity, size) in batch])
        return search.waiting, search.best, search.saved

    numbered = list(enumerate(answers))
    assert after([numbered]) == after([[each] for each in numbered])
