"""A published step on plain data: the exact law of what it releases. (Tests draw from each step, and compare.)

What a law gives out is what the attacker looks at: the release itself, or a public function of it that takes a few
values, such as "is the released maximum at most 3?". Looking at less is post-processing, so a privacy loss found there
is a loss of the release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from privet.audit.bound import Bound
from privet.audit.exact import bound_of_laws
from privet.audit.pair import Pair
from privet.audit.scripted import log_not
from privet.curators.memory import MemoryCurator
from privet.privacy.event import Event
from privet.schema import Categorical, Schema

LogLaw = dict[Hashable, float]


class Law(ABC):
    """What the attacker may see of a step, and how likely it is."""

    delta = 0.0  # what the claim comes with

    @abstractmethod
    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        """The log-probability of each output; one that is not listed is impossible."""

    def exact_bound(self, pair: Pair, proven: float | None = None) -> Bound:
        """The largest privacy loss of an output, or with a delta of a set of them: a fact."""
        return bound_of_laws(self.log_law(*pair.one), self.log_law(*pair.other), proven=proven, delta=self.delta)


def events_of(estimator: Any, X: np.ndarray, y: np.ndarray, schema: Schema, question: str) -> list[Event]:
    """What a fit asks of one kind, in order: the noise of each answer follows."""
    curator = MemoryCurator(X, y, schema)
    estimator.fit_curator(curator)
    return [event for event in curator.ledger.events if event.question == question]


def joined(X: np.ndarray, y: np.ndarray, row: Sequence[Any] | np.ndarray, label: Any) -> Pair:
    """A table, and the same with one record more."""
    return Pair((X, y), (np.concatenate([X, np.asarray(row, dtype=X.dtype)[None]]), np.append(y, label)))


def alike(rows: int, features: int = 1, value: int = 0, label: int = 0) -> Pair:
    """So many records of zeros, of class 0; the one that joins has ``value`` in all features, and its own class."""
    return joined(np.zeros((rows, features), dtype=int), np.zeros(rows, dtype=int), np.full(features, value), label)


def binary(features: int) -> Schema:
    """So many features of the values 0 and 1, and two classes."""
    return Schema({f"f{j}": Categorical([0, 1], other=False) for j in range(features)}, classes=[0, 1])


def yes_or_no(log_yes: float) -> LogLaw:
    """The law of an event."""
    return {True: float(log_yes), False: log_not(float(log_yes))}


def log_laplace_above(t: float, scale: float) -> float:
    """Log-probability that Laplace noise exceeds ``t``.

    >>> round(math.exp(log_laplace_above(0.0, 3.0)), 12)
    0.5
    """
    if t >= 0:
        return math.log(0.5) - t / scale
    return math.log1p(-0.5 * math.exp(t / scale))
