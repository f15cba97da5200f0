"""DP-TopDown: the published estimator, report-noisy-max that gives the maximum away, and NoisyCounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.audit.claims.law import Law, LogLaw, joined, log_laplace_above, log_not, yes_or_no
from privet.audit.pair import Pair
from privet.schema import Categorical, Schema


@dataclass(frozen=True)
class ReleasedMaximum(Law):
    """Report-noisy-max with Laplace(2 * Delta / alpha) releases the winner and its noisy score (section 2).

    The score of a binary feature is its correct count, so Delta is 1. The attacker asks whether the released score is
    at most ``threshold``.
    """

    threshold: float
    alpha: float = 1.0

    @property
    def scale(self) -> float:
        return 2 / self.alpha

    def draw(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> bool:
        noisy = correct_counts(X, y) + rng.laplace(scale=self.scale, size=X.shape[1])
        return bool(noisy.max() <= self.threshold)

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        scores = correct_counts(X, y)
        return yes_or_no(sum(log_not(log_laplace_above(self.threshold - score, self.scale)) for score in scores))


@dataclass(frozen=True)
class NoisyCounts(Law):
    """For each splitting function counts by label and side, by label, and by side, with Laplace(|H| / (3 * alpha)).

    The attacker asks whether all counts that a record of class 1 on side 1 enters are above 1 (appendix A.4).
    """

    alpha: float = 1.0

    def _scale(self, X: np.ndarray) -> float:
        return X.shape[1] / (3 * self.alpha)

    def draw(self, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> bool:
        counts = self._counts(X, y)
        return bool((counts + rng.laplace(scale=self._scale(X), size=counts.shape) > 1).all())

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        scale = self._scale(X)
        return yes_or_no(sum(log_laplace_above(1 - count, scale) for count in self._counts(X, y).ravel()))

    def _counts(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        label, side = (y == 1)[:, None], X == 1
        return np.array([(label & side).sum(axis=0), (label | np.zeros_like(side)).sum(axis=0), side.sum(axis=0)])


def equal_candidates(candidates: int, rows: int = 20) -> Pair:
    """Equal features that part the classes perfectly; the row that joins adds one to every correct count."""
    y = np.repeat([0, 1], rows // 2)
    return joined(np.tile(y[:, None], candidates), y, np.ones(candidates, dtype=int), 1)


def published(min_gain: float) -> Any:
    """The estimator with one split to make, nearly all of its budget for it, and an unusual but public threshold.

    A node of m records has noise of scale 40 / m on each gain, so that a table of one record reaches far more easily
    above the threshold than one of two: whether the root is split tells them apart.
    """
    from privet.algorithms.top_down import TopDownClassifier

    return TopDownClassifier(
        epsilon=1.0, variant="published", max_nodes=1, budget="uniform", leaf_share=0.01, min_gain=min_gain
    )


def one_more_alike(features: int) -> Pair:
    """One record, and the same twice."""
    schema = Schema({f"f{j}": Categorical([0, 1], other=False) for j in range(features)}, classes=[0, 1])
    one, other = ((np.zeros((m, features), dtype=int), np.zeros(m, dtype=int)) for m in (1, 2))
    return Pair(one, other, schema)


def other_cells(functions: int = 1, rows: int = 5) -> Pair:
    """Records of class 0 on side 0; the row that joins is of class 1 on side 1."""
    return joined(np.zeros((rows, functions), dtype=int), np.zeros(rows, dtype=int), np.ones(functions, dtype=int), 1)


def correct_counts(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For each binary feature how many records its children's largest classes hold."""
    sides, labels = (X == 0, X == 1), (y == 0, y == 1)
    return sum(np.maximum(*((side & label[:, None]).sum(axis=0) for label in labels)) for side in sides)
