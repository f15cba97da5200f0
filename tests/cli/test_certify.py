"""``privet certify``: what it shows, what it warns of, and what it refuses before it trains anything."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from privet import PrivateTreeClassifier, Schema
from privet.cli import app
from privet.tables.table import read_file

SCHEMA = """
[label]
name = "income"
classes = ["low", "high"]

[features.age]
low = 0
high = 100

[features.town]
values = ["a", "b"]
"""


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    age, town = rng.integers(0, 100, 400), rng.choice(["a", "b"], 400)
    lines = [f"{a},{t},{'high' if a > 50 else 'low'}" for a, t in zip(age, town)]
    (tmp_path / "data.csv").write_text("\n".join(["age,town,income", *lines]))
    (tmp_path / "test.csv").write_text("\n".join(["age,town,income", *lines[:50]]))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def run(*args):
    return CliRunner().invoke(app, ["certify", *map(str, args)])


def certified(files, *args):
    return run(files / "data.csv", "--schema", files / "schema.toml", "--epsilon", 0.2, "--runs", 40, *args)


def test_a_table_what_it_is_about_and_that_it_is_a_release(files):
    result = certified(files, "--poison", "1%,5")
    assert result.exit_code == 0
    for words in ("guaranteed", "changed", "over retrainings", "confidence 0.99", "Neither says anything about one"):
        assert words in " ".join(result.stdout.split())
    for words in ("itself a release", "40 x 0.2 = 8", "--stand-in"):
        assert words in result.stderr
    assert "release" not in certified(files, "--public").stderr


def test_json_test_records_and_a_backdoor(files):
    result = certified(
        files, "--json", "--poison", "2", "--test", files / "test.csv", "--trigger", "town=b", "--target", "high"
    )
    found = json.loads(result.stdout)
    assert (found["records"], found["test_records"], found["runs"]) == (400, 50, 40)
    assert [row["attack"] for row in found["rows"]] == ["added or removed", "changed"]
    assert 0 < found["rows"][0]["success"] <= 1
    assert "kept_confidential" in found


def test_files_are_written_whole_and_never_by_accident(files):
    plot, page = files / "plot.png", files / "page.html"
    result = certified(files, "--plot", plot, "--html", page, "--poison", "1%", "--seed", 1)
    assert result.exit_code == 0
    assert plot.stat().st_size > 5000
    assert page.read_text().count("<tr>") == 3  # the points of the plot are not in the table
    assert certified(files, "--html", page).exit_code == 2


def test_a_delta_is_certified_by_its_rho(files):
    result = certified(files, "--delta", 1e-6, "--set", "method=boosting", "--json", "--runs", 10)
    assert "rho" in json.loads(result.stdout)["guarantee"]


def test_warnings_of_many_models_are_said_once_in_words(files):
    said = certified(files, "--public", "--poison", "1").stderr
    assert said.count("epsilon 0.2 is too small") <= 2  # a noisy count, or noise that hides it
    assert "of 40 models warn: epsilon 0.2 is too small to learn much from" in said
    assert all(line.startswith("warning: ") for line in said.splitlines())  # no file, no line


def test_a_forest_with_a_delta_is_told_how_to_certify_more(files):
    result = certified(files, "--delta", 1e-6, "--public", "--runs", 4)
    assert "--set n_records=N" in result.stderr
    assert "--set n_records=N" in result.stdout
    result = certified(files, "--delta", 1e-6, "--public", "--runs", 4, "--set", "n_records=320")
    assert "--set n_records=N" not in result.stderr + result.stdout


def test_persons_are_counted_and_drawn_as_persons(files, monkeypatch):
    (files / "schema.toml").write_text('[person]\nname = "who"\nrecords = 2\n' + SCHEMA)
    lines = (files / "data.csv").read_text().split("\n")
    rows = ["who," + lines[0], *(f"{i // 2},{line}" for i, line in enumerate(lines[1:]))]
    (files / "data.csv").write_text("\n".join(rows))
    drawn = []

    def draw(found, path, kind):
        drawn.append(found)
        Path(path).touch()

    monkeypatch.setattr("privet.robustness.plot.plot_certificate", draw)
    result = certified(files, "--plot", files / "plot.png", "--poison", "50%", "--runs", 4)
    assert result.exit_code == 0, result.stderr
    assert "retrainings on 160 persons" in " ".join(result.stdout.split())
    assert max(row.level.units for row in drawn[0].rows) == 80


def test_a_released_model_s_score_is_shown_as_an_estimate(files):
    learner = PrivateTreeClassifier(Schema.from_toml(files / "schema.toml"), epsilon=2)
    X, y = read_file(files / "data.csv", learner.schema)
    learner.fit(X, y, holdout=0.3).save(files / "scored.json")
    clone(learner).fit(X, y).save(files / "plain.json")
    assert "No certificate follows from it" in certified(files, "--beside", files / "scored.json").stdout
    assert "no private score" in certified(files, "--beside", files / "plain.json").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--poison", "1.5"), "whole numbers"),
        (("--poison", "500%"), "at most 100%"),
        (("--confidence", "1"), "below 1"),
        (("--trigger", "town=b"), "both"),
        (("--trigger", "town=b", "--target", "middle"), "one of the classes"),
        (("--trigger", "city=b", "--target", "low"), "'city'"),
        (("--stand-in",), "--stand-in"),
        (("--model", "NoSuchModel"), "NoSuchModel"),
    ],
)
def test_wrong_use_is_explained(files, args, words):
    result = certified(files, *args)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_data_need_a_schema_and_something_must_be_given(files):
    assert "--schema" in run(files / "data.csv", "--epsilon", 1).stderr
    assert "--stand-in" in run("--epsilon", 1).stderr


@pytest.mark.slow
def test_the_census_data_stand_in():
    result = run("--stand-in", "--epsilon", 0.01, "--runs", 30)
    assert result.exit_code == 0
    assert "Your records would give others" in result.stdout
    assert "release" not in result.stderr
