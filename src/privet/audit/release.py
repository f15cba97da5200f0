"""What an estimator releases, in a form that can be compared: for ours the tree and its receipt, else predictions."""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.algorithms.registry import grown_of
from privet.audit.event import comparable
from privet.audit.pair import Pair, Table, fresh
from privet.curators.seen import SeenBefore
from privet.errors import PrivetError
from privet.schema import Numeric, Schema
from privet.tree.additive import Additive

MOST_PROBES = 64

FAILED = "error"
"""The view of a fit that failed."""


def release_of(estimator: Any, pair: Pair | None = None, *, probe: Any = None) -> Release:
    """A function of ``(X, y)`` that fits a fresh copy of ``estimator`` and returns what the world sees of it.

    Estimators of this project release their tree and receipt. Of others, predictions (and probabilities, if any) on
    ``probe``, by default a grid over the schema of ``pair``, or its own rows.
    """
    if not hasattr(estimator, "fit"):
        raise PrivetError("Only something with fit and predict can be audited; for others, write a function of (X, y).")
    params = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
    for name, value in params.items():
        if name.split("__")[-1] == "random_state" and value is not None:
            raise PrivetError(
                f"{name} is fixed: every run would draw the same noise, so runs say nothing about chances. "
                "Leave it out (a fixed seed gives no guarantee anyway)."
            )
    # What a constructor makes for itself is made anew with each copy, unless copies are made without it.
    held = params if hasattr(estimator, "get_params") else getattr(estimator, "__dict__", {})
    name = _generator_in(held)
    if name is not None:
        raise PrivetError(
            f"{name} holds a random generator: each fit is made on a fresh copy, which would draw the same noise "
            "again, so runs say nothing about chances. Let fit draw from fresh randomness of the operating system, or "
            "write a function of (X, y) that fits one and the same object and returns what is released."
        )
    if isinstance(params.get("schema"), str):
        raise PrivetError(
            "schema='infer' reads ranges and categories off the records, so there is no guarantee to audit. "
            "Give a Schema that is public."
        )
    if "schema" in params and params["schema"] is None and pair is not None and pair.schema is not None:
        from sklearn.base import clone

        estimator = clone(estimator).set_params(schema=pair.schema)
    if _is_ours(estimator):
        return Release(estimator, None)
    if not hasattr(estimator, "predict"):
        raise PrivetError(
            f"{type(estimator).__name__} has no predict, so there is no output to compare. Write a function of (X, y) "
            "that fits it and returns what is released."
        )
    if probe is None:
        if pair is None:
            raise PrivetError("Give probe=: rows on which predictions are compared.")
        probe = probe_rows(pair)
    return Release(estimator, probe)


@dataclass(frozen=True, eq=False)
class Release:
    """Fits a copy of an estimator and says what can be seen of it, in several views."""

    estimator: Any
    probe: Any

    def __call__(self, X: Any, y: Any) -> dict[str, Any]:
        try:
            return self._views(unfitted_copy(self.estimator), X, y)
        except Exception as error:  # ours must not fail on tables that fit their schema: that it did, the world sees
            if not _is_ours(self.estimator):
                raise
            return {"release": f"an error: {type(error).__name__}", FAILED: str(error)}

    def _views(self, model: Any, X: Any, y: Any) -> dict[str, Any]:
        with warnings.catch_warnings():  # an audit's data are nobody's: that it fits them often costs nobody anything
            warnings.simplefilter("ignore", SeenBefore)
            model = model.fit(X, y)
        return tree_views(model) if self.probe is None else prediction_views(model, self.probe)

    def check_copies(self, table: Table) -> None:
        """Raise if fits of fresh copies all agree while fits of one object differ: then copies repeat its noise."""
        if _is_ours(self.estimator):
            return
        model = unfitted_copy(self.estimator)
        again = [self._views(model, *fresh(table)) for _ in range(4)]
        if all(views == again[0] for views in again):
            return
        again += [self._views(model, *fresh(table)) for _ in range(12)]
        # Half of them or more are unlike the commonest, so that fits with noise of their own could hardly all agree.
        if 2 * Counter(repr(views) for views in again).most_common(1)[0][1] > len(again):
            return
        first = self(*fresh(table))
        if all(self(*fresh(table)) == first for _ in range(24)):
            raise PrivetError(
                f"Fits of fresh copies of {type(self.estimator).__name__} all give the same, while fits of one object "
                "differ: it carries the state of a random generator, which is copied with it, so runs say nothing "
                "about chances. Let fit draw from fresh randomness of the operating system, or write a function of "
                "(X, y) that fits one and the same object and returns what is released."
            )


