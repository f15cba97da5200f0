"""The instrument: what it keeps, what it says of it, that a kill costs nothing, and that the page can be made again."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shared_data
from privet import Numeric, Schema
from privet_bench import data, fits, page, runner
from privet_bench.experiment import Experiment, Folds, Holdout, Measured, Method, Task, canonical, grid
from privet_bench.experiments.peers import OURS
from privet_bench.experiments.scripts import SCRIPTS, of_lines, of_tables
from privet_bench.registry import EXPERIMENTS
from privet_bench.store import Mean, Row, Store, mean, rows_of
from privet_bench.summary import place, ranks
from privet_bench.tables import cell, tables

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def found(value, error=0.0, runs=3):
    return Mean(value, error, runs, frozenset())


def rows(value, seed=0, **changes):
    known = {"experiment": "one", "set": "a", "method": "m", "setting": "{}", "seed": seed, "measure": "accuracy"}
    known |= {"value": value, "error": math.nan, "runs": 1, "seconds": 1.0, "commit": "abc", "day": "2026-11-18"}
    return Row(**known | changes)


def test_what_is_kept_is_there_again_and_a_line_that_was_cut_short_is_not(tmp_path):
    store = Store(tmp_path / "store.parquet")
    store.add(rows_of(Task("one", "a", "m", "{}", 0), {"accuracy": 0.5, "auc": 0.75}, 1.0, "abc", "2026-11-18"))
    with store.journal.open("a") as file:
        file.write('{"experiment": "one", "set')
    again = Store(store.file)
    assert [row.value for row in again.rows("one")] == [0.5, 0.75]
    again.save()
    assert not again.journal.exists()
    again.add(rows_of(Task("one", "a", "m", "{}", 0), {"accuracy": 0.25}, 1.0, "def", "2026-11-18"))
    assert [row.value for row in again.rows("one")] == [row.value for row in Store(store.file).rows("one")] == [0.25]
    assert Store(store.file).done == {Task("one", "a", "m", "{}", 0)}


def test_a_mean_is_of_single_runs_and_a_kept_mean_stands_in_where_there_are_none():
    both = mean([rows(0.4), rows(0.6, seed=1)])
    assert (both.value, both.runs) == (0.5, 2)
    assert both.error == pytest.approx(0.1)
    kept = mean([rows(0.7, error=0.01, runs=10)])
    assert (kept.value, kept.error, kept.runs) == (0.7, 0.01, 10)
    assert mean([]) is None
    assert cell(kept, "accuracy", 10) == "0.700 ± 0.010"
    assert cell(kept, "mse", 3) == "700.00 ± 10.00 (10)"


@pytest.mark.parametrize(
    ("mine", "best", "measure", "said"),
    [
        ((0.8, 0.01), (0.7, 0.01), "accuracy", "first"),
        ((0.8, 0.01), (0.81, 0.01), "auc", "level"),
        ((0.8, 0.001), (0.81, 0.001), "accuracy", "behind"),
        ((8.0, 0.1), (9.0, 0.1), "mse", "first"),
        ((9.0, 0.1), (8.0, math.nan), "mse", "behind"),
    ],
)
def test_a_place_is_by_means_and_errors(mine, best, measure, said):
    own = {OURS: found(*mine), "DP-EBM": found(*best), "not asked about": found(99.0)}
    assert place(own, OURS, ["DP-EBM", "absent"], measure) == said


def test_critical_differences_are_nemenyis():
    tables = [{name: found(value) for name, value in zip("abcde", np.roll(range(5), i))} for i in range(30)]
    own = ranks([*tables, {"a": found(1.0)}], list("abcde"), "accuracy")
    assert own.sets == 30
    assert own.critical == pytest.approx(2.728 * math.sqrt(5 * 6 / (6 * 30)), rel=1e-3)  # Demšar's table
    assert sum(own.average.values()) == pytest.approx(15)


def test_scores_are_of_labels_of_chances_and_of_clipped_numbers():
    classes = Schema({"x": Numeric(0, 1)}, classes=["n", "y"])
    answer = {"predicted": np.array(["n", "y", "y"]), "chances": np.array([0.1, 0.4, 0.9])}
    assert fits.scored(answer, np.array(["n", "n", "y"]), classes) == {"accuracy": pytest.approx(2 / 3), "auc": 1.0}
    numbers = Schema({"x": Numeric(0, 1)}, target=(0.0, 10.0))
    assert fits.scored({"predicted": np.array([5.0, 99.0])}, np.array([5.0, 9.0]), numbers) == {"mse": 0.005}


def test_splits_leave_no_record_out():
    y = np.repeat([0, 1], 50)
    ((train, test),) = Holdout(2).parts(y, 7)
    assert len(test) == 20
    assert sorted([*train, *test]) == list(range(100))
    assert sorted(i for _, part in Folds().parts(y, 7) for i in part) == list(range(100))


def test_tasks_go_seed_by_seed_and_can_be_narrowed_down():
    own = Experiment("e", "", "", ("a", "b"), {"m": Method("M")}, grid(epsilon=(0.1, 1.0)), 1, extra_seeds={"b": 2})
    assert len(list(own.tasks())) == 6
    assert [task.seed for task in own.tasks()] == [0, 0, 0, 0, 1, 1]
    (only,) = runner.wanted(own, {"set": ["b"], "epsilon": ["1.0"], "seed": ["1"]})
    assert only.options == {"epsilon": 1.0}
    assert runner.wanted(own, {}, quick=True) == []
    short = replace(own, quick={"epsilon": (1.0,)})
    assert [task.set for task in runner.wanted(short, {"set": ["b"]}, quick=True)] == ["b", "b"]


def test_what_must_run_alone_runs_after_the_rest(tmp_path, monkeypatch):
    beside = Experiment("nap", "", "", ("a",), {"m": Method("M")}, ({},), 3)
    alone = replace(beside, name="timed", alone=True, seeds=1)
    monkeypatch.setattr(runner, "EXPERIMENTS", {"nap": beside, "timed": alone})
    monkeypatch.setattr(runner, "Store", lambda: Store(tmp_path / "store.parquet"))
    began = []
    monkeypatch.setattr(runner, "_work", lambda tasks, store, jobs, out: began.append((len(tasks), jobs)) or 0)
    assert runner.run(["timed", "nap"], {}, jobs=4) == 0
    assert began == [(3, 4), (1, 1)]


def test_a_set_of_openml_without_the_column_that_is_a_target_is_left_out(monkeypatch):
    monkeypatch.setattr(data.shared_data, "available", lambda: False)
    few = data.from_frame("adult", pd.DataFrame({"age": [1.0, 2.0]}), pd.Series(["no", "yes"]), None)
    monkeypatch.setattr(data, "_openml", lambda name: few)
    with pytest.raises(data.NoData, match="hours_per_week"):
        data.table.__wrapped__("adult:hours_per_week")


def test_names_of_experiments_and_their_quick_parts_are_real():
    for name, own in EXPERIMENTS.items():
        assert own.name == name
        assert own.methods
        if own.quick:
            assert runner.wanted(own, {}, quick=True)


def test_a_table_says_command_commit_error_and_weak_guarantees():
    method = Method("M", weaker="broken: it is not private")
    own = Experiment("one", "", "", ("a",), {"m": method}, ({},), 2, printed=lambda task, measure: (0.25, 0.5))
    text = "\n".join(tables(own, [rows(0.4), rows(0.6, seed=1)]))
    assert "| a | 0.500 ± 0.100 [printed 0.250 ± 0.500] |" in text
    assert "privet-bench run one`; mean ± standard error of 2 runs; code of commit abc" in text
    assert "- **m**: broken" in text


def test_gains_are_run_by_run_over_the_method_that_is_named():
    methods = {"m": Method("M"), "n": Method("N")}
    own = Experiment("one", "", "", ("a",), methods, ({},), 2, columns="measure", against="m", digits=4)
    both = [rows(0.4), rows(0.6, seed=1), rows(0.5, method="n"), rows(0.68, seed=1, method="n")]
    text = "\n".join(tables(own, [*both, rows(0.9, seed=2, method="n")]))
    assert "| a, m | 0.5000 ± 0.1000 |" in text
    assert "| a, n | +0.0900 ± 0.0100 |" in text


def test_a_run_may_bring_an_error_of_its_own():
    made = rows_of(Task("one", "a", "m", "{}", 0), {"accuracy": Measured(0.5, 0.01, 40)}, 1.0, "abc", "2026-11-18")
    assert [(row.value, row.error, row.runs) for row in made] == [(0.5, 0.01, 40)]


def test_a_table_from_elsewhere_has_a_schema_of_what_occurs():
    X = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "y"], "c": [0.5, 0.5, 0.5]})
    own = data.from_frame("t", X, pd.Series(["n", "y", "y"]), None)
    assert len(own.X) == 2
    assert own.schema.classes == ("n", "y")
    assert (own.schema.features["a"].low, own.schema.features["a"].high) == (1, 3)
    assert list(own.schema.features["b"].values) == ["x", "y"]
    assert data.from_frame("t", X[["a"]], pd.Series([1.0, 2.0, 3.0]), (0.0, 4.0)).schema.target == (0.0, 4.0)


def test_rows_of_a_printed_table_are_told_apart_by_their_first_cells():
    printed = """words
