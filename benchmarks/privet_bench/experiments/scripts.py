"""Measurements of another kind (rounds, bytes, persons, bounds of audits): scripts whose printed numbers are kept.

Every number that a script prints is taken as it stands: of a table in Markdown each cell, by row and column; else what
the pattern finds in a line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from privet_bench.experiment import Experiment, Method, Scores, Task

BENCHMARKS = Path(__file__).parents[2]
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def of_tables(printed: str) -> Iterator[tuple[str, float]]:
    heads: list[str] = []
    for line in printed.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if not line.startswith("|"):
            heads = []
        elif not heads:
            heads = cells
        elif not line.startswith("|---"):
            for head, cell in zip(heads[1:], cells[1:]):
                if found := NUMBER.match(cell):
                    yield f"{heads[0]} {cells[0]}: {head}", _value(found[0])


def of_lines(pattern: str, printed: str) -> Iterator[tuple[str, float]]:
    """``what`` and ``value`` of each line that the pattern finds."""
    for found in re.finditer(pattern, printed, re.M):
        yield " ".join(found["what"].split()), _value(found["value"])


def _value(text: str) -> float:
    return float(text.replace(",", ""))


SCRIPTS: dict[str, tuple[str, str, list[str], str]] = {
    "federated-costs": ("Rounds, bytes and seconds of federated training", "federated_costs.py", [], ""),
    "persons": ("What a promise to persons costs", "persons.py", ["--seeds", "20", "--sizes", "1000", "4000"], ""),
    "audit-power": ("How much of the truth counted bounds show", "audit_power.py", [], ""),
    "mpc-engines": (
        "Our engine against MPyC's arrays", "mpc.py", [], r"^(?P<what>.+? MPyC takes) (?P<value>\d+) times",
    ),
    "jointexp": (
        "Joint quantiles on cells against the recurrence over records", "jointexp.py", [],
        r"^(?P<what>9 joint .*? recurrence).*? (?P<value>0\.\d+)",
    ),
    "hidden-costs": (
        "Rounds of hidden training on Adult's shape", "hidden.py", ["--ours", "--depths", "2,3", "--runs", "1"],
        r"^(?P<what>\w+, depth \d+): training .*?, (?P<value>[\d,]+) rounds",
    ),
}  # fmt: skip
"""By name: what it is, the script with its options, and the pattern of its lines (empty: tables)."""


def measured(experiment: Experiment, task: Task) -> Scores:
    """The script, in a process that may use all cores."""
    _, script, options, pattern = SCRIPTS[experiment.name]
    free = {k: v for k, v in os.environ.items() if k not in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")}
    command = [sys.executable, "-W", "ignore", str(BENCHMARKS / script), *options]
    printed = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=free
    ).stdout
    found = dict(of_lines(pattern, printed) if pattern else of_tables(printed))
    if not found:
        raise ValueError(f"{script} printed no number: {printed[:200]!r}")
    return found


EXPERIMENTS = [
    Experiment(
        name=name,
        title=title,
        source="Privet",
        sets=("this machine",),
        methods={script: Method(script)},
        settings=({},),
        seeds=1,
        run=measured,
        columns="value",
        alone=True,
        seconds=300,
        note=f"One run of `benchmarks/{' '.join([script, *options])}`.",
    )
    for name, (title, script, options, _) in SCRIPTS.items()
]
