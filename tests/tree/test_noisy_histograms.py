"""Splits are read off noisy counts as they would be off exact ones, whatever the noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privet import Categorical, Numeric, Schema
from privet.questions.grid import even_grid
from privet.tree.noisy_histograms import feature_histograms, one_hot_histograms

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


def reaching(**cells):
    """Which flat cells reach a node: all but of the features named."""
    reachable = np.ones(GRID.n_cells, dtype=bool)
    for name, own in cells.items():
        f = SCHEMA.names.index(name)
        reachable[GRID.offsets[f] : GRID.offsets[f + 1]] = own
    return reachable


def test_only_splits_between_reachable_cells_part_anything():
    histograms = feature_histograms(GRID)
    nodes = [reaching(), reaching(x=[0, 1, 1, 0, 0], s=[1, 0, 1]), reaching(s=[0, 0, 1], t=[1, 0])]
    anywhere, between, nowhere = histograms.parting(np.array(nodes))
    assert anywhere.all()
    assert between.tolist() == [False, True, False, False, True, False, True, True]
    assert nowhere.tolist() == [True] * 4 + [False] * 4
    assert [histograms.that_part(own) for own in (anywhere, between, nowhere)] == [[0, 1, 2], [0, 1, 2], [0]]


def test_of_one_hot_columns_only_those_of_several_reachable_values_part():
    (own,) = one_hot_histograms(GRID).parting(np.array([reaching(s=[1, 0, 1])]))
    assert own.tolist() == [True] * 4 + [True, False, True] + [True, True]


def best(counts, *asked):
    histograms = feature_histograms(GRID)
    parting = np.ones((len(asked), histograms.n_splits), dtype=bool)
    return histograms.best(np.array(asked), np.concatenate(counts), parting)


def test_a_perfect_split_is_found_with_its_impurity_and_size():
    counts = [np.array([[1, 1], [6, 6], [0, 1]]), np.array([[4, 0], [3, 0], [0, 2], [0, 5], [0, 1]])]
    of_s, of_x = best(counts, 1, 0)
    assert (of_x.split, of_x.impurity, of_x.size) == (1, 0.0, 15.0)
    assert of_s.split == 4 + 2
    assert of_s.impurity == pytest.approx(14 * 0.25 / 15)
    assert of_s.size == 15


def test_histograms_can_be_moved_to_other_class_counts():
    histograms, asked = feature_histograms(GRID), np.array([1, 0])
    counts = np.arange(16.0).reshape(8, 2)
    assert histograms.totals(asked, counts).tolist() == [[6, 9], [50, 55]]
    moved = histograms.moved(asked, counts, np.array([[3.0, 0.0], [0.0, -5.0]]))
    assert histograms.totals(asked, moved).tolist() == [[9, 9], [50, 50]]
    assert (moved - counts).tolist() == [[1, 0]] * 3 + [[0, -1]] * 5


def test_a_split_has_one_number_through_all_histograms():
    histograms = feature_histograms(GRID)
    assert [histograms.split(number).feature for number in range(histograms.n_splits)] == [0] * 4 + [2] * 3 + [3]
    assert histograms.split(4 + 2) == histograms[1].split(2)


def test_a_split_that_parts_nothing_is_never_the_best():
    histograms = feature_histograms(GRID)
    counts = np.array([[4, 0], [3, 0], [0, 2], [0, 5], [0, 1]])
    parting = np.ones((1, histograms.n_splits), dtype=bool)
    parting[0, 1] = False
    (found,) = histograms.best(np.array([0]), counts, parting)
    assert found.split == 2


def test_sides_that_seem_empty_are_none():
    counts = np.array([[-3, 0], [1, 0], [4, 4], [0, 0], [0, 0]])
    (found,) = best([counts], 0)
    assert found.impurity == np.inf  # left of every border there is less than nothing, or right of it nothing
    (found,) = best([counts + 1], 0)
    assert found.split >= 1


@given(arrays(np.int64, (5, 2), elements=st.integers(-50, 50)))
def test_any_noise_gives_a_split_between_two_sides_or_none(counts):
    (found,) = best([counts], 0)
    if found.impurity < np.inf:
        assert 0 <= found.impurity <= 0.25
        left = counts[: found.split + 1].sum()
        assert 0 < left < counts.sum()
