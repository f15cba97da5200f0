"""Our own trees: claims that must survive, on pairs where the loss comes close to what is proven."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np

from privet.algorithms import registry
from privet.algorithms.private_search import PrivateSearch
from privet.algorithms.private_tree import PrivateTreeClassifier
from privet.audit.claims.claim import Claim, model
from privet.audit.pair import Pair
from privet.schema import Categorical, Schema

MANY = 10**6  # a public hint, so that the plan goes as deep as it may whatever the records


def kinds(n_features: int, counts: Sequence[int], added: int) -> Pair:
    """So many records of each kind (binary features, then the label); the one that joins is of kind ``added``."""
    records = list(product("ab", repeat=n_features + 1))
    schema = Schema(
        {f"f{j}": Categorical(["a", "b"], other=False) for j in range(n_features)}, classes=["a", "b"], label="y"
    )
    rows = [record for record, n in zip(records, counts) for _ in range(n)]
    return Pair(_table(rows, n_features), _table([*rows, records[added]], n_features), schema)


def _table(rows: list[tuple[str, ...]], n_features: int) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(rows, dtype=object).reshape(len(rows), n_features + 1)
    return table[:, :-1], table[:, -1]


_claim = partial(Claim, "Privet")

CLAIMS = (
    _claim(
        "privet-tree-labels",
        "PrivateTreeClassifier, labels",
        partial(model, "PrivateTreeClassifier", n_records=MANY, max_depth=2, leaves="labels"),
        partial(kinds, 2, (60, 0, 30, 20, 0, 10, 0, 60), 2),
        "One joint choice per node, one node per level (docs/theory.md, section 4).",
    ),
    _claim(
        "privet-tree-counts",
        "PrivateTreeClassifier, counts",
        partial(model, "PrivateTreeClassifier", n_records=MANY, max_depth=1, leaves="counts"),
        partial(kinds, 1, (2, 0, 0, 2), 0),
        "The same, with a tally of each leaf that has its own share of the budget.",
        window=(0, 2),
    ),
    _claim(
        "privet-topdown",
        "TopDownClassifier, sound",
        partial(model, "TopDownClassifier", n_records=MANY, max_nodes=1, leaf_share=0.9),
        partial(kinds, 1, (40, 0, 0, 40), 1),
        "A private choice, a fresh tally of the winner, and a label for each leaf: one node of a path at a time.",
        window=(0, 2),
    ),
)


# Ways to make a registered class that are audited beside, or instead of, the way it comes. A random structure is
# public: it is fixed, so that probabilities can be computed. The small ones have few enough answers for that.
_STUMP = {"max_depth": 1, "n_bins": 2}
_LITTLE = {"max_depth": 1, "n_values": 2}
_PAIR = {"n_trees": 2, "max_depth": 1, "structure": 0}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "RandomTreeClassifier": ("RandomTreeClassifier", {"structure": 0}),
    "PrivateForestClassifier-boosting": ("PrivateForestClassifier", {"method": "boosting"}),
    "PrivateForestClassifier-delta": ("PrivateForestClassifier", {"method": "boosting", "delta": 1e-2}),
    "PrivateForestClassifier-parts": ("PrivateForestClassifier", {"method": "trees", "n_trees": 2, "max_depth": 2}),
    "PrivateForestRegressor-boosting": ("PrivateForestRegressor", {"method": "boosting"}),
    "PrivateForestRegressor-delta": ("PrivateForestRegressor", {"method": "boosting", "delta": 1e-2}),
    "PrivateForestRegressor-small": ("PrivateForestRegressor", {"n_trees": 2, "max_depth": 1}),
    "PrivateTreeClassifier-counts": ("PrivateTreeClassifier", {"leaves": "counts"}),
    "TopDownClassifier-small": ("TopDownClassifier", {"max_nodes": 1, "leaf_share": 0.9}),
    "TopDownClassifier-noisy_counts": ("TopDownClassifier", {"max_nodes": 1, "split": "noisy_counts"}),
    "TopDownClassifier-delta": ("TopDownClassifier", {"max_nodes": 1, "split": "noisy_counts", "delta": 1e-2}),
    "TopDownClassifier-local_rnm": ("TopDownClassifier", {"max_nodes": 1, "split": "local_rnm"}),
    "HistogramTreeClassifier-small": ("HistogramTreeClassifier", _STUMP),
    "HistogramTreeClassifier-saving": ("HistogramTreeClassifier", _STUMP | {"save_budget": True}),
    # All nodes are leaves, so that there are few numbers; of a delta of this size they show a good part of the loss.
    "HistogramTreeClassifier-delta": ("HistogramTreeClassifier", _STUMP | {"min_samples": 10_000, "delta": 1e-2}),
    "HistogramTreeRegressor-small": ("HistogramTreeRegressor", _STUMP),
    "PrivaTreeClassifier-small": ("PrivaTreeClassifier", _STUMP),
    "HiddenTreeClassifier-values": ("HiddenTreeClassifier", {"branches": "values"}),
    "HiddenTreeClassifier-small": ("HiddenTreeClassifier", _LITTLE | {"branches": "values"}),
    "HiddenTreeClassifier-thresholds": (
        "HiddenTreeClassifier",
        {"max_depth": 2, "n_values": 2, "branches": "thresholds"},
    ),
    "HiddenForestClassifier-parts": ("HiddenForestClassifier", _LITTLE | {"n_trees": 2}),
    "HiddenForestClassifier-poisson": ("HiddenForestClassifier", _LITTLE | {"n_trees": 2, "sampling": "poisson"}),
    "HiddenForestClassifier-values": ("HiddenForestClassifier", _LITTLE | {"n_trees": 2, "branches": "values"}),
    "BDPTClassifier-small": ("BDPTClassifier", _STUMP),
    "DPRFClassifier-small": ("DPRFClassifier", _PAIR | _STUMP),
    "DPRFRegressor-small": ("DPRFRegressor", _PAIR | _STUMP),
    "DPDFClassifier-small": ("DPDFClassifier", _PAIR | _STUMP),
    "DPERTClassifier-small": ("DPERTClassifier", _PAIR),
    "DPERTRegressor-small": ("DPERTRegressor", _PAIR),
    "DiPriMeForestClassifier-small": ("DiPriMeForestClassifier", _PAIR | {"attribute": "flip", "n_candidates": 2}),
    "DiPriMeForestRegressor-small": ("DiPriMeForestRegressor", _PAIR | {"attribute": "flip", "n_candidates": 2}),
}


@dataclass(eq=False, repr=False, kw_only=True)
class ScoredTree(PrivateTreeClassifier):
    """Our tree with half of the records held out for its scores: what is audited is both together."""

    def fit(self, X: Any, y: Any = None, groups: Any = None, **options: Any) -> Self:
        return super().fit(X, y, groups, holdout=0.5)

    def fit_curator(self, curator: Any, **options: Any) -> Self:
        return super().fit_curator(curator, holdout=0.5)


COMPOSED: dict[str, Callable[..., Any]] = {
    "PrivateTreeClassifier-scores": partial(ScoredTree, max_depth=1),
    "PrivateSearch-small": partial(
        PrivateSearch, candidates=[PrivateTreeClassifier(max_depth=1), PrivateTreeClassifier(max_depth=2)]
    ),
}
"""What is put together from estimators, and promises epsilon as a whole."""


def sound_estimators(epsilon: float) -> dict[str, Any]:
    """Every estimator of the project that promises ``epsilon``, by the name that ``privet audit`` knows."""
    plain: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in registry.MODELS}  # sound as they come
    asked = plain | {name: made for name, made in VARIANTS.items() if made[0] in registry.MODELS}
    single = {name: model(kind, epsilon=epsilon, **params) for name, (kind, params) in asked.items()}
    return single | {name: make(epsilon=epsilon) for name, make in COMPOSED.items()}
