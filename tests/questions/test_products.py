"""Lists of splits and products: all of one grid, each with its prior, counted together."""

import numpy as np
import pytest

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions.candidates import Candidates
from privet.questions.grid import MOST_CELLS_IN_ALL, public_grid
from privet.questions.products import Products
from privet.questions.split import Product, Split, each_cell

SCHEMA = Schema({"n": Numeric(0, 3, integer=True), "c": Categorical(["x", "y"], other=False)}, classes=["a", "b"])
GRID = public_grid(SCHEMA)
TOWN = each_cell(GRID, 1)
BOTH = Product((Split(0, bytes([0, 0, 1, 1])), TOWN))


def test_splits_and_products_are_candidates_together():
    several = Products(GRID, (TOWN, BOTH))
    assert several.n_children.tolist() == [2, 4]
    assert several.log_prior.tolist() == [0, 0]
    options = Candidates(several, 2)
    assert [options.choice(i).table for i in range(len(options))] == [TOWN, BOTH]
    assert options.question == "choose a split"


def test_parts_of_all_tables_become_a_row_for_each():
    parts = np.arange(1, 7)[:, None]
    assert Products(GRID, (TOWN, BOTH)).rows(parts)[..., 0].tolist() == [[1, 2, 0, 0], [3, 4, 5, 6]]
    assert Products(GRID, ()).rows(parts[:0]).shape == (0, 1, 1)


@pytest.mark.parametrize(
    ("tables", "prior"),
    [
        ((TOWN, BOTH), [0.0]),
        ((TOWN, Split(0, bytes(3))), None),
        ((TOWN, Product((Split(0, bytes(3)), TOWN))), None),
        ((TOWN, GRID), None),
        ((TOWN, BOTH), [0.0, np.inf]),
        (7, None),
    ],
)
def test_what_does_not_fit_the_grid_is_refused(tables, prior):
    with pytest.raises(LeakError):
        Products(GRID, tables, prior)


@pytest.mark.parametrize("more", [{"labelled": True}, {"stop": True}])
def test_products_have_no_labels_and_no_stop(more):
    with pytest.raises(LeakError, match="gradients"):
        Candidates(Products(GRID, (TOWN, BOTH)), 2, **more)


def test_a_list_has_no_more_children_than_memory_has_room_for():
    """What is held is a row for each table, as wide as the widest: one product of 256 makes all rows wide."""
    grid = public_grid(Schema({name: Numeric(0, 15, integer=True) for name in "ab"}, classes=["a", "b"]))
    wide = Product((each_cell(grid, 0), each_cell(grid, 1)))
    narrow = Split(0, bytes([0] * 8 + [1] * 8))
    most = MOST_CELLS_IN_ALL // 256
    assert len(Products(grid, [wide] + [narrow] * (most - 1))) == most
    with pytest.raises(LeakError, match="children in all"):
        Products(grid, [wide] + [narrow] * most)
