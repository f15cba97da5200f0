"""Scores on the command line: of records that are held out, and of a test set."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from typer import BadParameter
from typer.testing import CliRunner

import privet
from privet.algorithms import held_out
from privet.cli import app
from privet.cli.evaluate import groups_by, say_scores

SCHEMA = """
[label]
name = "outcome"
classes = ["no", "yes"]

[features.age]
low = 0
high = 120
integer = true

[features.ward]
values = ["001", "002"]
"""
FIT = ["fit", "people.csv", "--schema", "people.toml", "--epsilon", "5", "-o", "model.json"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for name in ("people.csv", "test.csv"):
        age, ward = rng.integers(18, 95, 600), rng.choice(["001", "002"], 600)
        pc.write_csv(pa.table({"age": age, "ward": ward, "outcome": np.where(age > 60, "yes", "no")}), name)
    Path("people.toml").write_text(SCHEMA)
    return tmp_path


def run(*words, code=0):
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.output


def test_a_fit_with_a_holdout_says_its_scores_and_show_says_them_again(folder):
    said = run(*FIT, "--holdout", "0.3", "--by", "ward")
    assert "accuracy" in said
    assert "ward 001" in said
    assert "accuracy" in run("show", "model.json")
    assert "adds up" in run("verify", "model.json")
    model = privet.load("model.json")
    assert model.privacy_.spent == 5
    assert model.evaluation_.accuracy.value > 0.8


def test_a_test_set_is_scored_for_its_own_epsilon_and_may_join_the_model_file(folder):
    run(*FIT)
    said = run("evaluate", "model.json", "test.csv", "--epsilon", "2", "--by", "age=30,60", "-o", "scored.json")
    assert "age up to 30" in said
    assert "epsilon   2" in said
    scored = privet.load("scored.json")
    assert scored.evaluation_.privacy_.epsilon == 2
    forged = json.loads(Path("scored.json").read_text())
    forged["evaluation"]["counts"][0] += 5
    Path("forged.json").write_text(json.dumps(forged))
    assert "another model" in run("verify", "forged.json", code=1)


def test_a_ledger_of_the_test_records_is_charged(folder):
    run(*FIT)
    run("ledger", "new", "test.ledger", "--records", "test set", "--epsilon", "1")
    run("evaluate", "model.json", "test.csv", "--epsilon", "0.75", "--ledger", "test.ledger")
    assert "0.25" in run("evaluate", "model.json", "test.csv", "--epsilon", "0.75", "--ledger", "test.ledger", code=1)


def test_an_evaluation_that_is_stopped_says_what_it_cost(folder, monkeypatch):
    """Stopped after its last answer: no scores are told, and all of it is charged."""
    run(*FIT)
    run("ledger", "new", "test.ledger", "--records", "test set", "--epsilon", "1")
    asked = held_out.evaluated

    def stopped(*given):
        asked(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(held_out, "evaluated", stopped)
    words = "evaluate", "model.json", "test.csv", "--epsilon", "0.75"
    told = run(*words, "--ledger", "test.ledger", "-o", "scored.json", code=130)
    assert "interrupted. No scores were told, and nothing was released. The ledger has charged epsilon 0.75" in told
    assert run(*words, code=130).endswith("nothing was released.\n")
    assert not Path("scored.json").exists()
    assert "epsilon 0.25 left of 1" in run("ledger", "show", "test.ledger")


def test_wrong_use_is_refused(folder):
    run(*FIT)
    with pytest.raises(BadParameter):
        groups_by("age=a,b")
    for wrong in ("0", "-1", "inf", "nan"):
        run("evaluate", "model.json", "test.csv", "--epsilon", wrong, code=2)
    assert "no feature" in run("evaluate", "model.json", "test.csv", "--epsilon", "1", "--by", "sex", code=2)


def test_what_by_says():
    assert groups_by(None) is None
    assert groups_by("sex") == "sex"
    assert groups_by("age=30,60") == {"age": [30.0, 60.0]}


def test_nothing_is_said_of_no_scores(capsys):
    say_scores(None)
    assert capsys.readouterr().out == ""