def released(model: Any) -> str:
    """Everything that a fitted model of ours makes public, as text: its trees, its receipt and its scores."""
    scored = getattr(model, "evaluation_", None)
    return json.dumps([grown_of(model).to_dict(), model.privacy_.to_dict(), scored and scored.to_dict()])


def tree_views(model: Any) -> dict[str, Any]:
    """The whole release, and parts of it that fewer runs can count."""
    grown = grown_of(model)
    if isinstance(grown, Additive):
        return {
            "release": released(model),
            "features": tuple(own.features for own in grown.rounds),
            "signs": tuple(tuple(np.sign(own.values).tolist()) for own in grown.rounds),
            "largest": max(abs(value) for own in grown.rounds for value in own.values),
            "shape": (str(model.privacy_.spent), len(model.privacy_.events)),
        }
    nodes = grown.nodes
    rules = tuple((node.rule.feature, node.rule.cuts, node.rule.part) if node.rule else node.label for node in nodes)
    views = {
        "release": released(model),
        "tree without counts": rules,
        "root": rules[0],
        "shape": (len(nodes), grown.depth, str(model.privacy_.spent), len(model.privacy_.events)),
    }
    counts = [node.counts for node in nodes if node.counts is not None]
    if counts:
        views["total counts"] = tuple(int(sum(column)) for column in zip(*counts))
    for what in ("value", "weight"):
        numbers = [float(number) for node in nodes if (number := getattr(node, what)) is not None]
        if numbers:
            views |= {f"{what} of every leaf": tuple(numbers), f"first leaf's {what}": numbers[0]}
            views[f"total {what}"] = sum(numbers)
    return views


def prediction_views(model: Any, probe: Any) -> dict[str, Any]:
    labels = comparable(np.asarray(model.predict(probe)))
    assert isinstance(labels, tuple)
    views: dict[str, Any] = {"predictions": labels}
    # Each single prediction is a view too, as far as they are few.
    if len(labels) <= MOST_PROBES:
        views |= {f"prediction {i}": label for i, label in enumerate(labels)}
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(probe), dtype=float)
        views["probabilities"] = tuple(shares[:, 1:].ravel().tolist())
        views["mean probability"] = float(shares[:, -1].mean())
    return views


def probe_rows(pair: Pair) -> Any:
    """Public points at which to compare predictions: corners of the schema's ranges, or else the pair's own rows."""
    X = getattr(pair, pair.larger)[0]
    if pair.schema is not None and isinstance(X, np.ndarray | list | tuple):
        return grid_rows(pair.schema)
    return X.head(MOST_PROBES) if hasattr(X, "head") else X[:MOST_PROBES]


def grid_rows(schema: Schema) -> np.ndarray:
    """At most ``MOST_PROBES`` rows that spread over all features: categories by number."""
    axes = [_points(feature) for feature in schema.features.values()]
    rng = np.random.default_rng(0)
    total = int(np.prod([float(len(axis)) for axis in axes]).clip(max=2**62))
    if total <= MOST_PROBES:
        return np.array(np.meshgrid(*axes, indexing="ij"), dtype=float).reshape(len(axes), -1).T
    return np.stack([rng.choice(axis, MOST_PROBES) for axis in axes], axis=1).astype(float)


def _points(feature: Any) -> np.ndarray:
    if isinstance(feature, Numeric):
        return np.unique(np.linspace(feature.low, feature.high, 5))
    return np.arange(feature.n_codes)


def _is_ours(estimator: Any) -> bool:
    return hasattr(estimator, "fit_curator")


def unfitted_copy(estimator: Any) -> Any:
    """An unfitted copy. Ours keep nothing from an earlier fit, so a shallow one will do."""
    if _is_ours(estimator):
        return copy(estimator)
    if hasattr(estimator, "get_params"):
        from sklearn.base import clone

        return clone(estimator)
    return deepcopy(estimator)


def _generator_in(held: Any, depth: int = 3) -> str | None:
    """The name of something held that is a random generator, or holds one."""
    for name, value in held.items():
        if isinstance(value, random.SystemRandom):
            continue  # has no state to copy
        if isinstance(value, random.Random | np.random.Generator | np.random.RandomState | np.random.BitGenerator):
            return str(name)
        if depth > 0 and not isinstance(value, type):
            parts = dict(enumerate(value)) if isinstance(value, list | tuple) else value
            parts = parts if isinstance(parts, dict) else getattr(parts, "__dict__", {})
            if _generator_in(parts, depth - 1) is not None:
                return str(name)
    return None
