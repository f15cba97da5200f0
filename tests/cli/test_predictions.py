"""Predictions for many files are those for one table, in its order, and ids pass through as they are."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from privet import Categorical, Numeric, PrivateTreeClassifier, Schema
from privet.cli import app
from privet.cli.predictions import predictions
from privet.errors import PrivetError, SchemaError
from privet.tables import files as reading

SCHEMA = Schema({"a": Numeric(0, 9), "c": Categorical(["x", "y"])}, classes=["no", "yes"], label="out")


def frame(n=3000):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 10, n), "c": rng.choice(["x", "y"], n)})
    return X.assign(out=np.where(X["a"] > 4, "yes", "no"), number=[f"{i:04}" for i in range(n)])


@pytest.fixture
def model():
    data = frame()
    return PrivateTreeClassifier(SCHEMA, epsilon=10.0, max_depth=2, leaves="counts").fit(data, data["out"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "STRETCH", 700)
    monkeypatch.setattr(reading, "BATCH", 2048)
    data = frame()
    (tmp_path / "data").mkdir()
    data[:1500].to_parquet(tmp_path / "data" / "1.parquet", row_group_size=500)
    data[1500:].to_csv(tmp_path / "data" / "2.csv", index=False)
    return tmp_path


def test_they_are_those_of_predict_with_ids_and_probabilities(model, folder):
    tables = list(predictions(model, sorted((folder / "data").iterdir()), "number", proba=True, strict=True))
    assert len(tables[0]) == 0
    assert len(tables) > 4
    found, data = pa.concat_tables(tables).to_pandas(), frame()
    assert found["number"].tolist() == data["number"].tolist()
    assert found["prediction"].tolist() == model.predict(data).tolist()
    np.testing.assert_array_equal(found[["probability_no", "probability_yes"]], model.predict_proba(data))


def test_an_id_that_is_a_feature_passes_through_as_it_is_there(model, folder):
    tables = list(predictions(model, [folder / "data" / "2.csv"], "a", proba=False, strict=False))
    assert pa.concat_tables(tables).column("a").to_pylist() == [str(a) for a in frame()["a"][1500:]]


@pytest.mark.parametrize("output", ["out.parquet", "out.csv", None])
def test_the_command_takes_folders_and_patterns(model, folder, output):
    model.save(folder / "model.json")
    to = [] if output is None else ["-o", str(folder / output)]
    done = CliRunner().invoke(app, ["predict", str(folder / "model.json"), f"{folder}/data/*", "--id", "number", *to])
    assert done.exit_code == 0, done.output
    if output is None:
        lines = done.stdout.splitlines()
        assert lines[0] == "number,prediction"
        assert len(lines) == 3001
        return
    read = pd.read_parquet if output == "out.parquet" else pd.read_csv
    assert read(folder / output)["prediction"].tolist() == model.predict(frame()).tolist()


def test_no_records_have_no_predictions(model, tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64()), "c": pa.array([], pa.string())}), tmp_path / "t.parquet")
    (only,) = predictions(model, [tmp_path / "t.parquet"], None, proba=True, strict=False)
    assert (len(only), only.column_names) == (0, ["prediction", "probability_no", "probability_yes"])


def test_what_is_wrong_is_said_with_its_file(model, folder):
    frame()[:5].assign(a=np.nan).to_parquet(folder / "data" / "3.parquet")
    with pytest.raises(SchemaError, match=r"3.parquet: column 'a' contains NaN"):
        list(predictions(model, sorted((folder / "data").iterdir()), None, proba=False, strict=False))
    frame().assign(prediction=1).to_parquet(folder / "data" / "3.parquet")
    with pytest.raises(PrivetError, match="already have a column 'prediction'"):
        list(predictions(model, [folder / "data" / "3.parquet"], "prediction", proba=False, strict=False))


def test_unlisted_categories_are_said_on_stderr_where_nobody_sits_at_a_terminal(model, folder):
    model.save(folder / "model.json")
    data = frame()
    for name, column in {"all": ["X", "Y"] * 1500, "few": ["X", *["y"] * 2999]}.items():
        data.assign(c=column).to_csv(folder / f"{name}.csv", index=False)
        done = CliRunner().invoke(app, ["predict", str(folder / "model.json"), str(folder / f"{name}.csv")])
        assert done.exit_code == 0
        assert "warning: column 'c'" in done.stderr
        assert "warning" not in done.stdout
        assert "letters" in done.stderr
