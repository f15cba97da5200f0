"""A partition follows a fit's log, and says so where it has not; what it knows is made again elsewhere."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.curators.memory import MemoryRoom
from privet.curators.partitions import (
    MOST_FITS,
    DrawnByPartition,
    Partition,
    PartitionedRoom,
    entries_for,
    table_of,
    table_words,
)
from privet.curators.records import Piece
from privet.privacy.mechanisms import mechanisms
from privet.questions.grid import public_grid
from privet.questions.levels import Levels
from privet.questions.split import Product, Split
from privet.questions.tally import Step

SCHEMA = Schema({"a": Numeric(0, 9, integer=True), "b": Numeric(0, 1)}, classes=[0, 1])
GRID = public_grid(SCHEMA)
rng = np.random.default_rng(0)
X, Y = np.column_stack([rng.integers(0, 10, 300), rng.random(300)]), rng.integers(0, 2, 300)


def remade(start, stop):
    return Partition(Piece(X[start:stop], Y[start:stop], SCHEMA), (remade, (start, stop)))


class Local:
    """Partitions in this process; one of them may forget all that it has followed."""

    persons = None
    n_persons = 300

    def __init__(self, edges=(0, 100, 100, 220, 300)):
        self.all = [remade(start, stop) for start, stop in pairwise(edges)]

    def each(self, fit, log, question):
        return [own.ask(fit, 0, entries_for(log, i), question) for i, own in enumerate(self.all)]

    def total(self, fit, log, question):
        return sum(self.each(fit, log, question))


LEFT = Split(0, bytes([0] * 4 + [1] * (GRID.features[0].n_cells - 4)))
TABLE = Product([LEFT, Split(1, bytes([0] * 9 + [1] * (GRID.features[1].n_cells - 9)))])


def walk(room, between=lambda: None):
    """All that a room may be asked, with something done between the questions."""
    room.use(GRID)
    root = room.everything(None)
    yield room.histograms([root])
    between()
    ((left, right),) = room.split([(root, LEFT)])
    parts = room.parts(right, [1, 2])
    samples = room.samples(left, 2, 3)
    copied = room.copies(left, 2)
    between()
    yield room.histograms([*parts, left, *samples, *copied])
    yield room.totals([left, right])
    room.advance([(root, Step(TABLE, [1 << 20, -(1 << 20), 5, 0], 1))])
    between()
    yield room.gradients(right, 1, [LEFT, TABLE])
    yield room.gradients_and_hessians(left, 1, [TABLE])
    again = room.anew(left, None)
    yield room.gradients_and_hessians(again, 1, [LEFT])


def test_the_sum_of_partitions_is_the_whole_also_if_one_forgets():
    expected = list(walk(MemoryRoom(Piece(X, Y, SCHEMA), mechanisms(5))))
    local = Local()

    def forget():
        local.all[2] = pickle.loads(pickle.dumps(local.all[2]))

    for between in (lambda: None, forget):
        found = list(walk(PartitionedRoom(SCHEMA, mechanisms(5), local), between))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_partition_that_has_not_followed_says_so_and_counts_nothing():
    partition = remade(0, 100)
    log = [("everything", 0), ("copies", 0, [1, 2])]
    assert partition.ask("fit", 1, log[1:], ("totals", [1])) is None
    assert partition.ask("fit", 0, log, ("totals", [1])).sum() == 100
    assert partition.ask("fit", 1, log[1:], ("totals", [2])).sum() == 100  # what it has followed is not followed twice
    assert partition.ask("other", 2, [], ("totals", [2])) is None


def test_a_partition_keeps_the_nodes_of_few_fits():
    partition, log = remade(0, 100), [("everything", 0)]
    for fit in range(MOST_FITS + 1):
        partition.ask(str(fit), 0, log, ("n_rows", 0))
    assert partition.ask("0", 1, [], ("n_rows", 0)) is None
    assert partition.ask(str(MOST_FITS), 1, [], ("n_rows", 0)) == 100


def test_each_partition_has_its_own_draws():
    log = [("parted", 0, DrawnByPartition([np.array([1]), np.array([2])]), [1, 2])]
    assert [entries_for(log, i)[0][2].tolist() for i in (0, 1)] == [[1], [2]]


@pytest.mark.parametrize("table", [LEFT, Split(0, b"\0\1", 5), TABLE, Levels([-3, 7])])
def test_tables_travel_whole(table):
    again = table_of(pickle.loads(pickle.dumps(table_words(table))))
    assert again == table
    assert again.n_children == table.n_children


def test_a_partition_shows_nothing_of_its_records():
    assert repr(remade(0, 100)) == "Partition"
