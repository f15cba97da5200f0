"""Records in files are checked as they are read, counted as in memory, and never all in memory."""

import math

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, FileCurator, Ledger, MemoryCurator, Numeric, PrivateTreeClassifier, Schema, SchemaError
from privet.curators.files import curator_of
from privet.tables import files as reading

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
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(folder, data["out"])
    with pytest.raises(SchemaError, match="infer"):
        PrivateTreeClassifier("infer", epsilon=1).fit(folder)


def test_a_table_still_goes_to_memory():
    data = frame()
    assert type(curator_of(data, data["out"], SCHEMA, None)) is MemoryCurator


def test_progress_is_by_bytes(folder):
    shares = []
    FileCurator(folder, ROWS, cache=folder, progress=lambda share, note: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) >= 4


def test_a_model_is_scored_on_files_too(folder, monkeypatch):
    monkeypatch.setenv("PRIVET_CACHE", str(folder / "cache"))
    data = frame()
    model = PrivateTreeClassifier(SCHEMA, epsilon=1.0, random_state=1).fit(folder)
    expected = model.evaluate(data, data["out"], epsilon=1.0, random_state=2)
    assert str(model.evaluate(folder, epsilon=1.0, random_state=2)) == str(expected)
