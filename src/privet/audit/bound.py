"""What an audit finds: a lower bound on epsilon, and how sure it is.

The guarantee says P(S) <= e^epsilon * Q(S) + delta for every event S and every two neighbouring tables, P and Q being
the laws of what is released. Turned round, any event shows that epsilon is at least ln((P(S) - delta) / Q(S)). A bound
is that number for the most telling event that was found: a fact where P and Q are computed, a statement that holds with
a stated confidence where they are counted.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.rounding import at_least

CONFIDENCE = 1 - 1e-6
"""How sure a bound is unless told otherwise: one false alarm in a million audits."""

ROUNDING = 1e-9
"""A sum of logarithms may be off by this much: an exact bound is a violation only beyond it."""


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "alpha": (lambda value: 0 < value < 1, "is a chance to be wrong, above 0 and below 1, such as 1e-6"),
    "confidence": (lambda value: 0 < value < 1, "is a probability below 1, such as 0.999999"),
    "delta": (lambda value: 0 <= value < 1, "is a probability, at least 0 and below 1"),
    "epsilon": (lambda value: value >= 0, "must be at least 0"),
    "minutes": (lambda value: 0 < value < math.inf, "must be greater than zero and finite"),
    "most": (lambda value: value > 0, "must be greater than zero"),
    "most_pairs": (lambda value: value >= 1, "must be at least 1"),
    "proven": (lambda value: value > 0, "is the epsilon that was promised: it must be greater than zero"),
    "runs": (lambda value: 0 < value < math.inf and value == int(value), "must be a whole number greater than zero"),
}
"""What the numbers that an audit is given may be, and how that is said."""


def check(**numbers: float | None) -> None:
    """Raise PrivetError for numbers that make no sense; None is one that was not given."""
    for name, value in numbers.items():
        fits, rule = RULES[name]
        if value is not None and not (isinstance(value, Real) and fits(value)):
            raise PrivetError(f"{name} {rule}; got {value!r}.")


def exceeds(found: float, proven: float) -> bool:
    """Whether ``found`` is more than ``proven``, and not by rounding only.

    >>> exceeds(1.1, 1.0), exceeds(1 + 1e-12, 1.0)
    (True, False)
    """
    return found > proven + ROUNDING * max(1.0, proven)


@dataclass(frozen=True)
class Bound:
    """Epsilon is at least ``epsilon``: always (``confidence`` 1) or with a chance of being right of ``confidence``.

    ``event`` says what was seen to happen more often on one table than on the other, ``runs`` how many fits on each
    table stand behind it, ``proven`` what was promised. ``reach`` is the largest bound that so many runs could have
    shown: a bound near it means that more runs might show more. ``pairs`` is how many pairs of tables were tried
    together, all of which the confidence covers. ``chance`` is how likely something as telling is, or nearly so, on the
    table where it is likelier: what a bound says of rare events is as true, but few runs would not see it.
    ``suspected`` is what the loss would be if answers that were cut to be computed had been those (``exact_bound``); it
    claims nothing.
    """

    epsilon: float
    confidence: float
    engine: str
    event: str
    runs: int
    proven: float | None
    delta: float = 0.0
    pairs: int = 1
    reach: float = math.inf
    chance: float = 1.0
    suspected: float = 0.0

    @property
    def violated(self) -> bool:
        """Whether the promise is broken."""
        return self.proven is not None and exceeds(self.epsilon, self.proven)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; infinity as a word, since JSON has none."""
        plain = {k: "infinity" if v == math.inf else v for k, v in asdict(self).items()}
        return {**plain, "violated": self.violated}

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Bound:
        plain: dict[str, Any] = {k: math.inf if v == "infinity" else v for k, v in data.items() if k != "violated"}
        return cls(**plain)

    def __str__(self) -> str:
        sure = (
            "exactly" if self.confidence == 1 else f"confidence {_nines(self.confidence)}, {self.runs:,} runs a table"
        )
        promise = (
            "" if self.proven is None else f", {'MORE THAN' if self.violated else 'within'} {self.proven:g} promised"
        )
        loose = f" with delta {self.delta:g}" if self.delta else ""
        return f"epsilon{loose} is at least {at_least(self.epsilon, 4)} ({sure}){promise}: {self.event}"


def worst(bounds: Iterable[Bound]) -> Bound:
    """The largest bound; of equal ones the first."""
    return max(bounds, key=lambda bound: bound.epsilon)


def lowest(hits: Any, runs: int, alpha: float) -> Any:
    """Clopper-Pearson: a probability is at least this, wrongly with a chance of at most ``alpha``."""
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    hits = np.asarray(hits, dtype=float)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), runs - np.maximum(hits, 1) + 1, alpha), 0.0)


def highest(hits: Any, runs: int, alpha: float) -> Any:
    """Clopper-Pearson: a probability is at most this, wrongly with a chance of at most ``alpha``."""
    from scipy.special import betainccinv

    hits = np.asarray(hits, dtype=float)
    return np.where(hits < runs, betainccinv(hits + 1, np.maximum(runs - hits, 1), alpha), 1.0)


def log_odds(hits: Any, runs: int, others: Any, other_runs: int, alpha: float, delta: float = 0.0) -> Any:
    """The bound on epsilon of an event that came up ``hits`` times here and ``others`` times there.

    Half of ``alpha`` goes to each of the two probabilities. May be negative, or minus infinity: then the event shows
    nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.maximum(lowest(hits, runs, alpha / 2) - delta, 0.0)
        return np.log(above) - np.log(highest(others, other_runs, alpha / 2))


def reach(runs: int, alpha: float = 1 - CONFIDENCE, delta: float = 0.0) -> float:
    """The largest bound that ``runs`` counted runs on each table can show: all of them here, none there.

    ``alpha`` is the chance to be wrong, and not a confidence: one minus a very small number is one.

    >>> round(reach(10_000), 2)
    6.53
    """
    check(alpha=alpha, delta=delta)
    if not runs >= 0:
        raise PrivetError(f"runs must be at least 0; got {runs!r}.")
    return max(0.0, float(log_odds(runs, runs, 0, runs, alpha, delta))) if runs > 0 else 0.0


def runs_needed(epsilon: float, alpha: float = 1 - CONFIDENCE, delta: float = 0.0) -> int:
    """How many counted runs on each table it takes to show a bound above ``epsilon``, at the very least.

    An event that is not certain on one table and impossible on the other takes more.

    >>> runs_needed(0.0), runs_needed(1.0), runs_needed(5.0)
    (21, 47, 2161)
    """
    check(alpha=alpha, delta=delta, epsilon=epsilon)
    runs = bisect_right(range(2**60), epsilon, key=lambda runs: reach(runs, alpha, delta))
    if runs == 2**60:
        raise PrivetError("No number of runs can show this: choose a smaller epsilon or delta.")
    return runs


def _nines(confidence: float) -> str:
    return f"{confidence:.12g}" if confidence < 0.99 else f"1 - {1 - confidence:.2g}"
