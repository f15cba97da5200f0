"""Mechanisms with answers laid down beforehand: what the exact engine runs an algorithm with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from threading import get_ident
from typing import Any
from unittest.mock import patch

import numpy as np

from privet.errors import PrivetError
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.laws import (
    log_exponential,
    log_gaussian,
    log_gaussian_tail,
    log_geometric,
    log_geometric_tail,
    log_joint_quantiles,
    log_permute_and_flip,
    log_report_noisy_max,
)
from privet.privacy.scores import JointQuantiles

Window = tuple[int, int]
Law = Callable[[np.ndarray, float], np.ndarray]
Tail = Callable[[int, float], float]
"""The log-probability of noise of at least a whole number from 1 on."""

MOST = 100_000
"""How many transcripts are followed before an exact audit gives up."""

FINE = 2.0**10
"""From this noise scale on a noisy number is a fixed-point sum."""

SELECTION_LAWS = {
    "permute_and_flip": log_permute_and_flip,
    "exponential": log_exponential,
    "report_noisy_max": log_report_noisy_max,
}


class TooManyTranscripts(PrivetError):
    """The data are too large for an exact audit."""


Numbers = dict[tuple[int, ...], np.ndarray | None]
"""The exact numbers that were asked for, by how often numbers were asked for before and the answers until then; None
where two tables cannot be compared."""


class Unmet(BaseException):
    """The numbers of the other table after the answers ``key`` are not known yet: no error of an estimator's."""

    def __init__(self, key: tuple[int, ...]) -> None:
        super().__init__()
        self.key = key


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
    ``numbers`` and ``elsewhere`` are notes of this and of the other table. With them, a number that is the same on both
    is told as it is: it would have the same noise there and here, so that it tells nothing, and as an answer it would
    only multiply transcripts. Unmet asks for what the other table's notes lack.
    """

    reproducible = False

    def __init__(
        self,
        script: Sequence[int],
        window: Window,
        known: Sequence[np.ndarray] = (),
        numbers: Numbers | None = None,
        elsewhere: Numbers | None = None,
    ) -> None:
        self._script = list(script)
        self._numbers_here, self._numbers_elsewhere = numbers, elsewhere
        self._asked = 0
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
    def transcript(self) -> tuple[int, ...]:
        return tuple(answer for i, answer in enumerate(self.answers) if i not in self.hidden)

    def draw(self, below: int) -> int:
        """A number that nobody sees, all equally likely."""
        self.hidden.add(len(self.answers))
        return self._answer(_even(below))

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
            laws = [SELECTION_LAWS[mechanism](score, scale) for score, scale in zip(scores, scales)]
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
        # Fixed-point sums have so many values that only whole records of them are told apart, rounded down.
        return self._numbers(values, scale, TARGET_ONE if scale >= FINE else 1, log_geometric, log_geometric_tail)

    def gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        # What such noise loses shows far out, where it is rare: a window of scales, rounded down.
        return self._numbers(values, scale, math.ceil(scale), log_gaussian, log_gaussian_tail)

    def _numbers(self, values: np.ndarray, scale: float, unit: int, law: Law, tail: Tail) -> np.ndarray:
        low, high = self._window
        self.unsure |= self._at_end
        self.cut = self.cut or values.size > 0
        told = np.array(values, dtype=np.int64) // unit * unit
        for i in np.flatnonzero(~self._alike(values)):
            answer = low + self._answer(_cut(int(values.flat[i]), float(scale), low, high, unit, law, tail))
            self._at_end |= answer in self._window
            told.flat[i] = unit * answer
        return told

    def _alike(self, values: np.ndarray) -> np.ndarray:
        """Which numbers are the same on the other table after the same answers; none where that is not asked for.

        Draws that nobody sees are each table's own: after them no two runs can be compared.
        """
        if self._numbers_here is None or self._numbers_elsewhere is None:
            return np.zeros(values.shape, dtype=bool)
        key = self._asked, *self.answers
        self._asked += 1
        self._numbers_here[key] = None if self.hidden else np.array(values)
        if key not in self._numbers_elsewhere:
            raise Unmet(key)
        there = self._numbers_elsewhere[key]
        if self.hidden or there is None or there.shape != values.shape:
            return np.zeros(values.shape, dtype=bool)
        return np.asarray(values == there)


class WanderingMechanisms(ScriptedMechanisms):
    """Scripted mechanisms that take any answer of each law, by a seed: the same questions have the same answers again.

    Answers are drawn evenly, however unlikely they are: so a few runs see answers of all kinds.
    """

    def __init__(self, seed: int, window: Window) -> None:
        super().__init__((), window)
        self._rng = np.random.default_rng(seed)

    def _answer(self, law: np.ndarray) -> int:
        self._script.append(int(self._rng.integers(len(law))))
        return super()._answer(law)


@contextmanager
def unseeded_generators() -> Iterator[list[str]]:
    """Lists every generator that this thread has from ``numpy.random.default_rng`` without a seed."""
    made: list[str] = []
    default_rng, here = np.random.default_rng, get_ident()

    def noting(seed: Any = None) -> np.random.Generator:
        if seed is None and get_ident() == here:
            made.append("numpy.random.default_rng()")
        return default_rng(seed)

    with patch.object(np.random, "default_rng", noting):
        yield made


class _ScriptedGenerator:
    """As much of a NumPy generator as ``privet.privacy.samplers`` asks for."""

    def __init__(self, mechanisms: ScriptedMechanisms) -> None:
        self._mechanisms = mechanisms

    def integers(self, below: int | np.ndarray, size: int) -> np.ndarray:
        limits = np.broadcast_to(below, size).tolist()
        return np.array([self._mechanisms.draw(limit) for limit in limits], dtype=np.int64)


@lru_cache(maxsize=256)
def _even(below: int) -> np.ndarray:
    law = np.full(below, -math.log(below))
    law.flags.writeable = False
    return law


@lru_cache(maxsize=4096)
def _cut(value: int, scale: float, low: int, high: int, unit: int, law: Law, tail: Tail) -> np.ndarray:
    """The law of a value with symmetric noise, in units, rounded down and cut to low..high, ends included.

    Remembered, since thousands of runs ask for the same few.
    """
    if unit == 1:
        cut = law(np.arange(low, high + 1) - value, scale)
    else:
        cut = np.array(
            [_log_between(k * unit - value, (k + 1) * unit - value, scale, tail) for k in range(low, high + 1)]
        )
    cut[0] = log_at_least(value - (low + 1) * unit + 1, scale, tail)
    cut[-1] = log_at_least(high * unit - value, scale, tail)
    cut.flags.writeable = False
    return cut


def _log_between(first: int, end: int, scale: float, tail: Tail) -> float:
    """Log-probability that symmetric noise is at least ``first`` and below ``end``."""
    if end <= 0:  # the mirror image
        first, end = 1 - end, 1 - first
    if first >= 1:
        beyond, further = tail(first, scale), tail(end, scale)
        return beyond + math.log(-math.expm1(further - beyond))
    return log_not(float(np.logaddexp(tail(1 - first, scale), tail(end, scale))))


def log_at_least(k: int, scale: float, tail: Tail = log_geometric_tail) -> float:
    """Log-probability that symmetric noise, two-sided geometric unless told, is at least ``k``, of either sign."""
    return tail(k, scale) if k >= 1 else log_not(tail(1 - k, scale))


def log_not(log_p: float) -> float:
    """The log-probability of the opposite.

    >>> round(math.exp(log_not(math.log(0.25))), 12)
    0.75
    """
    if log_p >= 0:
        return -math.inf
    return math.log(-math.expm1(log_p)) if log_p > -math.log(2) else math.log1p(-math.exp(log_p))
