"""The long audit: every sound estimator, for so many minutes each.

A violation is an error of the run, which says the Python that shows it again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from privet.audit import audit
from privet.audit.claims.privet import sound_estimators
from privet_bench.experiment import Experiment, Method, Scores, Task, grid
from privet_bench.store import Row
from privet_bench.tables import commits, head, row

MINUTES = float(os.environ.get("PRIVET_AUDIT_MINUTES", 3))
EPSILON = float(os.environ.get("PRIVET_AUDIT_EPSILON", 1))


def audited(experiment: Experiment, task: Task) -> Scores:
    report = audit(sound_estimators(task.value("epsilon"))[task.method], minutes=MINUTES, seed=task.seed)
    if report.violated:
        raise RuntimeError(f"{report}\n{report.findings[0].code()}")
    fits = [finding.bound for finding in report.confirmations]
    return {
        "pairs": report.tried,
        "exactly": sum(bound.engine == "exact" for bound in report.bounds),
        "skipped": sum(report.skipped.values()),
        "worst": report.worst.epsilon,
        "fits": 2 * sum(bound.runs for bound in fits),
        "fitted pairs": len(fits),
        "shown": max((bound.epsilon for bound in fits), default=0.0),
    }


def added_up(experiment: Experiment, rows: Sequence[Row], only: str) -> Iterator[str]:
    found: dict[tuple[str, float], dict[str, list[float]]] = {}
    for own in rows:
        found.setdefault((own.method, own.task.value("epsilon")), {}).setdefault(own.measure, []).append(own.value)
    yield from head("estimator", ["pairs tried", "of them exactly", "skipped", "worst bound", "proven", "real fits",
                                  "they show"])  # fmt: skip
    for (method, epsilon), own in found.items():
        sums = {name: int(sum(values)) for name, values in own.items()}
        cells = [*(f"{sums[name]:,}" for name in ("pairs", "exactly", "skipped")), f"{max(own['worst']):.4f}"]
        cells += [f"{epsilon:g}", f"{sums['fits']:,} on {sums['fitted pairs']} pairs" if sums["fits"] else "none"]
        yield row(f"`{method}`", [*cells, f"{max(own['shown']):.3f}" if sums["fits"] else "-"])
    pairs, exactly = (f"{sum(sum(own[name]) for own in found.values()):,.0f}" for name in ("pairs", "exactly"))
    minutes = sum({own.task: own.seconds for own in rows}.values()) / 60
    yield f"\n{pairs} pairs, {exactly} of them exactly, in {minutes:.0f} minutes: no violation.\n"
    yield f"*`benchmarks/privet-bench run audit`; code of {commits(rows)}.*"


EXPERIMENTS = [
    Experiment(
        name="audit",
        title="What audits of every sound estimator found",
        source="Privet",
        sets=("small tables",),
        methods={name: Method(name) for name in sound_estimators(EPSILON)},
        settings=grid(epsilon=(EPSILON,)),
        seeds=1,
        run=audited,
        alone=True,
        layout=added_up,
        seconds=60 * MINUTES,
    ),
]
