"""Baselines that the papers compare with: smooth sensitivity in an exponent, and a noisy size as a sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from privet.audit.claims.claim import Claim, Law, LogLaw, alike, joined, model
from privet.audit.claims.privet import kinds
from privet.audit.pair import Pair
from privet.audit.scripted import log_at_least, log_not
from privet.privacy.laws import log_exponential, log_geometric


@dataclass(frozen=True)
class SmoothLabel(Law):
    """DPGDF's label of a leaf: the exponential mechanism at the "smooth sensitivity" exp(-j eps).

    The majority has score 1, the other class 0, and j is how far the majority leads. (With the factor 2 of scores that
    are not monotone it fails as well.)
    """

    epsilon: float = 1.0

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        counts = np.bincount(y, minlength=2)
        smooth = math.exp(-abs(int(counts[0]) - int(counts[1])) * self.epsilon)
        weights = self.epsilon * (counts == counts.max()) / smooth
        return dict(enumerate(log_exponential(weights, 1.0).tolist()))


@dataclass(frozen=True)
class NoisySizeSensitivity(Law):
    """BDPT's split of a node: its size with geometric noise, then a choice at the Gini sensitivity of that noisy size.

    Each for ``epsilon``. The paper adds up the costs of both, so both count as released. The attacker looks at which of
    two binary features was chosen if the noisy size is ``threshold`` or more; else all choices are one output, -1.
    """

    threshold: int
    epsilon: float = 0.5

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        scale = 1 / self.epsilon
        sizes = np.arange(self.threshold, self.threshold + int(100 * scale))  # what is beyond is lost in rounding
        terms = log_geometric(sizes - len(y), scale)[:, None] + [self.choice(X, y, int(size)) for size in sizes]
        first, second = np.logaddexp.reduce(terms, axis=0).tolist()
        return {0: first, 1: second, -1: log_not(log_at_least(self.threshold - len(y), scale))}

    def choice(self, X: np.ndarray, y: np.ndarray, noisy: int) -> np.ndarray:
        n = max(noisy, 1)
        sensitivity = 1 - (n / (n + 1)) ** 2 - (1 / (n + 1)) ** 2
        impurities = np.array([_mean_gini(X[:, f], y) for f in range(2)])
        return log_exponential(-impurities * self.epsilon / (2 * sensitivity), 1.0)


def _mean_gini(side: np.ndarray, y: np.ndarray) -> float:
    """The mean Gini impurity of a binary feature's children."""
    children = [np.bincount(y[side == value], minlength=2) for value in (0, 1)]
    return sum(float(c.sum() - (c**2).sum() / max(c.sum(), 1)) for c in children) / len(y)


def two_features() -> Pair:
    """Two records that both features part perfectly; of the three, only the second does."""
    return joined(np.array([[0, 0], [1, 1]]), np.array([0, 1]), [0, 1], 1)


def nearly_pure(records: int) -> Pair:
    """So many records of one class on both sides of a feature; the one that joins is of the other class."""
    return kinds(1, ((records + 1) // 2, 0, records // 2, 0), 3)


CLAIMS = (
    Claim(
        "DPGDF",
        "dpgdf-label",
        "label by smooth sensitivity, lead 3",
        SmoothLabel,
        partial(alike, 3),
        "In an exponent a sensitivity that depends on the data moves the odds without bound, smooth or not.",
        proven=math.inf,
    ),
    Claim(
        "BDPT",
        "bdpt-noisy-size",
        "sensitivity at a noisy size",
        partial(NoisySizeSensitivity, threshold=100),
        two_features,
        "A noisy size may be far above the true one, and the noise of the choice shrinks with it.",
        proven=math.inf,
    ),
    *(
        Claim(
            name,
            f"{name.lower()}-published",
            "published estimator: stops on exact data",
            partial(model, f"{name}Classifier", variant="published", max_depth=1),
            partial(nearly_pure, 12),
            "Whether a node is pure is told without noise.",
            proven=math.inf,
            window=(0, 1),
        )
        for name in ("DPGDF", "BDPT")
    ),
    Claim(
        "DP-DF",
        "dpdf-noisy-size",
        "sensitivity at a noisy size",
        partial(NoisySizeSensitivity, threshold=100),
        two_features,
        "Fletcher and Islam's local sensitivity of the Gini impurity, taken at a noisy size: BDPT's flaw.",
        proven=math.inf,
    ),
    Claim(
        "DP-DF",
        "dpdf-sound",
        "DPDFClassifier, sound",
        partial(model, "DPDFClassifier", n_trees=1, max_depth=1, structure=0),
        partial(kinds, 1, (2, 0, 0, 0), 3),
        "Counts and choices of a path have a share each; what is cut off follows from counts that were told.",
        window=(0, 1),
    ),
)
