"""Tables of every kind are edited alike."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet.errors import PrivetError
from privet.robustness.attacks.table_edits import joined, mosaic, numbers_of, overwritten, rows_of

DATA = {"i": [1, 2, 3], "s": ["a", "b", "c"]}
TABLES = {"pandas": pd.DataFrame(DATA), "polars": pl.DataFrame(DATA), "arrow": pa.table(DATA)}


def plain(table):
    return {name: list(pa.table(table)[name].to_pylist()) for name in DATA}


@pytest.mark.parametrize("kind", TABLES)
def test_frames(kind):
    table = TABLES[kind]
    assert plain(_arrow(rows_of(table, np.array([2, 0])))) == {"i": [3, 1], "s": ["c", "a"]}
    assert type(rows_of(table, np.array([0]))) is type(table)
    assert plain(_arrow(joined(table, rows_of(table, np.array([1])))))["i"] == [1, 2, 3, 2]
    assert plain(_arrow(overwritten(table, {"i": 9, "s": "z"}))) == {"i": [9] * 3, "s": ["z"] * 3}
    mixed = mosaic(table, np.array([[2, 0], [0, 1], [0, 0]]))
    assert (plain(_arrow(mixed)), type(mixed)) == ({"i": [3, 1, 1], "s": ["a", "b", "a"]}, type(table))
    assert plain(_arrow(joined(table, mosaic(table, np.empty((0, 2), dtype=int))))) == DATA
    assert plain(_arrow(table)) == DATA


def _arrow(table):
    return {name: list(table[name].to_pylist() if isinstance(table, pa.Table) else table[name]) for name in DATA}


def test_arrays():
    X = np.arange(6.0).reshape(3, 2)
    assert rows_of(X, np.array([2])).tolist() == [[4, 5]]
    assert joined(X, X[:1]).shape == (4, 2)
    assert overwritten(X, {0: 7}).tolist() == [[7, 1], [7, 3], [7, 5]]
    assert mosaic(X, np.array([[2, 0], [1, 1]])).tolist() == [[4, 1], [2, 3]]
    assert X[0, 0] == 0


@pytest.mark.parametrize("table", [TABLES["pandas"], np.zeros((2, 2))])
def test_a_column_that_is_not_there_is_named(table):
    with pytest.raises(PrivetError, match="'nowhere'"):
        overwritten(table, {"nowhere": 1})


def test_everything_becomes_a_number():
    assert numbers_of(TABLES["polars"]).tolist() == [[1, 0], [2, 1], [3, 2]]
    assert numbers_of(np.array([["b", 1], ["a", 2]], dtype=object)).tolist() == [[1, 0], [0, 1]]
    assert numbers_of(np.array([[0.5], [2.0]])).tolist() == [[0.5], [2.0]]
