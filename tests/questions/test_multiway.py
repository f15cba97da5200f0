"""Splits of many children: each cell goes to one, so that their statistics are a linear map of a histogram."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions.grid import public_grid
from privet.questions.multiway import Multiway, attributes
from privet.questions.split import MOST_CHILDREN, Split, each_cell

SCHEMA = Schema(
    {"n": Numeric(0, 6, integer=True, missing=True), "c": Categorical(["x", "y", "z"]), "d": Categorical(["u"])},
    classes=["a", "b"],
)
GRID = public_grid(SCHEMA)
SIZES = [cells.n_cells for cells in GRID.features]
reaches = arrays(bool, GRID.n_cells)
histograms = arrays(np.int64, (GRID.n_cells, 2), elements=st.integers(-(10**9), 10**9))


@st.composite
def splits(draw):
    feature = draw(st.integers(0, len(SIZES) - 1))
    part = draw(st.lists(st.integers(0, 4), min_size=SIZES[feature], max_size=SIZES[feature]))
    return Split(feature, bytes(part), draw(st.integers(1, 6)))


lists = st.lists(splits(), max_size=5).map(lambda drawn: Multiway.of(GRID, drawn))


def cells_of(split):
    return slice(GRID.offsets[split.feature], GRID.offsets[split.feature + 1])


@settings(max_examples=30, deadline=None)
@given(lists, histograms, histograms)
def test_a_child_s_statistics_are_the_sums_over_its_cells(several, histogram, other):
    children = several.children(histogram)
    assert children.shape == (len(several), several.width, 2)
    for split, own in zip(several.splits, children):
        part = np.frombuffer(split.part, np.uint8)
        for child, counts in enumerate(own):  # what a split has no child for is empty
            assert counts.tolist() == histogram[cells_of(split)][part == child].sum(axis=0).tolist()
    np.testing.assert_array_equal(several.children(histogram + other), children + several.children(other))


@settings(max_examples=30, deadline=None)
@given(lists, reaches)
def test_a_split_is_allowed_where_two_children_can_be_reached(several, reachable):
    parts = [{p for p, inside in zip(s.part, reachable[cells_of(s)]) if inside} for s in several.splits]
    assert several.allowed_within(reachable).tolist() == [len(own) > 1 for own in parts]
    assert several.within(reachable) == tuple(s for s, own in zip(several.splits, parts) if len(own) > 1)


@settings(max_examples=30, deadline=None)
@given(lists)
def test_a_list_weighs_all_alike_and_knows_each_one_s_children(several):
    assert not several.log_prior.any()
    assert several.n_children.tolist() == [several.split(i).n_children for i in range(len(several))]


def test_an_attribute_has_a_child_for_each_cell():
    schema = Schema(
        {"n": Numeric(0, 9, missing=True), "c": Categorical(["x", "y"]), "one": Categorical(["x"], other=False)}
        | {f"d{n}": Categorical(range(n), other=False) for n in (MOST_CHILDREN, MOST_CHILDREN + 1)},
        classes=["a", "b"],
    )
    grid = public_grid(schema, 6)
    several = attributes(grid)
    assert [split.feature for split in several.splits] == [0, 1, 3]  # one child parts nothing, 257 have no number
    assert several.n_children.tolist() == [6, 3, MOST_CHILDREN]
    assert all(split.keeps_cells and split == each_cell(grid, split.feature) for split in several.splits)
    assert [split.feature for split in attributes(grid, numeric=False).splits] == [1, 3]


@pytest.mark.parametrize("split", [Split(1, bytes([0, 1])), Split(3, bytes([0])), (1, bytes(4)), None])
def test_several_children_must_share_the_cells_of_a_feature(split):
    with pytest.raises(LeakError):
        Multiway.of(GRID, [split])


def test_every_split_needs_a_weight():
    with pytest.raises(LeakError):
        Multiway(GRID, (each_cell(GRID, 0), each_cell(GRID, 1)), np.zeros(1))


@pytest.mark.parametrize("prior", [[np.nan], [np.inf], [1e9], [[0.0]], "0"])
def test_weights_are_numbers_that_fit_into_scores(prior):
    with pytest.raises(LeakError):
        Multiway(GRID, (each_cell(GRID, 0),), prior)
