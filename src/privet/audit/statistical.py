"""The statistical engine: run many fits, find the most telling event on one half, count it on the other.

The event is chosen on runs that are not counted, so choosing it costs no confidence, however many were looked at. What
is counted afterwards are two binomial numbers, and Clopper-Pearson intervals hold for them whatever the law is.

Runs are looked at a few times, at numbers that were fixed before the first of them, each with its own share of the
chance to be wrong. So all looks hold together, and stopping, because a violation is certain or because time is up, does
no harm.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from privet.audit.bound import CONFIDENCE, Bound, check, log_odds, reach, runs_needed
from privet.audit.event import Seen, Views, checked, comparable, find_event
from privet.audit.pair import Pair, Table, fresh, pair_of
from privet.audit.release import FAILED, release_of
from privet.audit.release import Release as EstimatorRelease
from privet.errors import PrivetError
from privet.progress import Progress

Release = Callable[[Any, Any], Any]
ABSENT = "(absent)"
"""What stands for a view in the runs that do not have it."""

Shares = tuple[tuple[float, float], ...]

# When to look, as shares of all runs, and which share of the chance to be wrong each look has.
_LOOKS: Shares = ((1 / 16, 0.05), (1 / 4, 0.1), (1.0, 0.85))
_TIMED_LOOKS: Shares = ((1 / 16, 0.05), (1 / 8, 0.05), (1 / 4, 0.1), (1 / 2, 0.2), (0.9, 0.6))

_WORTH_WORKERS = 6.0
"""Seconds of work below which starting other processes takes longer than it saves."""


def statistical_bound(
    release: Any,
    pair: Pair,
    *,
    runs: int | None = None,
    minutes: float | None = None,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
    proven: float | None = None,
    progress: Any = None,
    n_jobs: int | None = None,
) -> Bound:
    """A lower bound on epsilon from many fits on both tables.

    ``release`` is an estimator, or a function of ``(X, y)`` that returns what is released: anything hashable, or a
    dictionary of several ways to look at it. Give the number of ``runs`` on each table (half of them find the event,
    half count it) or a number of ``minutes``. With ``proven`` the audit stops as soon as a violation is certain.
    """
    check(confidence=confidence, delta=delta, proven=proven, runs=runs, minutes=minutes)
    if (runs is None) == (minutes is None):
        raise PrivetError("Give either the number of runs on each table or a number of minutes.")
    collector = Collector.ready(release, pair, n_jobs)
    each = 2 * collector.seconds / collector.workers  # a run on both tables
    if minutes is not None:
        collector.deadline = time.monotonic() + 60 * minutes
        total, shares = int(60 * minutes / each), _TIMED_LOOKS
    else:
        assert runs is not None
        total, shares = int(runs), _LOOKS if proven is not None else ((1.0, 1.0),)
    looks = plan_looks(total, shares, 1 - confidence, delta, proven)
    _enough(looks[-1], delta, total, each if minutes is not None else None)
    collector.check_workers(total)
    best: Bound | None = None
    with Progress(progress, "auditing", collector.deadline or looks[-1].runs) as bar:
        for look in looks:
            halves = collector.up_to(look.runs, bar)
            if halves is None:
                break
            bound = count(halves, look.alpha, confidence, delta, proven)
            best = bound if best is None or bound.epsilon >= best.epsilon else best
            bar.note(f"epsilon >= {best.epsilon:.3f}")
            if best.violated:
                break
    if best is None:
        raise PrivetError(
            f"Time was up before the first {looks[0].runs} runs on each table were done: one fit takes about "
            f"{collector.seconds:.2g} s. Give more minutes, or smaller data."
        )
    return best


def bound_of_samples(
    one: Any,
    other: Any,
    *,
    confidence: float = CONFIDENCE,
    delta: float = 0.0,
    proven: float | None = None,
) -> Bound:
    """The same from outputs that were drawn already: independent runs, each table's in a list or an array of numbers.

    Every second output finds the event, the others count it.

    >>> import numpy as np
    >>> rng = np.random.default_rng()
    >>> bound = bound_of_samples(rng.laplace(0, 1, 100_000), rng.laplace(1, 1, 100_000), proven=1.0)
    >>> 0.8 < bound.epsilon < 1
    True
    """
    check(confidence=confidence, delta=delta, proven=proven)
    runs = min(len(one), len(other))
    _enough(Look(runs // 2 * 2, 1 - confidence), delta, runs, None)
    return count(Halves.of(one, other), 1 - confidence, confidence, delta, proven)


@dataclass(frozen=True)
class Look:
    """After so many runs on each table, with this chance to be wrong."""

    runs: int
    alpha: float


@dataclass(frozen=True, eq=False)
class Halves:
    """What was seen on both tables, in the runs that find the event and in those that count it."""

    find_one: Views
    find_other: Views
    count_one: Views
    count_other: Views

    @classmethod
    def of(cls, one: Any, other: Any) -> Halves:
        """Of outputs that were drawn already: every second one finds the event."""
        return cls(*({"output": Seen.of(outputs[start::2])} for start in (0, 1) for outputs in (one, other)))

    @property
    def counted(self) -> tuple[int, int]:
        """How many runs count, on each table."""
        one, other = (next(iter(half.values())).runs for half in (self.count_one, self.count_other))
        return one, other


def count(halves: Halves, alpha: float, confidence: float, delta: float, proven: float | None) -> Bound:
    """Find an event on one half and bound its odds on the other, wrongly with a chance of at most ``alpha``."""
    n_one, n_other = halves.counted
    event = find_event(halves.find_one, halves.find_other, (n_one, n_other), alpha, delta)
    hits_one, hits_other = event.hits(halves.count_one), event.hits(halves.count_other)
    if event.here == "other":
        n_one, n_other, hits_one, hits_other = n_other, n_one, hits_other, hits_one
    odds = float(log_odds(hits_one, n_one, hits_other, n_other, alpha, delta))
    same = all(len(half[event.view].values) == 1 for half in (halves.count_one, halves.count_other)) and odds <= 0
    return Bound(
        epsilon=max(0.0, odds),
        confidence=confidence,
        engine="statistical",
        event=f"every run on both tables gave the same {event.view}"
        if same
        else event.describe((hits_one, hits_other), (n_one, n_other)),
        runs=next(iter(halves.find_one.values())).runs + min(n_one, n_other),
        proven=proven,
        delta=delta,
        reach=reach(min(n_one, n_other), alpha, delta),
        chance=hits_one / n_one,
    )


def plan_looks(runs: int, shares: Shares, alpha: float, delta: float, proven: float | None) -> list[Look]:
    """When to look. Early looks that could not show a violation are left out, and their share goes to the last."""
    looks = []
    spare = 0.0
    for i, (share, weight) in enumerate(shares):
        n, last = int(runs * share), i == len(shares) - 1
        useful = reach(n // 2, alpha * weight, delta) > (proven or 0.0)
        if last or useful:
            looks.append(Look(n, alpha * (weight + spare if last else weight)))
        else:
            spare += weight
    return looks


def _enough(look: Look, delta: float, runs: int, seconds_each: float | None) -> None:
    """Raise if no outcome of so many runs could give a bound above zero, and say how many could."""
    if reach(look.runs // 2, look.alpha, delta) > 0:
        return
    needed = math.ceil(2 * runs_needed(0.0, look.alpha, delta) * max(1.0, runs / max(look.runs, 1)))
    one = 2 * runs_needed(1.0, look.alpha, delta)
    time_needed = "" if seconds_each is None else f", about {max(0.1, needed * seconds_each / 60):.1f} minutes"
    raise PrivetError(
        f"{runs} runs on each table are too few for any bound at this confidence: at least {needed} are needed"
        f"{time_needed}, and {one} to show that epsilon exceeds 1. Run longer, or ask for less confidence."
    )


def pilot(release: Release, pair: Pair, least: int = 3, seconds: float = 0.5) -> float:
    """Run a few times on each table: how long one run takes, and whether its output can be compared at all."""
    seen: dict[str, set[Any]] = {"one": set(), "other": set()}
    for name, views in zip(seen, first_runs(release, pair)):  # they also compile and import
        seen[name].add(tuple(views.items()))
    start, n = time.perf_counter(), 0
    while n < least or time.perf_counter() - start < seconds:
        name = "one" if n % 2 else "other"
        seen[name].add(tuple(run_once(release, getattr(pair, name)).items()))
        n += 1
    each = (time.perf_counter() - start) / n
    if isinstance(release, EstimatorRelease) and all(len(outputs) == 1 for outputs in seen.values()):
        release.check_copies(pair.one)
    return each


def first_runs(release: Release, pair: Pair) -> list[dict[str, Any]]:
    """A run on each table, which does not fail on both."""
    both = [run_once(release, table) for table in (pair.one, pair.other)]
    if all(FAILED in views for views in both):
        raise PrivetError(f"It fails on both tables: {both[0][FAILED]}")
    return both


def run_once(release: Release, table: Table) -> dict[str, Any]:
    """What is seen of one run, on a table of its own."""
    return views_of(release(*fresh(table)))


def views_of(output: Any) -> dict[str, Any]:
    """The ways to look at an output, by name, of what can be compared."""
    views = output if isinstance(output, dict) else {"output": output}
    return {str(name): checked(comparable(value)) for name, value in views.items()}


_SAME = 64
"""So many runs of two copies are compared; more, if they agree although outputs change."""

_CHANGES = 8
"""So many changes together are no chance: an output that is drawn freshly with chance p comes up in both copies four
times of 64, and never in one alone, with a chance of at most (64 p^2)^4 / 4! exp(-128 p), which is below 1e-7."""


def check_noise_is_fresh(release: Release, pair: Pair, runs: int = 16 * _SAME) -> None:
    """Raise if copies of a release, as each task in a worker gets one, draw the same noise.

    A generator that a release holds is copied with its state: every task would start it anew, and runs that should be
    independent would be equal. Two copies are run side by side until they differ.
    """
    from joblib.externals.loky.backend import reduction  # type: ignore[import-untyped]

    try:
        one, other = (reduction.loads(reduction.dumps(release)) for _ in range(2))  # as tasks are sent
    except Exception as error:  # whatever its parts raise when they cannot be written
        raise PrivetError(
            f"The release cannot be sent to other processes ({error}): use n_jobs=1, or a function of a module."
        ) from error
    table, last, changes = pair.one, None, 0
    run_once(one, table)  # what a first call imports or keeps is no generator
    run_once(other, table)
    before = reduction.dumps(one)
    run_once(one, table)
    run_once(other, table)
    if reduction.dumps(one) != before:
        raise PrivetError(
            "The release changes with every call: it carries its own generator, or something else that counts. Workers "
            "would start from the same state and repeat each other's runs. Draw from fresh randomness of the operating "
            "system in each call, such as np.random.default_rng(), or use n_jobs=1."
        )
    enough = min(16 * _SAME, max(_SAME, runs // 8))
    for n in range(4 * enough):
        output = run_once(one, table)
        if run_once(other, table) != output:
            return
        changes += n > 0 and output != last
        last = output
        # Rare outputs may agree by chance a few times, so some changes are waited for, longer if there are a few. Where
        # nothing changes, no more than an eighth of the runs is spent on waiting for it.
        if changes >= (_CHANGES if n + 1 >= enough else 2 * _CHANGES) and n + 1 >= _SAME:
            break
        if changes == 0 and n + 1 >= min(_SAME, max(4, runs // 16)):
            break
    if changes >= _CHANGES:
        raise PrivetError(
            "The release carries its own generator, and copies of it draw the same noise: workers would repeat each "
            "other's runs. Draw from fresh randomness of the operating system in each call, such as "
            "np.random.default_rng(), or use n_jobs=1."
        )


def no_open_ledger() -> None:
    """An audit fits thousands of models; they must not be charged to a ledger, which workers could not see either."""
    from privet.privacy.ledger import Ledger

    if Ledger.current() is not None:
        raise PrivetError("An audit fits many models on data of its own: run it outside `with Ledger(...)`.")


def jobs(n_jobs: int | None) -> int:
    from joblib import cpu_count  # type: ignore[import-untyped]

    return int(cpu_count()) if n_jobs is None or n_jobs < 0 else max(1, n_jobs)


def uses_workers(runs: int, seconds: float, workers: int) -> bool:
    """Whether so many runs are worth other processes."""
    return workers > 1 and runs * seconds >= _WORTH_WORKERS


class Collector:
    """Runs fits, in this process or in workers, and keeps what was seen of each table in each half.

    Work is cut into tasks whose sizes are fixed before they run; a look counts only once all its tasks are done.
    """

    def __init__(
        self, release: Release, pair: Pair, seconds: float, workers: int, deadline: float | None = None
    ) -> None:
        self._release, self._pair = release, pair
        self.seconds, self.workers, self.deadline = seconds, workers, deadline
        self._counts: dict[tuple[int, int], dict[str, Counter[Any]]] = {(h, t): {} for h in (0, 1) for t in (0, 1)}
        self._done = 0

    @classmethod
    def ready(cls, release: Any, pair: Any, n_jobs: int | None) -> Collector:
        """Of an estimator or a function, tried a few times: so it is known how long one run takes."""
        no_open_ledger()
        pair = pair_of(pair)
        release = release_of(release, pair) if hasattr(release, "fit") else release
        return cls(release, pair, pilot(release, pair), jobs(n_jobs))

    def check_workers(self, runs: int) -> None:
        """Raise if workers will take part in so many runs on each table, and would repeat each other's noise."""
        if uses_workers(4 * (runs // 2), self.seconds, self.workers):
            check_noise_is_fresh(self._release, self._pair, runs)

    def up_to(self, runs: int, bar: Progress) -> Halves | None:
        """Run until each table has ``runs`` runs; None if time was up before."""
        half = runs // 2 - self._done // 2
        size = max(1, min(math.ceil(half / (2 * self.workers)), int(0.5 / self.seconds), 2000))
        # All four kinds of task advance together.
        tasks = [((h, t), n) for n in chunks(half, size) for h in (0, 1) for t in (0, 1)]
        for done, ((key, n), counts) in enumerate(self._run(tasks), start=1):
            for view, counter in counts.items():
                self._counts[key].setdefault(view, Counter()).update(counter)
            bar.advance(n / 2)
            if self.deadline is not None and time.monotonic() > self.deadline and done < len(tasks):
                return None
        self._done = runs
        names = dict.fromkeys(view for views in self._counts.values() for view in views)
        if not names:
            raise PrivetError("The release is an empty dictionary in every run: there is no view to compare.")
        return Halves(
            *(
                {view: Seen.of(_with_absent(self._counts[key].get(view, Counter()), runs // 2)) for view in names}
                for key in ((0, 0), (0, 1), (1, 0), (1, 1))
            )
        )

    def _run(self, tasks: list[Any]) -> Iterator[tuple[Any, dict[str, Counter[Any]]]]:
        from joblib import Parallel, delayed

        # Fresh processes (loky), never forks: a forked generator would repeat its parent's numbers.
        workers = self.workers if uses_workers(sum(n for _, n in tasks), self.seconds, self.workers) else 1
        parallel = Parallel(n_jobs=workers, backend="loky", return_as="generator_unordered", batch_size=1)
        tables = self._pair.one, self._pair.other
        results = parallel(delayed(run_many)((key, n), self._release, tables[key[1]], n) for key, n in tasks)
        try:
            for result in results:  # noqa: UP028 - `yield from` would close it before the warning is silenced
                yield result
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # tasks that are left when time is up are cancelled, as they should be
                results.close()


def run_many(key: Any, release: Release, table: Table, n: int) -> tuple[Any, dict[str, Counter[Any]]]:
    """The task's key, and how often each output of each view came up in ``n`` runs."""
    counts: dict[str, Counter[Any]] = {}
    for _ in range(n):
        for view, value in run_once(release, table).items():
            counts.setdefault(view, Counter())[value] += 1
    return key, counts


def chunks(total: int, size: int) -> list[int]:
    """The sizes of parts of at most ``size``."""
    return [min(size, total - start) for start in range(0, total, size)]


def _with_absent(counter: Counter[Any], runs: int) -> Counter[Any]:
    """A view that a run does not have is an output as well: that it is missing may be what tells."""
    missing = runs - counter.total()
    return counter + Counter({ABSENT: missing}) if missing else counter