| parties | lost | seconds |
|---|---|---|
| 3 | 0 | 1.5 ± 0.1 |
| 3 | 1 | 2,000 |

| a | b |
|---|---|
| x | 7 |
"""
    found = {"parties 3, lost 0: seconds": Measured(1.5, 0.1, 1), "parties 3, lost 1: seconds": 2000.0, "a x: b": 7.0}
    assert dict(of_tables(printed)) == found


def test_groups_of_a_printed_line_are_columns():
    pattern = SCRIPTS["databases-5m"][-1]
    line = "files: 8.30 s for 5,000,000 x 28 (fits: 8.30 9.00), 1,512 MB"
    assert dict(of_lines(pattern, line)) == {"files: seconds": 8.3, "files: megabytes": 1512.0}
    assert dict(of_lines(SCRIPTS["databases"][-1], line)) == {"files": 8.3}


def test_a_target_that_is_missed_is_marked():
    kept = [rows(value, method="peers", measure=f"{name} (target 0.5)") for name, value in (("a", 0.4), ("b", 0.6))]
    text = "\n".join(tables(EXPERIMENTS["speed"], kept))
    assert "| a | 0.400 | 0.5 | yes |" in text
    assert "| b | 0.600 | 0.5 | **no** |" in text


def test_a_backdoor_is_drawn_beside_those_of_its_set_and_epsilon():
    panels = EXPERIMENTS["robustness-backdoor"].figures[0].panels
    where = {name: panels(Task("", "adult", name, "{}", 0)) for name in EXPERIMENTS["robustness-backdoor"].methods}
    assert where["PrivateTree, 0.01"] == ["adult, epsilon 0.01"]
    assert where["PrivateTree, 0.1, leaves of 4% or more"] == ["adult, epsilon 0.1"]
    assert where["tree without privacy"] == ["adult, epsilon 0.1", "adult, epsilon 0.01"]


NAPS = """
import multiprocessing, os, sys, time
multiprocessing.set_start_method("fork")
from privet_bench import registry, runner
from privet_bench.experiment import Experiment, Method

