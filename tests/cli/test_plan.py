"""``privet plan``: no private record is read."""

from pathlib import Path

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
PLAN = ("plan", "--schema", "s.toml", "--n-records")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_KERNELS", "numpy")
    Path("s.toml").write_text(SCHEMA)


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert done.exit_code == code, done.output
    return done.output


def test_a_plan_says_what_each_answer_costs_and_what_epsilon_means():
    told = run(*PLAN, 5000, "--epsilon", "0.5")
    assert "PrivateTreeClassifier on 5,000 records: epsilon 0.5 of 0.5" in told
    assert "choose a split" in told
    assert "right in at most 62.3% of cases" in told
    assert "warning" not in told


@pytest.mark.parametrize(("epsilon", "words"), [("1e-9", "too small to learn much"), ("1e300", "promises nothing")])
def test_budgets_of_no_use_are_told_by_plan_and_by_fit(epsilon, words):
    assert f"warning: epsilon {float(epsilon):g} " in run(*PLAN, 5000, "--epsilon", epsilon)
    Path("d.csv").write_text("age,sex,outcome\n" + "30,f,no\n70,m,yes\n" * 50)
    assert words in run("fit", "d.csv", "--schema", "s.toml", "--epsilon", epsilon, "-o", "m.json")


def test_leaves_are_planned_as_fit_takes_them():
    assert "PrivateTreeClassifier on 5,000 records" in run(*PLAN, 5000, "--epsilon", "1", "--leaves", "counts")
    assert "leaves" in run(*PLAN, 5000, "--epsilon", "1", "--leaves", "count", code=2)


def test_epsilons_are_compared_as_text_and_as_a_plot():
    pytest.importorskip("matplotlib")
    told = run(*PLAN, 500, "--choose", "--runs", "1", "--plot", "e.svg", "--holdout", "0.2")
    assert "Learned from 400 made-up records" in told
    assert "always saying the commonest class" in told
    assert "73.2%" in told
    assert Path("e.svg").exists()
    assert "exists; --force" in run(*PLAN, 500, "--choose", "--plot", "e.svg", code=2)
    assert "belong to --choose" in run(*PLAN, 500, "--plot", "f.svg", code=2)


def test_stand_ins_have_equal_classes_unless_it_is_public_how_common_they_are():
    told = run(*PLAN, 500, "--choose", "--runs", "1")
    assert "If one of your classes is rare" in told
    told = run(*PLAN, 500, "--choose", "--runs", "1", "--class-shares", "0.9,0.1")
    assert "If one of your classes is rare" not in told
    assert "of each class found" in told
    assert "Classes: no 90%, yes 10%" in told
    assert "numbers such as 0.88,0.12" in run(*PLAN, 500, "--choose", "--class-shares", "0.9;0.1", code=2)
    assert "add up to 1" in run(*PLAN, 500, "--choose", "--class-shares", "0.9,0.2", code=2)
    assert "belong to --choose" in run(*PLAN, 500, "--epsilon", "1", "--class-shares", "0.9,0.1", code=2)


def test_public_records_are_a_stand_in():
    Path("d.csv").write_text("age,sex,outcome\n" + "30,f,no\n70,m,yes\n" * 500)
    told = run(*PLAN, 500, "--choose", "--runs", "1", "--public", "d.csv")
    assert "the public records of d.csv" in told


def test_records_that_are_held_out_are_not_planned_with():
    assert "on 4,000 records" in run(*PLAN, 5000, "--epsilon", "1", "--holdout", "0.2")
    assert "between 0 and 1" in run(*PLAN, 5000, "--epsilon", "1", "--holdout", "1", code=2)


def test_a_plan_with_a_draft_says_so():
    Path("s.toml").write_text(SCHEMA.replace("low = 0", "inferred = true\nlow = 0", 1))
    assert "the schema is a draft: 1 field is" in run(*PLAN, 500, "--epsilon", "1")
