"""Binary splits by the thousand: each sends every cell of its feature to one side, or the list cannot be made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions.grid import public_grid
from privet.questions.splits import LARGEST_LOG_PRIOR, Splits, prior_of
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"n": Numeric(0, 6, integer=True, missing=True), "c": Categorical(["x", "y", "z"]), "d": Categorical(range(14))},
    classes=["a", "b", "c"],
)
SPLITS = public_splits(public_grid(SCHEMA))
SMALL = public_grid(Schema({"a": Numeric(0, 3, integer=True), "c": Categorical(["x", "y"])}, classes=[0, 1]))


def one(feature=(0,), first=(0,), last=(1,), extra=(-1,), subsets=(), log_prior=(0.0,), grid=SMALL):
    """A list of one run, as a caller would make it."""
    return Splits(grid, np.array(feature), np.array(first), np.array(last), np.array(extra), subsets, log_prior)


@given(st.lists(st.booleans(), min_size=SPLITS.grid.n_cells, max_size=SPLITS.grid.n_cells).map(np.array))
def test_a_split_is_allowed_where_both_sides_can_be_reached(reachable):
    allowed = SPLITS.allowed_within(reachable)
    offsets = SPLITS.grid.offsets
    for i in range(len(SPLITS)):
        f = SPLITS.feature[i]
        here = reachable[offsets[f] : offsets[f + 1]]
        left = SPLITS.left_cells(i)
        assert allowed[i] == ((here & left).any() and (here & ~left).any())


def test_no_split_beyond_the_last():
    with pytest.raises(IndexError):
        SPLITS.left_cells(len(SPLITS))


def test_a_split_sends_its_run_and_its_extra_cell_to_the_left():
    splits = one(extra=(3,))
    assert splits.left_cells(0).tolist() == [True, True, False, True]
    assert splits.split(0).part == bytes([0, 0, 1, 0])
    subset = one((1,), (), (), (), ((1, np.array([[True, False, True]])),))
    assert (subset.n_runs, subset.split(0).part) == (0, bytes([0, 1, 0]))


@pytest.mark.parametrize("extra", [0, 1, 4, 99, -2])
def test_a_split_that_counts_a_cell_twice_is_refused(extra):
    with pytest.raises(LeakError):
        one(extra=(extra,))


@pytest.mark.parametrize(
    "wrong",
    [
        {"last": (4,)},  # a run that leaves its feature
        {"first": (-1,)},
        {"first": (2,), "last": (1,)},
        {"feature": (1,)},
        {"feature": (-1,)},
        {"feature": (2,)},
        {"feature": (0, 0)},
        {"first": (0, 0)},
        {"last": ()},
        {"extra": ()},
        {"log_prior": ()},
        {"first": (0.5,), "log_prior": (np.nan,)},
        {"subsets": ((1, np.ones((1, 3), bool)),)},  # a subset without its feature
        {"feature": (0, 1), "subsets": ((1, np.ones((1, 2), bool)),), "log_prior": (0.0, 0.0)},
        {"feature": (0, 0), "subsets": ((1, np.ones((1, 3), bool)),), "log_prior": (0.0, 0.0)},
        {"feature": (0, 2), "subsets": ((2, np.ones((1, 3), bool)),), "log_prior": (0.0, 0.0)},
        {"grid": "grid"},
    ],
)
def test_a_list_that_does_not_part_the_cells_of_its_grid_cannot_be_made(wrong):
    with pytest.raises(LeakError):
        one(**wrong)


def test_the_callers_arrays_are_copied():
    last, mask = np.array([1]), np.array([[True, False, True]])
    splits = Splits(SMALL, np.array([0, 1]), np.array([0]), last, np.array([-1]), ((1, mask),), np.zeros(2))
    before = [splits.split(i) for i in range(2)]
    last[0], mask[0, 1] = 99, True
    assert [splits.split(i) for i in range(2)] == before


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, LARGEST_LOG_PRIOR + 1, -LARGEST_LOG_PRIOR - 1])
def test_a_prior_fits_into_scores(wrong):
    assert prior_of([0.0, LARGEST_LOG_PRIOR]).tolist() == [0.0, LARGEST_LOG_PRIOR]
    with pytest.raises(LeakError):
        prior_of([0.0, wrong])


def test_runs_and_subsets_are_joined_and_weigh_alike_unless_it_is_said():
    runs, mask = [np.array([[0, 0], [0, 0], [0, 1], [-1, 3]])], np.array([[True, False, True]])
    splits = Splits.of(SMALL, runs, [(1, mask)])
    assert [splits.split(i).part for i in range(3)] == [bytes([0, 1, 1, 1]), bytes([0, 0, 1, 0]), bytes([0, 1, 0])]
    assert (splits.feature.tolist(), splits.log_prior.tolist()) == ([0, 0, 1], [0.0] * 3)
    assert Splits.of(SMALL, runs, log_prior=lambda feature: feature - 2.0).log_prior.tolist() == [-2.0, -2.0]
    assert len(Splits.of(SMALL, [])) == 0
