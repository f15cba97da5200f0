"""A published claim, what it is really worth, and what an attack on its witness finds.

Of a published step on plain data there is the exact law of what it releases. (Tests draw from each step, and compare.)
What a law gives out is what the attacker looks at: the release itself, or a public function of it that takes a few
values, such as "is the released maximum at most 3?". Looking at less is post-processing, so a privacy loss found there
is a loss of the release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.algorithms.registry import model_class
from privet.audit.bound import Bound, exceeds
from privet.audit.exact import WINDOW, bound_of_laws, exact_bound
from privet.audit.pair import Pair
from privet.audit.scripted import TooManyTranscripts, Window, log_not
from privet.audit.statistical import statistical_bound
from privet.curators.memory import MemoryCurator
from privet.privacy.event import Event
from privet.schema import Categorical, Schema


@dataclass(frozen=True)
class Claim:
    """One variant of one paper.

    ``subject`` makes what is attacked: a ``Law``, which is the published step on plain data, or an estimator, once
    there is one. ``witness`` makes the pair of neighbouring tables on which it is attacked. ``claimed`` is what the
    paper says the release costs, ``proven`` what it costs by our own proof (docs/theory.md), infinity if nothing finite
    bounds it on all tables; ``why`` says how they come apart, or why the claim holds. Of an estimator's noisy numbers
    the exact engine sees what is in ``window``; what is not ours, or has too many transcripts, is run ``runs`` times on
    each table.
    """

    paper: str
    key: str
    variant: str
    subject: Callable[[], Any]
    witness: Callable[[], Pair]
    why: str
    claimed: float = 1.0
    proven: float = 1.0
    window: Window = WINDOW
    runs: int = 10_000

    @property
    def holds(self) -> bool:
        return self.proven <= self.claimed

    def attack(self, progress: Any = False) -> Outcome:
        """The bound on the witness: exact wherever probabilities can be computed."""
        subject, pair = self.subject(), self.witness()
        if isinstance(subject, Law):
            return Outcome(self, subject.exact_bound(pair, self.proven))
        if hasattr(subject, "fit_curator"):
            try:
                return Outcome(self, exact_bound(subject, pair, proven=self.proven, window=self.window))
            except TooManyTranscripts:
                pass
        bound = statistical_bound(subject, pair, runs=self.runs, progress=progress)
        return Outcome(self, replace(bound, proven=self.proven))


def model(name: str, **params: Any) -> Any:
    """A registered estimator, with an epsilon of 1 unless another is given."""
    return model_class(name)(**{"epsilon": 1.0} | params)


@dataclass(frozen=True)
class Outcome:
    """What an attack on a claim found."""

    claim: Claim
    bound: Bound

    @property
    def verdict(self) -> str:
        """``caught``: more than claimed. ``holds``: proven, and nothing found. ``missed``: false, and nothing found.

        ``BROKEN`` is what must never be: more than is proven, so that a proof or the code is wrong.
        """
        if exceeds(self.bound.epsilon, self.claim.proven):
            return "BROKEN"
        if exceeds(self.bound.epsilon, self.claim.claimed):
            return "caught"
        return "holds" if self.claim.holds else "missed"

    @property
    def expected(self) -> bool:
        return self.verdict in ("caught", "holds")

    def to_dict(self) -> dict[str, Any]:
        """Plain data; infinity as a word, since JSON has none."""
        claim = self.claim
        return {
            "key": claim.key,
            "paper": claim.paper,
            "variant": claim.variant,
            "claimed": claim.claimed,
            "proven": "infinity" if claim.proven == math.inf else claim.proven,
            "why": claim.why,
            "bound": self.bound.to_dict(),
            "verdict": self.verdict,
        }


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
