"""The grid is public, and its cells are what their definition says."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions.grid import MOST_CELLS, Grid, even_cuts, even_grid, numeric_cuts, public_grid

bounds = st.floats(-1e12, 1e12, allow_subnormal=False)


@st.composite
def numerics(draw):
    low, high = sorted([draw(bounds), draw(bounds)])
    integer, log, missing = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    if integer:
        low, high = float(int(low)), float(int(high))
    return Numeric(low, high, integer=integer, log=log and low >= 0 and high > 1e-9, missing=missing)


@settings(max_examples=300, deadline=None)
@given(numerics(), st.integers(4, 300))
def test_cuts_increase_inside_the_range(feature, most):
    cuts = numeric_cuts(feature, most)
    assert (np.diff(cuts) > 0).all()
    assert np.isfinite(cuts).all()
    assert ((cuts >= feature.low) & (cuts < feature.high)).all()  # no cell beside a cut is empty for sure
    assert len(cuts) <= most
    if feature.integer:
        assert (cuts == np.floor(cuts)).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(numerics(), min_size=1, max_size=5), st.integers(8, 300))
def test_a_grid_has_no_more_cells_than_asked_for_and_numbers_them_through(features, most):
    schema = Schema({f"x{i}": feature for i, feature in enumerate(features)}, classes=[0, 1])
    grid = public_grid(schema, most)
    assert len(grid.offsets) == len(features) + 1
    assert grid.offsets[0] == 0
    assert grid.n_cells == sum(cells.n_cells for cells in grid.features)
    for cells, feature in zip(grid.features, features):
        assert cells.n_cells == len(cells.cuts) + 1 + feature.missing
        assert cells.special == feature.missing
        assert cells.n_cells <= most


def test_a_constant_has_one_cell():
    assert len(numeric_cuts(Numeric(3, 3), 100)) == 0
    assert len(numeric_cuts(Numeric(3, 3, integer=True), 100)) == 0
    assert len(numeric_cuts(Numeric(3, 3, log=True), 100)) == 0
    assert len(numeric_cuts(Numeric(0, 0, log=True), 100)) == 0
    assert public_grid(Schema({"x": Numeric(3, 3)}, classes=[0])).n_cells == 1


def test_few_integers_are_cut_between_all_of_them():
    assert numeric_cuts(Numeric(2, 7, integer=True), 255).tolist() == [2, 3, 4, 5, 6]


def test_a_category_has_a_cell_for_each_value_and_one_for_others():
    schema = Schema({"a": Categorical(["x", "y", "z"]), "b": Categorical(["x", "y", "z"], other=False)}, classes=[0, 1])
    grid = public_grid(schema)
    assert [cells.n_cells for cells in grid.features] == [4, 3]
    assert [cells.special for cells in grid.features] == [True, False]
    assert [cells.cuts for cells in grid.features] == [None, None]


def test_long_tails_are_cut_finely_at_their_start():
    """Several cuts in the first thousandth of the range, and on both sides of zero where that is inside."""
    assert (numeric_cuts(Numeric(0, 1e6), 254) < 1000).sum() >= 4
    around_zero = numeric_cuts(Numeric(-1e6, 1e6), 254)
    assert ((around_zero > 0) & (around_zero < 1000)).sum() >= 4
    assert ((around_zero < 0) & (around_zero > -1000)).sum() >= 4


def test_a_logarithmic_range_may_end_next_to_zero():
    assert ((cuts := numeric_cuts(Numeric(0, 5e-324, log=True), 100)) == 0).all() or not len(cuts)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("ends", [(-1e308, 7e307), (1, np.nextafter(1, 2)), (0, 1e-300), (-5e-324, 0)])
@pytest.mark.parametrize("log", [False, True])
def test_extreme_ranges_have_sound_cuts(ends, log):
    low, high = ends
    cuts = numeric_cuts(Numeric(low, high, log=log and low >= 0), 100)
    assert ((cuts >= low) & (cuts < high)).all()


@pytest.mark.parametrize(
    ("feature", "n_bins", "cuts"),
    [
        (Numeric(0, 10), 5, [2, 4, 6, 8]),
        (Numeric(-1, 1), 1, []),
        (Numeric(3, 3), 4, []),
        (Numeric(0, 9, integer=True), 5, [1, 3, 5, 7]),
        (Numeric(0, 1, integer=True), 5, [0]),
        (Numeric(0, 2, integer=True), 3, [0, 1]),
    ],
)
def test_even_bins_have_one_width(feature, n_bins, cuts):
    assert even_cuts(feature, n_bins).tolist() == pytest.approx(cuts)


@given(st.integers(-100, 100), st.integers(0, 200), st.integers(1, 50))
def test_even_bins_of_integers_hold_as_many_values_but_for_one(low, width, n_bins):
    cuts = even_cuts(Numeric(low, low + width, integer=True), n_bins)
    sizes = np.bincount(np.searchsorted(cuts, np.arange(low, low + width + 1)))
    assert len(cuts) == min(n_bins, width + 1) - 1
    assert sizes.max() - sizes.min() <= 1


def test_an_even_grid_fits_its_schema():
    schema = Schema({"n": Numeric(0, 9, missing=True), "c": Categorical(["x", "y"])}, classes=[0, 1])
    grid = even_grid(schema, 4)
    assert grid.schema == schema
    assert [cells.n_cells for cells in grid.features] == [5, 3]


# -- a grid cannot be wrong -------------------------------------------------------------------------------------------

SCHEMA = Schema(
    {"c": Categorical(["a", "b", "c"], other=False), "a": Numeric(0, 1), "m": Numeric(0, 9, missing=True)},
    classes=[0, 1],
)


def test_the_cells_follow_from_the_schema_and_the_cuts():
    grid = Grid(SCHEMA, [None, [0.2, 0.5], []])
    assert [(cells.name, cells.n_cells, cells.special) for cells in grid.features] == [
        ("c", 3, False),
        ("a", 3, False),
        ("m", 2, True),
    ]
    assert grid.offsets.tolist() == [0, 3, 6, 8]
    assert grid.n_cells == 8


@pytest.mark.parametrize(
    "cuts",
    [
        [None, [0.5, 0.2], []],  # not sorted
        [None, [0.5, 0.5], []],
        [None, [np.nan], []],
        [None, [np.inf], []],
        [None, [-np.inf], []],
        [None, [1.0], []],  # nothing could be above
        [None, [-0.1], []],
        [None, None, []],  # a number without cuts
        [None, [[0.5]], []],
        [None, ["a"], []],
        [None, 0.5, []],
        [[0.5], [], []],  # a category with cuts
        [[], [], []],
        [None, []],
        [None, [], [], []],
        [None, np.linspace(0, 1, 2**17)[:-1], []],
    ],
)
def test_cuts_that_do_not_fit_the_schema_make_no_grid(cuts):
    with pytest.raises(LeakError):
        Grid(SCHEMA, cuts)


def test_a_grid_of_another_kind_of_schema_cannot_be_made():
    for wrong in (None, SCHEMA.to_json(), SimpleNamespace(features={"a": Numeric(0, 1)}, classes=(0, 1))):
        with pytest.raises(LeakError):
            Grid(wrong, [[]])
    with pytest.raises(TypeError, match="final"):
        type("Mine", (Schema,), {})


def test_a_grid_of_more_cells_than_memory_holds_is_refused():
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(1100)}, classes=[0, 1])
    cuts = np.linspace(0, 1, MOST_CELLS)[:-1]
    with pytest.raises(LeakError, match="cells in all"):
        Grid(schema, [cuts] * 1100)


def test_grids_are_equal_by_what_they_say():
    cuts = np.array([0.25, 0.5])
    grid = Grid(SCHEMA, [None, cuts, []])
    same = Grid(SCHEMA, [None, [0.25, 0.5], ()])
    cuts[0] = 0.3  # the grid has its own
    assert grid == same
    assert hash(grid) == hash(same)
    assert grid != Grid(SCHEMA, [None, cuts, []])
    assert grid != "grid"
    other = Schema(dict(SCHEMA.features), classes=[0, 1, 2])
    assert grid != Grid(other, [None, [0.25, 0.5], []])
