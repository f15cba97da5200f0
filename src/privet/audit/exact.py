"""Exact audits: the probability of every transcript on tiny data, in log space.

An algorithm is run again and again, each time with answers laid down beforehand, until every sequence of private
answers that it can receive has been seen. The probability of a transcript is the product of its answers' exact
probabilities, so the privacy loss between two datasets is a fact, not an estimate. Whatever is released is a function of
the transcript, so its loss is at most that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from privet.privacy.laws import log_exponential, log_geometric, log_geometric_tail, log_permute_and_flip

Transcript = tuple[int, ...]

_SELECTION_LAWS = {"permute_and_flip": log_permute_and_flip, "exponential": log_exponential}


class ScriptedMechanisms:
    """Mechanisms whose answers are laid down: they follow a script and note the law of every answer.

    Noisy numbers are cut to ``window``, ends included: what lies beyond counts as the end, which is post-processing.
    """

    reproducible = False
    generator = None

    def __init__(self, script: Sequence[int], window: tuple[int, int]) -> None:
        self._script = list(script)
        self._window = window
        self.answers: list[int] = []
        self.laws: list[np.ndarray] = []

    def _answer(self, law: np.ndarray) -> int:
        position = len(self.answers)
        answer = self._script[position] if position < len(self._script) else 0
        self.answers.append(answer)
        self.laws.append(law)
        return answer

    def select(self, mechanism: str, scores: Iterable[np.ndarray], scales: Sequence[float]) -> list[int]:
        law = _SELECTION_LAWS[mechanism]
        return [self._answer(law(score, scale)) for score, scale in zip(scores, scales)]

    def geometric(self, values: np.ndarray, scale: float) -> np.ndarray:
        low, high = self._window
        noisy = [low + self._answer(_cut_geometric(int(value), scale, low, high)) for value in values.ravel()]
        return np.array(noisy, dtype=np.int64).reshape(values.shape)


def _cut_geometric(value: int, scale: float, low: int, high: int) -> np.ndarray:
    """The law of a noisy value cut to [low, high]."""
    law = log_geometric(np.arange(low, high + 1) - value, scale)
    law[0] = _log_at_least(value - low, scale)
    law[-1] = _log_at_least(high - value, scale)
    return law


def _log_at_least(k: int, scale: float) -> float:
    """Log-probability that two-sided geometric noise is at least ``k``, of either sign."""
    if k >= 1:
        return log_geometric_tail(k, scale)
    return float(np.log1p(-np.exp(log_geometric_tail(1 - k, scale))))


def transcripts(
    run: Callable[[ScriptedMechanisms], Any], window: tuple[int, int] = (-2, 6), most: int = 1_000_000
) -> dict[Transcript, float]:
    """The log-probability of every transcript of ``run``, which is given mechanisms and must draw from nothing else."""
    found: dict[Transcript, float] = {}
    script: list[int] | None = []
    while script is not None:
        mechanisms = ScriptedMechanisms(script, window)
        run(mechanisms)
        answers, laws = mechanisms.answers, mechanisms.laws
        found[tuple(answers)] = float(sum(law[answer] for law, answer in zip(laws, answers)))
        if len(found) > most:
            raise ValueError(f"More than {most} transcripts: use smaller data, fewer candidates or a smaller window.")
        script = _next(answers, laws)
    return found


def _next(answers: list[int], laws: list[np.ndarray]) -> list[int] | None:
    """The answers that come next in order, like an odometer whose wheels depend on those before."""
    for position in reversed(range(len(answers))):
        if answers[position] + 1 < len(laws[position]):
            return [*answers[:position], answers[position] + 1]
    return None


def loss(one: dict[Transcript, float], other: dict[Transcript, float]) -> float:
    """The largest absolute log-ratio of a transcript's probabilities; infinite if one side cannot have it."""
    if one.keys() != other.keys():
        return float("inf")
    return max(abs(one[transcript] - other[transcript]) for transcript in one)
