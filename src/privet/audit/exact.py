"""Exact audits: the probability of every transcript on tiny data, in log space.

An algorithm is run again and again, each time with answers laid down beforehand, until every sequence of private
answers that it can receive has been seen. The probability of a transcript is the product of its answers' exact
probabilities, so the privacy loss between two datasets is a fact, not an estimate. Whatever is released is a function
of the transcript, so its loss is at most that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.audit.bound import Bound, check_proven, exceeds
from privet.audit.event import comparable
from privet.audit.pair import Pair, fresh, pair_of
from privet.errors import PrivetError
from privet.privacy.laws import (
    log_exponential,
    log_geometric,
    log_geometric_tail,
    log_joint_quantiles,
    log_permute_and_flip,
    log_report_noisy_max,
)
from privet.privacy.sensitivity import TARGET_ONE, JointQuantiles

Transcript = tuple[int, ...]
Window = tuple[int, int]
Run = Callable[["ScriptedMechanisms"], Any]

WINDOW: Window = (-2, 6)
MOST = 100_000
"""How many transcripts are followed before an exact audit gives up."""

_HOPELESS = 4

NEARLY = 0.9
"""An event is nearly as telling as another from this share of its loss on."""

FINE = 2.0**10
"""From this noise scale on a noisy number is a fixed-point sum."""

_SELECTION_LAWS = {
    "permute_and_flip": log_permute_and_flip,
    "exponential": log_exponential,
    "report_noisy_max": log_report_noisy_max,
}


class ScriptedMechanisms:
    """Mechanisms whose answers are laid down: they follow a script and note the law of every answer.

    Noisy numbers are cut to ``window``, ends included: the algorithm is told the end for what lies beyond. Where it
    asks nothing more that depends on such a number, the cut is post-processing and can only hide loss. Where later
    questions depend on it, this is another algorithm, the one that is run with cut answers: what is computed is exact
    for that one, and near the truth only as far as answers beyond the window are rare.
    ``unsure`` says that it happened: something was asked after an answer at an end of the window.
    Draws that stay behind the curtain (which part a record belongs to) are scripted as well, but are no answers.
    ``known`` are the laws of the first answers, from an earlier run that was given the same ones: the scores that they
    follow from are then not asked for again.
    """

    reproducible = False

    def __init__(self, script: Sequence[int], window: Window, known: Sequence[np.ndarray] = ()) -> None:
        self._script = list(script)
        self._known = known
        self._window = window
        self.answers: list[int] = []
        self.laws: list[np.ndarray] = []
        self.hidden: set[int] = set()
        self.cut = False
        self.unsure = False
        self._at_end = False

    @property
    def generator(self) -> Any:
        """What the curator draws parts from."""
        return _ScriptedGenerator(self)

    @property
    def transcript(self) -> Transcript:
        return tuple(answer for i, answer in enumerate(self.answers) if i not in self.hidden)

    def draw(self, below: int) -> int:
        """A number that nobody sees, all equally likely."""
        self.hidden.add(len(self.answers))
        return self._answer(np.full(below, -math.log(below)))

    def _answer(self, law: np.ndarray) -> int:
        position = len(self.answers)
        answer = self._script[position] if position < len(self._script) else 0
        self.answers.append(answer)
        self.laws.append(law)
        return answer

    def select(self, mechanism: str, scores: Iterable[np.ndarray], scales: Sequence[float]) -> list[int]:
        self.unsure |= self._at_end
        start = len(self.answers)
        laws = self._known[start : start + len(scales)]
        if len(laws) < len(scales):
            laws = [_SELECTION_LAWS[mechanism](score, scale) for score, scale in zip(scores, scales)]
        return [self._answer(law) for law in laws]

    def joint_quantiles(
        self, counts: np.ndarray, score: JointQuantiles, weights: np.ndarray, scale: float
    ) -> list[int]:
        self.unsure |= self._at_end
        points = len(score.spacings) - 1
        if math.comb(len(weights) + points - 1, points) > MOST:  # seen before they are listed: there may be 10^16
            raise TooManyTranscripts(
                f"{points} quantiles on {len(weights)} cuts can fall in more than {MOST} ways: use a coarser grid, "
                "fewer quantiles, or the statistical engine."
            )
        cuts, law = log_joint_quantiles(counts, score, weights, scale)
        return list(cuts[self._answer(law)])

    def geometric(self, values: np.ndarray, scale: float) -> np.ndarray:
        low, high = self._window
        self.unsure |= self._at_end
        self.cut = self.cut or values.size > 0
        # Fixed-point sums have so many values that only whole records of them are told apart, rounded down.
        unit = TARGET_ONE if scale >= FINE else 1
        laws = (_cut_geometric(int(value), scale, low, high, unit) for value in values.flat)
        noisy = [unit * (low + self._answer(law)) for law in laws]
        self._at_end |= not {unit * low, unit * high}.isdisjoint(noisy)
        return np.array(noisy, dtype=np.int64).reshape(values.shape)

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        raise PrivetError(
            "Gaussian noise has no largest loss: what it promises comes with a delta. Use privacy_curve, or "
            "audit with a delta."
        )


class _ScriptedGenerator:
    """As much of a NumPy generator as ``privet.privacy.samplers`` asks for."""

    def __init__(self, mechanisms: ScriptedMechanisms) -> None:
        self._mechanisms = mechanisms

    def integers(self, below: int, size: int) -> np.ndarray:
        return np.array([self._mechanisms.draw(below) for _ in range(size)], dtype=np.int64)


def _cut_geometric(value: int, scale: float, low: int, high: int, unit: int = 1) -> np.ndarray:
    """The law of a noisy value in units, rounded down and cut to [low, high]."""
    if unit == 1:
        law = log_geometric(np.arange(low, high + 1) - value, scale)
    else:
        law = np.array([_log_between(k * unit - value, (k + 1) * unit - value, scale) for k in range(low, high + 1)])
    law[0] = _log_at_least(value - (low + 1) * unit + 1, scale)
    law[-1] = _log_at_least(high * unit - value, scale)
    return law


def _log_between(first: int, end: int, scale: float) -> float:
    """Log-probability that two-sided geometric noise is at least ``first`` and below ``end``."""
    if end <= 0:  # the mirror image: the noise is symmetric
        first, end = 1 - end, 1 - first
    if first >= 1:
        return log_geometric_tail(first, scale) + math.log(-math.expm1(-(end - first) / scale))
    outside = np.logaddexp(log_geometric_tail(1 - first, scale), log_geometric_tail(end, scale))
    return math.log(-math.expm1(outside))


def _log_at_least(k: int, scale: float) -> float:
    """Log-probability that two-sided geometric noise is at least ``k``, of either sign."""
    if k >= 1:
        return log_geometric_tail(k, scale)
    return float(np.log1p(-np.exp(log_geometric_tail(1 - k, scale))))


def transcripts(run: Run, window: Window = WINDOW, most: int = 1_000_000) -> dict[Transcript, float]:
    """The log-probability of every transcript of ``run``, which is given mechanisms and must draw from nothing else."""
    return _law((mechanisms.transcript, p) for mechanisms, p, _ in _every_run(run, window, most))


def outputs(run: Run, window: Window = WINDOW, most: int = MOST) -> dict[Hashable, float]:
    """The log-probability of everything that ``run`` can return."""
    return _law((comparable(output), p) for _, p, output in _every_run(run, window, most))


def exact_bound(
    estimator: Any, pair: Pair, *, proven: float | None = None, window: Window = WINDOW, most: int = MOST
) -> Bound:
    """The largest loss over everything that an estimator of this project can release on a pair: a fact.

    For tiny data: every sequence of private answers is followed, ``most`` at the most. Noisy numbers are cut to
    ``window``, which may hide some loss and, where later questions depend on a cut answer, may add some. So if the loss
    is more than ``proven``, it is computed again with a window twice as wide, if that can be done, and all that
    followed from a cut answer is then counted against the finding: taken off where the output is likely, added where it
    is not. What is reported as more than ``proven`` is so.
    """
    if proven is None:
        proven = getattr(estimator, "epsilon", None)
    return exact_bound_of(*scripted_fits(estimator, pair), proven=proven, window=window, most=most)


def scripted_fits(estimator: Any, pair: Pair) -> tuple[Run, Run]:
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
        def fit(mechanisms: ScriptedMechanisms) -> str:
            from privet.curators.memory import MemoryCurator
            from privet.privacy.ledger import Ledger

            try:
                curator = MemoryCurator(*fresh(table), schema, ledger=Ledger(math.inf), mechanisms=mechanisms)
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
    run_one: Run, run_other: Run, *, proven: float | None = None, window: Window = WINDOW, most: int = MOST
) -> Bound:
    """The same for any two functions that are given mechanisms, draw from nothing else, and return what is released."""
    check_proven(proven)
    low, high = window
    if not low < high:
        raise PrivetError(f"A window is two whole numbers, the lower first; got {window!r}.")
    if not most > 0:
        raise PrivetError(f"most must be greater than zero; got {most!r}.")
    tables = _tables(run_one, run_other, window, most)
    bound = _bound_of_tables(tables, proven)
    if proven is not None and not exceeds(bound.epsilon, proven):
        return bound
    if any(table.cut for table in tables) and proven is not None:
        more = (high - low + 1) // 2
        wider = (low - more, high + more)
        with suppress(TooManyTranscripts):
            tables = _tables(run_one, run_other, wider, min(_HOPELESS * most, max(most, MOST)))
            window = wider
        bound = _bound_of_tables(tables, proven)
    _check_repeats((run_one, run_other), tables, window)
    if not any(table.unsure for table in tables):
        return bound
    sure = max(_sure_loss(*tables), _sure_loss(*reversed(tables)), 0.0)
    told = (
        f", with noisy numbers cut to {window[0]} to {window[1]}: {bound.epsilon:.4g} if what follows from that counts"
    )
    return replace(bound, epsilon=sure, suspected=bound.epsilon, event=bound.event + told)


@dataclass
class _Table:
    """The law of the outputs on one table.

    ``unsure`` is the log-probability of what followed from cut answers, by output; the rest of an output is certain.
    """

    law: dict[Any, float]
    unsure: dict[Any, float]
    cut: bool
    runs: int


def _tables(run_one: Run, run_other: Run, window: Window, most: int) -> tuple[_Table, _Table]:
    def table(run: Run) -> _Table:
        found, cut = [], False
        for mechanisms, p, output in _every_run(run, window, most):
            found.append((comparable(output), p, mechanisms.unsure))
            cut = cut or mechanisms.cut
        law = _law((output, p) for output, p, _ in found)
        return _Table(law, _law((output, p) for output, p, unsure in found if unsure), cut, len(found))

    return table(run_one), table(run_other)


def _bound_of_tables(tables: tuple[_Table, _Table], proven: float | None) -> Bound:
    return bound_of_laws(*(table.law for table in tables), proven=proven, runs=sum(len(table.law) for table in tables))


def _sure_loss(here: _Table, there: _Table) -> float:
    """The loss of the worst output if nothing that followed from cut answers led to it here, and all of it there."""
    beyond = math.exp(np.logaddexp.reduce(list(there.unsure.values()))) if there.unsure else 0.0
    worst = -math.inf
    for output, log_p in here.law.items():
        p = math.exp(log_p) - math.exp(here.unsure.get(output, -math.inf))
        q = math.exp(there.law.get(output, -math.inf)) - math.exp(there.unsure.get(output, -math.inf)) + beyond
        if p > 1e-12:  # below that, a difference of floats may be rounding
            worst = max(worst, math.log(p / q) if q > 1e-15 else math.inf)
    return worst


_REPEATS = 64
"""So many runs are repeated before a violation is reported."""


def _check_repeats(runs: tuple[Run, Run], tables: tuple[_Table, _Table], window: Window) -> None:
    """Raise unless all is the same once more: whatever else a run draws from would look like a difference of tables."""
    for run, table in zip(runs, tables):
        for _ in range(1 + _REPEATS // table.runs):
            again = _law((comparable(output), p) for _, p, output in _every_run(run, window, table.runs))
            if again != table.law:
                raise PrivetError(
                    "A run drew from something else than its mechanisms: it cannot be audited exactly. Use "
                    "statistical_bound."
                )


def bound_of_laws(
    one: dict[Any, float], other: dict[Any, float], *, proven: float | None = None, runs: int = 0
) -> Bound:
    """The same for two laws: the log-probability of every output.

    >>> rare, often = math.log(0.25), math.log(0.75)
    >>> bound_of_laws({"yes": often, "no": rare}, {"yes": rare, "no": often}).epsilon == often - rare
    True
    """
    check_proven(proven)
    if not one and not other:
        raise PrivetError("Both laws are empty: give the log-probability of every output.")
    # Of outputs that tell as much, that which happens most.
    worst = max(
        [*one, *other], key=lambda output: (_tilt(one, other, output), max(_at(one, output), _at(other, output)))
    )
    p, q = _at(one, worst), _at(other, worst)
    epsilon = _tilt(one, other, worst)
    here, there = (one, other) if p > q else (other, one)
    telling = (here[o] for o in here if here[o] > _at(there, o) and _tilt(one, other, o) >= NEARLY * epsilon)
    text = str(worst)
    text = text if len(text) <= 160 else text[:157] + "..."
    return Bound(
        epsilon=epsilon,
        confidence=1.0,
        engine="exact",
        event=f"output is {text} (probability {math.exp(p):.4g} on table 'one', {math.exp(q):.4g} on 'other')",
        runs=runs,
        proven=proven,
        chance=float(np.exp(np.logaddexp.reduce([-math.inf, *telling]))),
    )


def _tilt(one: dict[Any, float], other: dict[Any, float], outcome: Any) -> float:
    """The absolute log-ratio of an outcome's probabilities; one that a law does not list is impossible there."""
    p, q = _at(one, outcome), _at(other, outcome)
    return 0.0 if p == q else abs(p - q)


def _at(law: dict[Any, float], outcome: Any) -> float:
    return law.get(outcome, -math.inf)


def _every_run(run: Run, window: Window, most: int) -> Iterator[tuple[ScriptedMechanisms, float, Any]]:
    """Run with every script there is: the mechanisms, the log-probability of the answers, and what was returned."""
    script: list[int] | None = []
    laws: list[np.ndarray] = []
    n = 0
    while script is not None:
        mechanisms = ScriptedMechanisms(script, window, known=laws[: len(script)])
        output = run(mechanisms)
        if mechanisms.answers[: len(script)] != script:
            raise PrivetError("A run drew from something else than its mechanisms: it cannot be audited exactly.")
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


class TooManyTranscripts(PrivetError):
    """The data are too large for an exact audit."""


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


def loss(one: dict[Transcript, float], other: dict[Transcript, float]) -> float:
    """The largest absolute log-ratio of a transcript's probabilities; infinite if one side cannot have it."""
    return max(_tilt(one, other, transcript) for transcript in [*one, *other])
