"""Records of files are those of memory, cell by cell, whatever the stretches that they are read in."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import Categorical, Numeric, Schema, SchemaError
from privet.curators.file_records import FileRecords, Whose, as_matrix, each_stretch
from privet.curators.records import Records
from privet.curators.scratch import Scratch
from privet.questions.grid import Grid, even_grid
from privet.tables import files as reading
from privet.tables.files import Files

SCHEMA = Schema(
    {"a": Numeric(0, 9, missing=True), "b": Numeric(-1, 1), "c": Categorical(["x", "y"]), "d": Categorical(range(300))},
    classes=[0, 1],
    label="out",
    person="who",
    records_per_person=2,
)
ROWS = Schema(SCHEMA.features, classes=[0, 1], label="out")


def frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.2, math.nan, rng.uniform(-3, 12, n)),
            "b": rng.normal(size=n),
            "c": rng.choice(["x", "y", "other"], n),
            "d": rng.integers(0, 310, n),
            "who": rng.integers(0, n // 3, n).astype(str),
            "out": rng.integers(0, 2, n),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "STRETCH", 64)
    monkeypatch.setattr("privet.curators.file_records.FEW", 0)
    data = frame()
    data[:150].to_parquet(tmp_path / "1.parquet", row_group_size=50)
    data[150:].to_csv(tmp_path / "2.csv", index=False)
    return tmp_path


def read(where, schema, generator=None):
    files = Files(where, schema)
    return FileRecords(files, Scratch(where / "cache"), Whose(files, generator))


@pytest.mark.parametrize("schema", [ROWS, SCHEMA], ids=["rows", "persons"])
def test_cells_labels_and_weights_are_those_of_memory(folder, schema):
    data = frame()
    memory = Records(data, data["out"], schema, None, np.random.default_rng(3))
    files = read(folder, schema, np.random.default_rng(3))
    assert (files.n, files.n_persons) == (memory.n, memory.n_persons)
    for grid in (Grid(schema, [[4.5], [0.0], None, None]), even_grid(schema, 500), None):
        ours, theirs = (own.own if grid is None else own.binned(grid) for own in (files, memory))
        for f in range(4):
            np.testing.assert_array_equal(ours.column(f), theirs.column(f))
        if grid is not None:
            np.testing.assert_array_equal(files.cells(grid, [3, 0]), memory.cells(grid, [3, 0]))
    np.testing.assert_array_equal(files.labels, memory.labels)
    for name in ("weights", "persons"):
        np.testing.assert_array_equal(getattr(files, name), getattr(memory, name))


def test_targets_are_read_too(tmp_path):
    data = frame()
    schema = Schema({"b": Numeric(-1, 1)}, target=(0, 0.5), label="a")
    data = data.fillna({"a": 0.25})
    data.to_parquet(tmp_path / "t.parquet")
    records = read(tmp_path, schema)
    np.testing.assert_array_equal(records.targets, np.clip(data["a"], 0, 0.5))


def test_the_first_stretch_that_is_wrong_raises(folder):
    files = Files(folder, ROWS)

    def work(stretch):
        if stretch.start >= 100:
            raise SchemaError(str(stretch.start))

    wrong = [stretch.start for stretch in files.stretches if stretch.start >= 100]
    with pytest.raises(SchemaError, match=str(wrong[0])):
        list(each_stretch(files, False, work))


def test_plain_numbers_are_one_matrix_and_nothing_else_is():
    numbers = Schema({"a": Numeric(0, 9, missing=True), "b": Numeric(0, 9)}, classes=[0, 1])
    table = pa.table({"b": pa.array([1, 2], pa.uint8()), "a": pa.array([0.5, None], pa.float32())})
    np.testing.assert_array_equal(as_matrix(table, numbers), [[0.5, 1], [np.nan, 2]])
    for other in (["1", "2"], [True, False], pa.array([1, 2], pa.decimal128(3))):
        assert as_matrix(table.set_column(0, "b", pa.array(other)), numbers) is None
    assert as_matrix(table, Schema({"a": Numeric(0, 9), "b": Categorical([1, 2])}, classes=[0, 1])) is None


def test_hostile_column_names_are_columns(tmp_path):
    names = ["a.b", 'q"uote', "new\nline", "ünï", "a", "drop table x;--", " "]
    schema = Schema(dict.fromkeys(names, Numeric(0, 1)), classes=[0, 1], label="l.a.b")
    rng = np.random.default_rng(0)
    data = {name: rng.random(50) for name in names} | {"l.a.b": rng.integers(0, 2, 50)}
    pq.write_table(pa.table(data), tmp_path / "t.parquet")
    records = read(tmp_path, schema)
    memory = Records(pd.DataFrame(data), data["l.a.b"], schema)
    for f in range(len(names)):
        np.testing.assert_array_equal(records.own.column(f), memory.own.column(f))
