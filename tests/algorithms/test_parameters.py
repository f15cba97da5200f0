"""Parameters that make no sense are refused with a message that names them; public draws have their own seed."""

import math

import numpy as np
import pytest

from privet import PrivetError
from privet.algorithms.parameters import check_choice, check_hint, check_whole, is_number, public_generator


@pytest.mark.parametrize("value", [1, 5, np.int64(3)])
def test_whole_numbers_in_range_pass(value):
    check_whole("depth", value, 1, 5)


@pytest.mark.parametrize("value", [0, 6, 1.0, "1", True, None, math.nan])
def test_other_values_are_refused_by_name(value):
    with pytest.raises(PrivetError, match="depth must be a whole number from 1 to 5"):
        check_whole("depth", value, 1, 5)


def test_a_choice_is_one_of_the_words_and_nothing_that_only_equals_one():
    check_choice("leaves", "labels", ("labels", "counts"))
    check_choice("saving", False, (True, False))
    for value in ("LABELS", 0, None):
        with pytest.raises(PrivetError, match="must be one of"):
            check_choice("saving", value, (True, False, "labels"))


@pytest.mark.parametrize("hint", [-1, math.nan, math.inf, "many", True])
def test_a_hint_that_no_float_holds_is_refused(hint):
    with pytest.raises(PrivetError, match="n_records"):
        check_hint(hint)


def test_truth_values_are_no_numbers():
    assert [is_number(value) for value in (1, 0.5, np.float32(2), True, np.bool_(True), "1")] == [True] * 3 + [
        False
    ] * 3


def test_a_structure_seed_alone_decides_what_is_drawn():
    def draw(structure, random_state):
        return public_generator(structure, random_state).integers(2**40)

    assert draw(3, 1) == draw(3, 2) == draw(3, None)
    assert draw(None, 1) == draw(None, 1) != draw(None, 2)
    assert draw(None, None) != draw(None, None)
    assert draw(None, 1) != np.random.default_rng(1).integers(2**40)  # not the numbers that the noise is made of
