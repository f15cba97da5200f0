"""The whole audit: search for bad neighbours, compute where possible, count where not, and confirm on the worst.

Most of the time goes to many small pairs, a part of it to real fits on the worst of them: computed probabilities
trust the samplers, counted ones do not.
"""

from __future__ import annotations

import inspect
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from privet.audit.bound import CONFIDENCE, Bound, check_confidence, runs_needed
from privet.audit.exact import TooManyTranscripts, Window, exact_bound
from privet.audit.pair import Pair
from privet.audit.progress import Progress
from privet.audit.release import release_of
from privet.audit.search import Draft, mutated, random_draft
from privet.audit.statistical import (
    Collector,
    check_comparable,
    count,
    jobs,
    no_open_ledger,
    statistical_bound,
    views_of,
)
from privet.errors import PrivetError
from privet.schema import Schema

_SEARCH = 0.6
"""The share of the time that goes to the search."""

_CONFIRMED = 0.75
"""The share of the chance to be wrong that the confirmation on the worst pair has; small bounds share the rest."""

_KEPT = 8
"""So many of the worst are what the hill-climb starts from."""

_CLOSE = 0.9
"""From this share of the largest guess on, the pair with more outputs is the more interesting one."""

_TRANSCRIPTS = 400
_SCREEN, _LEAST_SCREEN = 128, 8
"""So many runs on each table in each half say whether a pair is worth more; and the fewest."""

_COUNTED = 7
"""One in so many pairs that are too large to compute is counted. Coprime to the number of variants, so that all are."""

_PATIENCE = 50
"""So many refusals in a row of the first pairs end an audit."""

REFUSED, TOO_LARGE, NO_TIME = "refused by the estimator", "too large to compute", "no time left"

_WINDOWS: tuple[Window, ...] = ((-1, 3), (0, 1))


@dataclass(frozen=True)
class Finding:
    """A pair, the bound found on it, and a guess of epsilon that guides the search and claims nothing.

    ``outputs`` is how many different ones were seen, ``window`` where noisy numbers were cut, ``sure`` the confidence
    that this pair has alone, which is more than that of all together.
    """

    bound: Bound
    pair: Pair
    estimator: Any
    guess: float
    outputs: int = 0
    window: Window | None = None
    sure: float = 1.0

    def code(self) -> str:
        """Python that finds it again. Where chance has a say, with more runs, so that it hides nothing."""
        kind, bound = type(self.estimator), self.bound
        options: dict[str, Any]
        if bound.engine == "exact":
            engine, options = "exact_bound", {"window": self.window, "most": _TRANSCRIPTS}
        else:
            runs = bound.runs if bound.runs >= 10_000 else 4 * bound.runs
            engine, options = "statistical_bound", {"runs": runs, "confidence": self.sure, "delta": bound.delta}
        options["proven"] = bound.proven
        asked = ", ".join(f"{name}={value!r}" for name, value in options.items())
        params = _changed_params(self.estimator)
        own, imports = params.pop("schema", None), ""
        shown = [f"{name}={value!r}" for name, value in params.items()]
        if isinstance(own, Schema):
            shown.insert(0, f"Schema.from_dict({own.to_dict()!r})")
            imports = "from privet import Schema\n"
        return (
            f"{imports}from {kind.__module__} import {kind.__name__}\nfrom privet.audit import {engine}\n"
            f"{self.pair.code()}model = {kind.__name__}({', '.join(shown)})\nprint({engine}(model, pair, {asked}))\n"
        )


