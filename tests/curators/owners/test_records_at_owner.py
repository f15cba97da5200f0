"""Nodes by number: what the asking side says is done at a desk of the owner's own, or refused."""

import numpy as np
import pytest

from exact_counts import totals
from privet import Categorical, LeakError, MemoryCurator, Numeric, Schema
from privet.curators.owners.records_at_owner import RecordsAtOwner
from privet.questions.codec import grid_words
from privet.questions.grid import public_grid

SCHEMA = Schema({"x": Numeric(0, 3, integer=True), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
X = np.array([[0, "a"], [1, "a"], [2, "b"], [3, "b"], [3, "a"]], dtype=object)
Y = ["n", "n", "y", "y", "n"]


def records():
    own = RecordsAtOwner(MemoryCurator(X, Y, SCHEMA).open())
    own.tell({"do": "grid", "features": grid_words(public_grid(SCHEMA))})
    own.tell({"do": "root", "node": 5})
    return own


def counts(own, *numbers):
    return totals(own.desk, [own.node(number) for number in numbers]).tolist()


def test_numbers_stand_for_the_records_that_released_splits_send_there():
    own = records()
    own.tell({"do": "split", "splits": [[5, 1, "0001", [7, 6]]]})
    assert counts(own, 5, 7, 6) == [[3, 2], [3, 0], [0, 2]]
    own.tell({"do": "copies", "node": 7, "children": [8, 9]})
    own.tell({"do": "parts", "node": 5, "children": [10, 11], "weights": [1, 3]})
    assert counts(own, 8, 9) == [[3, 0], [3, 0]]
    assert np.sum(counts(own, 10, 11), axis=0).tolist() == [3, 2]


def test_a_child_that_no_cell_goes_to_is_empty():
    own = records()
    own.tell({"do": "split", "splits": [[5, 1, "0001", [6, 7, 8]]]})
    assert counts(own, 8) == [[0, 0]]


@pytest.mark.parametrize(
    "message",
    [
        None,
        {"do": "root"},
        {"do": "root", "node": 5},  # taken
        {"do": "root", "node": -1},
        {"do": "root", "node": 1.5},
        {"do": "root", "node": 2**60},
        {"do": "root", "node": 6, "limit": "1"},
        {"do": "close"},
        {"do": "tally"},
        {"do": "grid", "features": [[0.5]]},
        {"do": "grid", "features": [[float("nan")], None]},
        {"do": "split", "splits": [[5, 1, "0001", [6]]]},  # a child too few
        {"do": "split", "splits": [[5, 1, "0001", [6, 6]]]},
        {"do": "split", "splits": [[5, 1, "0001", [5, 6]]]},
        {"do": "split", "splits": [[5, 1, "00", [6]]]},  # a cell too few
        {"do": "split", "splits": [[9, 1, "0001", [6, 7]]]},
        {"do": "split", "splits": [[5, 1, "0001", [6, 7]], [5, 1, "0001", [8, 9]]]},
        {"do": "split", "splits": [[5, 1, "0001", []]]},
        {"do": "split", "splits": [[5, 1, "0001", list(range(6, 400))]]},
        {"do": "split", "splits": [[5, 1, "0001"]]},
        {"do": "parts", "node": 5, "children": [6, 7], "weights": [1]},
        {"do": "parts", "node": 5, "children": [], "weights": []},
        {"do": "parts", "node": 5, "children": [6], "weights": [0]},
        {"do": "copies", "node": 9, "children": [6]},
        {"do": "copies", "node": 5, "children": [6, 6]},
        {"do": "copies", "node": 5, "children": "67"},
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(message):
    own = records()
    cells = own.desk.cells
    with pytest.raises(LeakError):
        own.tell(message)
    assert own.desk.cells is cells
    assert set(own._nodes) == {5}
