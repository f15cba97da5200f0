"""The whole audit: search for bad neighbours, compute where possible, count where not, and confirm on the worst.

Most of the time goes to many small pairs, a part of it to real fits on two of the worst: computed probabilities trust
the samplers, counted ones do not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sklearn.base import is_regressor

from privet.audit.bound import CONFIDENCE, check, runs_needed
from privet.audit.pair import Pair, fresh
from privet.audit.release import release_of
from privet.audit.report import Finding, Report
from privet.audit.search import Hunt, Search, Trial, plainest, richest, variants
from privet.audit.statistical import jobs, no_open_ledger, statistical_bound
from privet.errors import PrivetError
from privet.progress import Progress
from privet.schema import Schema

_SEARCH = 0.6
"""The share of the time that goes to the search."""

_CONFIRMED = 0.75
"""The share of the chance to be wrong that the confirmations have; the small bounds of the search share the rest."""

_TOLD = 8
"""So many of the worst are in the report with their pairs."""


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

    ``epsilon`` and ``delta`` are what was promised, by default the estimator's own parameters. ``pairs`` are neighbours
    to try; without them small ones are searched for, over ``schema`` or the estimator's own if it has one, else over
    random schemas. The data that are generated follow from ``seed``; the noise never does. All bounds of the report
    hold together with ``confidence``.
    """
    start = time.monotonic()
    check(confidence=confidence, minutes=minutes, most_pairs=most_pairs)
    no_open_ledger()
    given = None if pairs is None else _checked_pairs(pairs)
    release_of(estimator, probe=())  # refuses what cannot be audited, before any time is spent
    params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    proven, delta = _promised(epsilon, delta, params)
    own = params.get("schema") if isinstance(params.get("schema"), Schema) else None
    if own is not None and schema is not None and own != schema:
        raise PrivetError("The estimator has a schema of its own: leave schema out.")
    regression = hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator)
    hunt = Hunt(seed, schema or own, numbers=not hasattr(estimator, "fit_curator"), regression=regression)
    fit = _warm_up(estimator, given[0] if given else hunt.first())
    deadline = time.monotonic() + 60 * minutes
    each = 60 * minutes * _SEARCH / (8 if given is None else len(given))
    alpha = (1 - confidence) * (1 - _CONFIRMED)
    trial = Trial(variants(estimator), proven, delta, confidence, alpha, each)
    confirmations: list[Finding] = []
    unconfirmed = "a violation is certain, so no more fits were counted"
    with Progress(progress, "searching", deadline) as bar:
        search = Search(trial, hunt, given, most_pairs, jobs(n_jobs))
        search.run(deadline - (1 - _SEARCH) * 60 * minutes, deadline, bar)
        if not search.findings:
            raise PrivetError(search.why_nothing(fit))
        if not any(finding.bound.violated for finding in search.findings):
            bar.note("confirming")
            confirmations, unconfirmed = _confirmed(search.findings, deadline, confidence, n_jobs, bar)
    findings = [_of_many(finding, len(search.findings)) for finding in search.findings]
    confirmations = [_of_many(finding, len(search.findings)) for finding in confirmations]
    worst = sorted([*findings, *confirmations], key=_badness, reverse=True)
    return Report(
        estimator=type(estimator).__name__,
        proven=proven,
        bounds=tuple(sorted((finding.bound for finding in findings), key=lambda bound: -bound.epsilon)),
        findings=tuple(worst[:_TOLD]),
        confirmations=tuple(sorted(confirmations, key=_badness, reverse=True)),
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
    if epsilon is not None and not (isinstance(epsilon, int | float) and epsilon > 0):
        raise PrivetError(f"epsilon must be a number greater than zero; got {epsilon!r}.")
    if delta is None:
        delta = params["delta"] if isinstance(params.get("delta"), int | float) else 0.0
    check(delta=delta)
    return epsilon, float(delta)


def _warm_up(estimator: Any, pair: Pair) -> float:
    """One fit before the clock runs: what is imported and compiled then is no part of an audit. Its seconds."""
    start = time.monotonic()
    with suppress(Exception):  # said later, with the pair that it was about
        release_of(estimator, pair)(*fresh(pair.one))
    return time.monotonic() - start


def _of_many(finding: Finding, pairs: int) -> Finding:
    return replace(finding, bound=replace(finding.bound, pairs=pairs))


def _badness(finding: Finding) -> tuple[bool, float]:
    return finding.bound.violated, finding.bound.epsilon


def _confirmed(
    findings: Sequence[Finding], deadline: float, confidence: float, n_jobs: int | None, bar: Progress
) -> tuple[list[Finding], str]:
    """Real fits on two of the worst pairs, as many as time allows; or why there are none.

    The one with most outputs exercises most of the estimator, but many outputs are each rare, and rare events take
    many runs. The one whose loss shows most often takes few. Time is shared evenly; what is too short for the first is
    the second's.
    """
    first, second = richest(findings), plainest(findings)
    chosen = [first] if first is second else [first, second]
    confirmed: list[Finding] = []
    reasons: list[str] = []
    for i, finding in enumerate(chosen):
        sure = 1 - (1 - confidence) * _CONFIRMED / len(chosen)
        now = time.monotonic()
        try:
            counted = _counted(finding, now + (deadline - now) / (len(chosen) - i), sure, n_jobs, bar)
        except PrivetError as error:
            reasons.append(str(error))
            continue
        bound = replace(counted, confidence=confidence)
        confirmed.append(replace(finding, bound=bound, guess=bound.epsilon, window=None, most=None, sure=sure))
        if bound.violated:
            break
    if confirmed:
        return confirmed, ""
    kind = "real" if chosen[0].bound.engine == "exact" else "further"
    return [], f"no {kind} fits were counted on the worst pairs: {reasons[-1]}"


def _counted(worst: Finding, until: float, sure: float, n_jobs: int | None, bar: Progress) -> Any:
    """The bound of real fits on a pair; PrivetError if there is no time for any."""
    pair, delta = worst.pair, worst.bound.delta
    before = time.monotonic()
    release = release_of(worst.estimator, pair)
    release(*fresh(pair.other))
    seconds = max(1e-6, time.monotonic() - before)
    left = until - time.monotonic() - 6 * seconds  # the engine begins with a few fits that it does not count
    needed = 2 * runs_needed(0.0, 1 - sure, delta)
    possible = max(0, int(left * jobs(n_jobs) / (2 * seconds)))
    if possible < needed:
        raise PrivetError(
            f"any bound needs at least {needed} on each table, and at {seconds:.2g} s for each there was time for "
            f"{possible}"
        )
    return statistical_bound(
        release,
        pair,
        minutes=left / 60,
        confidence=sure,
        delta=delta,
        proven=worst.bound.proven,
        progress=lambda _, note: bar.note(f"confirming: {note}" if note else "confirming"),
        n_jobs=n_jobs,
    )
