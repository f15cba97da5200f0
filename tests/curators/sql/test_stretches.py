"""A number that is looked up has the cell that comparisons give it, to the last bit."""

import numpy as np
import pytest
from sqlglot import exp

import databases
from privet import Numeric, Schema
from privet.curators.sql.columns import Cell
from privet.curators.sql.database import open_database
from privet.curators.sql.expressions import inside, named, selected, table_named
from privet.curators.sql.stretches import Stretches
from privet.questions.grid import Grid, numeric_cuts

RANGES = [(-5.0, 5.0), (0.1, 0.3), (-1e308, 7e307), (1e-310, 3e-310), (0.0, 1e6), (-3.0, -1e-9)]


def looked_up(database, stretches, own, values):
    """The cells of numbers, in their order; the last one is NULL."""
    given = ", ".join(f"({i}, CAST('{value!r}' AS DOUBLE))" for i, value in enumerate(values.tolist()))
    database.run(f"CREATE OR REPLACE TEMPORARY TABLE given AS FROM (VALUES {given}, ({len(values)}, NULL)) AS v(i, x)")
    x = exp.column("x")
    query = selected([exp.column("i"), named(stretches.cell(own, x), "cell")], table_named("given"))
    found = stretches.joined(query, {own: x})
    return database.numbers(selected([exp.column("i"), exp.column("cell")], inside(found, "found")).order_by("i"))


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("most", [20, 127, 254])
def test_every_number_has_the_cell_that_comparisons_give_it(low, high, most):
    schema = Schema({"x": Numeric(low, high)}, classes=[0, 1], label="y")
    cuts = np.linspace(low, high, most + 2)[1:-1] if high - low < np.inf else numeric_cuts(Numeric(low, high), most)
    rng = np.random.default_rng(most)
    for points in (cuts, np.unique(rng.uniform(low, high, most))):
        own = Cell(Grid(schema, [points]), 0)
        database = open_database(databases.connect("duckdb"))
        stretches = Stretches(database, {own: points})
        if own not in stretches:
            continue
        near = np.concatenate([points, np.nextafter(points, -np.inf), np.nextafter(points, np.inf)])
        ends = np.array([low, high, 0.0, 1.7e308, -1.7e308, 5e-324])
        values = np.concatenate([near, ends, rng.uniform(low, high, 500)])
        stretches.keep()
        found = looked_up(database, stretches, own, values)
        assert len(found) == len(values) + 1  # nothing is lost, NULL neither
        assert np.array_equal(found[:-1, 1], np.searchsorted(points, values))
        stretches.drop()


def test_cuts_that_crowd_are_compared_and_features_with_the_same_cuts_share_a_table():
    schema = Schema({name: Numeric(0, 1) for name in "abc"}, classes=[0, 1], label="y")
    even, crowded = np.arange(1, 100) / 100, np.append(0.1, 0.5 + np.arange(100) * 1e-9)
    grid = Grid(schema, [even, crowded, even])
    database = open_database(databases.connect("duckdb"))
    stretches = Stretches(database, {Cell(grid, f): grid.features[f].cuts for f in range(3)})
    assert [Cell(grid, f) in stretches for f in range(3)] == [True, False, True]
    stretches.keep()
    assert len(stretches._tables) == 1
