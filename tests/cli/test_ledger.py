"""``privet ledger``, and ``privet fit --ledger``."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
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
integer = true
"""
FIT = ("fit", "people.csv", "--schema", "people.toml")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_KERNELS", "numpy")
    age = np.arange(18, 98)
    pc.write_csv(pa.table({"age": age, "outcome": np.where(age > 60, "yes", "no")}), "people.csv")
    Path("people.toml").write_text(SCHEMA)


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert done.exit_code == code, done.output
    return done.output


def new(*args):
    return run("ledger", "new", "p.ledger", "--epsilon", "1", "--records", "ward 3", *args)


def test_fits_charge_the_ledger_until_nothing_is_left():
    assert "'ward 3' in p.ledger: epsilon 1 of 1 left" in new()
    assert "epsilon 0.4 of 1 left." in run(*FIT, "--epsilon", "0.6", "--ledger", "p.ledger", "-o", "a.json")
    refused = run(*FIT, "--epsilon", "0.6", "--ledger", "p.ledger", "-o", "b.json", code=1)
    assert "may spend epsilon 0.6, but the ledger has 0.4 left of 1" in refused
    assert not Path("b.json").exists()
    run(*FIT, "--epsilon", "0.4", "--ledger", "p.ledger", "-o", "b.json")
    shown = run("ledger", "show", "p.ledger", "a.json", "b.json")
    assert "epsilon 0 left of 1" in shown
    assert shown.count("PrivateTreeClassifier  epsilon") == 2
    assert "a.json is line 1" in shown  # "1 or 2" where noise made both trees the same
    assert "NOT SETTLED" not in shown


def test_a_fit_that_is_stopped_says_what_it_cost(monkeypatch):
    """Stopped after its last answer: nothing is released, and all of it is charged."""
    from privet.algorithms.private_tree import PrivateTreeClassifier

    grow = PrivateTreeClassifier._grow

    def stopped(self, *given):
        grow(self, *given)
        raise KeyboardInterrupt

    new()
    with monkeypatch.context() as patched:
        patched.setattr(PrivateTreeClassifier, "_grow", stopped)
        told = run(*FIT, "--epsilon", "0.6", "--ledger", "p.ledger", "-o", "a.json", code=130)
        assert "interrupted. No model was written, and nothing was released. The ledger has charged epsilon 0.6" in told
        told = run(*FIT, "--epsilon", "0.6", "-o", "a.json", code=130)
        assert told.endswith("nothing was released.\n")
    assert not Path("a.json").exists()
    shown = run("ledger", "show", "p.ledger")
    assert "epsilon 0.6  NO RELEASE" in shown
    assert "epsilon 0.4 left of 1" in shown


def test_two_fits_that_release_the_same_model_are_both_named():
    run("ledger", "new", "p.ledger", "--epsilon", "200", "--records", "ward 3")
    one_label = (*FIT, "--epsilon", "100", "--max-depth", "0", "--ledger", "p.ledger", "-o")
    run(*one_label, "a.json")
    run(*one_label, "b.json")
    shown = run("ledger", "show", "p.ledger", "a.json", "b.json")
    assert "a.json is line 1 or 2.\nb.json is line 1 or 2." in shown


def test_scores_that_a_ledger_has_paid_for_are_found_in_it():
    """Each of the two ledgers knows one of the file's two receipts, and a third knows none."""
    new()
    for name in ("test.ledger", "other.ledger"):
        run("ledger", "new", name, "--epsilon", "1", "--records", "test set")
    run(*FIT, "--epsilon", "0.5", "--ledger", "p.ledger", "-o", "a.json")
    run("evaluate", "a.json", "people.csv", "--epsilon", "0.5", "--ledger", "test.ledger", "-o", "scored.json")
    told = run("ledger", "show", "test.ledger", "scored.json")
    assert "The model in scored.json is not listed here.\nThe scores in scored.json, which have" in told
    assert "receipt of their own, are line 1." in told
    told = run("ledger", "show", "p.ledger", "scored.json", "a.json")
    assert "scored.json is line 1.\nThe scores in scored.json, which" in told
    assert "own, are not listed here.\na.json is line 1.\n" in told
    assert "does not list scored.json" in run("ledger", "show", "other.ledger", "scored.json", code=1)
    assert "does not list a.json" in run("ledger", "show", "test.ledger", "a.json", code=1)


