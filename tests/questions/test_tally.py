"""What is asked for, and what boosting adds: said exactly, or not at all."""

import numpy as np
import pytest

from privet import LeakError
from privet.questions.levels import Levels
from privet.questions.split import Split
from privet.questions.tally import LARGEST_STEP, MEASURES, Step, Tally

HALVES = Split(0, bytes([0, 0, 1]))


def test_a_tally_asks_for_class_counts_of_the_node_itself_by_default():
    assert Tally() == Tally(tables=(), by_class=True, measure="records", output=0)


def test_a_tally_is_asked_by_its_tables_or_by_its_levels():
    levels = Levels((1, 2))
    assert Tally().parted_by == ()
    assert Tally((HALVES,)).parted_by == (HALVES,)
    assert [own.n_children for own in Tally(measure="residual", levels=levels).parted_by] == [3]


@pytest.mark.parametrize(
    "wrong",
    [
        {"tables": HALVES},
        {"tables": "ab"},
        {"tables": (HALVES, None)},
        {"tables": [(0, bytes(3))]},
        {"by_class": 1},
        {"measure": "pay"},
        {"measure": None},
        {"output": -1},
        {"output": 1.0},
        {"clamp": 0},
        {"clamp": 2**16 + 1},
        {"levels": Levels((1,))},
        {"levels": (1,), "measure": "residual"},
        {"levels": Levels((1,)), "measure": "residual", "tables": (HALVES,)},
    ],
)
def test_what_is_no_tally_cannot_be_made(wrong):
    with pytest.raises(LeakError):
        Tally(**wrong)


def test_an_unknown_measure_is_refused_with_those_that_there_are():
    with pytest.raises(LeakError, match=f"one of {', '.join(MEASURES)}, not 'pay'"):
        Tally(measure="pay")


def test_tables_are_read_once():
    assert Tally(HALVES for _ in range(3)).tables == (HALVES,) * 3


@pytest.mark.parametrize(
    ("values", "output"),
    [((1,), 0), ((1, 2, 3), 0), ((1, 2.5), 0), ((1, 2**40), 0), ((1, -LARGEST_STEP - 1), 0), ((1, 2), -1)],
)
def test_a_step_has_a_whole_number_for_each_part_that_fits(values, output):
    with pytest.raises(LeakError):
        Step(HALVES, values, output)
    assert Step(HALVES, np.array([1, -LARGEST_STEP])).values == (1, -LARGEST_STEP)


def test_a_step_is_of_a_split():
    with pytest.raises(LeakError):
        Step((0, bytes(2)), (1,))
