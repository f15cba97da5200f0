"""``privet schema check``, and data that do not fit at ``fit`` and ``predict``; drafts are in test_cli.py."""

import csv
import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from privet.cli import app

SCHEMA = """
[label]
name = "outcome"
classes = ["no", "yes"]

[features.age]
low = 0
high = 120

[features.sex]
values = ["f", "m"]
"""
WORDS = "column 'sex': all values are missing or not listed"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_KERNELS", "numpy")
    age = np.arange(18, 98)
    columns = {"id": np.arange(1000, 1080), "age": age, "outcome": np.where(age > 60, "yes", "no")}
    pc.write_csv(pa.table(columns | {"sex": ["f", "m"] * 40}), "good.csv")
    pc.write_csv(pa.table(columns | {"sex": ["F", "M"] * 40}), "bad.csv")
    pq.write_table(pa.table(columns | {"sex": ["f", "m"] * 40}), "good.parquet")
    Path("s.toml").write_text(SCHEMA)


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert done.exit_code == code, done.output
    return done.output


def fit(data, *args, code=0):
    return run("fit", data, "--schema", "s.toml", "--epsilon", "1", "-o", "m.json", *args, code=code)


def test_check_reads_all_records_of_files_folders_and_patterns():
    table = pq.read_table("good.parquet")
    late = [*["no"] * 79, "maybe"]  # in the last record of the last file
    Path("good").mkdir()
    Path("bad").mkdir()
    for i in range(3):
        pq.write_table(table, f"good/{i}.parquet", row_group_size=7)
        pq.write_table(table if i < 2 else table.set_column(2, "outcome", [late]), f"bad/{i}.parquet", row_group_size=7)
    assert "fits s.toml" in run("schema", "check", "good", "good.csv", "--schema", "s.toml", "--strict")
    said = run("schema", "check", "bad/*.parquet", "--schema", "s.toml", code=2)
    assert "bad/2.parquet" in said
    assert "maybe" not in said


def test_rows_without_the_label_are_checked_as_rows_to_predict():
    table = pc.read_csv("bad.csv").drop(["outcome"])
    pc.write_csv(table, "new.csv")
    told = run("schema", "check", "new.csv", "--schema", "s.toml", code=1)
    assert WORDS in told
    assert "can be predicted, not learned from" in told
    pq.write_table(pq.read_table("good.parquet").rename_columns(["id", "age", "Outcome", "sex"]), "new.parquet")
    told = run("schema", "check", "new.parquet", "--schema", "s.toml")
    assert "did you mean 'Outcome'?" in told


def test_check_names_the_columns_that_do_not_fit():
    assert WORDS in run("schema", "check", "bad.csv", "--schema", "s.toml", code=1)
    assert "fits s.toml" in run("schema", "check", "good.csv", "--schema", "s.toml", "--strict")
    assert WORDS in run("schema", "check", "bad.csv", "--schema", "s.toml", "--strict", code=2)


def test_a_strict_fit_refuses_before_anything_is_written():
    assert WORDS in fit("bad.csv", "--strict", code=2)
    assert not Path("m.json").exists()
    fit("good.csv", "--strict")


def test_without_a_terminal_a_fit_says_nothing_about_the_data():
    assert "listed" not in fit("bad.csv")
    assert "listed" not in Path("m.json").read_text()


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_at_a_terminal_a_fit_says_what_does_not_fit():
    ours, theirs = pty.openpty()
    script = Path(sys.executable).with_name("privet")
    command = [script, "fit", "bad.csv", "--schema", "s.toml", "--epsilon", "1", "-o", "m.json"]
    env = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "300"}
    done = subprocess.run(command, stderr=theirs, stdout=subprocess.PIPE, text=True, check=False, env=env)
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 0, said
    assert WORDS in " ".join(said.split())
    assert "listed" not in done.stdout


def test_one_value_with_a_capital_is_refused_by_strict_predictions_and_told_by_a_check():
    rows = Path("good.csv").read_text()
    assert '"m"' in rows
    Path("one.csv").write_text(rows.replace('"m"', '" M"', 1))
    words = "column 'sex': 1 of 80 values count as 'any other value', and only small or capital letters"
    fit("good.csv")
    assert words in run("predict", "m.json", "one.csv", "--strict", code=2)
    assert words in run("schema", "check", "one.csv", "--schema", "s.toml", code=1)
    run("predict", "m.json", "one.csv", "-o", "p.csv")
    Path("new.csv").write_text(rows.replace('"m"', '"x"', 1))
    run("predict", "m.json", "new.csv", "--strict", "-o", "q.csv")


def test_predictions_keep_the_id_of_each_record():
    fit("good.csv")
    for data in ("good.csv", "good.parquet"):
        rows = list(csv.DictReader(io.StringIO(run("predict", "m.json", data, "--id", "id"))))
        assert list(rows[0]) == ["id", "prediction"]
        assert [row["id"] for row in rows] == [str(i) for i in range(1000, 1080)]
    told = run("predict", "m.json", "good.csv", "--id", "patient", code=2)
    assert "there is no column 'patient' for --id; it has: id, " in told
    assert WORDS in run("predict", "m.json", "bad.csv", "--strict", code=2)
    table = pq.read_table("good.parquet")
    pq.write_table(table.append_column("prediction", table["id"]), "odd.parquet")
    assert "already have a column" in run("predict", "m.json", "odd.parquet", "--id", "prediction", code=2)


def test_a_draft_without_a_label_lists_the_columns():
    told = run("schema", "draft", "good.csv", code=2)
    assert "Say --label COLUMN; good.csv has id, age, outcome, sex" in " ".join(told.split())


def test_a_draft_asks_for_people_and_for_what_is_known_too_late():
    told = run("schema", "draft", "good.csv", "--label", "outcome")
    assert "may one person have several rows?" in told
    assert "known only after what you want to predict" in told


def test_a_fit_without_a_schema_says_how_to_look_at_its_draft():
    told = " ".join(run("fit", "good.csv", "--label", "outcome", "--epsilon", "1", "-o", "m.json", code=2).split())
    assert "Open it in a text editor" in told
    assert "quotes your records" in told


def test_plan_refuses_a_schema_that_names_no_label_as_fit_does():
    Path("n.toml").write_text(SCHEMA.replace('name = "outcome"\n', ""))
    for command in (["plan", "--n-records", "100"], ["fit", "good.csv", "-o", "m.json"]):
        assert "set name under [label]" in run(*command, "--schema", "n.toml", "--epsilon", "1", code=2)
