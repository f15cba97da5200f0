"""PrivaTree: the choice of the root from noisy histograms, and stopping on exact data.

Binary features, two classes. Each feature's category-by-class counts get two-sided geometric noise for the whole node
budget, negative counts are set to 0, and the first feature of the least weighted Gini impurity is the root. That is
what the published estimator does (a test compares them), and the impurity is its own; but with five features there are
more noisy tables than can be followed one by one, so the root's law is computed here from the laws of their impurities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from privet.audit.claims.claim import Claim, Law, LogLaw, joined, model
from privet.audit.claims.privet import kinds
from privet.audit.pair import Pair
from privet.privacy.laws import log_geometric, log_geometric_tail

REACH = 24  # noise beyond 24 points has a chance of exp(-24) at epsilon 1: what is above counts as 24 points


@dataclass(frozen=True)
class FeaturesInParallel(Law):
    """The root feature, every histogram paid with the same budget (theorem 3)."""

    epsilon: float = 1.0

    def log_law(self, X: np.ndarray, y: np.ndarray) -> LogLaw:
        cells = [tuple(int(count) for count in table) for table in tables(X, y)]
        scores = {table: _impurity_law(table, self.epsilon) for table in cells}
        grid = np.unique(np.concatenate([values for values, _ in scores.values()]))
        laws = {table: _on_grid(grid, *score) for table, score in scores.items()}
        return {j: _log_wins(j, cells, laws) for j in range(len(cells))}


def separated(features: int, rows: int = 12) -> Pair:
    """Every feature parts the classes perfectly; the row that joins agrees with the last feature only."""
    y = np.repeat([0, 1], rows)
    added = np.zeros(features, dtype=int)
    added[-1] = 1
    return joined(np.tile(y[:, None], features), y, added, 1)


def tables(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One row of counts for each feature: (category 0, class 0), (0, 1), (1, 0), (1, 1)."""
    cell = 2 * X.astype(int) + y.astype(int)[:, None] + 4 * np.arange(X.shape[1])
    return np.bincount(cell.ravel(), minlength=4 * X.shape[1]).reshape(-1, 4)


def impurity(cells: Sequence[np.ndarray]) -> np.ndarray:
    """The impurity of a feature whose four cells have these counts, as the estimator computes it."""
    from privet.algorithms.privatree import weighted_gini

    a, b, c, d = np.broadcast_arrays(*cells)
    return weighted_gini(np.stack([a, b], axis=-1), np.stack([c, d], axis=-1))


def _cut_law(count: int, epsilon: float) -> np.ndarray:
    """The law of max(0, count + noise)."""
    law = np.exp(log_geometric(np.arange(count + REACH + 1) - count, 1 / epsilon))
    law[-1] = np.exp(log_geometric_tail(REACH, 1 / epsilon))
    law[0] = np.exp(log_geometric_tail(count, 1 / epsilon)) if count else 1 / (1 + np.exp(-epsilon))
    return law


@lru_cache(maxsize=32)
def _impurity_law(table: tuple[int, ...], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The values that one feature's noisy impurity can have, and their probabilities."""
    laws = [_cut_law(count, epsilon) for count in table]
    counts = np.meshgrid(*(np.arange(len(law)) for law in laws), indexing="ij", sparse=True)
    values, index = np.unique(impurity(counts).ravel(), return_inverse=True)
    joint = np.einsum("i,j,k,l->ijkl", *laws).ravel()
    return values, np.bincount(index.ravel(), weights=joint)


def _on_grid(grid: np.ndarray, values: np.ndarray, law: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-probabilities of being at, at or above, and above each point of a grid."""
    at_least = np.append(np.cumsum(law[::-1])[::-1], 0.0)
    at = np.zeros(len(grid))
    at[np.searchsorted(grid, values)] = law
    with np.errstate(divide="ignore"):
        return (
            np.log(at),
            np.log(at_least[np.searchsorted(values, grid, side="left")]),
            np.log(at_least[np.searchsorted(values, grid, side="right")]),
        )


def _log_wins(j: int, cells: list[tuple[int, ...]], laws: dict) -> float:
    """Log-probability that feature ``j`` is below all before it and not above any after it."""
    terms = laws[cells[j]][0].copy()
    for i, table in enumerate(cells):
        if i != j:
            terms += laws[table][2 if i < j else 1]
    return float(np.logaddexp.reduce(terms))


_claim = partial(Claim, "PrivaTree")
_tree = partial(model, "PrivaTreeClassifier", max_depth=1, leaf_share=0.5)  # half for the split, half for the labels

CLAIMS = (
    *(
        _claim(
            f"privatree-features-{m}",
            f"features in parallel, m = {m}",
            FeaturesInParallel,
            partial(separated, m),
            "A record is in every feature's histogram, so the histograms' costs add up.",
            proven=float(m),
        )
        for m in (5, 14)
    ),
    _claim(
        "privatree-early-stop",
        "stopping on exact data",
        partial(_tree, variant="published"),
        partial(kinds, 1, (12, 0, 0, 0), 1),
        "Whether a node is pure is told without noise.",
        proven=math.inf,
        window=(0, 1),
    ),
    _claim(
        "privatree-sound",
        "PrivaTreeClassifier, sound",
        _tree,
        partial(kinds, 1, (2, 0, 0, 0), 3),
        "Every feature's histogram has its own share of the node's budget; no node stops on exact counts.",
        window=(0, 2),
    ),
)
