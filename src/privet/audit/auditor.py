"""The whole audit: search for bad neighbours, compute where possible, count where not, and confirm on the worst.

Most of the time goes to many small pairs, a part of it to real fits on the worst of them: computed probabilities
trust the samplers, counted ones do not.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.audit.bound import CONFIDENCE, Bound, check_confidence
from privet.audit.exact import TooManyTranscripts, Window, exact_bound
from privet.audit.pair import Pair
from privet.audit.progress import Progress
from privet.audit.release import release_of
from privet.audit.search import Draft, mutated, random_draft
from privet.audit.statistical import Collector, count, jobs, no_open_ledger, pilot, statistical_bound
from privet.errors import PrivetError
from privet.schema import Schema

_SEARCH = 0.6
"""The share of the time that goes to the search."""

_CONFIRMED = 0.75
"""The share of the chance to be wrong that the confirmation on the worst pair has; small bounds share the rest."""

_KEPT = 8
"""So many of the worst are what the hill-climb starts from."""

_TRANSCRIPTS = 400
_SCREEN = 128
_REFUSED, _TOO_LARGE = "refused", "too large"
_WINDOWS: tuple[Window, ...] = ((-1, 3), (0, 1))


@dataclass(frozen=True)
class Finding:
    """A pair, the bound found on it, and a guess of epsilon that guides the search and claims nothing."""

    bound: Bound
    pair: Pair
    estimator: Any
    guess: float

    def code(self) -> str:
        """Python that finds it again."""
        engine = "exact_bound" if self.bound.engine == "exact" else "statistical_bound"
        runs = "" if self.bound.engine == "exact" else f", runs={self.bound.runs}"
        params = dict(getattr(self.estimator, "get_params", dict)(deep=False))
        params.pop("schema", None)
        shown = ", ".join(f"{name}={value!r}" for name, value in params.items() if value is not None)
        kind = type(self.estimator)
        schema = "schema=pair.schema, " if "schema" in getattr(self.estimator, "get_params", dict)() else ""
        return (
            f"from {kind.__module__} import {kind.__name__}\nfrom privet.audit import {engine}\n{self.pair.code()}"
            f"print({engine}({kind.__name__}({schema}{shown}), pair{runs}))\n"
        )


@dataclass(frozen=True)
class Report:
    """What an audit found: the bound on every pair tried, and the worst of them with its pair."""

    estimator: str
    proven: float | None
    bounds: tuple[Bound, ...]
    findings: tuple[Finding, ...]
    skipped: int
    seconds: float

    @property
    def worst(self) -> Bound:
        return self.findings[0].bound

    @property
    def pair(self) -> Pair:
        """The worst pair."""
        return self.findings[0].pair

    @property
    def tried(self) -> int:
        """How many pairs."""
        return len(self.bounds)

    @property
    def violated(self) -> bool:
        return any(bound.violated for bound in self.bounds)

    def to_dict(self) -> dict[str, Any]:
        return {
            "estimator": self.estimator,
            "proven": self.proven,
            "violated": self.violated,
            "worst": self.worst.to_dict(),
            "pair": self.pair.to_dict(),
            "code": self.findings[0].code(),
            "tried": self.tried,
            "exact": sum(bound.engine == "exact" for bound in self.bounds),
            "skipped": self.skipped,
            "seconds": round(self.seconds, 1),
            "bounds": [bound.to_dict() for bound in dict.fromkeys(finding.bound for finding in self.findings)],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        exact = sum(bound.engine == "exact" for bound in self.bounds)
        skipped = f", {self.skipped} skipped since the estimator refused them" if self.skipped else ""
        return (
            f"{self.estimator}: {self.tried} pairs in {self.seconds:.0f} s, {exact} of them exactly{skipped}\n"
            f"worst: {self.worst}\n{'VIOLATED' if self.violated else 'no violation found'}"
        )


def audit(
    estimator: Any,
    *,
    epsilon: float | None = None,
    minutes: float = 1.0,
    pairs: Iterable[Pair] | None = None,
    schema: Schema | None = None,
    most_pairs: int | None = None,
    confidence: float = CONFIDENCE,
    progress: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Report:
    """Try to break an estimator's guarantee for a number of minutes.

    ``epsilon`` is what was promised, by default the estimator's own parameter. ``pairs`` are neighbours to try; without
    them small ones are searched for, over ``schema`` or the estimator's own if it has one, else over random schemas.
    The data that are generated follow from ``seed``; the noise never does. All bounds of the report hold together with
    ``confidence``.
    """
    start = time.monotonic()
    check_confidence(confidence)
    if not minutes > 0:
        raise PrivetError(f"minutes must be greater than zero; got {minutes!r}.")
    no_open_ledger()
    params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    given = list(pairs) if pairs is not None else None
    if given is not None and not given:
        raise PrivetError("pairs is empty: give at least one Pair, or leave it out to have pairs searched for.")
    release_of(estimator, probe=())  # refuses what cannot be audited, before any time is spent
    proven = epsilon if epsilon is not None else params.get("epsilon")
    own = params.get("schema") if isinstance(params.get("schema"), Schema) else None
    if own is not None and schema is not None and own != schema:
        raise PrivetError("The estimator has a schema of its own: leave schema out.")
    trial = Trial(_variants(estimator), proven, confidence)
    hunt = Hunt(seed, schema or own, numbers=not hasattr(estimator, "fit_curator"))
    deadline = start + 60 * minutes
    with Progress(progress, "searching", deadline) as bar:
        findings, skipped = _search(trial, hunt, given, start + _SEARCH * 60 * minutes, most_pairs, jobs(n_jobs), bar)
        if not findings:
            raise PrivetError(
                "Not one pair could be audited: the estimator refused all of them. Give schema= or pairs=."
            )
        findings.sort(key=lambda finding: -finding.guess)
        bar.note("confirming on the worst pair")
        if not any(finding.bound.violated for finding in findings):
            left = max(1.0, deadline - time.monotonic()) / 60
            findings += _confirmed(findings[0], left, confidence, proven, n_jobs)
    findings = [replace(f, bound=replace(f.bound, pairs=len(findings))) for f in findings]
    findings.sort(key=lambda finding: -finding.bound.epsilon)
    return Report(
        estimator=type(estimator).__name__,
        proven=proven,
        bounds=tuple(finding.bound for finding in findings),
        findings=tuple(findings[:_KEPT]),
        skipped=skipped,
        seconds=time.monotonic() - start,
    )


def _confirmed(worst: Finding, minutes: float, confidence: float, proven: Any, n_jobs: int | None) -> list[Finding]:
    """Real fits on the worst pair, as many as time allows; nothing if it allows too few."""
    try:
        bound = statistical_bound(
            release_of(worst.estimator, worst.pair),
            worst.pair,
            minutes=minutes,
            confidence=1 - (1 - confidence) * _CONFIRMED,
            proven=proven,
            progress=False,
            n_jobs=n_jobs,
        )
    except PrivetError:
        return []
    return [replace(worst, bound=replace(bound, confidence=confidence), guess=bound.epsilon)]


def _variants(estimator: Any) -> Sequence[Any]:
    """The estimator, and the same with a public hint that lets it grow deep on tiny data, if it takes one."""
    if "n_records" in getattr(estimator, "get_params", dict)() and estimator.get_params()["n_records"] is None:
        from sklearn.base import clone

        return estimator, clone(estimator).set_params(n_records=10**6)
    return (estimator,)


@dataclass(frozen=True)
class Trial:
    """One pair, audited with small means: exactly if it has few transcripts, else by a few runs."""

    variants: Sequence[Any]
    proven: float | None
    confidence: float

    def __call__(self, pair: Pair, number: int, always: bool = True) -> Finding | str:
        """The finding on pair ``number``, or the word that says why there is none.

        Pairs that are too large to compute take long to count: unless ``always``, only one in eight is counted.
        """
        estimator = self.variants[number % len(self.variants)]
        if hasattr(estimator, "fit_curator"):
            for window in _WINDOWS:
                try:
                    bound = exact_bound(estimator, pair, proven=self.proven, window=window, most=_TRANSCRIPTS)
                    return Finding(bound, pair, estimator, bound.epsilon)
                except TooManyTranscripts:
                    continue
            return self._count(estimator, pair, number) if always or number % 8 == 0 else _TOO_LARGE
        try:
            return self._count(estimator, pair, number)
        except PrivetError:
            raise
        except Exception:  # a stranger's estimator may refuse small or one-sided data in any way it likes
            return _REFUSED

    def _count(self, estimator: Any, pair: Pair, number: int) -> Finding:
        release = release_of(estimator, pair)
        collector = Collector(release, pair, pilot(release, pair, least=1, seconds=0.0), workers=1)
        halves = collector.up_to(2 * _SCREEN, Progress(False, "", 1))
        assert halves is not None
        # All pairs hold together: shares of 6 / (pi^2 k^2) add up to one.
        share = (1 - _CONFIRMED) * 6 / (math.pi * (number + 1)) ** 2
        bound = count(halves, (1 - self.confidence) * share, self.confidence, 0.0, self.proven)
        guess = count(halves, 0.1, 0.9, 0.0, None).epsilon
        return Finding(bound, pair, estimator, guess)


class Hunt:
    """Which pair to try next: half of them new, half of them a small change to one of the worst so far."""

    def __init__(self, seed: int, schema: Schema | None, numbers: bool) -> None:
        self._rng = np.random.default_rng(seed)
        self._schema, self._numbers = schema, numbers
        self._worst: list[tuple[float, Draft]] = []

    def next(self) -> Draft:
        if self._worst and self._rng.random() < 0.5:
            _, draft = self._worst[int(self._rng.integers(len(self._worst)))]
            for _ in range(int(self._rng.integers(1, 3))):
                draft = mutated(self._rng, draft)
            return draft
        return random_draft(self._rng, self._schema, self._numbers)

    def found(self, draft: Draft, guess: float) -> None:
        self._worst.append((guess, draft))
        self._worst.sort(key=lambda entry: -entry[0])
        del self._worst[_KEPT:]


def _search(
    trial: Trial,
    hunt: Hunt,
    given: list[Pair] | None,
    until: float,
    most_pairs: int | None,
    workers: int,
    bar: Progress,
) -> tuple[list[Finding], int]:
    """Try pairs in rounds until time is up, or until one breaks the promise; findings, and how many were refused."""
    findings: list[Finding] = []
    skipped = number = 0
    worth_workers = workers > 1 and until - time.monotonic() > 20
    size = 8 * workers if worth_workers else 1
    while (most_pairs is None or number < most_pairs) and (time.monotonic() < until or not findings):
        left = size if most_pairs is None else min(size, most_pairs - number)
        drafts: list[Draft] | None = None
        if given is not None:
            batch, given = given[:left], given[left:]
        else:
            drafts = [hunt.next() for _ in range(left)]
            batch = [draft.pair() for draft in drafts]
        if not batch:
            break
        tasks = [(pair, number + i, drafts is None) for i, pair in enumerate(batch)]
        number += len(batch)
        results = _in_workers(trial, tasks, workers) if worth_workers else [trial(*task) for task in tasks]
        for i, finding in enumerate(results):
            if isinstance(finding, str):
                skipped += finding == _REFUSED
                continue
            findings.append(finding)
            if drafts is not None:
                hunt.found(drafts[i], finding.guess)
        if skipped > 50 and not findings:
            break
        if findings:
            highest = max(finding.bound.epsilon for finding in findings)
            bar.note(f"{len(findings)} pairs, worst {highest:.3f}")
        if any(finding.bound.violated for finding in findings):
            break
    return findings, skipped


def _in_workers(trial: Callable[..., Any], tasks: list[Any], workers: int) -> list[Finding | str]:
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    return list(Parallel(n_jobs=workers, backend="loky", batch_size=1)(delayed(trial)(*task) for task in tasks))
