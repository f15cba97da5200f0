"""Measurements of another kind (rounds, bytes, persons, bounds of audits): scripts whose printed numbers are kept.

Every number that a script prints is taken as it stands: of a table in Markdown each cell, by row and column; else what
the pattern finds in a line.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from privet_bench.experiment import Experiment, Measured, Method, Scores, Task
from privet_bench.store import Row
from privet_bench.tables import head, provenance, row

BENCHMARKS = Path(__file__).parents[2]
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def of_tables(printed: str) -> Iterator[tuple[str, float | Measured]]:
    """Every number of every table with its error, by its row, which its first cells name, and its column."""
    for lines in re.findall(r"(?:^\|.*\n?)+", printed, re.M):
        heads, *rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines.splitlines()]
        rows = [cells for cells in rows if not cells[0].startswith("---")]
        names = next(n for n in range(1, len(heads)) if len({tuple(cells[:n]) for cells in rows}) == len(rows))
        for cells in rows:
            name = ", ".join(f"{column} {cell}" for column, cell in zip(heads[:names], cells))
            for column, cell in zip(heads[names:], cells[names:]):
                if found := NUMBER.match(cell):
                    value, error = _value(found[0]), NUMBER.match(cell.partition("± ")[2])
                    yield f"{name}: {column}", Measured(value, _value(error[0]), 1) if error else value


def as_printed(experiment: Experiment, rows: Sequence[Row], only: str) -> Iterator[str]:
    """The script's tables again: the rows that have the same columns stand together."""
    cells: dict[str, dict[str, str]] = {}
    for own in rows:
        name, _, column = own.measure.partition(": ")
        value = f"{own.value:,.4g}" if own.value < 1000 else f"{own.value:,.0f}"
        error = "" if math.isnan(own.error) else f" ± {own.error:.2g}"
        cells.setdefault(name, {})[column or "value"] = value + error
    for columns in dict.fromkeys(tuple(own) for own in cells.values()):
        yield ""
        yield from head("", columns)
        for name in sorted((name for name, own in cells.items() if tuple(own) == columns), key=_by_numbers):
            yield row(name, list(cells[name].values()))
    yield "\n" + provenance(experiment, rows, only)


def _by_numbers(name: str) -> list[tuple[float, str]]:
    """So that 10 comes after 9, and 1,000 after both."""
    words = ((NUMBER.fullmatch(word.rstrip(",")), word) for word in name.split())
    return [(_value(found[0]) if found else -1.0, word) for found, word in words]


def of_lines(pattern: str, printed: str) -> Iterator[tuple[str, float]]:
    """``what`` and ``value`` of each line that the pattern finds; other groups are columns of their own."""
    for found in re.finditer(pattern, printed, re.M):
        what = " ".join(found["what"].split())
        for column, text in found.groupdict().items():
            if column != "what":
                yield what if column == "value" else f"{what}: {column}", _value(text)


def _value(text: str) -> float:
    return float(text.replace(",", ""))


SCRIPTS: dict[str, tuple[str, str, list[str], str]] = {
    "federated-costs": ("Rounds, bytes and seconds of federated training", "federated_costs.py", ["--runs", "2"], ""),
    "federated-processes": (
        "Federated training between processes over TLS, in seconds", "federated_costs.py",
        ["--processes", "--runs", "3"], "",
    ),
    "persons": ("What a promise to persons costs", "persons.py", [], ""),
    "audit-power": ("How much of the truth counted bounds show", "audit_power.py", [], ""),
    "mpc-engines": (
        "Our engine against MPyC's arrays", "mpc.py", [], r"^(?P<what>.+? MPyC takes) (?P<value>\d+) times",
    ),
    "mpc-adult": ("Joint training on the census data by the number of records", "mpc.py", ["--adult"], ""),
    "mpc-adult-delay": (
        "Joint training between servers that are far apart", "mpc.py", ["--adult", "--delay", "0.02", "--runs", "3"],
        "",
    ),
    "jointexp": (
        "Joint quantiles on cells against the recurrence over records", "jointexp.py", [],
        r"^(?P<what>9 joint .*? recurrence).*? (?P<value>0\.\d+)",
    ),
    "hidden-costs": (
        "Rounds of hidden training on Adult's shape", "hidden.py", ["--ours", "--depths", "2,3", "--runs", "1"],
        r"^(?P<what>\w+, depth \d+): training .*?, (?P<value>[\d,]+) rounds",
    ),
    "hidden-delay": (
        "Hidden training between servers that are far apart", "hidden.py", ["--delay", "0.02"],
        r"^(?P<what>\w+, \d+ ms of delay, depth \d+): training (?P<seconds>[\d.]+) s.*?, (?P<rounds>[\d,]+) rounds"
        r".*?; 1,000 predictions (?P<predictions>[\d.]+) s",
    ),
    "hidden-mpyc": (
        "Algorithm 1 on MPyC beside hidden training", "hidden.py", [],
        r"^(?P<what>depth \d+, MPyC \w+): (?P<seconds>[\d,]+) s.*?; (?P<times>[\d,]+) and [\d,]+ times ours",
    ),
    "audit-diffprivlib": (
        "What audits of diffprivlib's tree and forest found", "audit_diffprivlib.py", [],
        r"^diffprivlib +(?P<what>\S.*?) {2,}\S+ +\S+ +(?P<value>[\d.]+) ",
    ),
    "databases": (
        "One tree from files and inside databases, in seconds", "databases.py", ["--rows", "1000000"],
        r"^(?P<what>\w+): (?P<value>[\d.]+) s",
    ),
    "databases-engines": (
        "One tree from 100,000 records in each engine, in seconds", "databases.py",
        ["--rows", "100000", "--turns", "1", "--spark", "--postgres", "own"],
        r"^(?P<what>\w+): (?P<value>[\d.]+) s",
    ),
    **{
        f"databases-{rows}m": (
            f"One tree from {rows},000,000 records in files and DuckDB", "databases.py", ["--rows", f"{rows}000000"],
            r"^(?P<what>\w+): (?P<seconds>[\d.]+) s .*, (?P<megabytes>[\d,]+) MB",
        )
        for rows in (5, 20, 50)
    },
    "scale": ("Records in files beside records in memory", "scale.py", ["--rows", "1000000", "5000000"], ""),
    "scale-50m": ("50,000,000 records in files", "scale.py", ["--rows", "50000000"], ""),
    "witnesses": ("The numbers of docs/theory.md", "witnesses.py", [], ""),
}  # fmt: skip
"""By name: what it is, the script with its options, and the pattern of its lines (empty: tables)."""


def measured(experiment: Experiment, task: Task) -> Scores:
    """The script, in a process that may use all cores."""
    _, script, options, pattern = SCRIPTS[experiment.name]
    free = {k: v for k, v in os.environ.items() if k not in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")}
    command = [sys.executable, "-W", "ignore", str(BENCHMARKS / script), *options]
    printed = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=free
    ).stdout
    found: Scores = dict(of_lines(pattern, printed) if pattern else of_tables(printed))
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
        layout=as_printed,
        alone=True,
        seconds=300,
        note=f"One run of `benchmarks/{' '.join([script, *options])}`.",
    )
    for name, (title, script, options, _) in SCRIPTS.items()
]