@dataclass(frozen=True)
class Report:
    """What an audit found: the bound on every pair tried, and the worst of them with its pair.

    ``confirmation`` is what real fits on one of the worst pairs showed; if there is none, ``unconfirmed`` says why.
    ``skipped`` has the pairs that were drawn but not audited, by reason.
    """

    estimator: str
    proven: float | None
    bounds: tuple[Bound, ...]
    findings: tuple[Finding, ...]
    confirmation: Finding | None
    unconfirmed: str
    skipped: dict[str, int]
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
        """How many pairs, all of them different."""
        return len(self.bounds)

    @property
    def violated(self) -> bool:
        return any(bound.violated for bound in (*self.bounds, *(finding.bound for finding in self.findings)))

    def to_dict(self) -> dict[str, Any]:
        return {
            "estimator": self.estimator,
            "proven": self.proven,
            "violated": self.violated,
            "worst": self.worst.to_dict(),
            "pair": self.pair.to_dict(),
            "code": self.findings[0].code(),
            "tried": self.tried,
            "exact": self._exact,
            "confirmation": None if self.confirmation is None else self.confirmation.bound.to_dict(),
            "unconfirmed": self.unconfirmed,
            "skipped": self.skipped,
            "seconds": round(self.seconds, 1),
            "bounds": [bound.to_dict() for bound in dict.fromkeys(finding.bound for finding in self.findings)],
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @property
    def _exact(self) -> int:
        return sum(bound.engine == "exact" for bound in self.bounds)

    def __str__(self) -> str:
        skipped = "".join(f", {n} skipped ({reason})" for reason, n in self.skipped.items())
        confirmed = self.unconfirmed
        if self.confirmation is not None:
            confirmed = f"real fits on one of the worst pairs: {self.confirmation.bound}"
        return (
            f"{self.estimator}: {self.tried} pairs in {self.seconds:.0f} s, {self._exact} of them exactly{skipped}\n"
            f"worst: {self.worst}\n{confirmed}\n{'VIOLATED' if self.violated else 'no violation found'}"
        )


def audit(
    estimator: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
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

    ``epsilon`` and ``delta`` are what was promised, by default the estimator's own parameters; with a ``delta`` above
    zero all bounds are counted. ``pairs`` are neighbours to try; without them small ones are searched for, over
    ``schema`` or the estimator's own if it has one, else over random schemas. The data that are generated follow from
    ``seed``; the noise never does. All bounds of the report hold together with ``confidence``.
    """
    start = time.monotonic()
    check_confidence(confidence)
    if not minutes > 0:
        raise PrivetError(f"minutes must be greater than zero; got {minutes!r}.")
    if most_pairs is not None and most_pairs < 1:
        raise PrivetError(f"most_pairs must be at least 1; got {most_pairs!r}.")
    no_open_ledger()
    given = None if pairs is None else _checked_pairs(pairs)
    release_of(estimator, probe=())  # refuses what cannot be audited, before any time is spent
    params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    proven, delta = _promised(epsilon, delta, params)
    own = params.get("schema") if isinstance(params.get("schema"), Schema) else None
    if own is not None and schema is not None and own != schema:
        raise PrivetError("The estimator has a schema of its own: leave schema out.")
    hunt = Hunt(seed, schema or own, numbers=not hasattr(estimator, "fit_curator"), regression=is_regressor(estimator))
    fit = _warm_up(estimator, given[0] if given else hunt.first())
    deadline = time.monotonic() + 60 * minutes
    each = 60 * minutes * _SEARCH / (8 if given is None else len(given))
    trial = Trial(_variants(estimator), proven, delta, confidence, each)
    with Progress(progress, "searching", deadline) as bar:
        search = Search(trial, hunt, given, most_pairs, jobs(n_jobs))
        search.run(deadline - (1 - _SEARCH) * 60 * minutes, deadline, bar)
        if not search.findings:
            raise PrivetError(search.why_nothing(fit))
        richest = _richest(search.findings)
        confirmation, unconfirmed = None, "a violation is certain, so no more fits were counted"
        if not any(finding.bound.violated for finding in search.findings):
            bar.note("confirming")
            confirmation, unconfirmed = _confirmed(richest, deadline, confidence, n_jobs, bar)
    findings = [_of_many(finding, len(search.findings)) for finding in search.findings]
    if confirmation is not None:
        confirmation = _of_many(confirmation, len(findings))
    worst = sorted(
        [*findings, *([] if confirmation is None else [confirmation])],
        key=lambda finding: (finding.bound.violated, finding.bound.epsilon),
        reverse=True,
    )
    return Report(
        estimator=type(estimator).__name__,
        proven=proven,
        bounds=tuple(sorted((finding.bound for finding in findings), key=lambda bound: -bound.epsilon)),
        findings=tuple(worst[:_KEPT]),
        confirmation=confirmation,
        unconfirmed=unconfirmed,
        skipped=dict(search.skipped),
        seconds=time.monotonic() - start,
    )


def _checked_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    if isinstance(pairs, Pair):
        raise PrivetError("pairs is a list: write pairs=[pair].")
    given = list(pairs)
    if not given:
        raise PrivetError("pairs is empty: give at least one Pair, or leave it out to have pairs searched for.")
    for i, pair in enumerate(given):
        if not isinstance(pair, Pair):
            raise PrivetError(
                f"pairs[{i}] is a {type(pair).__name__}: write Pair((X, y), (X_more, y_more), schema), which checks "
                "that the two tables are neighbours."
            )
    return given


def _promised(epsilon: Any, delta: Any, params: dict[str, Any]) -> tuple[float | None, float]:
    """What the caller says was promised, or else the estimator's parameters."""
    epsilon = params.get("epsilon") if epsilon is None else epsilon
    if epsilon is not None and (not isinstance(epsilon, int | float) or not epsilon > 0):
        raise PrivetError(f"epsilon must be a number greater than zero; got {epsilon!r}.")
    if delta is None:
        delta = params.get("delta")
        delta = delta if isinstance(delta, int | float) else 0.0
    if not isinstance(delta, int | float) or not 0 <= delta < 1:
        raise PrivetError(f"delta is a probability below 1; got {delta!r}.")
    return epsilon, float(delta)


def _warm_up(estimator: Any, pair: Pair) -> float:
    """One fit before the clock runs: what is imported and compiled then is no part of an audit. Its seconds."""
    start = time.monotonic()
    with suppress(Exception):  # said later, with the pair that it was about
        release_of(estimator, pair)(*pair.one)
    return time.monotonic() - start


def _identity(pair: Pair) -> Any:
    """Equal for equal pairs."""
    schema = None if pair.schema is None else repr(pair.schema.to_dict())
    return schema, tuple(pair.records("one")), tuple(pair.records("other"))


def _of_many(finding: Finding, pairs: int) -> Finding:
    return replace(finding, bound=replace(finding.bound, pairs=pairs))


def _interest(guess: float, outputs: int, best: float) -> tuple[bool, float, float]:
    """What to look at first: of guesses close to the best one those with many outputs, then the largest guesses.

    The largest loss alone leads to pairs with a single choice between two labels, which use up any budget.
    """
    close = guess >= _CLOSE * best
    return (close, outputs, guess) if close else (close, guess, outputs)


def _richest(findings: Sequence[Finding]) -> Finding:
    best = max(finding.guess for finding in findings)
    return max(findings, key=lambda finding: _interest(finding.guess, finding.outputs, best))


def _confirmed(
    worst: Finding, deadline: float, confidence: float, n_jobs: int | None, bar: Progress
) -> tuple[Finding | None, str]:
    """Real fits on a bad pair, as many as time allows; or why there are none."""
    bound, pair = worst.bound, worst.pair
    sure = 1 - (1 - confidence) * _CONFIRMED
    none = f"no {'real' if bound.engine == 'exact' else 'further'} fits were counted on one of the worst pairs"
    before = time.monotonic()
    try:
        release = release_of(worst.estimator, pair)
        release(*pair.other)
        seconds = max(1e-6, time.monotonic() - before)
        left = deadline - time.monotonic() - 6 * seconds  # the engine begins with a few fits that it does not count
        needed = 2 * runs_needed(0.0, sure, bound.delta)
        possible = max(0, int(left * jobs(n_jobs) / (2 * seconds)))
        if possible < needed:
            return None, (
                f"{none}: any bound needs at least {needed} on each table, and "
                f"at {seconds:.2g} s for each there was time for {possible}"
            )
        found = statistical_bound(
            release,
            pair,
            minutes=left / 60,
            confidence=sure,
            delta=bound.delta,
            proven=bound.proven,
            progress=lambda _, note: bar.note(f"confirming: {note}" if note else "confirming"),
            n_jobs=n_jobs,
        )
    except PrivetError as error:
        return None, f"{none}: {error}"
    found = replace(found, confidence=confidence)
    return replace(worst, bound=found, guess=found.epsilon, window=None, sure=sure), ""


def _variants(estimator: Any) -> Sequence[Any]:
    """The estimator, and the same with a public hint that lets it grow deep on tiny data, if it takes one."""
    if "n_records" in getattr(estimator, "get_params", dict)() and estimator.get_params()["n_records"] is None:
        from sklearn.base import clone

        return estimator, clone(estimator).set_params(n_records=10**6)
    return (estimator,)


def _changed_params(estimator: Any) -> dict[str, Any]:
    """The parameters that are not as they come; epsilon always."""
    params = dict(estimator.get_params(deep=False)) if hasattr(estimator, "get_params") else {}
    defaults = {name: p.default for name, p in inspect.signature(type(estimator).__init__).parameters.items()}
    return {k: v for k, v in params.items() if k == "epsilon" or repr(v) != repr(defaults.get(k, inspect.Parameter))}


@dataclass(frozen=True)
class Skip:
    """Why there is no bound on a pair; ``error`` is what the estimator raised: a kind, and words only if ours."""

    reason: str
    error: str = ""


@dataclass(frozen=True)
class Trial:
    """One pair, audited with small means: exactly if it has few transcripts, else by a few runs.

    ``each`` is how many seconds of counting a pair is worth.
    """

    variants: Sequence[Any]
    proven: float | None
    delta: float
    confidence: float
    each: float

    def __call__(self, pair: Pair, number: int, until: float, always: bool = True) -> Finding | Skip:
        """The finding on pair ``number``, or why there is none.

        Pairs that are too large to compute take long to count: unless ``always``, only some of them are.
        """
        if time.monotonic() > until:
            return Skip(NO_TIME)
        estimator = self.variants[number % len(self.variants)]
        try:
            if not hasattr(estimator, "fit_curator") or self.delta > 0:
                return self._count(estimator, pair, number, until)
            found = self._compute(estimator, pair, until)
            if found is not None:
                return found
            if always or number % _COUNTED == 0:
                return self._count(estimator, pair, number, until)
            return Skip(TOO_LARGE)
        except PrivetError as error:
            return Skip(REFUSED, f"{type(error).__name__}: {error}")
        except Exception as error:  # a stranger's estimator may refuse small or one-sided data in any way it likes
            return Skip(REFUSED, type(error).__name__)

    def _compute(self, estimator: Any, pair: Pair, until: float) -> Finding | None:
        """The exact bound, if it has few transcripts and there is time to follow them."""
        start = time.monotonic()
        with suppress(TooManyTranscripts):
            exact_bound(estimator, pair, most=1)  # how long one takes
        seconds = max(1e-6, time.monotonic() - start)
        for window in _WINDOWS:
            most = min(_TRANSCRIPTS, int((until - time.monotonic()) / (2 * seconds)))
            if most < 1:
                return None
            try:
                bound = exact_bound(estimator, pair, proven=self.proven, window=window, most=most)
            except TooManyTranscripts:
                continue
            return Finding(bound, pair, estimator, bound.epsilon, outputs=bound.runs // 2, window=window)
        return None

    def _count(self, estimator: Any, pair: Pair, number: int, until: float) -> Finding | Skip:
        release = release_of(estimator, pair)
        for table in (pair.one, pair.other):
            start = time.monotonic()
            for value in views_of(release(*table)).values():
                check_comparable(value)
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
        alpha = (1 - self.confidence) * (1 - _CONFIRMED) * 6 / (math.pi * (number + 1)) ** 2
        bound = count(halves, alpha, self.confidence, self.delta, self.proven)
        guess = count(halves, 0.1, 0.9, self.delta, None).epsilon
        outputs = len(next(iter(halves.find_one.values())).values)
        return Finding(bound, pair, estimator, guess, outputs=outputs, sure=1 - alpha)


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
        ranked = sorted(self._worst.items(), key=lambda item: _interest(item[1][0], item[1][1], best), reverse=True)
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
            if what in self._seen:
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
