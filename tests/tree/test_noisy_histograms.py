"""Splits are read off noisy counts as they would be off exact ones, whatever the noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privet import Categorical, Numeric, Schema
from privet.tree.grid import even_grid
from privet.tree.noisy_histograms import best_splits, feature_histograms, one_hot_histograms, split_counts

SCHEMA = Schema(
    {
        "x": Numeric(0, 9, integer=True),
        "fixed": Numeric(3, 3),
        "s": Categorical(["a", "b", "c"], other=False),
        "t": Categorical(["a", "b"], other=False),
    },
    classes=["n", "y"],
)
GRID = even_grid(SCHEMA, 5)


def test_a_feature_has_one_histogram_and_a_category_a_column_of_its_own_in_print():
    assert [(h.table.feature, h.sides.shape) for h in feature_histograms(GRID)] == [
        (0, (4, 5)),
        (2, (3, 3)),
        (3, (1, 2)),
    ]
    assert [(h.table.feature, h.sides.shape) for h in one_hot_histograms(GRID)] == [
        (0, (4, 5)),
        *[(2, (1, 2))] * 3,
        *[(3, (1, 2))] * 2,
    ]


def test_a_split_sends_cells_where_its_side_says():
    x, s, _ = feature_histograms(GRID)
    assert x.split(1).part == bytes([0, 0, 1, 1, 1])
    assert s.split(1).part == bytes([1, 0, 1])


def test_only_splits_between_reachable_cells_part_anything():
    x, s, _ = feature_histograms(GRID)
    assert x.parting(np.array([0, 1, 1, 0, 0], dtype=bool)).tolist() == [False, True, False, False]
    assert s.parting(np.array([1, 0, 1], dtype=bool)).tolist() == [True, False, True]
    assert not s.parting(np.array([0, 0, 1], dtype=bool)).any()


def all_of(histogram):
    return np.ones(len(histogram.sides), dtype=bool)


def test_a_perfect_split_is_found_with_its_impurity_and_size():
    x, s, _ = feature_histograms(GRID)
    counts = [np.array([[4, 0], [3, 0], [0, 2], [0, 5], [0, 1]]), np.array([[1, 1], [6, 6], [0, 1]])]
    of_x, of_s = best_splits([x, s], counts, [all_of(x), all_of(s)])
    assert (of_x.index, of_x.impurity, of_x.size) == (1, 0.0, 15.0)
    assert of_s.index == 2
    assert of_s.impurity == pytest.approx(14 * 0.25 / 15)
    assert of_s.totals.tolist() == [7, 8]


def test_sides_that_seem_empty_are_none():
    x, *_ = feature_histograms(GRID)
    counts = np.array([[-3, 0], [1, 0], [4, 4], [0, 0], [0, 0]])
    (found,) = best_splits([x], [counts], [all_of(x)])
    assert found.impurity == np.inf  # left of every border there is less than nothing, or right of it nothing
    (found,) = best_splits([x], [counts + 1], [all_of(x)])
    assert found.index >= 1


@given(arrays(np.int64, (5, 2), elements=st.integers(-50, 50)))
def test_any_noise_gives_a_split_between_two_sides_or_none(counts):
    x, *_ = feature_histograms(GRID)
    (found,) = best_splits([x], [counts], [all_of(x)])
    if found.impurity < np.inf:
        assert 0 <= found.impurity <= 0.25
        left = counts[: found.index + 1].sum()
        assert 0 < left < counts.sum()


def test_a_tallys_answer_is_taken_apart():
    histograms = feature_histograms(GRID)
    rows = np.arange(20).reshape(10, 2)
    assert [len(own) for own in split_counts(rows, histograms)] == [5, 3, 2]
