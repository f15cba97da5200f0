"""Levels are a word: increasing whole numbers, and few enough parts for a byte."""

import pytest

from privet import LeakError
from privet.questions.levels import LARGEST_LEVEL, Levels


def test_levels_part_by_one_more_than_their_cuts():
    assert Levels([-3, 0, 12]).cuts == (-3, 0, 12)
    assert Levels([-3, 0, 12]).n_children == 4
    assert Levels(()).n_children == 1


@pytest.mark.parametrize("cuts", [(1, 1), (2, 1), (0.5,), ("1",), (LARGEST_LEVEL + 1,), range(256)])
def test_what_are_no_levels_cannot_be_made(cuts):
    with pytest.raises(LeakError):
        Levels(cuts)
