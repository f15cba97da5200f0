"""Choosing epsilon: how accurate a model is at each, on records that are public or that nobody is in.

Never on the private records themselves: each accuracy measured on them would be one more release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from privet.algorithms.quote import fit_apart
from privet.algorithms.stand_in import stand_in
from privet.errors import PrivetError
from privet.privacy.amounts import checked_delta
from privet.privacy.meaning import guess_rate, percent
from privet.schema import Schema
from privet.tables.table import read_table

EPSILONS = (0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0)
MOST_TEST_RECORDS = 20_000


@dataclass(frozen=True)
class Point:
    """At one epsilon: the mean score over runs (accuracy, or R^2 of numbers), its standard error, and what it means for
    one person: how often a guess that they are in the records may be right. ``blind`` is the score of what learns
    nothing: the commonest class, or the mean, always. ``balanced`` is the mean over classes of the share of each class
    that is found: a rare class counts as much as a common one, if any of its records are there to score on."""

    epsilon: float
    score: float
    error: float
    guess: float
    blind: float = 0.0
    balanced: float | None = None


def scores_by_epsilon(
    model: Any,
    n_records: int,
    epsilons: Sequence[float] = EPSILONS,
    *,
    public: tuple[Any, Any] | None = None,
    class_shares: Sequence[float] | None = None,
    runs: int = 5,
    seed: int = 0,
) -> list[Point]:
    """How well a model does at each epsilon, learned from ``n_records``: of ``public`` records, or of stand-ins.

    Each run draws records to learn from and others to score on. Public records are (X, y) of the model's schema, and at
    least a fifth more than ``n_records``. ``class_shares``: how common each class of stand-ins is, by default equally.
    """
    if not isinstance(model.schema, Schema):
        raise PrivetError("Choosing epsilon needs a model with a schema.")
    _check_shares(class_shares, model.schema, public)
    found, blind = np.zeros((len(epsilons), runs)), np.zeros(runs)
    balanced = np.zeros_like(found) if model.schema.classes is not None else None
    for run in range(runs):
        learn, test = _parted(model.schema, n_records, public, class_shares, seed + run)
        if balanced is not None:
            blind[run] = _commonest(test[1])
        for i, epsilon in enumerate(epsilons):
            tried = clone(model).set_params(epsilon=epsilon, random_state=None)
            if "progress" in tried.get_params():
                tried.set_params(progress=False)
            fit_apart(tried, *learn, seed + run)
            found[i, run] = tried.score(*test)
            if balanced is not None:
                balanced[i, run] = _found(np.asarray(test[1]), tried.predict(test[0]))
    errors = found.std(axis=1, ddof=1) / np.sqrt(runs) if runs > 1 else np.zeros(len(epsilons))
    delta = float(checked_delta(model.delta)) if model.delta else 0.0
    return [
        Point(
            float(epsilon),
            float(found[i].mean()),
            float(errors[i]),
            guess_rate(float(epsilon), delta),
            float(blind.mean()),
            None if balanced is None else float(balanced[i].mean()),
        )
        for i, epsilon in enumerate(epsilons)
    ]


def _check_shares(shares: Sequence[float] | None, schema: Schema, public: object) -> None:
    if shares is None:
        return
    if public is not None:
        raise PrivetError("Public records have classes of their own: leave out how common each class is.")
    sensible = all(0 < share <= 1 for share in shares) and abs(sum(shares) - 1) <= 1e-6
    if len(shares) != len(schema.classes or ()) or not sensible:
        raise PrivetError(
            "How common each class is: one share above 0 for each class of the schema, in its order, that add up to 1, "
            "such as 0.88 and 0.12. They must be public."
        )


def _parted(
    schema: Schema, n_records: int, public: tuple[Any, Any] | None, shares: Sequence[float] | None, seed: int
) -> tuple[tuple[Any, Any, Any], tuple[Any, Any]]:
    """(X, y, persons' ids) to learn from, and (X, y) to score on."""
    n_test = min(MOST_TEST_RECORDS, max(n_records, 1_000))
    if public is None:
        X, y, ids = stand_in(schema, n_records + n_test, seed, shares)
        everything = np.arange(n_records + n_test)
    else:
        X, y = public
        n = read_table(X, schema).n_rows
        if n < 1.2 * n_records:
            raise PrivetError("There are too few public records: it takes a fifth more than are learned from.")
        everything = np.random.default_rng([3, seed]).permutation(n)[: n_records + n_test]
        ids = np.arange(n) if schema.person is not None else None
    learn, test = everything[:n_records], everything[n_records:]
    return (X.take(learn), _taken(y, learn), None if ids is None else ids[learn]), (X.take(test), _taken(y, test))


def _commonest(y: Any) -> float:
    """What always saying the commonest class gets right."""
    return float(np.unique(np.asarray(y).astype(str), return_counts=True)[1].max() / len(y))


def _found(truth: np.ndarray, said: np.ndarray) -> float:
    """The share that is found of a class, on average over those that the records to score on have."""
    return float(np.mean([np.mean(said[truth == own] == own) for own in np.unique(truth)]))


def _taken(y: Any, rows: np.ndarray) -> Any:
    return y.take(rows) if hasattr(y, "take") else np.asarray(y)[rows]


def as_text(points: Sequence[Point], score: str) -> str:
    """A table for people."""
    classes = points[0].balanced is not None
    heads = f"epsilon   {score:<16}  " + ("of each class found  " if classes else "")
    lines = [heads + "a guess at who is in the records is right in at most"]
    for point in points:
        measured = f"{point.score:.3f} +- {point.error:.3f}"
        found = f"{point.balanced:<19.3f}  " if point.balanced is not None else ""
        lines.append(f"{point.epsilon:<8g}  {measured:<16}  {found}{percent(point.guess)}")
    nothing = "always saying the commonest class" if classes else "always saying the mean"
    found = f"{'':<19}  " if classes else ""
    return "\n".join([*lines, f"{'-':<8}  {points[0].blind:<16.3f}  {found}50.0%, by {nothing}"])
