"""Owners elsewhere: nodes are numbers that no other node of the run has, and what owners are told are words."""

import json
import math
from itertools import count

import pytest

from privet import CapabilityError, Categorical, LeakError, Ledger, Numeric, Schema
from privet.curators.desk import Desk
from privet.curators.federated import FederatedRoom
from privet.curators.memory import MemoryCurator
from privet.curators.mpc import MpcRoom
from privet.curators.owners.records_at_owner import RecordsAtOwner
from privet.curators.remote import RemoteRoom
from privet.questions.grid import public_grid
from privet.questions.split import Split
from privet.questions.tally import Tally

SCHEMA = Schema({"x": Numeric(0, 3, integer=True), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
GRID = public_grid(SCHEMA)


class Telling(RemoteRoom):
    """Notes what owners would be told."""

    noises = {"epsilon": "geometric"}  # noqa: RUF012

    def __init__(self, numbers):
        super().__init__(SCHEMA, numbers)
        self.told = []

    def tell(self, do, **what):
        self.told.append(json.loads(json.dumps({"do": do, **what})))


def desk_of(numbers=None):
    room = Telling(numbers or count())
    return Desk(SCHEMA, Ledger(math.inf), room, trust="the owners"), room


def grown(desk):
    desk.grid(GRID)
    root = desk.root()
    left, right = desk.split({root: Split(1, bytes([0, 1]))})[root]
    desk.parts(left, [1, 2])
    desk.copies(right, 2)
    desk.split({left: Split(0, bytes([0, 0, 1, 1])), right: Split(0, bytes([0, 1, 2, 0]), 4)})
    return root, left, right


def test_every_node_has_a_number_of_its_own_also_in_the_next_fit():
    numbers, told = count(), []
    for _ in range(2):
        desk, room = desk_of(numbers)
        grown(desk)
        told += room.told
    new = [node for words in told if words["do"] == "root" for node in [words["node"]]]
    new += [node for words in told for node in words.get("children", [])]
    new += [node for words in told for split in words.get("splits", []) for node in split[3]]
    assert sorted(new) == list(range(2 * (1 + 2 + 2 + 2 + 2 + 4)))


def test_what_owners_are_told_they_can_do():
    """The other end does all of it, and has the same nodes."""
    desk, room = desk_of()
    grown(desk)
    X = [[0, "a"], [1, "b"], [3, "b"]]
    own = RecordsAtOwner(MemoryCurator(X, ["n", "y", "y"], SCHEMA).open())
    for words in room.told:
        own.tell(words)
    assert set(own._nodes) == {place.held.number for place in desk._nodes._places.values()} | set(range(13))
    assert own.desk.cells == GRID


def test_owners_part_their_records_before_a_fit_as_they_are_told():
    desk, room = desk_of()
    desk.learning, scoring = desk.parts(desk.gather(), [4, 1])
    desk.root(), desk.root(within=scoring)
    own = RecordsAtOwner(MemoryCurator([[0, "a"]], ["n"], SCHEMA).open())
    for words in room.told:
        own.tell(words)
    paths = [own.desk.path(own.node(number)) for number in range(5)]
    assert paths == [
        "/fit0:0",
        "/fit0:0/parts0:0",
        "/fit0:0/parts0:1",
        "/fit0:0/parts0:0/fit0:0",
        "/fit0:0/parts0:1/fit0:0",
    ]


def test_a_refused_call_tells_nobody_anything():
    desk, room = desk_of()
    root, left, _ = grown(desk)
    before = list(room.told)
    for ask in (
        lambda: desk.split({left: Split(0, bytes(3))}),
        lambda: desk.split({root: Split(1, bytes(2)), left: None}),
        lambda: desk.parts(left, 0),
        lambda: desk.copies(left, -1),
        lambda: desk.grid(None),
    ):
        with pytest.raises(LeakError):
            ask()
    assert room.told == before


def test_what_a_room_does_not_implement_it_cannot_do():
    desk, _ = desk_of()
    assert desk.capabilities == {"parts", "copies"}
    with pytest.raises(CapabilityError):
        desk.tally({desk.root(): Tally()}, None)
    assert (
        not {"peek", "quantiles", "choose", "samples"}
        & Desk(
            SCHEMA, Ledger(1), type("Empty", (FederatedRoom,), {"__init__": lambda self: None})(), trust=""
        ).capabilities
    )
    assert not hasattr(MpcRoom, "peek")
