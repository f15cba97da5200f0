"""Records are checked as they are read: afterwards no grid of the schema can be refused, whatever they are."""

import math

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema, SchemaError
from privet.curators.records import Records
from privet.questions.grid import Grid, public_grid

SCHEMA = Schema(
    {"a": Numeric(0, 9, missing=True), "b": Numeric(-1, 1), "c": Categorical(["x", "y"]), "d": Categorical(range(300))},
    classes=[0, 1],
)


def frame(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.2, math.nan, rng.uniform(-3, 12, n)),
            "b": rng.normal(size=n),
            "c": rng.choice(["x", "y", "other"], n),
            "d": rng.integers(0, 310, n),
        }
    ), rng.integers(0, 2, n)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("as_frame", [False, True])
def test_bad_numbers_are_refused_before_anything_is_asked(bad, as_frame):
    X = np.array([[1.0, 2.0], [3.0, bad]])
    schema = Schema({"a": Numeric(0, 9), "b": Numeric(0, 9)}, classes=[0, 1])
    ledger = Ledger(1)
    with pytest.raises(SchemaError, match=r"'b' contains (NaN|infinity)"):
        MemoryCurator(pd.DataFrame(X, columns=["a", "b"]) if as_frame else X, [0, 1], schema, ledger=ledger)
    assert (ledger.spent, ledger.events) == (0, [])


def test_infinity_is_refused_where_values_may_be_missing():
    schema = Schema({"a": Numeric(0, 9, missing=True)}, classes=[0, 1])
    with pytest.raises(SchemaError, match="infinity"):
        Records(np.array([[math.inf], [math.nan]]), [0, 1], schema)


def test_labels_are_as_many_as_rows():
    X, y = frame()
    with pytest.raises(SchemaError):
        Records(X, y[:-1], SCHEMA)


@pytest.mark.parametrize("cuts", [[[], []], [[4.5], [0.0]], [np.linspace(0, 8, 700), [0.5]]])
def test_every_grid_of_the_schema_puts_every_record_into_one_cell(cuts):
    X, y = frame()
    grid = Grid(SCHEMA, [*cuts, None, None])
    binned = Records(X, y, SCHEMA).binned(grid)
    for f, (name, cells) in enumerate(zip("abcd", grid.features)):
        column = binned.column(f)
        assert len(column) == len(y)
        assert column.max() < cells.n_cells
        if cells.cuts is not None:
            values = X[name].to_numpy()
            expected = np.where(np.isnan(values), cells.n_cells - 1, np.searchsorted(cells.cuts, values, side="left"))
            assert column.tolist() == expected.tolist()
        else:
            listed = list(SCHEMA.features[name].values)
            assert column.tolist() == [listed.index(v) if v in listed else len(listed) for v in X[name].tolist()]


def test_the_schemas_own_grid_is_cut_once():
    X, y = frame()
    records = Records(X, y, SCHEMA)
    assert records.binned(public_grid(SCHEMA)) is records.binned(public_grid(SCHEMA))


def test_cells_are_one_byte_wide_where_that_is_enough():
    X, y = frame()
    binned = Records(X, y, SCHEMA).binned(public_grid(SCHEMA, 16))
    assert binned.narrow.features.tolist() == [0, 1, 2]
    assert binned.wide.features.tolist() == [3]
    assert [own.dtype for own in binned.cells] == [np.uint8, np.uint16]
    assert [len(block.features) for block in binned.blocks] == [3, 1]
    assert binned.place == {0: 0, 1: 1, 2: 2, 3: 3}


def test_what_the_holder_changes_afterwards_changes_no_count():
    X, y = frame()
    records = Records(X, y, SCHEMA)
    before = records.binned(public_grid(SCHEMA)).column(1).copy()
    X["b"] = 0.0
    assert records.binned(public_grid(SCHEMA)).column(1).tolist() == before.tolist()
