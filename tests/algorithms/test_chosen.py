"""A winner's file says what it was chosen among: in words, and only if it makes sense."""

import pytest

from privet import PrivetError
from privet.algorithms.chosen import Chosen


def test_the_winner_is_named_and_so_are_the_others():
    assert str(Chosen(("a", "b", "c"), 1)) == "A private choice took b and not a or c."
    assert str(Chosen(("a",), 0)) == "There was one candidate, a."
    assert Chosen.read(Chosen(("a", "b"), 1).to_dict()) == Chosen(("a", "b"), 1)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"candidates": [], "winner": 0},
        {"candidates": ["a"], "winner": 1},
        {"candidates": ["a"], "winner": -1},
        {"candidates": ["a", 2], "winner": 0},
        {"candidates": "a", "winner": 0},
        {"candidates": ["a"], "winner": True},
        {"candidates": ["a"], "winner": 0, "more": 1},
        {"candidates": ["a" * 10_001], "winner": 0},
    ],
)
def test_whatever_else_a_file_says_is_refused(data):
    with pytest.raises(PrivetError, match="which candidates"):
        Chosen.read(data)
