"""The public splits: each parting of a feature's cells once, with a prior that treats features alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.questions.grid import even_grid, public_grid
from privet.tree.public_splits import MOST_SUBSETS, UNLISTED_WEIGHT, public_splits, single_splits, thresholds

FEATURES = st.one_of(
    st.builds(Numeric, st.just(0), st.integers(0, 100), integer=st.booleans(), missing=st.booleans()),
    st.builds(
        lambda n, other: Categorical(range(n), other=other),
        st.sampled_from([1, 2, 3, 5, 8, MOST_SUBSETS + 1, 20]),
        st.booleans(),
    ),
)
schemas = st.lists(FEATURES, min_size=1, max_size=4).map(
    lambda features: Schema({f"x{i}": feature for i, feature in enumerate(features)}, classes=[0, 1])
)


@settings(max_examples=80, deadline=None)
@given(schemas, st.integers(4, 20))
def test_every_split_parts_its_feature_in_two(schema, max_cells):
    splits = public_splits(public_grid(schema, max_cells))
    assert len(splits) == len(splits.log_prior)
    seen = set()
    for i in range(len(splits)):
        split = splits.split(i)
        assert len(split.part) == splits.grid.features[split.feature].n_cells
        assert set(split.part) == {0, 1}
        left = splits.left_cells(i)
        assert [side == 0 for side in split.part] == left.tolist()
        seen.add((split.feature, split.part))
    assert len(seen) == len(splits)


@settings(max_examples=80, deadline=None)
@given(schemas, st.integers(4, 20))
def test_every_feature_has_the_same_weight_but_for_unlisted_values(schema, max_cells):
    splits = public_splits(public_grid(schema, max_cells))
    weights = np.bincount(splits.feature, np.exp(splits.log_prior), minlength=len(schema.names))
    for cells, weight in zip(splits.grid.features, weights):
        few = cells.cuts is None and cells.n_cells - cells.special <= MOST_SUBSETS
        listed = cells.n_cells - (cells.special if few else 0)
        assert weight == pytest.approx((listed > 1) + (UNLISTED_WEIGHT if few and cells.special else 0))


@pytest.mark.parametrize("missing", [False, True])
def test_a_cut_weighs_by_the_cells_on_both_sides_of_it(missing):
    splits = public_splits(public_grid(Schema({"n": Numeric(0, 4, integer=True, missing=missing)}, classes=[0, 1])))
    weights = np.exp(splits.log_prior)
    cuts = np.array([4, 6, 6, 4]) / 20
    if missing:  # either way, and alone with an even share
        cuts = np.concatenate([cuts, cuts, [0]]) / 2 * 8 / 9 + np.append(np.zeros(8), 1 / 9)
    np.testing.assert_allclose(weights, cuts)


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, MOST_SUBSETS])
def test_few_categories_are_parted_in_every_way(n, other):
    schema = Schema({"c": Categorical(range(n), other=other)}, classes=[0, 1])
    splits = public_splits(public_grid(schema))
    lefts = [splits.left_cells(i)[:n] for i in range(len(splits))]
    partings = {frozenset([left.tobytes(), (~left).tobytes()]) for left in lefts if left.any() and not left.all()}
    assert len(partings) == 2 ** (n - 1) - 1
    assert len(splits) == 2 ** (n - 1) - 1 + other


def test_many_categories_are_split_one_against_the_rest():
    schema = Schema({"c": Categorical(range(10_000))}, classes=[0, 1])
    splits = public_splits(public_grid(schema))
    assert len(splits) == 10_001
    assert splits.left_cells(17).nonzero()[0].tolist() == [17]


def test_missing_values_can_go_either_way_or_stand_alone():
    schema = Schema({"n": Numeric(0, 2, integer=True, missing=True)}, classes=[0, 1])
    splits = public_splits(public_grid(schema))
    parts = {tuple(splits.split(i).part) for i in range(len(splits))}
    assert parts == {(0, 1, 1, 1), (0, 0, 1, 1), (0, 1, 1, 0), (0, 0, 1, 0), (0, 0, 0, 1)}


def test_a_schema_with_nothing_to_split_has_no_splits():
    schema = Schema({"a": Numeric(1, 1), "b": Categorical(["x"], other=False)}, classes=[0, 1])
    assert len(public_splits(public_grid(schema))) == 0


def test_single_splits_take_one_cell_apart():
    schema = Schema(
        {"n": Numeric(0, 9, missing=True), "c": Categorical(["x", "y"]), "d": Categorical(["u"])}, classes=[0, 1]
    )
    grid = even_grid(schema, 3)
    splits = single_splits(grid, (0, 1))
    assert [(split.feature, split.part) for split in map(splits.split, range(len(splits)))] == [
        *((0, bytes(int(c != cell) for c in range(4))) for cell in range(4)),
        *((1, bytes(int(c != cell) for c in range(3))) for cell in range(3)),
    ]
    assert not splits.log_prior.any()


def test_thresholds_are_those_of_numeric_features_alone():
    schema = Schema(
        {"n": Numeric(0, 9), "c": Categorical(["x", "y"]), "m": Numeric(0, 1, missing=True)}, classes=[0, 1]
    )
    splits = thresholds(even_grid(schema, 4))
    assert splits.feature.tolist() == [0] * 3 + [2] * 7  # missing values go either way, or alone
    assert not splits.log_prior.any()


@pytest.mark.parametrize("features", [{"c": Categorical(["x", "y"])}, {"n": Numeric(1, 1)}])
def test_there_may_be_none(features):
    grid = even_grid(Schema(features, classes=[0, 1]), 4)
    assert len(thresholds(grid)) == 0
    assert len(single_splits(grid, ())) == 0
