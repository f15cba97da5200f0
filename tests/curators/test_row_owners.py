"""What the price of forests rests on: every record in one part, samples of the rate that is paid for, fresh draws.

Counts of independent chances are compared with the exact binomial law: a false alarm is rarer than 1e-7 in each test.
"""

import numpy as np
import pytest
from scipy.stats import binom

from hidden_programs import SCHEMA, horizontally, on_shares, table, vertically
from privet.curators.owners.mpc_owner import query_cells
from privet.curators.row_owners import RowOwners
from privet.errors import PrivetError, SchemaError
from privet.questions.grid import public_grid
from privet.schema import Numeric, Schema

N, ROWS = 1500, 800  # records of two owners, and rows that each of them fills up to
GROUPS = (("age", "sex"), ("size", "colour"))
ONE_TEST = 1e-9  # of at most a hundred in each of the tests below


def as_often_as(count, n, rate):
    """Whether so many of n independent chances is what is to be expected."""
    return binom.ppf(ONE_TEST / 2, n, rate) <= count <= binom.isf(ONE_TEST / 2, n, rate)


def opened(held, ask):
    """Tables that owners draw, without the rows that are no records."""
    X, y = table(N)

    def program(curator, engine):
        return [engine.open(drawn) for drawn in ask(curator.open()._room._owners)]

    if held == "horizontally":
        tables = on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=ROWS)[0]
        real = np.tile(np.arange(ROWS) < N // 2, 2)
    else:
        columns = [(group, i == 0) for i, group in enumerate(GROUPS)]
        owners = vertically(X, y, SCHEMA, GROUPS)
        tables = on_shares(program, owners, SCHEMA, most_records=2 * ROWS, columns=columns)[0]
        real = np.arange(2 * ROWS) < N
    assert real.sum() == N
    assert all((drawn[:, ~real] == 0).all() for drawn in tables)
    assert all(set(np.unique(drawn)) == {0, 1} for drawn in tables)
    return [drawn[:, real] for drawn in tables]


@pytest.mark.parametrize("held", ["horizontally", "vertically"])
@pytest.mark.parametrize("n", [2, 5])
def test_every_record_is_in_one_part_drawn_evenly_and_for_itself(held, n):
    first, second = opened(held, lambda owners: [owners.parts([1] * n), owners.parts([1] * n)])
    for drawn in (first, second):
        assert drawn.shape == (n, N)
        assert (drawn.sum(axis=0) == 1).all()
        assert all(as_often_as(count, N, 1 / n) for count in drawn.sum(axis=1))
        part = drawn.argmax(axis=0)
        for apart in (1, 2, n, N // 2):  # of independent even draws, neighbours are alike as often as any two
            assert as_often_as((part[apart:] == part[:-apart]).sum(), N - apart, 1 / n)
    assert as_often_as((first.argmax(axis=0) == second.argmax(axis=0)).sum(), N, 1 / n)


@pytest.mark.parametrize("n", [2, 5])
def test_samples_have_the_rate_that_is_paid_for_and_are_independent(n):
    first, second = opened("horizontally", lambda owners: [owners.samples(3, n), owners.samples(3, n)])
    samples = [*first, *second]
    assert first.shape == (3, N)
    for i, sample in enumerate(samples):
        assert as_often_as(sample.sum(), N, 1 / n)
        for other in samples[:i]:
            assert as_often_as((sample & other).sum(), N, 1 / n**2)
        for apart in (1, 2, N // 2):  # both of two records: every second pair, so that the pairs share no record
            starts = np.arange(0, N - apart)
            starts = starts[starts // apart % 2 == 0]
            assert as_often_as((sample[starts] & sample[starts + apart]).sum(), len(starts), 1 / n**2)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([(("age", "sex"), True), (("size",), False)], "held by exactly one owner"),
        ([(("age", "sex", "size"), True), (("size", "colour"), False)], "held by exactly one owner"),
        ([(("age", "sex"), True), (("size", "colour"), True)], "one owner holds the labels"),
        ([(("age", "sex"), False), (("size", "colour"), False)], "one owner holds the labels"),
    ],
)
def test_every_column_has_one_owner(columns, message):
    X, y = table(20)
    owners = vertically(X, y, SCHEMA, (("age", "sex"), ("size", "colour")))
    with pytest.raises(PrivetError, match=message):
        on_shares(lambda curator, engine: None, owners, SCHEMA, most_records=30, columns=columns)


@pytest.mark.parametrize("held", ["horizontally", "vertically"])
def test_rows_are_those_of_all_owners_and_zeros(held):
    X, y = table(20)
    grid = public_grid(SCHEMA, 4)

    def program(curator, engine):
        return [engine.open(part) for part in curator.open()._room._owners.rows(grid)[:2]]

    if held == "horizontally":
        owners = horizontally(X, y, SCHEMA, 2)
        cells, classes = on_shares(program, owners, SCHEMA, most_records=15)[0]
        real = np.tile(np.arange(15) < 10, 2)
    else:
        columns = [(group, i == 0) for i, group in enumerate(GROUPS)]
        owners = vertically(X, y, SCHEMA, GROUPS)
        cells, classes = on_shares(program, owners, SCHEMA, most_records=30, columns=columns)[0]
        real = np.arange(30) < 20
    assert (cells[:, real] == query_cells(X, SCHEMA, grid)).all()
    assert [SCHEMA.classes[i] for i in classes[:, real].argmax(axis=0)] == y.tolist()
    assert (classes[:, real].sum(axis=0) == 1).all()
    assert not cells[:, ~real].any()
    assert not classes[:, ~real].any()


def test_owners_of_columns_hold_no_whole_persons_and_are_refused_before_anything_is_shared():
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1], person="who")
    with pytest.raises(SchemaError, match="whole ones"):
        RowOwners(None, [object()], schema, 10, [(("x",), True)])
