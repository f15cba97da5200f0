"""Many fits on the same records, each with noise of its own, and how each model labels some records.

Fits of our estimators share one curator, so the table is read once for many of them. Where a ledger is open every fit
is charged to it, in this process, after it was seen that all can be afforded; without one, worker processes help.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from privet.algorithms.base import PrivateEstimator
from privet.algorithms.parameters import checked_budget
from privet.curators.memory import MemoryCurator
from privet.errors import BudgetError, BudgetWarning, PrivetError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import mechanisms
from privet.progress import Progress
from privet.robustness.outcomes import Outcomes
from privet.robustness.probe import Probe
from privet.robustness.warned import Warned, listening
from privet.schema import Schema

_PART = 25
"""So many fits are one piece of work: fixed, so that a seed gives the same models however many workers there are."""

_WORTH_WORKERS = 6.0
"""Seconds of work below which starting other processes takes longer than it saves."""


def retrain(
    estimator: Any,
    X: Any,
    y: Any,
    probes: Sequence[Probe],
    groups: Any = None,
    *,
    runs: int,
    random_state: int | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> tuple[list[Outcomes], Any]:
    """What ``runs`` models give on each probe, and the last model.

    ``groups`` are the persons' ids, where the schema names a person that is no column of ``X``. ``random_state`` makes
    the noise reproducible, for research on public records.
    """
    _check(estimator, runs)
    seeds: list[int | None] = [None] * math.ceil(runs / _PART)
    if random_state is not None:
        seeds = [int(s.generate_state(1)[0]) for s in np.random.SeedSequence(random_state).spawn(len(seeds))]
    sizes = [min(_PART, runs - start) for start in range(0, runs, _PART)]
    parts: list[tuple[list[Outcomes], Any]] = []
    warned = Warned()
    with Progress(progress, "retraining", runs) as bar:
        for outcomes, model, own in _parts((estimator, X, y, groups, probes), sizes, seeds, n_jobs):
            parts.append((outcomes, model))
            warned.join(own)
            bar.advance(outcomes[0].runs)
    for words in warned.said(runs):
        warnings.warn(words, BudgetWarning, stacklevel=3)
    return [Outcomes.joined([outcomes[i] for outcomes, _ in parts]) for i in range(len(probes))], parts[-1][1]


def models_of(
    estimator: Any, X: Any, y: Any, groups: Any = None, *, runs: int, random_state: int | None = None
) -> Iterator[Any]:
    """``runs`` models, one after the other, each charged as it is trained; the checks are those of ``retrain``."""
    _check(estimator, runs)
    warned = Warned()
    yield from _models(estimator, X, y, groups, runs, random_state, warned)
    for words in warned.said(runs):
        warnings.warn(words, BudgetWarning, stacklevel=2)


def _check(estimator: Any, runs: int) -> None:
    if not (isinstance(runs, int | np.integer) and runs >= 1):
        raise PrivetError(f"runs is how many models are trained: a whole number, such as 1000; got {runs!r}.")
    if getattr(estimator, "random_state", None) is not None:
        raise PrivetError(
            "All retrainings would draw the same noise: leave the estimator's random_state out. certify takes one, "
            "for research."
        )
    if isinstance(estimator, PrivateEstimator):
        public_schema(estimator)
    ledger = Ledger.current()
    if ledger is None:
        return
    if not isinstance(estimator, PrivateEstimator) or estimator.delta is not None:
        raise BudgetError("Certify this estimator outside of the ledger, on public records.")
    cost = runs * checked_budget(estimator.epsilon)
    if ledger.remaining < cost:
        raise BudgetError(
            f"{runs} retrainings on these records cost {float(cost):g} in all, and the ledger has less left. Train "
            "fewer, or certify on a public stand-in outside of the ledger."
        )


def _parts(
    task: tuple[Any, Any, Any, Any, Sequence[Probe]], sizes: list[int], seeds: Sequence[int | None], n_jobs: int | None
) -> Iterator[tuple[list[Outcomes], Any, Warned]]:
    """The first part here, to see how long it takes; the others wherever they are done first."""
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    start = time.perf_counter()
    yield _some(*task, sizes[0], seeds[0])
    left = (time.perf_counter() - start) * (len(sizes) - 1)
    workers = 1 if Ledger.current() is not None or left < _WORTH_WORKERS else _workers(n_jobs)
    if workers == 1:
        for size, seed in zip(sizes[1:], seeds[1:]):
            yield _some(*task, size, seed)
        return
    # Fresh processes (loky), never forks: a forked generator would repeat its parent's numbers.
    parallel = Parallel(n_jobs=workers, backend="loky", return_as="generator", batch_size=1)
    yield from parallel(delayed(_some)(*task, size, seed) for size, seed in zip(sizes[1:], seeds[1:]))


def _workers(n_jobs: int | None) -> int:
    if n_jobs is None or n_jobs < 0:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, n_jobs)


def _some(
    estimator: Any, X: Any, y: Any, groups: Any, probes: Sequence[Probe], runs: int, seed: int | None
) -> tuple[list[Outcomes], Any, Warned]:
    """``runs`` models, one after the other: how they label the probes, the last of them, and what they warned of."""
    right = [np.zeros((runs, len(probe.labels)), dtype=bool) for probe in probes]
    model, warned = None, Warned()
    for i, model in enumerate(_models(estimator, X, y, groups, runs, seed, warned)):
        for own, probe in zip(right, probes):
            own[i] = probe.right(model.predict(probe.X))
    return [Outcomes.of(own) for own in right], model, warned


def public_schema(estimator: PrivateEstimator) -> Schema:
    """An estimator's schema; raises if it was not given one."""
    if not isinstance(estimator.schema, Schema):
        raise PrivetError("A certificate rests on a public schema: give the estimator one that was not inferred.")
    return estimator.schema


def _models(estimator: Any, X: Any, y: Any, groups: Any, runs: int, seed: int | None, warned: Warned) -> Iterator[Any]:
    if not isinstance(estimator, PrivateEstimator):
        seeds = [None] * runs if seed is None else np.random.SeedSequence(seed).generate_state(runs).tolist()
        for own in seeds:
            model = clone(estimator)
            if own is not None:
                model.set_params(random_state=own)
            yield model.fit(X, y)
        return
    ledger = Ledger.current() or Ledger(math.inf, delta=estimator.delta)
    schema, noise = public_schema(estimator), mechanisms(seed)
    curator = None
    for _ in range(runs):
        # Which records of a person count is drawn when a curator reads them, so every model needs a draw of its own.
        if curator is None or schema.person is not None:
            curator = MemoryCurator(X, y, schema, groups=groups, ledger=ledger, mechanisms=noise)
        with listening(warned.hear):
            model = clone(estimator).fit_curator(curator)
        yield model
