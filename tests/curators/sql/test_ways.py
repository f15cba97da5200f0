"""Which node a record is in: every record in the one that its path says, and overlapping nodes kept apart."""

import itertools

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from privet import Numeric, Schema
from privet.curators.sql.columns import Cell
from privet.curators.sql.ways import Route, SqlHeld, Way, among, routes_of
from privet.questions.grid import public_grid
from privet.questions.split import Split

SCHEMA = Schema({"a": Numeric(0, 3, integer=True), "b": Numeric(0, 3, integer=True)}, classes=["n", "y"], label="l")
GRID = public_grid(SCHEMA)


def children(held, feature, part):
    split = Split(feature, bytes(part), 2)
    way = Way.by_split(Cell(GRID, feature), split)
    return [SqlHeld(held, way, i) for i in range(2)]


def evaluated(expression):
    sql = exp.select("a", "b", exp.alias_(expression, "k")).from_("t").sql(dialect="duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT x.range AS a, y.range AS b FROM range(4) x, range(4) y")
        return {(a, b): k for a, b, k in connection.execute(sql).fetchall()}


@pytest.mark.parametrize("wanted", list(itertools.product([False, True], repeat=5)))
def test_stretches_of_cells_are_exactly_those_that_are_wanted(wanted):
    sql = exp.select("c").from_("t").where(among(exp.column("c"), np.array(wanted))).sql(dialect="duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS c FROM range(5)")
        found = {c for (c,) in connection.execute(sql).fetchall()}
    assert found == set(np.flatnonzero(wanted))


def test_each_record_has_the_number_of_its_node():
    left, right = children(SqlHeld(), 0, [0, 0, 1, 0])
    low, high = children(left, 1, [1, 0, 0, 1])
    route = Route()
    assert all(route.takes(node) for node in (high, right))
    numbers = evaluated(route.expression(lambda cell: exp.column("ab"[cell.feature])))
    for (a, b), number in numbers.items():
        assert number == (1 if a == 2 else 0 if b in (0, 3) else None)
    assert not route.takes(left)
    assert not route.takes(high)
    assert route.takes(low)


def test_nodes_that_overlap_are_numbered_apart():
    root = SqlHeld()
    one, other = SqlHeld(root), SqlHeld(root)
    left, right = children(root, 0, [0, 1, 1, 1])
    again = children(root, 1, [0, 1, 1, 1])
    routes = list(routes_of([root, one, other, left, right, again[0], SqlHeld(), left]))
    assert [len(route.nodes) for route in routes] == [1, 1, 1, 2, 1, 1]
