"""Parameters that make no sense are refused with a message that names them; public draws have their own seed."""

import math
from dataclasses import dataclass, fields

import numpy as np
import pytest

from privet import PrivetError
from privet.algorithms.parameters import (
    check_choice,
    check_hint,
    check_parameters,
    check_share,
    check_whole,
    choice,
    fraction,
    hint,
    is_number,
    public_generator,
    whole,
)


@dataclass
class Parameters:
    depth: int = whole(4, 1, 5)
    seed: int | None = whole(None, 0)
    leaves: str = choice("labels", "counts")
    share: float = fraction(0.5)
    n_records: int | None = hint()
    anything: object = None


def test_parameters_pass_as_they_come_and_keep_their_defaults():
    check_parameters(Parameters())
    check_parameters(Parameters(depth=5, seed=0, leaves="counts", share=0.9, n_records=10**6, anything=[]))
    assert [own.default for own in fields(Parameters)] == [4, None, "labels", 0.5, None, None]


@pytest.mark.parametrize(
    ("name", "value"),
    [("depth", 6), ("depth", None), ("seed", -1), ("leaves", None), ("share", 1.0), ("share", True), ("n_records", -1)],
)
def test_a_parameter_that_may_not_have_its_value_is_refused_by_name(name, value):
    with pytest.raises(PrivetError, match=name):
        check_parameters(Parameters(**{name: value}))


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
        check_hint("n_records", hint)


def test_a_share_is_at_least_0_and_below_a_half():
    check_share("min_leaf", 0)
    check_share("min_leaf", 0.49)
    for share in (-0.01, 0.5, math.nan, True, "0.1"):
        with pytest.raises(PrivetError, match="min_leaf"):
            check_share("min_leaf", share)


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
