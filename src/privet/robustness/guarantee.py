"""What a privacy guarantee says about poisoned data: how far a probability can fall when k records differ.

Let p be the chance, over training, of some event (this model labels that record correctly; this model's accuracy is
above t), and q its chance after k units, records or persons, were added or removed. ``worst(p, k)`` is at most q,
whatever the k units are. Proofs are in docs/theory.md, section 7. Every ``worst`` is convex, grows with p, and is
rounded down by more than floating point can err.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.privacy.amounts import Amount, checked_delta, exact, show
from privet.privacy.receipt import Receipt

SLACK = 1e-12
"""Far above the rounding of the few operations on numbers of at most one that lead to a probability here."""

_NEARLY = 1 - 1e-15


class Guarantee(ABC):
    """What holds for a learner and units that are added or removed one by one."""

    def worst(self, p: Any, distance: int) -> np.ndarray:
        """A lower bound on the chance of an event of chance ``p`` once ``distance`` units were added or removed.

        A ``p`` of 1 may have been rounded up to that, and is taken for a little less.
        """
        p = np.asarray(p, dtype=float)
        return p.copy() if distance == 0 else np.clip(self._worst(np.minimum(p, _NEARLY), distance), 0.0, p)

    @abstractmethod
    def _worst(self, p: np.ndarray, distance: int) -> np.ndarray:
        """The same for arrays of numbers below 1."""

    def most(self, p: Any, distance: int) -> np.ndarray:
        """An upper bound on the same: its opposite falls to ``worst`` at the lowest."""
        return 1 - self.worst(1 - np.asarray(p, dtype=float), distance)


@dataclass(frozen=True)
class Pure(Guarantee):
    """Pure differential privacy: every probability changes by a factor of at most e^epsilon for each unit.

    Both the event and its opposite: q >= e^(-k epsilon) p and 1 - q <= e^(k epsilon) (1 - p).

    >>> Pure(Fraction(1, 10)).worst([0.5, 0.9], 5).round(4).tolist()
    [0.3033, 0.8351]
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))

    def _worst(self, p: np.ndarray, distance: int) -> np.ndarray:
        return _two_sided(p, float(distance * self.epsilon), 0.0)

    def __str__(self) -> str:
        return f"pure differential privacy, epsilon {show(self.epsilon)}"


@dataclass(frozen=True)
class Approximate(Guarantee):
    """(epsilon, delta)-differential privacy: for k units (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)).

    The weakest of the three. It is what is left where an answer decides how the budget is spent.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))

    def _worst(self, p: np.ndarray, distance: int) -> np.ndarray:
        log_ratio = float(distance * self.epsilon)
        if log_ratio > 700:
            return np.zeros_like(p)
        slack = float(self.delta) * math.expm1(log_ratio) / math.expm1(float(self.epsilon))
        return _two_sided(p, log_ratio, slack * (1 + SLACK))

    def __str__(self) -> str:
        return f"(epsilon, delta)-differential privacy, epsilon {show(self.epsilon)}, delta {show(self.delta)}"


@dataclass(frozen=True)
class Concentrated(Guarantee):
    """rho-zCDP: k units have at most k^2 rho. q is at least the smallest number that is near enough to p at all orders.

    Near enough at order a, in both directions: p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= exp(a (a-1) k^2 rho). Fewer orders
    give a smaller number, so a grid of them loses a little and claims nothing that is false.

    >>> bool(Concentrated(Fraction(244, 10_000)).worst(0.9, 4) > 0.5)
    True
    """

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", exact(self.rho))

    def _worst(self, p: np.ndarray, distance: int) -> np.ndarray:
        cost = distance * distance * self.rho
        unique, where = np.unique(p, return_inverse=True)
        return _smallest_near(unique, math.nextafter(float(cost), math.inf))[where].reshape(p.shape)

    def __str__(self) -> str:
        return f"zero-concentrated differential privacy, rho {show(self.rho)}"


def _two_sided(p: np.ndarray, log_ratio: float, slack: float) -> np.ndarray:
    factor = math.exp(min(log_ratio, 700.0))
    return np.maximum((p - slack) / factor, 1 - factor * (1 - p) - slack) - SLACK


_ORDERS = 1 + np.geomspace(1e-2, 1e5, 100)[:, None]
_HALVINGS = 40


def _smallest_near(p: np.ndarray, cost: float) -> np.ndarray:
    """By bisection: at each order both divergences grow as q falls below p, so what is too far stays too far."""
    too_far, near = np.zeros_like(p), p.copy()
    for _ in range(_HALVINGS):
        middle = (too_far + near) / 2
        far = _is_too_far(p, middle, cost)
        too_far, near = np.where(far, middle, too_far), np.where(far, near, middle)
    return too_far


def _is_too_far(p: np.ndarray, q: np.ndarray, cost: float) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(p), np.log1p(-p), np.log(q), np.log1p(-q)
        allowed = _ORDERS * (_ORDERS - 1) * cost + SLACK * (1 + _ORDERS)  # the logarithms are at most 750
        there, back = _log_divergence(*logs), _log_divergence(*logs[2:], *logs[:2])
        return np.asarray(((there > allowed) | (back > allowed)).any(axis=0))


def _log_divergence(log_p: np.ndarray, log_not_p: np.ndarray, log_q: np.ndarray, log_not_q: np.ndarray) -> np.ndarray:
    """ln(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) at every order a."""
    a = _ORDERS
    return np.logaddexp(a * log_p + (1 - a) * log_q, a * log_not_p + (1 - a) * log_not_q)


def guarantee_of(model: Any) -> Guarantee:
    """What holds for every fit like that of a fitted model of this project, whatever its answers are.

    A receipt tells of one fit. What it says of all of them is what was set aside before the first answer; so a model
    that spent more than it claims, or that read exact values, has no guarantee here.
    """
    return guarantee_by(model.privacy_, model.one_currency, model.variant)


def guarantee_by(receipt: Receipt, one_currency: bool, variant: str) -> Guarantee:
    """The same by a receipt, and what is known of the model that it is of."""
    reasons = [reason for reason in receipt.void if not reason.startswith("random_state")]
    if variant == "published" or receipt.spent > receipt.claimed:
        reasons.append("a published variant may cost more than it claims; take variant='sound'")
    if reasons:
        raise PrivetError(f"No certificate follows from this model's receipt: {'; '.join(reasons)}.")
    if not one_currency:
        return Approximate(exact(receipt.claimed), receipt.delta)
    return Concentrated(receipt.reserved) if receipt.at_delta else Pure(exact(receipt.claimed))


def stated(epsilon: Amount, delta: Fraction | float | None = None) -> Guarantee:
    """What a learner of somebody else's promises, on their word."""
    return Pure(exact(epsilon)) if not delta else Approximate(exact(epsilon), checked_delta(delta))
