"""Exact audits: the probability of every transcript on tiny data, in log space.

An algorithm is run again and again, each time with answers laid down beforehand, until every sequence of private
answers that it can receive has been seen. The probability of a transcript is the product of its answers' exact
probabilities, so the privacy loss between two datasets is a fact, not an estimate. Whatever is released is a function
of the transcript, so its loss is at most that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privet.audit.bound import ROUNDING, Bound, check, exceeds
from privet.audit.event import comparable, shown
from privet.audit.pair import Pair, fresh, pair_of
from privet.audit.scripted import (
    MOST,
    Numbers,
    ScriptedMechanisms,
    TooManyTranscripts,
    Unmet,
    WanderingMechanisms,
    Window,
    unseeded_generators,
)
from privet.errors import PrivetError

Run = Callable[["ScriptedMechanisms"], Any]

WINDOW: Window = (-2, 6)

_HOPELESS = 4

NEARLY = 0.9
"""An event is nearly as telling as another from this share of its loss on."""


def outputs(run: Run, window: Window = WINDOW, most: int = MOST) -> dict[Hashable, float]:
    """The log-probability of everything that ``run`` can return."""
    return _law((comparable(output), p) for _, p, output in _every_run(_Runner(run), window, most))


_WALKS = 4
"""So many transcripts are followed twice to see whether a run draws from something besides its mechanisms."""


def check_draws_nothing(*runs: Run) -> None:
    """Raise if a run draws from anything but its mechanisms: with the same answers again it must do the same again.

    An estimator that draws public structure for itself, from a generator without a seed, asks other questions in each
    run, so that equal answers on two tables do not mean the same: what would be computed from them says nothing. A
    NumPy generator without a seed is seen for certain, whatever it draws; other sources where they change what is asked
    or released.
    """
    with unseeded_generators() as made:
        alike = all(_walk(run, seed) == _walk(run, seed) for run in runs for seed in range(_WALKS))
    if made or not alike:
        raise PrivetError(_DRAWS)


_DRAWS = (
    "A run drew from something else than its mechanisms, so that its transcripts cannot be compared. If the estimator "
    "draws a public structure, give that a seed (structure=0): the guarantee must hold for every structure, and for a "
    "fixed one it can be computed. If it draws anything else, or takes no such seed, use statistical_bound."
)


def _walk(run: Run, seed: int) -> tuple[Any, ...]:
    """The answers, their laws and the output of one run, along one transcript."""
    mechanisms = WanderingMechanisms(seed, WINDOW)
    output = comparable(run(mechanisms))
    return mechanisms.answers, [law.tolist() for law in mechanisms.laws], output


def exact_bound(
    estimator: Any,
    pair: Pair,
    *,
    proven: float | None = None,
    delta: float | None = None,
    window: Window = WINDOW,
    most: int = MOST,
    only_telling: bool = False,
    hold: Callable[..., Any] | None = None,
) -> Bound:
    """The largest loss over everything that an estimator of this project can release on a pair: a fact.

    With a ``delta``, by default the estimator's own, it is the largest epsilon that some set of outputs shows to be too
    small: ln((P(S) - delta) / Q(S)).

    For tiny data: every sequence of private answers is followed, ``most`` at the most. Noisy numbers are cut to
    ``window``, which may hide some loss and, where later questions depend on a cut answer, may add some. So if the loss
    is more than ``proven``, it is computed again with a window twice as wide, if that can be done, and all that
    followed from a cut answer is then counted against the finding: taken off where the output is likely, added where it
    is not. What is reported as more than ``proven`` is so.

    With ``only_telling`` noisy numbers that are the same on both tables are told as they are. Their noise is the same,
    too, so every transcript that is then followed is a true one with its true ratio; those with other noise in such
    numbers are left out. That makes far fewer of them: one record more is in one leaf's counts. An estimator that is
    private through its answers alone keeps its promise for each.

    ``hold`` makes the curator that is attacked from a table, its labels and a schema, with ``ledger`` and
    ``mechanisms`` as options: by default ``MemoryCurator``.

    Numbers with wide noise are rounded to whole records, or to scales of Gaussian noise, before the algorithm sees
    them. Whoever learns of the records through private answers alone, as all algorithms of this project do, must keep
    the promise with rounded answers too, since rounding is post-processing: what is reported breaks the proof as well.
    """
    if proven is None:
        proven = getattr(estimator, "epsilon", None)
    if delta is None:
        delta = getattr(estimator, "delta", None) or 0.0
    fits = scripted_fits(estimator, pair, hold)
    check_draws_nothing(*fits)
    return exact_bound_of(*fits, proven=proven, delta=delta, window=window, most=most, only_telling=only_telling)


def scripted_fits(estimator: Any, pair: Pair, hold: Callable[..., Any] | None = None) -> tuple[Run, Run]:
    """For each table of a pair a function of mechanisms that fits on it and returns all that is released.

    That a fit fails is an output as well, unless it fails on both tables alike.
    """
    from privet.audit.release import release_of, released

    if not hasattr(estimator, "fit_curator"):
        raise PrivetError(
            f"{type(estimator).__name__} draws its noise where nobody can lay it down, so its probabilities cannot be "
            "computed: use statistical_bound, or give its law to exact_bound_of."
        )
    pair = pair_of(pair)
    estimator = release_of(estimator, pair).estimator
    schema = estimator.schema if pair.schema is None else pair.schema
    if schema is None:
        raise PrivetError("An audit of this estimator needs a schema: Pair(one, other, schema).")

    def run(table: Any) -> Run:
        read: list[Any] = []  # a table is read once, not in each of thousands of runs

        def fit(mechanisms: ScriptedMechanisms) -> str:
            from privet.audit.read_once import OfTheSameRecords
            from privet.curators.memory import MemoryCurator
            from privet.privacy.ledger import Ledger

            try:
                ledger = Ledger(math.inf, delta=getattr(estimator, "delta", None))
                if read and hold is None and schema.person is None:  # which of a person's records count is drawn
                    curator: MemoryCurator = OfTheSameRecords(read[0], ledger=ledger, mechanisms=mechanisms)
                else:
                    curator = (hold or MemoryCurator)(*fresh(table), schema, ledger=ledger, mechanisms=mechanisms)
                    read[:] = [curator]
                return released(estimator.fit_curator(curator))
            except TooManyTranscripts:
                raise
            except Exception as error:
                errors.append(error)
                return f"an error: {type(error).__name__}"

        return fit

    errors: list[Exception] = []
    fits = run(pair.one), run(pair.other)
    if all(fit(ScriptedMechanisms((), WINDOW)).startswith("an error") for fit in fits):
        raise errors[0]  # refused as it stands: nothing to tell the tables apart
    return fits


def exact_bound_of(
    run_one: Run,
    run_other: Run,
    *,
    proven: float | None = None,
    delta: float = 0.0,
    window: Window = WINDOW,
    most: int = MOST,
    only_telling: bool = False,
) -> Bound:
    """The same for any two functions that are given mechanisms, draw from nothing else, and return what is released."""
    check(proven=proven, delta=delta, most=most)
    low, high = window
    if not low < high:
        raise PrivetError(f"A window is two whole numbers, the lower first; got {window!r}.")
    tables = _tables(run_one, run_other, window, most, only_telling)
    bound = _bound_of_tables(tables, proven, delta)
    if proven is not None and not exceeds(bound.epsilon, proven):
        return bound
    if any(table.cut for table in tables) and proven is not None:
        more = (high - low + 1) // 2
        wider = (low - more, high + more)
        with suppress(TooManyTranscripts):
            tables = _tables(run_one, run_other, wider, min(_HOPELESS * most, max(most, MOST)), only_telling)
            window = wider
        bound = _bound_of_tables(tables, proven, delta)
    _check_repeats(tables, window)
    if not any(table.unsure for table in tables):
        return bound
    one, other = tables
    sure = max(_sure_loss(one, other, delta), _sure_loss(other, one, delta), 0.0)
    told = (
        f", with noisy numbers cut to {window[0]} to {window[1]}: {bound.epsilon:.4g} if what follows from that counts"
    )
    return replace(bound, epsilon=sure, suspected=bound.epsilon, event=bound.event + told)


@dataclass(frozen=True)
class _Runner:
    """Runs on one table. ``other`` has those of the other, if numbers that are the same there shall tell nothing."""

    run: Run
    numbers: Numbers = field(default_factory=dict)
    other: list[_Runner] = field(default_factory=list)

    def __call__(self, script: list[int], window: Window, known: list[np.ndarray]) -> tuple[ScriptedMechanisms, Any]:
        notes = [self.numbers, self.other[0].numbers] if self.other else []
        while True:
            mechanisms = ScriptedMechanisms(script, window, known, *notes)
            try:
                return mechanisms, self.run(mechanisms)
            except Unmet as unmet:
                self.other[0]._meet(unmet.key, window)

    def _meet(self, key: tuple[int, ...], window: Window) -> None:
        """Note the numbers that are asked for here after the same answers, if they are asked for at all."""
        with suppress(Unmet):  # of later numbers
            self.run(ScriptedMechanisms(key[1:], window, (), self.numbers, self.other[0].numbers))
        self.numbers.setdefault(key, None)


@dataclass
class _Table:
    """The law of the outputs on one table.

    ``unsure`` is the log-probability of what followed from cut answers, by output; the rest of an output is certain.
    """

    runner: _Runner

    law: dict[Any, float]
    unsure: dict[Any, float]
    cut: bool
    runs: int


def _tables(run_one: Run, run_other: Run, window: Window, most: int, only_telling: bool) -> tuple[_Table, _Table]:
    one, other = _Runner(run_one), _Runner(run_other)
    if only_telling:
        one.other.append(other)
        other.other.append(one)

    def table(runner: _Runner) -> _Table:
        found, cut = [], False
        for mechanisms, p, output in _every_run(runner, window, most):
            found.append((comparable(output), p, mechanisms.unsure))
            cut = cut or mechanisms.cut
        law = _law((output, p) for output, p, _ in found)
        return _Table(runner, law, _law((output, p) for output, p, unsure in found if unsure), cut, len(found))

    return table(one), table(other)


def _bound_of_tables(tables: tuple[_Table, _Table], proven: float | None, delta: float) -> Bound:
    one, other = (table.law for table in tables)
    return bound_of_laws(one, other, proven=proven, delta=delta, runs=len(one) + len(other))


def _sure_loss(here: _Table, there: _Table, delta: float) -> float:
    """The loss of the worst output if nothing that followed from cut answers led to it here, and all of it there.

    With a delta that of the worst set of outputs.
    """
    beyond = math.exp(np.logaddexp.reduce(list(there.unsure.values()))) if there.unsure else 0.0
    sure = []
    for output, log_p in here.law.items():
        p = math.exp(log_p) - math.exp(here.unsure.get(output, -math.inf))
        q = math.exp(there.law.get(output, -math.inf)) - math.exp(there.unsure.get(output, -math.inf))
        if p > 1e-12:  # below that, a difference of floats may be rounding
            sure.append((p, max(q, 0.0)))
    if not delta:
        return max((_log_ratio(p, q + beyond) for p, q in sure), default=-math.inf)
    sure.sort(key=lambda chances: -_log_ratio(*chances))
    ps, qs = np.cumsum(sure, axis=0).T if sure else np.zeros((2, 0))
    return max((_log_ratio(_beyond(p, delta), q + beyond) for p, q in zip(ps, qs)), default=-math.inf)


def _beyond(p: float, delta: float) -> float:
    """What delta does not explain; a difference that rounding may have made is none."""
    return p - delta if p > delta * (1 + ROUNDING) else 0.0


def _log_ratio(p: float, q: float) -> float:
    """Infinite against what is rounding alone."""
    if p <= 0:
        return -math.inf
    return math.log(p / q) if q > 1e-15 else math.inf


_REPEATS = 64
"""So many runs are repeated before a violation is reported."""


def _check_repeats(tables: tuple[_Table, _Table], window: Window) -> None:
    """Raise unless all is the same once more: whatever else a run draws from would look like a difference of tables."""
    for table in tables:
        for _ in range(1 + _REPEATS // table.runs):
            again = _law((comparable(output), p) for _, p, output in _every_run(table.runner, window, table.runs))
            if again != table.law:
                raise PrivetError(_DRAWS)


def bound_of_laws(
    one: dict[Any, float],
    other: dict[Any, float],
    *,
    proven: float | None = None,
    delta: float = 0.0,
    runs: int = 0,
) -> Bound:
    """The same for two laws: the log-probability of every output.

    >>> rare, often = math.log(0.25), math.log(0.75)
    >>> bound_of_laws({"yes": often, "no": rare}, {"yes": rare, "no": often}).epsilon == often - rare
    True
    >>> round(bound_of_laws({"yes": often, "no": rare}, {"yes": rare, "no": often}, delta=0.25).epsilon, 6)  # ln 2
    0.693147
    """
    check(proven=proven, delta=delta)
    if not one and not other:
        raise PrivetError("Both laws are empty: give the log-probability of every output.")
    if delta:
        return _bound_at(one, other, delta, proven, runs)
    # Of outputs that tell as much, that which happens most.
    worst = max(
        [*one, *other], key=lambda output: (_tilt(one, other, output), max(_at(one, output), _at(other, output)))
    )
    p, q = _at(one, worst), _at(other, worst)
    epsilon = _tilt(one, other, worst)
    here, there = (one, other) if p > q else (other, one)
    telling = (here[o] for o in here if here[o] > _at(there, o) and _tilt(one, other, o) >= NEARLY * epsilon)
    return Bound(
        epsilon=epsilon,
        confidence=1.0,
        engine="exact",
        event=f"output is {shown(worst)} ({_chances(p, q)})",
        runs=runs,
        proven=proven,
        chance=float(np.exp(np.logaddexp.reduce([-math.inf, *telling]))),
    )


def _bound_at(one: dict[Any, float], other: dict[Any, float], delta: float, proven: float | None, runs: int) -> Bound:
    """The set of outputs that shows the largest epsilon at this delta.

    Among sets, P(S) - e^epsilon Q(S) is largest for all outputs whose ratio is above e^epsilon: so the best set has all
    outputs from some ratio on, and the sets to try are as many as there are outputs.
    """
    best = Bound(0.0, 1.0, "exact", "no set of outputs tells more than delta allows", runs, proven, delta=delta)
    for here, there, name in ((one, other, "one"), (other, one, "other")):
        outputs = sorted(here, key=lambda output: _at(there, output) - here[output])
        log_p = np.logaddexp.accumulate([here[output] for output in outputs])
        log_q = np.logaddexp.accumulate([_at(there, output) for output in outputs])
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.log([_beyond(p, delta) for p in np.exp(log_p)]) - log_q
        k = int(np.argmax(np.nan_to_num(losses, nan=-math.inf, posinf=math.inf, neginf=-math.inf)))
        if losses[k] > best.epsilon:
            p, q = (log_p[k], log_q[k]) if name == "one" else (log_q[k], log_p[k])
            event = f"output is one of {k + 1}, such as {shown(outputs[0])} (together {_chances(p, q)})"
            best = replace(best, epsilon=float(losses[k]), event=event, chance=float(np.exp(log_p[k])))
    return best


def _chances(p: float, q: float) -> str:
    return f"probability {math.exp(p):.4g} on table 'one', {math.exp(q):.4g} on 'other'"


def _tilt(one: dict[Any, float], other: dict[Any, float], outcome: Any) -> float:
    """The absolute log-ratio of an outcome's probabilities; one that a law does not list is impossible there."""
    p, q = _at(one, outcome), _at(other, outcome)
    return 0.0 if p == q else abs(p - q)


