"""A split sends every cell of one feature somewhere, and is its own."""

import numpy as np
import pytest

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions.grid import public_grid
from privet.questions.split import Choice, Product, Split, check_splits, check_tables, each_cell, factors_of

SCHEMA = Schema({"n": Numeric(0, 6, integer=True, missing=True), "c": Categorical(["x", "y", "z"])}, classes=[0, 1])
GRID = public_grid(SCHEMA)


def test_a_split_has_as_many_children_as_it_names():
    assert Split(0, bytes([0, 2, 1])).n_children == 3
    assert Split(0, bytes([0, 1]), 4).n_children == 4  # the last may be empty
    assert Split(0, bytes([0, 255])).n_children == 256


def test_a_split_that_keeps_cells_has_a_child_for_each_in_order():
    assert each_cell(GRID, 1).keeps_cells
    assert each_cell(GRID, 1).part == bytes([0, 1, 2, 3])
    assert not Split(1, bytes([1, 0, 2, 3])).keeps_cells
    assert not Split(1, bytes([0, 1, 2, 3]), 5).keeps_cells


@pytest.mark.parametrize("part", [np.array([0, 1], np.uint8), bytearray([0, 1]), memoryview(bytes([0, 1]))])
def test_parts_are_copied(part):
    split = Split(0, part)
    if not isinstance(part, memoryview):
        part[0] = 7
    assert type(split.part) is bytes
    assert split.part == bytes([0, 1])


def test_parts_that_lie_about_themselves_are_copied_as_they_are():
    class Sly(bytes):
        def __len__(self):
            return 2

        def __iter__(self):
            return iter([0, 0])

    split = Split(0, Sly([0, 1, 2]))
    assert type(split.part) is bytes
    assert (split.part, split.n_children) == (bytes([0, 1, 2]), 3)


@pytest.mark.parametrize(
    ("feature", "part", "least"),
    [
        (-1, bytes(2), 1),
        (0.0, bytes(2), 1),
        (2**40, bytes(2), 1),
        (0, b"", 1),
        (0, bytes(2**16 + 1), 1),
        (0, "00", 1),
        (0, [0, 1], 1),
        (0, np.array([0, 1]), 1),
        (0, np.array([0, 1.5]), 1),
        (0, bytes(2), 0),
        (0, bytes(2), 257),
        (0, bytes(2), None),
    ],
)
def test_what_is_no_split_cannot_be_made(feature, part, least):
    with pytest.raises(LeakError):
        Split(feature, part, least)


@pytest.mark.parametrize("split", [Split(1, bytes(3)), Split(1, bytes(5)), Split(2, bytes(4))])
def test_a_split_fits_the_grid_or_is_refused(split):
    Split(1, bytes(4)).check(GRID)
    with pytest.raises(LeakError):
        split.check(GRID)
    with pytest.raises(LeakError):
        check_splits([Split(1, bytes(4)), split], GRID)


def test_splits_are_equal_by_what_they_say():
    assert Split(0, bytes([0, 1])) == Split(0, np.array([0, 1], np.uint8))
    assert len({Split(0, bytes([0, 1])), Split(0, bytes([0, 1])), Split(1, bytes([0, 1]))}) == 2


@pytest.mark.parametrize(
    ("split", "labels"),
    [(Split(0, bytes([0, 1])), (0,)), (None, (0, 1)), (None, ()), (None, (-1,)), (None, ("yes",)), ("split", None)],
)
def test_a_choice_has_a_label_for_each_child_or_none(split, labels):
    with pytest.raises(LeakError):
        Choice(split, labels)
    assert Choice(Split(0, bytes([0, 1])), (1, 0)).labels == (1, 0)
    assert Choice(None, (2,)).labels == (2,)


# -- products ----------------------------------------------------------------------------------------------------------

ONE, OTHER = Split(0, bytes(range(GRID.features[0].n_cells))), Split(1, bytes([0, 1, 1, 2]))


def test_a_product_has_a_child_for_each_pair_of_children():
    product = Product((ONE, OTHER))
    assert product.n_children == ONE.n_children * 3
    assert factors_of(product) == (ONE, OTHER)
    assert factors_of(ONE) == (ONE,)
    assert product == Product([ONE, OTHER])
    assert Choice(None, None, product).table == product
    assert Choice(OTHER, None).table == OTHER


@pytest.mark.parametrize(
    "factors",
    [
        (),
        (ONE,),
        (OTHER, ONE),
        (ONE, ONE),
        (ONE, None),
        (ONE, Product((ONE, OTHER))),
        5,
        tuple(Split(f, bytes([0, 1])) for f in range(5)),
        tuple(Split(f, bytes(range(16)), 17) for f in range(2)),
    ],
)
def test_what_is_no_product_cannot_be_made(factors):
    with pytest.raises(LeakError):
        Product(factors)


@pytest.mark.parametrize("wrong", [Split(1, bytes(3)), Split(2, bytes(4))])
def test_a_product_fits_the_grid_or_is_refused(wrong):
    assert check_tables([ONE, Product((ONE, OTHER))], GRID)
    with pytest.raises(LeakError):
        check_tables([Product((ONE, wrong))], GRID)
    with pytest.raises(LeakError):
        check_splits([Product((ONE, OTHER))], GRID)


@pytest.mark.parametrize(
    "choice", [(ONE, None, Product((ONE, OTHER))), (None, (1,), Product((ONE, OTHER))), (None, None, ONE)]
)
def test_a_product_is_chosen_by_itself(choice):
    with pytest.raises(LeakError):
        Choice(*choice)