def nap(experiment, task):
    time.sleep(0.2)
    while task.seed >= 4 and not os.path.exists(sys.argv[1]):  # or a busy machine would kill it when all is done
        time.sleep(0.02)
    return {"accuracy": task.seed / 10}

registry.EXPERIMENTS["nap"] = Experiment("nap", "", "", ("a",), {"m": Method("M")}, ({},), 8, run=nap)
sys.exit(runner.run(["nap"], {}, jobs=2))
"""


def runs(process):
    """Whether there is this process; a zombie has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path):
    file = tmp_path / "store.parquet"
    path = os.pathsep.join(filter(None, (str(BENCHMARKS), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PRIVET_BENCH_STORE": str(file), "PYTHONPATH": path}
    command = [sys.executable, "-c", NAPS, str(tmp_path / "go on")]
    started = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    journal = file.with_suffix(".journal")
    while not (journal.exists() and journal.read_text().count("\n") >= 2):
        assert started.poll() is None, started.communicate()[1]
        time.sleep(0.02)
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    started.send_signal(signal.SIGKILL)
    started.wait()
    before = journal.read_text().splitlines()
    assert 2 <= len(before) <= 4
    for child in children:  # they end with it
        while runs(child):
            time.sleep(0.02)
    (tmp_path / "go on").touch()
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert f"{8 - len(before)} runs to do, about" in done.stderr
    assert "left: nap" in done.stderr
    assert sorted(row.value for row in Store(file).rows("nap")) == [seed / 10 for seed in range(8)]
    assert all(json.loads(line)["commit"] for line in before)


# -- the page of the docs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store():
    """The store of the repository, which takes seconds to read."""
    return Store()


def test_the_page_is_what_the_store_says(store):
    written = page.PAGE.read_text(encoding="utf-8")
    assert page.AGE.sub("", written) == page.AGE.sub("", page.text(store)), "run benchmarks/privet-bench page"
    assert page.AGE.search(written)
    for file in page.marked_pages():
        text = file.read_text(encoding="utf-8")
        assert page.filled(text, store) == text, f"{file.name}: run benchmarks/privet-bench page"


def test_every_loss_is_explained_and_every_commit_of_the_store_is_there(store):
    assert page.UNEXPLAINED not in page.text(store)
    known = {row.commit.removeprefix("in ").rstrip("+") for row in store.rows() if row.experiment != "printed"}
    if runner.commit() == runner.UNKNOWN or runner.git("rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("the repository's history is not here")
    lost = [commit for commit in known - {runner.UNKNOWN} if runner.changes_since(commit) is None]
    assert not lost, "a rebase lost these; say which commit brought the rows, as `in COMMIT`"


def test_where_the_history_is_not_known_the_page_does_not_say_that_it_is_young(tmp_path, monkeypatch):
    store = Store(tmp_path / "store.parquet")
    store.add(rows_of(Task("peers", "vote", OURS, "{}", 0), {"accuracy": 0.5}, 1.0, "abc", "2026-11-18"))
    monkeypatch.setattr(page, "changes_since", lambda commit: None)
    assert "not known here" in page.age(store)


def test_a_page_older_than_the_code_says_so(store, monkeypatch):
    monkeypatch.setattr(page, "changes_since", lambda commit: 3)
    assert "Older than the code" in page.newer_code(store)
    with monkeypatch.context() as quick:  # what else is stale, the test above has seen
        quick.setattr(page, "text", lambda store: page.PAGE.read_text(encoding="utf-8"))
        quick.setattr(page, "marked_pages", lambda: [])
        assert page.stale(store) == [page.newer_code(store)]
    monkeypatch.setattr(page, "changes_since", lambda commit: 0)
    assert page.newer_code(store) == ""
    monkeypatch.undo()
    if page.newer_code(store):
        assert "Older than the code" in page.PAGE.read_text(encoding="utf-8"), "run benchmarks/privet-bench page"


def test_a_check_makes_runs_again_and_only_then_is_changed_code_no_older(tmp_path, monkeypatch):
    store = Store(tmp_path / "store.parquet")
    task = Task("peers", "vote", OURS, '{"epsilon": 1.0}', 500)
    store.add(rows_of(task, {"accuracy": 0.5}, 1.0, "abc", "2026-11-18"))
    monkeypatch.setattr(page, "changes_since", lambda commit: {"abc": 2, "def": 0}[commit])
    monkeypatch.setattr(runner, "commit", lambda: "def")
    monkeypatch.setattr(runner, "perform", lambda task: ({"accuracy": 0.25}, 1.0))
    assert runner.check(store, {"peers": [OURS]}) == 1
    assert "Older than the code" in page.age(store)
    monkeypatch.setattr(runner, "perform", lambda task: ({"accuracy": 0.5}, 1.0))
    assert runner.check(store, {"peers": [OURS]}) == 0
    assert "at def 1 of our runs" in page.age(store)
    assert page.newer_code(store) == ""


@pytest.mark.parametrize(("name", "epsilon"), [("vote", 1.0), ("diabetes", 4.0)], ids=["one tree", "boosting"])
def test_a_row_of_the_page_can_be_made_again(store, name, epsilon):
    """The same number: learners that predict something else need new runs, or a page that says that it is older. Even
    then it is not below the page by 12 standard errors (ten runs of accuracy: a false alarm in fewer than one of a
    million)."""
    if not shared_data.available():
        pytest.skip(f"there are no shared data in {shared_data.SHARED}")
    own, kept = EXPERIMENTS["peers"], (name, OURS, canonical({"epsilon": epsilon}), "accuracy")
    tasks = [row for row in store.rows("peers") if (row.set, row.method, row.setting, row.measure) == kept]
    now = mean([Row(**vars(row) | {"value": fits.scores(own, row.task)["accuracy"]}) for row in tasks])
    written = page.PAGE.read_text(encoding="utf-8")
    accuracies = written.partition("## Accuracy")[2].partition("## AUC")[0]
    line = re.search(rf"^\| {name}, {epsilon:g} \| (.*?) \|", accuracies, re.M)[1]
    assert line == cell(now, "accuracy", own.seeds) or "Older than the code" in written
    before = float(line.split(" ± ")[0])
    assert now.value >= before - 12 * math.hypot(now.error, 0.005)