def test_an_older_copy_does_not_know_a_release():
    new()
    shutil.copy("p.ledger", "copy.ledger")
    run(*FIT, "--epsilon", "0.5", "--ledger", "p.ledger", "-o", "a.json")
    assert "does not know what was spent since" in run("ledger", "show", "copy.ledger", "a.json", code=1)


def test_new_records_bring_a_budget_of_their_own():
    new("--cohort", "2024")
    run(*FIT, "--epsilon", "1", "--ledger", "p.ledger", "-o", "a.json")
    assert "epsilon 1 of 1 left" in run("ledger", "cohort", "p.ledger", "2025", "--epsilon", "1")
    refused = run(*FIT, "--epsilon", "0.1", "--ledger", "p.ledger", "-o", "b.json", code=1)
    assert "has 0 left of 1" in refused  # all cohorts pay where none is named
    run(*FIT, "--epsilon", "0.7", "--ledger", "p.ledger", "--cohort", "2025", "-o", "b.json")
    shown = run("ledger", "show", "p.ledger")
    assert "cohort 2024: epsilon 0 left of 1\n  together epsilon 1: a guess is right in at most 73.2% of" in shown
    assert "cohort 2025: epsilon 0.3 left of 1\n  together epsilon 0.7: a guess" in shown
    assert "has no cohort '2026'" in run(
        *FIT, "--epsilon", "0.1", "--ledger", "p.ledger", "--cohort", "2026", "-o", "c.json", code=1
    )
    assert "belongs to --ledger" in run(*FIT, "--epsilon", "0.1", "--cohort", "2026", "-o", "c.json", code=2)


def test_a_limit_is_changed_and_what_was_before_is_kept():
    new("--spent", "0.75")
    assert "weaker promise" in run("ledger", "limit", "p.ledger", "--epsilon", "2")
    assert "epsilon 0.25 of 1 left" in run("ledger", "limit", "p.ledger", "--epsilon", "1")
    kept = json.loads(run("ledger", "show", "p.ledger", "--json"))
    assert [change["after"] for change in kept["limits"]] == ["1", "2", "1"]
    assert kept["lines"][0]["what"] == "before this ledger"
    assert (kept["records"], kept["currency"], kept["cohorts"][0]["spent"]) == ("ward 3", "epsilon", "3/4")


def test_a_ledger_with_a_delta_is_in_rho():
    assert "delta 1e-06" in new("--delta", "1e-6")
    assert json.loads(run("ledger", "show", "p.ledger", "--json"))["currency"] == "rho"


def test_what_makes_no_sense_is_refused():
    assert "no ledger" in run("ledger", "show", "p.ledger", code=1)
    new()
    assert "never written over" in run("ledger", "new", "p.ledger", "--epsilon", "1", "--records", "x", code=1)
    assert "must be a positive" in run("ledger", "new", "q.ledger", "--epsilon", "much", "--records", "x", code=1)
    assert "There is no ledger" in run(*FIT, "--epsilon", "1", "--ledger", "q.ledger", "-o", "a.json", code=1)


def test_a_ledger_is_not_charged_for_what_has_no_guarantee():
    new()
    told = run(*FIT, "--epsilon", "0.6", "--seed", "1", "--ledger", "p.ledger", "-o", "a.json", code=1)
    assert "--ledger asks for one that is not" in told
    assert "epsilon 1 left of 1" in run("ledger", "show", "p.ledger")


def test_a_misspelt_ledger_is_not_made_anew():
    new()
    told = run(*FIT, "--epsilon", "0.6", "--ledger", "p.leger", "-o", "a.json", code=1)
    assert "did you mean 'p.ledger'?" in told
