"""The search loop: which pair to try next, what trying it means, and when time is up."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.audit.drafts import Draft, mutated, random_draft
from privet.audit.event import IncomparableError
from privet.audit.exact import Run, exact_bound_of, scripted_fits
from privet.audit.pair import Pair
from privet.audit.release import release_of
from privet.audit.report import Finding
from privet.audit.scripted import ScriptedMechanisms, TooManyTranscripts, Window, unseeded_generators
from privet.audit.statistical import Collector, count, first_runs, run_once
from privet.errors import PrivetError
from privet.progress import Progress
from privet.schema import Schema

_KEPT = 8
"""So many of the worst are what the hill-climb starts from."""

_CLOSE = 0.9
"""From this share of the largest guess on, the pair with more outputs is the more interesting one."""

_FEW, _MANY, _LARGE = 100, 400, 5
"""A pair with more transcripts than the first is too large to compute; one in so many pairs may have more, up to the
second. Most bugs show on small pairs, of which many can be tried. The number is coprime to that of variants."""

_SCREEN, _LEAST_SCREEN = 128, 8
"""So many runs on each table in each half say whether a pair is worth more; and the fewest."""

_COUNTED = 7
"""One in so many pairs that are too large to compute is counted. Coprime to the number of variants, so that all are."""

_PATIENCE = 50
"""So many refusals in a row of the first pairs end an audit."""

REFUSED, TOO_LARGE, NO_TIME = "refused by the estimator", "too large to compute", "no time left"
DRAWS = "draws its structure without a seed, so that it cannot be computed"

_WAYS: tuple[tuple[Window, bool], ...] = (((-1, 3), False), ((0, 1), False), ((-1, 3), True), ((0, 1), True))
"""Windows of noisy numbers, and whether only those have noise that differ between the tables: the first way that has
few enough transcripts is taken, so that less is left out where less is needed."""


@dataclass(frozen=True)
class Skip:
    """Why there is no bound on a pair; ``error`` is what the estimator raised: a kind, and words only if ours."""

    reason: str
    error: str = ""


@dataclass(frozen=True)
class Trial:
    """One pair, audited with small means: exactly if it has few transcripts, else by a few runs.

    ``each`` is how many seconds of counting a pair is worth, ``alpha`` the chance to be wrong that all pairs share, and
    ``confidence`` that of the whole audit, which is what their bounds state.
    """

    variants: Sequence[Any]
    proven: float | None
    delta: float
    confidence: float
    alpha: float
    each: float

    def __call__(self, pair: Pair, number: int, until: float, always: bool = True) -> Finding | Skip:
        """The finding on pair ``number``, or why there is none.

        Pairs that are too large to compute take long to count: unless ``always``, only some of them are.
        """
        if time.monotonic() > until:
            return Skip(NO_TIME)
        estimator = self.variants[number % len(self.variants)]
        try:
            if not hasattr(estimator, "fit_curator"):
                return self._count(estimator, pair, number, until)
            found = self._compute(estimator, pair, until, most=_FEW if number % _LARGE else _MANY)
            if isinstance(found, Skip) and (always or found.reason == DRAWS or number % _COUNTED == 0):
                return self._count(estimator, pair, number, until)
            return found
        except IncomparableError:
            raise  # no other pair would help
        except PrivetError as error:
            return Skip(REFUSED, f"{type(error).__name__}: {error}")
        except Exception as error:  # a stranger's estimator may refuse small or one-sided data in any way it likes
            return Skip(REFUSED, type(error).__name__)

    def _compute(self, estimator: Any, pair: Pair, until: float, most: int) -> Finding | Skip:
        """The exact bound, if it has few transcripts and half of the time that is left is enough to follow them.

        The other half is for counting: a pair with slow fits shall not end without either.
        """
        now = time.monotonic()
        with unseeded_generators() as made:
            fits = scripted_fits(estimator, pair)
        if made:
            return Skip(DRAWS)
        runs = [_timed(run, now + (until - now) / 2) for run in fits]
        for window, only_telling in _WAYS:
            try:
                bound = exact_bound_of(
                    *runs, proven=self.proven, delta=self.delta, window=window, most=most, only_telling=only_telling
                )
            except TooManyTranscripts:
                continue
            except _TimeIsUp:
                return Skip(NO_TIME)
            guess, outputs = max(bound.epsilon, bound.suspected), bound.runs // 2
            return Finding(bound, pair, estimator, guess, outputs, window, most, only_telling)
        return Skip(TOO_LARGE)

    def _count(self, estimator: Any, pair: Pair, number: int, until: float) -> Finding | Skip:
        release = release_of(estimator, pair)
        first_runs(release, pair)
        start = time.monotonic()
        run_once(release, pair.other)
        seconds = max(1e-6, time.monotonic() - start)
        worth = min(_SCREEN, max(2 * _LEAST_SCREEN, int(self.each / (4 * seconds))))
        screen = min(worth, int((until - time.monotonic()) / (4 * seconds)))
        if screen < _LEAST_SCREEN:
            return Skip(NO_TIME)
        collector = Collector(release, pair, 5 * seconds, workers=1, deadline=until)  # so looks at the clock often
        halves = collector.up_to(2 * screen, Progress(False, "", 1))
        if halves is None:
            return Skip(NO_TIME)
        # All pairs hold together: shares of 6 / (pi^2 k^2) add up to one.
        alpha = self.alpha * 6 / (math.pi * (number + 1)) ** 2
        bound = count(halves, alpha, self.confidence, self.delta, self.proven)
        guess = count(halves, 0.1, 0.9, self.delta, None).epsilon
        outputs = len(next(iter(halves.find_one.values())).values)
        return Finding(bound, pair, estimator, guess, outputs=outputs, sure=1 - alpha)


class _TimeIsUp(Exception):
    """Raised inside a run, so that following transcripts ends with the time and not with the last of them."""


def _timed(run: Run, until: float) -> Run:
    def fit(mechanisms: ScriptedMechanisms) -> Any:
        if time.monotonic() > until:
            raise _TimeIsUp
        return run(mechanisms)

    return fit


class Hunt:
    """Which pair to try next: half of them new, half of them a small change to one of the worst so far.

    Of each kind, which is a schema and about how many outputs there are, one is kept.
    """

    def __init__(self, seed: int, schema: Schema | None, numbers: bool, regression: bool = False) -> None:
        self._seed, self._rng = seed, np.random.default_rng(seed)
        self._schema, self._numbers, self._regression = schema, numbers, regression
        self._worst: dict[Any, tuple[float, int, Draft]] = {}
        self._seen: set[Any] = set()

    def first(self) -> Pair:
        """The pair that will come first."""
        return random_draft(np.random.default_rng(self._seed), self._schema, self._numbers, self._regression).pair()

    def next(self) -> Draft:
        """A draft that was not tried yet, as far as there are any."""
        for _ in range(20):
            draft = self._next()
            what = _identity(draft.pair())
            if what not in self._seen:
                break
        self._seen.add(what)
        return draft

    def _next(self) -> Draft:
        if self._worst and self._rng.random() < 0.5:
            _, _, draft = list(self._worst.values())[int(self._rng.integers(len(self._worst)))]
            for _ in range(int(self._rng.integers(1, 3))):
                draft = mutated(self._rng, draft)
            return draft
        return random_draft(self._rng, self._schema, self._numbers, self._regression)

    def found(self, draft: Draft, guess: float, outputs: int) -> None:
        kind = repr(draft.schema.to_dict()), outputs.bit_length()
        best = max([guess, *(entry[0] for entry in self._worst.values())])
        if kind not in self._worst or guess > self._worst[kind][0]:
            self._worst[kind] = (guess, outputs, draft)
        ranked = sorted(self._worst.items(), key=lambda item: interest(item[1][0], item[1][1], best), reverse=True)
        self._worst = dict(ranked[:_KEPT])


class Search:
    """Pairs, tried in rounds until time is up or one breaks the promise."""

    def __init__(
        self, trial: Trial, hunt: Hunt, given: list[Pair] | None, most_pairs: int | None, workers: int
    ) -> None:
        self._trial, self._hunt, self._given = trial, hunt, given
        self._most = most_pairs
        self._workers = workers
        self._number = 0
        self._seen: set[Any] = set()
        self._error = ""
        self.findings: list[Finding] = []
        self.skipped: Counter[str] = Counter()

    def run(self, until: float, deadline: float, bar: Progress) -> None:
        """Search ``until`` then; if nothing was audited by then, up to the ``deadline``."""
        in_workers = self._workers > 1 and until - time.monotonic() > 20
        size = self._workers if in_workers else 1
        while (now := time.monotonic()) < (until if self.findings else deadline):
            tasks, drafts = self._tasks(size, until if self.findings or now < until else deadline)
            if not tasks:
                return
            results = _in_workers(self._trial, tasks, self._workers) if in_workers else [self._trial(*tasks[0])]
            self._note(tasks, drafts, results)
            if in_workers:  # rounds of about two seconds, so that the hill-climb sees what was found
                took = time.monotonic() - now
                if took < 1 or took > 4:
                    size = min(8 * self._workers, max(self._workers, 2 * size if took < 1 else size // 2))
            if not self.findings:
                if self.skipped[REFUSED] > _PATIENCE:
                    return
                continue
            highest = max(finding.bound.epsilon for finding in self.findings)
            bar.note(f"{len(self.findings)} pairs, worst {highest:.3f}")
            if any(finding.bound.violated for finding in self.findings):
                return

    def _tasks(self, size: int, until: float) -> tuple[list[Any], list[Draft] | None]:
        size = size if self._most is None else min(size, self._most - self._number)
        drafts = None
        if self._given is not None:
            batch, self._given = self._given[:size], self._given[size:]
        else:
            drafts = [self._hunt.next() for _ in range(size)]
            batch = [draft.pair() for draft in drafts]
        tasks = [(pair, self._number + i, until, drafts is None) for i, pair in enumerate(batch)]
        self._number += len(tasks)
        return tasks, drafts

    def _note(self, tasks: list[Any], drafts: list[Draft] | None, results: list[Finding | Skip]) -> None:
        for i, found in enumerate(results):
            if isinstance(found, Skip):
                self.skipped[found.reason] += 1
                self._error = self._error or found.error
                continue
            pair = tasks[i][0]  # the caller's own, not a worker's copy
            what = _identity(pair)
            if what in self._seen and not found.bound.violated:
                continue
            self._seen.add(what)
            self.findings.append(replace(found, pair=pair))
            if drafts is not None:
                self._hunt.found(drafts[i], found.guess, found.outputs)

    def why_nothing(self, seconds: float) -> str:
        """Why there is no finding, and what to do."""
        if self.skipped[REFUSED]:
            return (
                f"Not one pair could be audited: the estimator refused {self.skipped[REFUSED]} of {self._number}, the "
                f"first with {self._error.rstrip('.')}. Give schema= or pairs= with tables that it takes."
            )
        fits = 4 * _LEAST_SCREEN + 3
        return (
            f"Time was up before one pair was audited: that takes at least {fits} fits, the first of which took "
            f"{seconds:.2g} s. Give at least {max(0.1, fits * seconds / 60):.1f} minutes, or smaller pairs."
        )


def _in_workers(trial: Callable[..., Any], tasks: list[Any], workers: int) -> list[Finding | Skip]:
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    return list(Parallel(n_jobs=workers, backend="loky", batch_size=1)(delayed(trial)(*task) for task in tasks))


def variants(estimator: Any) -> Sequence[Any]:
    """The estimator, and the same with a public hint that lets it grow deep on tiny data, if it takes one."""
    if "n_records" in getattr(estimator, "get_params", dict)() and estimator.get_params()["n_records"] is None:
        from sklearn.base import clone

        return estimator, clone(estimator).set_params(n_records=10**6)
    return (estimator,)


def _identity(pair: Pair) -> Any:
    """Equal for equal pairs."""
    schema = None if pair.schema is None else repr(pair.schema.to_dict())
    return schema, tuple(pair.records("one")), tuple(pair.records("other"))


def interest(guess: float, outputs: int, best: float) -> tuple[bool, float, float]:
    """What to look at first: of guesses close to the best one those with many outputs, then the largest guesses.

    The largest loss alone leads to pairs with a single choice between two labels, which use up any budget.
    """
    close = guess >= _CLOSE * best
    return (close, outputs, guess) if close else (close, guess, outputs)


def richest(findings: Sequence[Finding]) -> Finding:
    """Of guesses close to the best one that with the most outputs."""
    best = max(finding.guess for finding in findings)
    return max(findings, key=lambda finding: interest(finding.guess, finding.outputs, best))


def plainest(findings: Sequence[Finding]) -> Finding:
    """Of guesses close to the best one that whose loss shows most often; of equal ones the largest guess."""
    best = max(finding.guess for finding in findings)
    close = [finding for finding in findings if finding.guess >= _CLOSE * best]
    return max(close, key=lambda finding: (finding.bound.chance, finding.guess))
