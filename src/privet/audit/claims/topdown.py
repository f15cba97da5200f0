"""DP-TopDown: the published estimator on one machine and between owners, and a told maximum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from privet.audit.claims.claim import (
    Claim,
    Law,
    LogLaw,
    alike,
    binary,
    events_of,
    joined,
    log_laplace_above,
    model,
    yes_or_no,
)
from privet.audit.pair import Pair
from privet.audit.scripted import log_at_least, log_not


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

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        scores = correct_counts(X, y)
        return yes_or_no(sum(log_not(log_laplace_above(self.threshold - score, self.scale)) for score in scores))


@dataclass(frozen=True)
class CountsSeen(Law):
    """The published estimator between owners, as the coordinator sees it: three kinds of noisy counts of one function.

    The attacker asks whether all counts that a record of class 1 on side 1 enters are above 0 (appendix A.4). Half of
    ``epsilon`` is for the leaves, the other half for the only node. With one function an owner's choice tells nothing.
    """

    split: str = "noisy_counts"
    epsilon: float = 2.0

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        events = events_of(self.estimator(), X, y, binary(1), "tally")
        label, side = y == 1, X[:, 0] == 1
        counts = [int(of.sum()) for of in (label & side, label, side)]
        return yes_or_no(sum(log_at_least(1 - count, event.scale) for count, event in zip(counts, events)))

    def estimator(self) -> Any:
        return _stump(epsilon=self.epsilon, split=self.split, n_records=6)


def equal_candidates(candidates: int, rows: int = 20) -> Pair:
    """Equal features that part the classes perfectly; the row that joins adds one to every correct count."""
    y = np.repeat([0, 1], rows // 2)
    return joined(np.tile(y[:, None], candidates), y, np.ones(candidates, dtype=int), 1)


def one_more_alike(features: int) -> Pair:
    """One record, and the same twice."""
    pair = alike(1, features)
    return Pair(pair.one, pair.other, binary(features))


def correct_counts(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For each binary feature how many records its children's largest classes hold."""
    sides, labels = (X == 0, X == 1), (y == 0, y == 1)
    return sum(np.maximum(*((side & label[:, None]).sum(axis=0) for label in labels)) for side in sides)


_claim = partial(Claim, "DP-TopDown")
_stump = partial(model, "TopDownClassifier", variant="published", max_nodes=1, budget="uniform")
_other_cell = partial(alike, 5, value=1, label=1)  # records of class 0 on side 0, and one of class 1 on side 1

CLAIMS = (
    _claim(
        "topdown-maximum",
        "released maximum, 10 candidates",
        partial(ReleasedMaximum, threshold=20),
        partial(equal_candidates, 10),
        "The winner's noisy score says that all the other noisy scores are below it.",
        proven=5.0,
    ),
    # Nearly all of the budget for one split, and an unusual but public threshold. A node of m records has noise of
    # scale 40 / m on each gain, so that a table of one record reaches far more easily above the threshold than one of
    # two: whether the root is split tells them apart. It stays whole in 36% of the runs on two records and in 0.9% of
    # those on one, often enough in both to be counted: 1,600 runs show an epsilon of about 2.
    _claim(
        "topdown-private-size",
        "noise scaled by the node's size",
        partial(_stump, leaf_share=0.01, min_gain=60.0),
        partial(one_more_alike, 40),
        "Two scales of noise differ without bound far out, and a maximum of many gains looks far out.",
        proven=math.inf,
        runs=1_600,
    ),
    _claim(
        "topdown-noisy-counts",
        "TopDownClassifier, published, NoisyCounts",
        CountsSeen,
        _other_cell,
        "A record is in one cell of each of three tables, and the noise is a third where it should be threefold.",
        proven=9.0,
    ),
    _claim(
        "topdown-local-rnm",
        "TopDownClassifier, published, LocalRNM",
        partial(CountsSeen, split="local_rnm"),
        _other_cell,
        "Half of the budget pays for such counts of what the owners chose, the other half for less than it buys.",
        proven=4.55,
    ),
)
