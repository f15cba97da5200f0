"""The whole curve: for every delta a lower bound on epsilon, and for every epsilon one on delta, all at once.

An (epsilon, delta) guarantee is a curve, not a number: a mechanism may keep its promise at one delta and break it at
another. A chain of events, from the most tilted outputs to nearly all of them, is fixed on one half of the runs; the
probabilities of all of them are bounded on the other half, together, so that every point of the curve holds at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from privet.audit.bound import CONFIDENCE, check, highest, lowest, runs_needed
from privet.audit.event import find_event, nested_events
from privet.audit.pair import Pair
from privet.audit.statistical import Collector, Halves
from privet.errors import PrivetError
from privet.progress import Progress

_EVENTS = 16
"""So many events in each direction: more would find finer curves and leave less confidence for each."""


@dataclass(frozen=True)
class Curve:
    """Pairs of probabilities, (at least, at most), of events on one table and on the other.

    All of them hold together with ``confidence``.
    """

    points: tuple[tuple[float, float], ...]
    confidence: float
    runs: int

    def epsilon_at(self, delta: float) -> float:
        """Epsilon is at least this if delta is no more than ``delta``."""
        if not 0 <= delta <= 1:
            raise PrivetError(f"delta is a probability; got {delta!r}.")
        return max([0.0, *(math.log((p - delta) / q) for p, q in self.points if p > delta and q > 0)])

    def delta_at(self, epsilon: float) -> float:
        """Delta is at least this if epsilon is no more than ``epsilon``."""
        check(epsilon=epsilon)
        return max([0.0, *(p - math.exp(min(epsilon, 700.0)) * q for p, q in self.points)])

    def violates(self, epsilon: float, delta: float) -> bool:
        """Whether (epsilon, delta) cannot be true."""
        if not 0 <= delta <= 1:
            raise PrivetError(f"delta is a probability; got {delta!r}.")
        return self.delta_at(epsilon) > delta


def privacy_curve(
    release: Any,
    pair: Pair,
    *,
    runs: int,
    confidence: float = CONFIDENCE,
    progress: Any = None,
    n_jobs: int | None = None,
) -> Curve:
    """The curve of an estimator, or of a function of ``(X, y)``, from ``runs`` fits on each table of a pair."""
    check(confidence=confidence, runs=runs)
    _enough(runs, confidence)
    collector = Collector.ready(release, pair, n_jobs)
    collector.check_workers(runs)
    with Progress(progress, "auditing", int(runs)) as bar:
        halves = collector.up_to(int(runs), bar)
    assert halves is not None
    return _curve(halves, confidence, runs)


def curve_of_samples(one: Any, other: Any, *, confidence: float = CONFIDENCE) -> Curve:
    """The curve from outputs that were drawn already: independent runs, each table's in a list or an array of numbers.

    >>> import numpy as np
    >>> rng = np.random.default_rng()
    >>> curve = curve_of_samples(rng.laplace(0, 1, 100_000), rng.laplace(1, 1, 100_000))
    >>> curve.violates(0.5, 0.1), curve.violates(1.0, 0.0)
    (True, False)
    """
    check(confidence=confidence)
    runs = min(len(one), len(other))
    _enough(runs, confidence)
    return _curve(Halves.of(one, other), confidence, runs)


def _curve(halves: Halves, confidence: float, runs: int) -> Curve:
    n_one, n_other = halves.counted
    view = find_event(halves.find_one, halves.find_other, (n_one, n_other), 1 - confidence).view
    events = [
        event
        for here in ("one", "other")
        for event in nested_events(halves.find_one, halves.find_other, view, here, _EVENTS)
    ]
    share = (1 - confidence) / (2 * len(events))
    points = []
    for event in events:
        p, q = (event.hits(halves.count_one), n_one), (event.hits(halves.count_other), n_other)
        if event.here == "other":
            p, q = q, p
        points.append((float(lowest(*p, share)), float(highest(*q, share))))
    return Curve(tuple(points), confidence, runs)


def _enough(runs: int, confidence: float) -> None:
    needed = 2 * runs_needed(0.0, (1 - confidence) / (2 * _EVENTS))
    if runs < needed:
        raise PrivetError(f"{runs} runs on each table are too few for any curve: at least {needed} are needed.")
