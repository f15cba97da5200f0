"""Sums over cells are linear, so that they can be taken of shares and of masked numbers as of counts."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privet import Categorical, Numeric, Schema
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.linear_maps import children_of, correct_counts, grouped, left_counts, prior_points
from privet.questions.multiway import Multiway
from privet.questions.split import Split, each_cell
from privet.questions.splits import LARGEST_LOG_PRIOR
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"n": Numeric(0, 6, integer=True, missing=True), "c": Categorical(["x", "y", "z"]), "d": Categorical(range(5))},
    classes=["a", "b"],
)
GRID = public_grid(SCHEMA)
SPLITS = public_splits(GRID)
histograms = arrays(np.int64, (GRID.n_cells, 2), elements=st.integers(-(10**6), 10**6))


def cells_of(feature):
    return slice(GRID.offsets[feature], GRID.offsets[feature + 1])


def sums(histogram, split):
    own = histogram[cells_of(split.feature)]
    return np.array([own[split.parts == part].sum(axis=0) for part in range(split.n_children)])


@settings(max_examples=30, deadline=None)
@given(histograms, st.integers(0, 2), st.randoms())
def test_groups_are_sums_over_the_cells_of_each_part(histogram, feature, random):
    split = Split(feature, bytes(random.randrange(3) for _ in range(GRID.features[feature].n_cells)))
    own = histogram[cells_of(feature)]
    np.testing.assert_array_equal(grouped(own, split), sums(histogram, split))
    np.testing.assert_array_equal(grouped(np.stack([own, own]), split), [sums(histogram, split)] * 2)
    np.testing.assert_array_equal(grouped(own, each_cell(GRID, feature)), own)


@settings(max_examples=30, deadline=None)
@given(histograms)
def test_left_counts_are_sums_over_the_cells_of_the_left(histogram):
    counts = left_counts(SPLITS, histogram)
    for i in range(len(SPLITS)):
        assert counts[i].tolist() == sums(histogram, SPLITS.split(i))[0].tolist()


@settings(max_examples=30, deadline=None)
@given(histograms, histograms)
def test_children_of_candidates_are_those_of_their_splits(histogram, other):
    allowed = np.arange(len(SPLITS)) % 3 == 0
    totals = histogram[cells_of(0)].sum(axis=0)
    options = Candidates(SPLITS, 2, allowed)
    children = children_of(options, histogram, totals)
    for i, own in enumerate(children):
        left = sums(histogram, options.choice(i).split)[0]
        assert own.tolist() == [left.tolist(), (totals - left).tolist()]
    more = children_of(options, other, other[cells_of(0)].sum(axis=0))
    both = children_of(options, histogram + other, (histogram + other)[cells_of(0)].sum(axis=0))
    np.testing.assert_array_equal(both, children + more)


def test_nothing_but_stopping_has_no_children():
    assert children_of(Candidates(None, 2, stop=True), np.ones((GRID.n_cells, 2)), np.ones(2)).shape == (0, 2, 2)


@settings(max_examples=30, deadline=None)
@given(histograms)
def test_correct_counts_are_those_of_every_labelling(histogram):
    several = Multiway.of(GRID, [Split(1, bytes([0, 1, 2, 0])), Split(1, bytes([0, 0, 1, 1]))])
    for splits in (SPLITS, several):
        options = Candidates(splits, 2, labelled=True)
        children = children_of(options, histogram, histogram[cells_of(0)].sum(axis=0))
        counts = np.concatenate([own.ravel() for own in correct_counts(options, children)])
        assert len(counts) == len(options)
        for i, correct in enumerate(counts):
            choice = options.choice(i)
            own = sums(histogram, choice.split)
            if splits is SPLITS:  # of which the right side is what is left of the node
                own[1] = histogram[cells_of(0)].sum(axis=0) - own[0]
            assert correct == sum(int(side[label]) for side, label in zip(own, choice.labels))


@given(st.floats(allow_nan=False), st.floats(1e-300, 2.0**52))
def test_priors_never_wrap_around(log_prior, scale):
    (points,) = prior_points(np.array([log_prior]), scale)
    assert abs(int(points)) <= LARGEST_LOG_PRIOR * scale + 1
    assert points == 0 or (points > 0) == (log_prior > 0)


@pytest.mark.parametrize("log_prior", [-1.0, 0.0, 2.5])
def test_a_prior_is_as_many_points_as_the_noise_has_scales(log_prior):
    assert prior_points(np.array([log_prior]), 64.0).tolist() == [math.floor(log_prior * 64 + 0.5)]
