"""What the price of forests rests on: every record in one part, samples of the rate that is paid for, fresh draws.

Counts of independent chances are compared with the exact binomial law: a false alarm is rarer than 1e-7 in each test.
"""

import numpy as np
import pytest
from scipy.stats import binom

from hidden_programs import SCHEMA, horizontally, on_shares, table, vertically

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
    first, second = opened(held, lambda owners: [owners.parts(n), owners.parts(n)])
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


def test_curators_use_what_was_drawn_and_nothing_else():
    """The nodes of a forest's trees have the records that owners drew for them, and no others."""
    X, y = table(100)

    def program(curator, engine):
        desk, drawn = curator.open(), []
        for asked in ("parts", "samples"):
            ask = getattr(desk._room._owners, asked)

            def noted(*what, ask=ask):
                drawn.append(ask(*what))
                return drawn[-1]

            setattr(desk._room._owners, asked, noted)
        root = desk.root()
        parts, samples = desk.parts(root, 3), desk.samples(root, 2, 4)
        return [
            (engine.open(desk._room._members([desk.held(node) for node in nodes])), engine.open(table))
            for nodes, table in ((parts, drawn[0]), (samples, drawn[1]))
        ]

    for members, drawn in on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=60)[0]:
        assert (members == drawn).all()
