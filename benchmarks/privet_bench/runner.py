"""Runs what is missing: in parallel, with the time that is left, and so that it can be stopped at any moment.

Each finished task is kept before the next is counted as begun. Killed, even by ``kill -9``, it goes on where it was
when it is called again; the processes that it had started end with it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from privet_bench import fits, peers
from privet_bench.data import NoData, here, is_set, schema_of
from privet_bench.experiment import Experiment, Scores, Task
from privet_bench.processes import die_with_parent
from privet_bench.registry import EXPERIMENTS
from privet_bench.store import UNKNOWN, Store, rows_of

ROOT = Path(__file__).parents[2]
CODE = ("src/privet", "benchmarks", ":!benchmarks/results.parquet")
"""What a number depends on."""

LEARNERS = [f"src/privet/{room}" for room in ("algorithms", "curators", "privacy", "questions", "tables", "tree")]
LEARNERS += [":!src/privet/privacy/event_text.py"]  # words of receipts
"""Where a change may change what our models predict."""

Only = Mapping[str, Sequence[str]]


def commit() -> str:
    """The commit of the code that runs, with ``+`` if its files have changes that are in no commit."""
    try:
        known = git("rev-parse", "--short=7", "HEAD")
        return known + ("+" if git("status", "--porcelain", "--untracked-files=no", "--", *CODE) else "")
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


@cache
def changes_since(commit: str) -> int | None:
    """How many commits touched the learners since a row's commit; None where that is not known."""
    try:
        known = commit.removeprefix("in ").rstrip("+")
        return int(git("rev-list", "--count", f"{known}..HEAD", "--", *LEARNERS))
    except (OSError, subprocess.CalledProcessError):
        return None


def older(store: Store) -> set[Task]:
    """What older code of ours has made. A peer's results do not depend on our learners."""
    peer = {(own.name, name) for own in EXPERIMENTS.values() for name, m in own.methods.items() if m.peer}
    rows = (row for row in store.rows() if (row.experiment, row.method) not in peer)
    return {row.task for row in rows if changes_since(row.commit) != 0}


CHECKED = "checked"
"""Rows of the store that say how many runs came out the same under a later commit."""


def check(store: Store, methods: Mapping[str, Sequence[str]], *, out: TextIO = sys.stderr) -> int:
    """Make runs of these experiments' methods again, a quick one for each set and setting by a draw; how many differ.

    If none does, the store says so: a change of the learners that changes no result does not make them older.
    """
    rows: dict[tuple[str, str, str], dict[Task, dict[str, float]]] = {}
    for row in (row for name in methods for row in store.rows(name)):
        if row.method in methods[row.experiment] and row.runs == 1 and row.seconds < QUICK:
            drawn_from = rows.setdefault((row.experiment, row.set, row.setting), {})
            drawn_from.setdefault(row.task, {})[row.measure] = row.value
    drawn = [random.choice(list(own.items())) for own in rows.values()]
    differ = []
    for done, (task, kept) in enumerate(drawn, start=1):
        differ += [] if _same(perform(task)[0], kept) else [task]
        print(f"\r{done} of {len(drawn)} made again, {len(differ)} differ", end="", file=out, flush=True)
    print("", *differ, sep="\n", file=out, flush=True)
    if not differ:
        found = {"runs": float(len(drawn))}
        store.add(
            rows_of(Task(CHECKED, "peers", "ours", "{}", 0), found, 0.0, commit(), f"{datetime.now(UTC):%Y-%m-%d}")
        )
        store.save()
    return len(differ)


QUICK = 10.0
"""Seconds of a run that may be made again for a check."""


def _same(found: Scores, kept: Mapping[str, float]) -> bool:
    """To rounding errors, which machines may make differently."""
    return found.keys() == kept.keys() and np.allclose(list(map(found.__getitem__, kept)), list(kept.values()), 1e-9)


def wanted(experiment: Experiment, only: Only, *, quick: bool = False) -> list[Task]:
    """The tasks that were asked for: ``only`` says which values of which names."""
    if quick and not experiment.quick:
        return []
    limits = [(name, {*map(str, values)}) for part in (only, experiment.quick if quick else {})
              for name, values in part.items()]  # fmt: skip
    return [task for task in experiment.tasks() if all(str(task.value(name)) in values for name, values in limits)]


