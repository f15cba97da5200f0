"""Tilting a learner's law: copies of a record that its bad models label right and its good ones wrong.

A private choice of a labelled split weighs each by exp(epsilon * records that it labels right). So k copies of one
record multiply the weight of all models that label it right by exp(k epsilon), and that of the others by 1: as much as
the guarantee allows, if the bad models agree with the record and the good ones do not. An attacker who knows the
records and the learner trains models, sees which of them are bad, and makes that record.

For a tree of one split, whose law is about that weight, this is the steepest way down, but for the error of a sample of
models. Of a deeper tree only the last choices are weighed like that, and the record is a good guess. With two classes
a record taken away moves the weights as one added with the other label does, so nothing is taken away here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.plan import Plan, PoisonBlock, applied
from privet.robustness.attacks.table_edits import mosaic
from privet.robustness.probe import Probe
from privet.robustness.retraining import models_of

_ROWS = 1000
"""So many rows are looked at, to begin with one of them."""

_DONORS = 25
"""So many other rows' values are tried in each of its columns."""


@dataclass(frozen=True, eq=False)
class Tilt:
    """Spends the budget in ``steps``, each on the best record against ``runs`` models of what is poisoned so far."""

    estimator: Any
    probe: Probe
    runs: int = 300
    steps: int = 4

    def poison(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Poisoned:
        return applied(X, np.asarray(y), self.plan(X, np.asarray(y), budget, rng))

    def plan(self, X: Any, y: np.ndarray, budget: int, rng: np.random.Generator) -> Plan:
        plan: Plan = ()
        sizes = np.diff(np.linspace(0, budget, self.steps + 1).astype(int))
        for size in sizes[sizes > 0]:
            plan = (*plan, self.block(X, y, plan, int(size), rng))
        return plan

    def block(self, X: Any, y: np.ndarray, plan: Plan, n: int, rng: np.random.Generator) -> PoisonBlock:
        """``n`` copies of the record, made of values of ``X``, that lowers the accuracy most beside a plan."""
        law = _Law.of(self.estimator, applied(X, y, plan), self.probe, self.runs, int(rng.integers(2**31)))
        n_rows, n_columns = np.shape(X)
        rows = np.repeat(rng.integers(n_rows, size=(_ROWS, 1)), n_columns, axis=1)
        gains = law.gains(mosaic(X, rows))
        best, label = np.unravel_index(gains.argmax(), gains.shape)
        # Each column by itself, then all changes that help together: splits are of one feature each.
        donors = rng.integers(n_rows, size=_DONORS)
        found = law.gains(mosaic(X, _each_column(rows[best], donors)))[:, label].reshape(n_columns, _DONORS)
        helps = found.max(axis=1) > gains[best, label]
        together = np.where(helps, donors[found.argmax(axis=1)], rows[best])
        better = law.gains(mosaic(X, together[None]))[0, label] > gains[best, label]
        return PoisonBlock(law.classes[label], n, made_of=tuple(map(int, together if better else rows[best])))


def _each_column(made_of: np.ndarray, donors: np.ndarray) -> np.ndarray:
    """A record with one column's value from one of the donors: for all columns, all donors."""
    tried = np.tile(made_of, (len(made_of), len(donors), 1))
    for column in range(len(made_of)):
        tried[column, :, column] = donors
    return tried.reshape(-1, len(made_of))


@dataclass(frozen=True, eq=False)
class _Law:
    """Some models of a learner, and by how much each is worse than they are on average."""

    models: list[Any]
    worse: np.ndarray
    classes: np.ndarray

    @classmethod
    def of(cls, estimator: Any, bad: Poisoned, probe: Probe, runs: int, seed: int) -> _Law:
        models = list(models_of(estimator, bad.X, bad.y, runs=runs, random_state=seed))
        right = np.array([probe.right(model.predict(probe.X)).mean() for model in models])
        return cls(models, right.mean() - right, np.unique(bad.y))

    def gains(self, X: Any) -> np.ndarray:
        """For each record and label, by how much the models that agree are worse than average, in all."""
        gains = np.zeros((len(X), len(self.classes)))
        for model, worse in zip(self.models, self.worse):
            gains += worse * (np.asarray(model.predict(X))[:, None] == self.classes)
        return gains
