"""Membership inference on realistic data: how well can an attacker tell who was in the training data?

A second view of the same promise. Some records are targets; in each run a coin decides for each of them whether it is
trained on. The attacker knows all other records that may be there and has many such runs to learn from; it looks at
what the model says about the target. Its *advantage* is the chance of saying "in" when the target is in, less the
chance of saying so when it is not: 0 for guessing, 1 for certainty. Epsilon allows at most
(e^epsilon - 1) / (e^epsilon + 1).
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privet.audit.bound import check, highest, lowest
from privet.audit.release import release_of, unfitted_copy
from privet.audit.statistical import chunks, jobs, no_open_ledger, uses_workers
from privet.errors import PrivetError
from privet.progress import Progress
from privet.schema import Schema


@dataclass(frozen=True)
class Membership:
    """The attacker's advantage on the target where it was greatest, with an interval that holds with ``confidence``.

    ``mean`` is the average over all targets: an estimate. ``allowed`` is what epsilon allows, 1 without a promise.
    """

    advantage: float
    low: float
    high: float
    mean: float
    allowed: float
    confidence: float
    runs: int
    targets: int
    records: int

    @property
    def violated(self) -> bool:
        return self.low > self.allowed

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "violated": self.violated}

    def __str__(self) -> str:
        return (
            f"advantage {self.advantage:.3f} ({self.low:.3f} to {self.high:.3f}) on the weakest of {self.targets} "
            f"targets among {self.records} records, {self.mean:.3f} on average, {self.allowed:.3f} allowed "
            f"({self.runs} runs, confidence {self.confidence:g})"
        )


def advantage_allowed(epsilon: float | None) -> float:
    """The largest advantage that epsilon leaves room for.

    >>> round(advantage_allowed(1.0), 3), advantage_allowed(None)
    (0.462, 1.0)
    """
    check(epsilon=epsilon)
    return 1.0 if epsilon is None else math.tanh(epsilon / 2)


def attack_membership(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    schema: Schema | None = None,
    epsilon: float | None = None,
    records: int = 500,
    targets: int = 20,
    runs: int = 400,
    confidence: float = 0.999,
    seed: int = 0,
    progress: Any = None,
    n_jobs: int | None = None,
) -> Membership:
    """Attack an estimator trained on ``records`` rows of a table; ``schema`` is for an estimator that has none yet.

    Half of the targets carry a wrong label: an odd record shows most. Half of the ``runs`` find, for each target, what
    to look at; the others measure it. The weakest target, too, is chosen on the first half, so the interval is about
    one pair of probabilities only.
    """
    check(confidence=confidence, proven=epsilon, runs=runs)
    no_open_ledger()
    if runs < 8:
        raise PrivetError(f"{runs} runs are too few: at least 8 are needed, and some hundreds to see anything.")
    params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if epsilon is None:
        epsilon = params.get("epsilon")
    if "schema" in params and params["schema"] is None:
        from sklearn.base import clone

        estimator = clone(estimator).set_params(schema=schema)
    release_of(estimator, probe=())  # refuses what cannot be audited
    field = _Field.drawn(X, y, records, targets, seed)
    found = _runs(estimator, field, runs, jobs(n_jobs), progress)
    first, second = found[: runs // 2], found[runs // 2 :]
    attacks = [_Attack.learnt(first, target) for target in range(targets)]
    rates = [attack.rates(second, target) for target, attack in enumerate(attacks)]
    weakest = int(np.argmax([attack.promise for attack in attacks]))
    hits_in, n_in, hits_out, n_out = rates[weakest]
    share = (1 - confidence) / 4  # two probabilities, each from both sides
    return Membership(
        advantage=hits_in / n_in - hits_out / n_out,
        low=float(lowest(hits_in, n_in, share) - highest(hits_out, n_out, share)),
        high=float(highest(hits_in, n_in, share) - lowest(hits_out, n_out, share)),
        mean=float(np.mean([a / n - b / m for a, n, b, m in rates])),
        allowed=advantage_allowed(epsilon),
        confidence=confidence,
        runs=runs,
        targets=targets,
        records=records,
    )


@dataclass(frozen=True, eq=False)
class _Field:
    """The records that are always trained on, and the targets."""

    X: Any
    labels: np.ndarray
    others: np.ndarray
    targets: np.ndarray

    @classmethod
    def drawn(cls, X: Any, y: Any, records: int, targets: int, seed: int) -> _Field:
        labels = np.array(y)
        if not 0 < targets < records <= len(labels):
            raise PrivetError(f"targets must be fewer than records, and records at most the table's {len(labels)}.")
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(labels))[:records]
        classes = np.unique(labels[rows]).tolist()
        for row in rows[: targets // 2]:
            others = [label for label in classes if label != labels[row]]
            labels[row] = others[int(rng.integers(len(others)))] if others else labels[row]
        return cls(_take(X, rows), labels[rows], np.arange(targets, records), np.arange(targets))


Run = tuple[np.ndarray, np.ndarray]


def _runs(estimator: Any, field: _Field, runs: int, workers: int, progress: Any) -> list[Run]:
    start = time.perf_counter()
    _run_many(estimator, field, 2)
    seconds = (time.perf_counter() - start) / 2
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    workers = workers if uses_workers(runs, seconds, workers) else 1
    size = max(1, min(runs // (4 * workers), int(1 / seconds)))
    parallel = Parallel(n_jobs=workers, backend="loky", return_as="generator", batch_size=1)
    found: list[Run] = []
    with Progress(progress, "attacking", runs) as bar:
        for some in parallel(delayed(_run_many)(estimator, field, n) for n in chunks(runs, size)):
            found += some
            bar.advance(len(some))
    return found


def _run_many(estimator: Any, field: _Field, n: int) -> list[Run]:
    """Each run: which targets were in; for each of them whether its label was predicted, and with what probability."""
    rng = np.random.default_rng()
    found = []
    for _ in range(n):
        inside = rng.random(len(field.targets)) < 0.5
        rows = np.concatenate([field.targets[inside], field.others])
        model = unfitted_copy(estimator).fit(_take(field.X, rows), field.labels[rows])
        probe, own = _take(field.X, field.targets), field.labels[field.targets]
        score = (np.asarray(model.predict(probe)) == own).astype(float)
        if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
            column = {label: i for i, label in enumerate(np.asarray(model.classes_).tolist())}
            shares = np.asarray(model.predict_proba(probe), dtype=float)
            # What is predicted counts first: it may be decided by more than the probabilities.
            score += [shares[i, column[label]] if label in column else 0.0 for i, label in enumerate(own.tolist())]
        found.append((inside, score))
    return found


@dataclass(frozen=True)
class _Attack:
    """Says "in" if the score of a target is at least a threshold, or below it if that is what shows."""

    threshold: float
    above: bool
    promise: float

    @classmethod
    def learnt(cls, runs: list[Run], target: int) -> _Attack:
        ins, outs = _scores(runs, target)
        thresholds = np.unique(np.concatenate([ins, outs]))
        gaps = np.array([np.mean(ins >= t) - np.mean(outs >= t) for t in thresholds])
        at = int(np.argmax(np.abs(gaps)))
        return cls(float(thresholds[at]), bool(gaps[at] >= 0), float(abs(gaps[at])))

    def rates(self, runs: list[Run], target: int) -> tuple[int, int, int, int]:
        """How often it says "in" when that is so, of how many; and when it is not."""
        ins, outs = _scores(runs, target)
        hits = [int(np.sum((scores >= self.threshold) == self.above)) for scores in (ins, outs)]
        return hits[0], len(ins), hits[1], len(outs)


def _scores(runs: list[Run], target: int) -> tuple[np.ndarray, np.ndarray]:
    """A target's scores in the runs that it was in, and in those that it was not."""
    inside = np.array([run[0][target] for run in runs])
    scores = np.array([run[1][target] for run in runs])
    if inside.all() or not inside.any():
        raise PrivetError("Too few runs: a target was in all of them, or in none. Ask for more.")
    return scores[inside], scores[~inside]


def _take(X: Any, rows: np.ndarray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "take") and not isinstance(X, np.ndarray) else np.asarray(X)[rows]
