"""Records in files are checked as they are read, counted as in memory, and never all in memory."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import Categorical, FileCurator, Ledger, MemoryCurator, Numeric, PrivateTreeClassifier, Schema, SchemaError
from privet.curators.files import FileRecords, curator_of
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
    monkeypatch.setattr("privet.curators.files.FEW", 0)
    data = frame()
    data[:150].to_parquet(tmp_path / "1.parquet", row_group_size=50)
    data[150:].to_csv(tmp_path / "2.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("schema", [ROWS, SCHEMA], ids=["rows", "persons"])
def test_cells_labels_and_weights_are_those_of_memory(folder, schema):
    data = frame()
    memory = Records(data, data["out"], schema, None, np.random.default_rng(3))
    files = FileRecords(Files(folder, schema), Scratch(folder / "cache"), np.random.default_rng(3))
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
    records = FileRecords(Files(tmp_path, schema), Scratch(tmp_path))
    np.testing.assert_array_equal(records.targets, np.clip(data["a"], 0, 0.5))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("b", math.nan, "'b' contains NaN"),
        ("a", math.inf, "'a' contains infinity"),
        ("out", 2, "the label has values that the schema does not list"),
        ("who", None, "'who' has missing"),
        ("d", "SECRET", "'d' holds text"),
    ],
)
def test_what_is_wrong_is_said_with_its_file_before_anything_is_spent(folder, column, value, message):
    data = frame(50)
    data[column] = data[column].astype(object)
    data.loc[7, column] = value
    data[column] = data[column].astype(str) if value == "SECRET" else data[column].convert_dtypes()
    data.to_parquet(folder / "3.parquet")
    ledger = Ledger(1)
    with pytest.raises(SchemaError, match=message) as error:
        FileCurator(folder, SCHEMA, ledger=ledger, cache=folder / "cache")
    if column != "who":
        assert "3.parquet" in str(error.value)
    assert "SECRET" not in str(error.value)
    assert (ledger.spent, ledger.events) == (0, [])


def test_an_empty_file_is_a_table_without_records(tmp_path):
    for data, name in ((frame(0), "t.parquet"), (frame(0), "t.csv")):
        path = tmp_path / name
        data.to_parquet(path) if path.suffix == ".parquet" else data.to_csv(path, index=False)
        model = PrivateTreeClassifier(SCHEMA, epsilon=1.0).fit(path)
        assert model.verify()


def test_fit_takes_where_the_records_are(folder, monkeypatch):
    monkeypatch.setenv("PRIVET_CACHE", str(folder / "cache"))
    data = frame()
    expected = PrivateTreeClassifier(SCHEMA, epsilon=1.0, random_state=1).fit(data, data["out"])
    for where in (folder, str(folder / "*.*"), [folder / "1.parquet", str(folder / "2.csv")]):
        found = PrivateTreeClassifier(SCHEMA, epsilon=1.0, random_state=1).fit(where)
        assert found.export_text() == expected.export_text()
        assert "read all files" in found.privacy_.trust
    assert list((folder / "cache").iterdir()) == []
    with pytest.raises(SchemaError, match="give X alone"):
        PrivateTreeClassifier(SCHEMA).fit(folder, data["out"])
    with pytest.raises(SchemaError, match="infer"):
        PrivateTreeClassifier("infer").fit(folder)


def test_a_table_still_goes_to_memory():
    data = frame()
    assert type(curator_of(data, data["out"], SCHEMA, None)) is MemoryCurator


def test_progress_is_by_bytes(folder):
    shares = []
    FileCurator(folder, ROWS, cache=folder, progress=lambda share, note: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) >= 4


def test_hostile_column_names_are_columns(tmp_path):
    names = ["a.b", 'q"uote', "new\nline", "ünï", "a", "drop table x;--", " "]
    schema = Schema(dict.fromkeys(names, Numeric(0, 1)), classes=[0, 1], label="l.a.b")
    rng = np.random.default_rng(0)
    data = {name: rng.random(50) for name in names} | {"l.a.b": rng.integers(0, 2, 50)}
    pq.write_table(pa.table(data), tmp_path / "t.parquet")
    records = FileRecords(Files(tmp_path, schema), Scratch(tmp_path))
    memory = Records(pd.DataFrame(data), data["l.a.b"], schema)
    for f in range(len(names)):
        np.testing.assert_array_equal(records.own.column(f), memory.own.column(f))
