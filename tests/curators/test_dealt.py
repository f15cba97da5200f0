"""What owners and users deal is what it should be, or the run ends before it is used."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hidden_programs import on_shares
from in_threads import run_threads
from privet import Categorical, HiddenForestClassifier, HiddenTreeClassifier, Numeric, Schema
from privet.curators.owners.mpc_owner import ColumnOwner, Owner
from privet.curators.row_owners import check_parts, check_queries, check_rows, check_samples
from privet.errors import LeakError, MpcError
from privet.questions.grid import even_grid
from privet.shares.deal import deal

SCHEMA = Schema({"x": Numeric(0, 1), "town": Categorical(["a", "b"], other=False)}, classes=[0, 1])
GRID = even_grid(SCHEMA, 3)
RINGS = {32: np.uint32, 64: np.uint64}


def dealt(check, *tables, ring_bits=64, change=lambda shares: shares):
    """Run a check on three servers; ``change`` is what a dealer does to the shares of the first table."""
    shares = [deal(np.asarray(table), RINGS[ring_bits]) for table in tables]
    shares[0] = change(shares[0])

    def program(engine):
        check(engine, *(engine.receive(own[engine.party]) for own in shares))

    run_threads(program, ring_bits=ring_bits)


def rows(*places):
    """Columns with a 1 at each of the places."""
    table = np.zeros((GRID.n_cells, len(places)), dtype=np.int64)
    for column, own in enumerate(places):
        table[list(own), column] = 1
    return table


def queries(engine, cells):
    check_queries(engine, cells, GRID)


def whole_rows(engine, cells, classes, digits=None):
    check_rows(engine, cells, classes, GRID, digits)


GOOD = rows((0, 3), (2, 4))


@pytest.mark.parametrize("ring_bits", RINGS)
def test_rows_pass_and_rows_that_fill_up(ring_bits):
    dealt(queries, GOOD, ring_bits=ring_bits)
    dealt(whole_rows, rows((0, 3), (2, 4), ()), [[1, 0, 0], [0, 1, 0]], ring_bits=ring_bits)


@pytest.mark.parametrize("ring_bits", RINGS)
@pytest.mark.parametrize(
    "table",
    [
        rows((0, 1), (2, 4)),  # two of one feature, none of the other
        rows((0, 3), (2,)),
        rows((0, 3), ()),
        GOOD * 2,
        GOOD - 2 * rows((0,), ()),  # -1
        GOOD + np.array([[1], [-1], [0], [0], [0]]),  # the sums are right
        np.array([[3**i] for i in range(5)]),
    ],
)
def test_whatever_else_a_user_asks_ends_the_run(table, ring_bits):
    with pytest.raises(MpcError, match="not a row"):
        dealt(queries, table, ring_bits=ring_bits)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1).filter(lambda x: x > 1))
def test_no_number_but_0_and_1_passes_modulo_a_power_of_two(number):
    with pytest.raises(MpcError):
        dealt(check_samples, np.array([[number]]), ring_bits=32)


def test_the_topmost_digit_alone_does_not_pass():
    for ring_bits in RINGS:
        with pytest.raises(MpcError):
            dealt(check_samples, np.array([[-(2 ** (ring_bits - 1))]]), ring_bits=ring_bits)


@pytest.mark.parametrize("server", range(3))
@pytest.mark.parametrize("which", range(2))
def test_a_share_that_two_servers_hold_must_be_the_same(server, which):
    """Added to one holder's copy alone, a number is there for some products and not for others."""

    def twice(shares):
        changed = [own.copy() for own in shares]
        changed[server][which][0, 0] += 1
        return changed

    with pytest.raises(MpcError):
        dealt(queries, GOOD, change=twice)


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (rows((0, 3)), [[0], [0]]),  # no class
        (rows((0, 3)), [[1], [1]]),
        (rows(()), [[1], [0]]),  # a class and nothing else
        (rows((0, 3)) * 276, [[276], [0]]),
        (rows((0,)), [[1], [0]]),
    ],
)
def test_whatever_else_an_owner_shares_ends_the_run(cells, classes):
    with pytest.raises(MpcError, match="not rows"):
        dealt(whole_rows, cells, classes)


def test_weights_are_shared_digit_by_digit_and_each_digit_is_0_or_1():
    dealt(whole_rows, rows((0, 3), ()), [[1, 0], [0, 0]], [[0, 0], [1, 0]])
    for digits in ([[2, 0], [0, 0]], [[0, 0], [-1, 0]], [[0, 0], [0, 276]]):
        with pytest.raises(MpcError, match="not rows"):
            dealt(whole_rows, rows((0, 3), ()), [[1, 0], [0, 0]], digits)


def test_a_record_is_in_one_part_and_in_a_sample_or_not():
    dealt(check_parts, [[1, 0, 0], [0, 1, 0]])
    dealt(check_samples, [[1, 0, 0], [1, 1, 0]])
    for check, table in ((check_parts, [[1], [1]]), (check_parts, [[2], [-1]]), (check_samples, [[2], [0]])):
        with pytest.raises(MpcError, match="which part"):
            dealt(check, table)


def test_mpyc_checks_the_same():
    pytest.importorskip("mpyc")
    from mpyc_engine import MpycEngine

    engine = MpycEngine.alone()
    check_queries(engine, engine.constant(GOOD), GRID)
    with pytest.raises(MpcError, match="not a row"):
        check_queries(engine, engine.constant(GOOD * 2), GRID)


def records(n):
    rng = np.random.default_rng(n)
    X = np.empty((n, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.random(n), rng.choice(["a", "b"], n)
    return X, rng.integers(0, 2, n)


class Heavy(Owner):
    """One record counts 276 times."""

    def _rows(self, records):
        whole = super()._rows(records).astype(np.int64)
        whole[:, 0] *= 276
        return whole


def grow(model):
    return lambda curator, engine: model.fit_curator(curator).privacy_.spent


@pytest.mark.parametrize("kind", [Owner, Heavy])
def test_an_owner_whose_record_is_heavier_is_stopped_before_anything_is_asked(kind):
    def run():
        owners = [Owner(*records(30), SCHEMA), kind(*records(20), SCHEMA)]
        return on_shares(grow(HiddenTreeClassifier(epsilon=1, max_depth=1)), owners, SCHEMA, most_records=40)

    if kind is Owner:
        assert run() == [1, 1, 1]
    else:
        with pytest.raises(MpcError, match="not rows"):
            run()


COLUMNS = [(["x"], True), (["town"], False)]


def test_owners_of_columns_need_the_same_number_of_records():
    (X, y), (other, _) = records(30), records(25)
    owners = [ColumnOwner(X[:, :1], y, SCHEMA, ["x"]), ColumnOwner(other[:, 1:], None, SCHEMA, ["town"])]
    model = HiddenTreeClassifier(epsilon=1, max_depth=1)
    with pytest.raises(MpcError, match="same number of records"):
        on_shares(grow(model), owners, SCHEMA, most_records=40, columns=COLUMNS)


def test_owners_of_columns_do_not_sample():
    X, y = records(30)
    owners = [ColumnOwner(X[:, :1], y, SCHEMA, ["x"]), ColumnOwner(X[:, 1:], None, SCHEMA, ["town"])]
    model = HiddenForestClassifier(epsilon=1, max_depth=1, n_trees=2, sampling="poisson")
    with pytest.raises(LeakError, match="sampling='parts'"):
        on_shares(grow(model), owners, SCHEMA, most_records=40, columns=COLUMNS)
