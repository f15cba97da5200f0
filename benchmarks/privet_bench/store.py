"""The results: one Parquet file, and a journal beside it while a run goes on.

A line is one measure of one run (or, of results from before the store, a mean with its error and number of runs). The
journal is written line by line, so that a run that is killed loses only what it was at; opening the store folds it in.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privet_bench.experiment import Measured, Scores, Task

FILE = Path(os.environ.get("PRIVET_BENCH_STORE", Path(__file__).parents[1] / "results.parquet"))
UNKNOWN = "unknown"
"""The commit of results that were kept before the store, and are in no commit's file."""

KEY = ("experiment", "set", "method", "setting", "seed")
_key = attrgetter(*KEY)


@dataclass(frozen=True)
class Row:
    experiment: str
    set: str
    method: str
    setting: str
    seed: int
    measure: str
    value: float
    error: float
    """Of a mean; nan of a single run."""
    runs: int
    seconds: float
    """What the run took; nan if it was not noted. Machines and their load differ: it is for planning."""
    commit: str
    """Of the code; with ``+`` if files had changes, ``in ...`` of the commit that brought an older result."""
    day: str

    @property
    def task(self) -> Task:
        return Task(*_key(self))


SCHEMA = pa.schema(
    [(f.name, {"int": pa.int32(), "float": pa.float64()}.get(str(f.type), pa.string())) for f in fields(Row)]
)


def rows_of(task: Task, scores: Scores, seconds: float, commit: str, day: str) -> list[Row]:
    known = asdict(task) | {"seconds": seconds, "commit": commit, "day": day}
    found = {name: own if isinstance(own, Measured) else Measured(own, math.nan, 1) for name, own in scores.items()}
    return [Row(**known, measure=measure, **own._asdict()) for measure, own in found.items()]


class Store:
    """All rows, in memory; of a task that was made again the later rows count."""

    def __init__(self, file: Path = FILE, only: str | None = None) -> None:
        """``only``: of the file the rows of this experiment, which is soon read."""
        self.file = file
        self.journal = file.with_suffix(".journal")
        self._rows: dict[tuple[Task, str], Row] = {}
        self.done: set[Task] = set()
        if file.exists():
            wanted = [("experiment", "==", only)] if only else None
            self._keep(Row(**line) for line in pq.read_table(file, filters=wanted).to_pylist())
        if self.journal.exists():
            self._replace(list(_journal(self.journal)))

    def rows(self, experiment: str | None = None) -> list[Row]:
        return [row for row in self._rows.values() if experiment in (None, row.experiment)]

    def add(self, rows: Sequence[Row]) -> None:
        """Kept at once, in the journal."""
        with self.journal.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(asdict(row)) + "\n" for row in rows))
            file.flush()
            os.fsync(file.fileno())
        self._replace(rows)

    def save(self) -> None:
        """The journal into the Parquet file; whichever of the two a kill leaves behind, nothing is lost."""
        rows = sorted(self._rows.values(), key=lambda row: (*(getattr(row, name) for name in KEY), row.measure))
        columns = {f.name: [getattr(row, f.name) for row in rows] for f in fields(Row)}
        scratch = self.file.with_suffix(".new")
        pq.write_table(pa.table(columns, schema=SCHEMA), scratch, compression="zstd", compression_level=19)
        os.replace(scratch, self.file)
        self.journal.unlink(missing_ok=True)

    def _replace(self, rows: Sequence[Row]) -> None:
        """A task that was made again has what it says now, and nothing else."""
        again = {row.task for row in rows} & self.done
        if again:
            self._rows = {key: row for key, row in self._rows.items() if key[0] not in again}
        self._keep(rows)

    def _keep(self, rows: Iterable[Row]) -> None:
        for row in rows:
            task = row.task
            self._rows[task, row.measure] = row
            self.done.add(task)


def _journal(file: Path) -> Iterable[Row]:
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            known: dict[str, Any] = json.loads(line)
        except json.JSONDecodeError:  # the line that a kill cut short
            continue
        yield Row(**known)


@cache
def papers() -> dict[tuple[str, str, str], tuple[float, float]]:
    """The papers' numbers with their errors, by set, name in the paper, and setting: they are in the store as well."""
    return {(row.set, row.method, row.setting): (row.value, row.error) for row in Store(only="printed").rows("printed")}


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error (nan of a single run) and what it rests on."""

    value: float
    error: float
    runs: int
    commits: frozenset[str]


def mean(rows: Sequence[Row]) -> Mean | None:
    """Over single runs; a mean that was kept as one stands in where no run is."""
    single = [row for row in rows if row.runs == 1]
    if not single:
        kept = max(rows, key=lambda row: row.runs, default=None)
        return None if kept is None else Mean(kept.value, kept.error, kept.runs, frozenset([kept.commit]))
    values = np.array([row.value for row in single])
    return Mean(float(values.mean()), _error(single), len(values), frozenset(row.commit for row in single))


def _error(rows: Sequence[Row]) -> float:
    """The standard error of the mean of single runs; where sets or settings are pooled, how they differ is no error."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        groups.setdefault((row.set, row.setting), []).append(row.value)
    if min(map(len, groups.values())) < 2:
        return float(np.std([row.value for row in rows], ddof=1) / math.sqrt(len(rows))) if len(rows) > 1 else math.nan
    return math.sqrt(sum(len(own) * float(np.var(own, ddof=1)) for own in groups.values())) / len(rows)