def _at(law: dict[Any, float], outcome: Any) -> float:
    return law.get(outcome, -math.inf)


def _every_run(run: _Runner, window: Window, most: int) -> Iterator[tuple[ScriptedMechanisms, float, Any]]:
    """Run with every script there is: the mechanisms, the log-probability of the answers, and what was returned."""
    script: list[int] | None = []
    laws: list[np.ndarray] = []
    n = 0
    while script is not None:
        mechanisms, output = run(script, window, laws[: len(script)])
        if mechanisms.answers[: len(script)] != script:
            raise PrivetError(_DRAWS)
        answers, laws = mechanisms.answers, mechanisms.laws
        n += 1
        # How many follow from the first one's, if all were alike: hopeless cases are seen at once.
        if n > most or (n == 1 and math.prod(map(len, laws)) > _HOPELESS * most):
            raise TooManyTranscripts(
                f"More than {most} transcripts: use smaller data, fewer candidates, less depth or a smaller window; or "
                "the statistical engine."
            )
        yield mechanisms, float(sum(law[answer] for law, answer in zip(laws, answers))), output
        script = _next(answers, laws)


def _law(found: Iterator[tuple[Any, float]]) -> dict[Any, float]:
    """Outcomes with their log-probabilities; those of one outcome are added up."""
    terms: dict[Any, list[float]] = {}
    for outcome, log_probability in found:
        terms.setdefault(outcome, []).append(log_probability)
    return {outcome: float(np.logaddexp.reduce(own)) for outcome, own in terms.items()}


def _next(answers: list[int], laws: list[np.ndarray]) -> list[int] | None:
    """The answers that come next in order, like an odometer whose wheels depend on those before."""
    for position in reversed(range(len(answers))):
        if answers[position] + 1 < len(laws[position]):
            return [*answers[:position], answers[position] + 1]
    return None
