"""Words are values: copied, checked and closed when they are made, and of their exact types afterwards."""

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from privet import LeakError, Numeric, Schema
from privet.questions.candidates import Candidates
from privet.questions.curtain import Curtain, Node
from privet.questions.grid import Cells, Grid, public_grid
from privet.questions.levels import Levels
from privet.questions.multiway import Multiway, attributes
from privet.questions.products import Products
from privet.questions.shape import Shape
from privet.questions.split import Choice, Product, Split
from privet.questions.splits import Splits
from privet.questions.tally import Step, Tally
from privet.questions.word import all_of, array, exactly, flag, fraction, number, text, whole
from privet.tree.public_splits import public_splits

SCHEMA = Schema({"a": Numeric(0, 7, integer=True), "b": Numeric(0, 1, missing=True)}, classes=["n", "y"])
GRID = public_grid(SCHEMA, 8)
SPLIT = Split(0, bytes([0, 0, 0, 0, 1, 1, 1, 1]))
PRODUCT = Product((SPLIT, Split(1, bytes([*[0] * (GRID.features[1].n_cells - 1), 1]))))
WORDS = [
    GRID,
    GRID.features[1],
    SPLIT,
    PRODUCT,
    Products(GRID, (SPLIT, PRODUCT)),
    Choice(SPLIT, (0, 1)),
    public_splits(GRID),
    attributes(GRID),
    Candidates(public_splits(GRID), 2, np.arange(len(public_splits(GRID))) > 1),
    Tally((SPLIT,)),
    Levels((1, 2)),
    Step(SPLIT, (1, -1)),
    Shape(public_splits(GRID), 2),
]
every_word = pytest.mark.parametrize("word", WORDS, ids=lambda word: type(word).__name__)
KINDS = [Grid, Cells, Split, Product, Choice, Splits, Multiway, Products, Candidates, Tally, Step, Shape, Levels]
KINDS += [Node, Curtain]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_crosses_the_curtain_can_be_subclassed(kind):
    with pytest.raises(TypeError, match="final"):
        type("Mine", (kind,), {})


@every_word
def test_no_attribute_of_a_word_can_be_set_or_added(word):
    for name in (*type(word).__slots__, "check", "anything"):
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            setattr(word, name, None)
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            delattr(word, name)
    assert not hasattr(word, "__dict__")


@every_word
def test_a_word_is_not_made_again_as_another(word):
    """Neither by its constructor nor by what unpickling would call: it could change after it was checked."""
    before = [getattr(word, name) for name in type(word).__slots__]
    others = {
        Grid: (SCHEMA, [[], []]),
        Cells: ("a", SCHEMA.features["a"], []),
        Split: (1, b"\0"),
        Product: ((SPLIT, PRODUCT.factors[1]),),
        Products: (GRID, []),
        Choice: (None, None),
        Splits: (GRID, [], [], [], [], (), []),
        Multiway: (GRID, [], []),
        Candidates: (None, 2),
        Tally: (),
        Levels: ((7,),),
        Step: (SPLIT, (2, 2)),
        Shape: (attributes(GRID), 8),
    }
    for again in (lambda: word.__init__(*others[type(word)]), lambda: word.__setstate__([None] * len(before))):
        with pytest.raises((TypeError, LeakError)):
            again()
    assert all(getattr(word, name) is own for name, own in zip(type(word).__slots__, before))


def arrays_in(word):
    for name in type(word).__slots__:
        value = getattr(word, name, None)
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from (own[1] for own in value if isinstance(own, tuple) and isinstance(own[1], np.ndarray))


@every_word
def test_no_array_of_a_word_can_be_written_to(word):
    for own in arrays_in(word):
        if own.size:
            with pytest.raises(ValueError, match="read-only"):
                own[...] = 0
        if own.size and own.base is not None:  # memory of bytes cannot be made writable either
            with pytest.raises(ValueError, match="WRITEABLE"):
                own.setflags(write=True)


@every_word
def test_words_are_not_pickled(word):
    """Unpickling would make a word that no constructor has checked."""
    for away in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="codec"):
            away(word)


def test_an_array_is_a_copy():
    mine = np.arange(4.0)
    own = array(mine, np.float64, "Numbers")
    mine[0] = 9
    assert own.tolist() == [0, 1, 2, 3]
    assert type(own) is np.ndarray


def test_an_array_of_a_callers_own_kind_becomes_a_plain_one():
    class Sly(np.ndarray):
        def __getitem__(self, key):
            raise AssertionError("a caller's code runs")

    own = array(np.arange(4.0).view(Sly), np.float64, "Numbers")
    assert type(own) is np.ndarray
    assert own[2] == 2


@pytest.mark.parametrize("wrong", [None, "abc", [[1.0]], [1, [2]], 3.0, [1j], object()])
def test_what_is_no_list_of_numbers_is_refused(wrong):
    with pytest.raises(LeakError):
        array(wrong, np.float64, "Numbers")


@pytest.mark.parametrize("wrong", [1.0, "1", None, math.nan, 11, -1, Fraction(1)])
def test_a_whole_number_is_one_in_its_range(wrong):
    with pytest.raises(LeakError, match="A number"):
        whole(wrong, 0, 10, "A number")


def test_a_whole_number_is_an_exact_int():
    class Mine(int):
        def __lt__(self, other):
            return False

    for given in (Mine(3), np.int64(3), True + 2):
        assert type(whole(given, 0, 10, "A number")) is int
    assert whole(np.uint8(10), 0, 10, "A number") == 10


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, "x", None, [1]])
def test_a_number_is_finite(wrong):
    with pytest.raises(LeakError):
        number(wrong, "A number")


@pytest.mark.parametrize("wrong", [0.5, 1, None, "1/2"])
def test_a_fraction_is_exactly_one(wrong):
    class Mine(Fraction):
        pass

    for given in (wrong, Mine(1, 2)):
        with pytest.raises(LeakError):
            fraction(given, "An amount")
    assert fraction(Fraction(1, 2), "An amount") == Fraction(1, 2)


def test_flags_and_names_are_exact_too():
    class Name(str):
        __slots__ = ()

    for wrong in (0, 1, None, "True"):
        with pytest.raises(LeakError):
            flag(wrong, "It")
    for wrong in (Name("tally"), b"tally", None, 3):
        with pytest.raises(LeakError):
            text(wrong, "It")
    assert flag(np.True_, "It") is True


def test_a_list_is_read_once_and_holds_one_kind_exactly():
    once = iter([SPLIT, SPLIT])
    assert all_of(Split, once, "Splits") == (SPLIT, SPLIT)
    for wrong in ("splits", b"", None, 3, [SPLIT, None], [GRID]):
        with pytest.raises(LeakError):
            all_of(Split, wrong, "Splits")
    with pytest.raises(LeakError, match="must be a Grid"):
        exactly(Grid, SPLIT, "It")


def test_a_tuple_that_lies_about_its_length_is_copied_whole():
    class Short(tuple):
        def __len__(self):
            return 1

    assert len(all_of(Split, Short([SPLIT] * 3), "Splits")) == 3
