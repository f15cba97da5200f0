"""The shape of a hidden tree: whatever is chosen, it looks the same from outside."""

import numpy as np
import pytest

from privet import Categorical, LeakError, Numeric, Schema
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.multiway import Multiway
from privet.questions.shape import Shape
from privet.questions.split import Split
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"x": Numeric(0, 2, integer=True), "c": Categorical(["a", "b"]), "d": Categorical(["a"])}, classes=[0, 1]
)
GRID = public_grid(SCHEMA)
THREE = Multiway.of(GRID, [Split(0, bytes([0, 1, 2])), Split(1, bytes([2, 1, 0]))])


def test_attributes_are_chosen_once_on_a_path_and_binary_splits_as_often_as_one_likes():
    shape, binary = Shape(THREE, 3), Shape(public_splits(GRID), 2)
    assert (shape.once, binary.once) == (True, False)
    assert shape.unused(frozenset({1})).tolist() == [True, False]
    assert binary.unused(frozenset({0, 1})).all()
    assert shape.grid is GRID


def test_the_shape_of_candidates_has_as_many_children_as_they():
    assert Shape.of(Candidates(THREE, 2)).width == 3
    assert Shape.of(Candidates(public_splits(GRID), 2)).width == 2
    for nothing in (Candidates(None, 2, stop=True), Candidates(Multiway.of(GRID, []), 2, stop=True)):
        with pytest.raises(LeakError, match="among splits"):
            Shape.of(nothing)


@pytest.mark.parametrize(
    ("splits", "width", "message"),
    [
        (THREE, 2, "same number of children"),
        (Multiway.of(GRID, [*THREE.splits, Split(2, bytes([0, 1]))]), 3, "same number of children"),
        (Multiway.of(GRID, [THREE.splits[0], Split(0, bytes([2, 1, 0]))]), 3, "different features"),
        (THREE, 0, "children"),
        (THREE, 257, "children"),
        (THREE.splits, 3, "exactly"),
        (None, 2, "exactly"),
    ],
)
def test_splits_that_could_be_told_apart_have_no_shape(splits, width, message):
    with pytest.raises(LeakError, match=message):
        Shape(splits, width)


def test_a_split_of_fewer_children_may_be_filled_up():
    filled = Multiway(GRID, [THREE.splits[0], Split(2, bytes([0, 1]), 3)], np.zeros(2))
    assert Shape(filled, 3).width == 3