def at_hand(experiment: Experiment, task: Task) -> bool:
    """Whether its data can be read without a network, and the method learns from such data."""
    if not is_set(task.set):
        return True
    return here(task.set) and experiment.methods[task.method].takes(schema_of(task.set), task.options)


def possible(experiment: Experiment, task: Task) -> bool:
    """Whether its data and its environment are here, or can be had; and whether the method learns from such data."""
    method = experiment.methods[task.method]
    if is_set(task.set) and not (
        _there(task.set, schema_of, NoData) and method.takes(schema_of(task.set), task.options)
    ):
        return False
    return not method.peer or _there(method.peer, peers.environment, peers.NoEnvironment)


_absent: set[str] = set()


def _there(name: str, get: Callable[[str], Any], absence: type[Exception]) -> bool:
    if name in _absent:
        return False
    try:
        get(name)
    except absence as error:
        _absent.add(name)
        print(f"LEFT OUT: {error}", file=sys.stderr, flush=True)
        return False
    return True


def expected(tasks: Iterable[Task], store: Store) -> dict[Task, float]:
    """Seconds of one core, from what like runs took before: same method and set, else same method, else a guess."""
    near: dict[tuple[str, ...], list[float]] = {}
    for row in store.rows():
        if not np.isnan(row.seconds):
            for key in ((row.experiment, row.method, row.set), (row.experiment, row.method)):
                near.setdefault(key, []).append(row.seconds)

    def one(task: Task) -> float:
        for key in ((task.experiment, task.method, task.set), (task.experiment, task.method)):
            if key in near:
                return float(np.median(near[key]))
        return EXPERIMENTS[task.experiment].seconds

    return {task: one(task) for task in tasks}


def run(
    names: Sequence[str],
    only: Only,
    *,
    jobs: int,
    quick: bool = False,
    anew: bool = False,
    out: TextIO = sys.stderr,
) -> int:
    """Run what is missing of these experiments, or also what older code has made; how many tasks failed."""
    store = Store()
    store.save()  # a journal that a kill left behind
    asked = [(own, task) for own in map(EXPERIMENTS.__getitem__, names) for task in wanted(own, only, quick=quick)]
    done = store.done - older(store) if anew else store.done
    tasks = [task for own, task in asked if task not in done and possible(own, task)]
    guess = expected(tasks, store)
    single = {task: seconds for task, seconds in guess.items() if EXPERIMENTS[task.experiment].alone}
    beside = {task: seconds for task, seconds in guess.items() if task not in single}
    left = sum(beside.values()) / jobs + sum(single.values())
    print(
        f"{len(tasks)} runs to do, about {time_of(left)} with {jobs} at a time"
        + (f", then {len(single)} of them alone" if single else ""),
        file=out,
        flush=True,
    )
    failed = sum(_work(own, store, n, out) for own, n in ((beside, jobs), (single, 1)) if own)
    store.save()
    return failed


def _work(guess: dict[Task, float], store: Store, jobs: int, out: TextIO) -> int:
    code, start, failed, done = commit(), time.monotonic(), 0, 0
    left = total = sum(guess.values())
    queue = iter(guess)
    with ProcessPoolExecutor(jobs, initializer=die_with_parent, initargs=(os.getpid(),)) as pool:
        running: dict[Future[tuple[Scores, float]], Task] = {}
        while True:
            while len(running) < 2 * jobs and (task := next(queue, None)):
                running[pool.submit(perform, task)] = task
            if not running:
                return failed
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                done, left = done + 1, left - guess[task]
                error = future.exception()
                if error is not None:
                    failed += 1
                    print(f"\nFAILED {task}: {error}", file=out, flush=True)
                    continue
                scores, seconds = future.result()
                store.add(rows_of(task, scores, round(seconds, 2), code, f"{datetime.now(UTC):%Y-%m-%d}"))
                rest = time_of(max(left, 0) * (time.monotonic() - start) / (total - left))
                print(f"\r{done} of {len(guess)}, {rest} left: {task}".ljust(110)[:110], end="", file=out, flush=True)


def perform(task: Task) -> tuple[Scores, float]:
    """One task, in this process: its scores and seconds of processor time here and in a peer."""
    experiment = EXPERIMENTS[task.experiment]
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(action="ignore"):  # of budgets that are small on purpose
            found = (experiment.run or fits.scores)(experiment, task)
    except peers.TooLong:
        found = {peers.TOO_LONG: float(peers.LIMIT)}
    return found, time.perf_counter() - start


def time_of(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )
