"""Federated histograms with budget saving: the bounds' budget, and noise shares when somebody colludes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad  # type: ignore[import-untyped]
from scipy.special import gamma, kv  # type: ignore[import-untyped]

from privet.audit.claims.law import Law, LogLaw, joined, log_laplace_above, yes_or_no
from privet.audit.pair import Pair


@dataclass(frozen=True)
class BoundsBudget(Law):
    """Algorithm 6: the least impurity of every feature, each with the whole of epsilon_bounds and sensitivity 5/4.

    All records are with one party; the parties' shares sum to Laplace noise. The attacker counts the features whose
    noisy bound is above ``threshold``.
    """

    threshold: float
    epsilon_node: float = 1.0
    bounds_prop: float = 0.25

    @property
    def scale(self) -> float:
        return 5 / 4 / (self.bounds_prop * self.epsilon_node)

    def draw(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> int:
        noisy = least_impurities(X, y) + rng.laplace(scale=self.scale, size=X.shape[1])
        return int((noisy > self.threshold).sum())

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        law = np.ones(1)
        for bound in least_impurities(X, y):
            above = math.exp(log_laplace_above(self.threshold - bound, self.scale))
            law = np.convolve(law, [1 - above, above])
        return dict(enumerate(np.log(law).tolist()))


@dataclass(frozen=True)
class GammaShares(Law):
    """A count plus ``parties`` differences of Gamma(1/parties) shares, less those that the colluders know.

    The attacker asks whether the result is within ``width`` of ``count``.
    """

    parties: int
    colluders: int
    count: int
    width: float
    epsilon: float = 0.1

    @property
    def shape(self) -> float:
        return (self.parties - self.colluders) / self.parties

    def draw(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> bool:
        one, other = rng.gamma(self.shape, 1 / self.epsilon, size=2)
        return bool(abs(len(y) + one - other - self.count) <= self.width)

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        centre = abs(self.count - len(y))
        return yes_or_no(math.log(self._mass(centre - self.width, centre + self.width)))

    def _mass(self, low: float, high: float) -> float:
        """The probability of noise in an interval: its density is |x|^v K_v(epsilon |x|), v = shape - 1/2, scaled."""
        v, epsilon = self.shape - 0.5, self.epsilon
        factor = epsilon * (epsilon / 2) ** v / (math.sqrt(math.pi) * gamma(self.shape))

        def density(x: float) -> float:
            return factor * abs(x) ** v * kv(v, epsilon * abs(x))

        if low < 0 < high:
            return quad(density, low, 0)[0] + quad(density, 0, high)[0]
        return quad(density, low, high)[0]


def first_of_its_class(features: int, rows: int = 100) -> Pair:
    """Constant features, records of one class; the row that joins is of the other."""
    return joined(np.zeros((rows, features), dtype=int), np.zeros(rows, dtype=int), np.zeros(features, dtype=int), 1)


def any_rows(rows: int = 5) -> Pair:
    return joined(np.zeros((rows, 1), dtype=int), np.zeros(rows, dtype=int), np.zeros(1, dtype=int), 0)


def least_impurities(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For each feature the least n * p * (1 - p), summed over both sides, of all thresholds, the trivial one too."""
    return np.array([_least_impurity(column, y) for column in X.T])


def _least_impurity(column: np.ndarray, y: np.ndarray) -> float:
    values, place = np.unique(column, return_inverse=True)
    sizes = np.bincount(place, minlength=len(values)).cumsum()
    ones = np.bincount(place, weights=y, minlength=len(values)).cumsum()

    def impurity(n: np.ndarray, k: np.ndarray) -> np.ndarray:
        return k * (n - k) / np.maximum(n, 1)

    return float((impurity(sizes, ones) + impurity(sizes[-1] - sizes, ones[-1] - ones)).min())


def shares_cost(parties: int, colluders: int, epsilon: float = 0.1) -> float:
    """The exact epsilon of the honest shares for one record: ln f(0) / f(1) of their density, shape above 1/2."""
    v = (parties - colluders) / parties - 0.5
    return math.log(2 ** (v - 1) * gamma(v) / (epsilon**v * kv(v, epsilon)))
