"""DiPriMe: medians of several attributes for the price of one, and noise scaled by a leaf's private size."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from privet.audit.claims.claim import Claim, Law, LogLaw, alike, joined, model, yes_or_no
from privet.audit.pair import Pair
from privet.privacy.laws import log_exponential, log_permute_and_flip
from privet.schema import Numeric, Schema


@dataclass(frozen=True)
class ParallelMedians(Law):
    """A private median of every attribute, each for epsilon_s, then an attribute by squared error for epsilon_a.

    Exponential mechanisms with the published exponents, epsilon_s * q / 2 for q = -|L - R| with the gap between two
    neighbouring values as its weight, and epsilon_a * SSE / (2 R^2). Targets are in [0, 1].
    """

    epsilon_s: float = 1.0
    epsilon_a: float = 0.1

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        medians = [self.medians(column, y) for column in X.T]
        terms = []
        for cells in itertools.product(*(range(len(law)) for law, _ in medians)):
            drawn = sum(law[cell] for (law, _), cell in zip(medians, cells))
            terms.append(drawn + self.attribute([error[cell] for (_, error), cell in zip(medians, cells)]))
        return dict(enumerate(np.logaddexp.reduce(terms, axis=0).tolist()))

    def medians(self, column: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log-probability of each gap between neighbouring values, and the squared error of a split there."""
        values, place = np.unique(column, return_inverse=True)
        sizes = np.bincount(place).cumsum()
        sums = np.bincount(place, weights=y).cumsum()
        squares = np.bincount(place, weights=y**2).cumsum()
        left, right = sizes[:-1], sizes[-1] - sizes[:-1]
        score = -np.abs(left - right) * self.epsilon_s / 2 + np.log(np.diff(values))
        error = squares[-1] - sums[:-1] ** 2 / left - (sums[-1] - sums[:-1]) ** 2 / right
        return log_exponential(score, 1.0), error

    def attribute(self, errors: list[float]) -> np.ndarray:
        return log_exponential(-np.array(errors), 2 / self.epsilon_a)


@dataclass(frozen=True)
class GapsBetweenRecords(Law):
    """A median in [0, 1] by permute-and-flip over the gaps between records; is it between ``low`` and ``high``?"""

    low: float
    high: float
    epsilon: float = 1.0

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        ends, law = self.gaps(X)
        overlap = np.minimum(ends[1:], self.high) - np.maximum(ends[:-1], self.low)
        return yes_or_no(math.log(float((np.exp(law) * np.maximum(overlap, 0) / np.diff(ends)).sum())))

    def gaps(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends = np.concatenate([[0.0], np.sort(X[:, 0]), [1.0]])
        left = np.arange(len(ends) - 1)
        law = log_permute_and_flip(-np.abs(len(X) - 2 * left), 2 / self.epsilon)
        return ends, law - np.logaddexp.reduce(law)


def equal_attributes(candidates: int, size: int = 2000, gap: int = 1) -> Pair:
    """All attributes but the last are equal, with values 0, 1/2 and 1, and the target is 1 where they are 1.

    A median above 1/2 parts the targets perfectly, one below does badly, and the last attribute's only split is
    between the two. The row that joins pulls every median down at once.
    """
    equal = np.repeat([0.0, 0.5, 1.0], [size - gap, size, size])
    last = np.repeat([0.0, 1.0], [2 * size - gap + size // 8, size - size // 8])
    X = np.column_stack([equal] * (candidates - 1) + [last])
    return joined(X, (equal == 1).astype(float), np.zeros(candidates), 0.0)


def close_values(width: float) -> Pair:
    return joined(np.array([[0.5]]), np.zeros(1), np.array([0.5 + width]), 0.0)


def in_one_leaf(records: int) -> Pair:
    """So many records and one more, all alike; the target's range is 0 to 1."""
    pair = alike(records)
    return Pair(pair.one, pair.other, Schema({"i": Numeric(0, 1, integer=True)}, target=(0, 1)))


def equal_attributes_of_classes(candidates: int, size: int, gap: int) -> Pair:
    """``equal_attributes`` in whole numbers, with classes."""
    pair = equal_attributes(candidates, size, gap)
    features = {f"a{i}": Numeric(0, 2 if i < candidates - 1 else 1, integer=True) for i in range(candidates)}
    tables = [(2 * X[:, :-1], X[:, -1:], y.astype(int)) for X, y in (pair.one, pair.other)]
    one, other = ((np.hstack([equal, last]), labels) for equal, last, labels in tables)
    return Pair(one, other, Schema(features, classes=[0, 1]))


_claim = partial(Claim, "DiPriMe")
_one_level = partial(model, n_trees=1, max_depth=1, structure=0)
# An epsilon of 1 for a median, 1 for the choice among candidates, 0.2 for the leaves.
_forest = partial(_one_level, "DiPriMeForestClassifier", epsilon=2.2, rho="10/11", variant="published")
_MEANS = ("DiPriMeForestRegressor", "DPERTRegressor", "DPRFRegressor")  # of DiPriMe's comparison, for numbers

CLAIMS = (
    *(
        _claim(
            f"diprime-medians-{k}",
            f"medians in parallel, {k} candidates",
            ParallelMedians,
            partial(equal_attributes, k, size=16_000, gap=6),
            "A record has a value in every attribute, so the medians' costs add up.",
            claimed=1.1,
            proven=k + 0.1,
        )
        for k in (5, 10)
    ),
    _claim(
        "diprime-exp",
        "DiPriMeExp, 4 candidates",
        partial(_forest, attribute="exp", n_candidates=4),
        partial(equal_attributes_of_classes, 4, size=400, gap=6),
        "The same, by the estimator: four medians for 1 each, the choice for 1/2, the leaves for 1/5.",
        claimed=2.2,
        proven=4.7,
        window=(0, 1),
    ),
    _claim(
        "diprime-random",
        "DiPriMe, random attribute",
        _forest,
        partial(equal_attributes_of_classes, 2, size=3, gap=1),
        "One median for a level: the claim holds.",
        claimed=2.2,
        proven=2.2,
        window=(0, 4),
    ),
    *(
        _claim(
            f"{name.lower()}-published",
            f"{name}, published",
            partial(_one_level, name, variant="published"),
            partial(in_one_leaf, 1),
            "Noise is scaled by a leaf's size, half as wide for two records as for one, which shows far out.",
            proven=math.inf,
            window=(-4, 16),
        )
        for name in _MEANS
    ),
    *(
        _claim(
            f"{name.lower()}-sound",
            f"{name}, sound",
            partial(_one_level, name),
            partial(in_one_leaf, 1),
            "Two noisy sums for each leaf; their joint sensitivity is one record.",
            window=(0, 2),
        )
        for name in _MEANS
    ),
    _claim(
        "diprime-gaps",
        "permute-and-flip between records",
        partial(GapsBetweenRecords, 0.5, 0.5 + 1e-6),
        partial(close_values, 1e-6),
        "A gap counts the same however narrow it is, so a split shows where two records are close.",
        proven=math.inf,
    ),
)
