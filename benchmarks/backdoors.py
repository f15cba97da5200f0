"""Backdoors: PrivaTree's Figure 4 on MNIST, zeros against ones, and a trigger value in a table.

``mnist-0-1`` and ``adult`` were looked at while a leaf's least share and the number of trees were chosen, the digits of
``mnist-6-7`` were not.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from certificates import ALPHA
from privet import Numeric, Schema
from privet.robustness import guarantee_of
from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.backdoor import Backdoor
from privet.robustness.attacks.table_edits import numbers_of
from privet.robustness.outcomes import Outcomes, guaranteed_mean
from privet.robustness.probe import Probe
from privet.robustness.retraining import retrain
from privet_bench.data import table
from privet_bench.experiment import Experiment, Measured, Method, Scores, Task
from privet_bench.fits import made

SIDE, TRAIN = 28, 11_200
PATCH = [(25, 25), (25, 27), (26, 26), (27, 25), (27, 27)]
LEVELS = (0, 1, 5, 11, 56, 84, 112)
"""Poisoned records: up to 1% of 11,200."""

CERTIFIED_RUNS = 200
SPLITS = 4
"""Certified runs draw one of so many splits."""

PLAIN = "scikit-learn tree"

Records = tuple[Any, np.ndarray, Schema, Backdoor]


@cache
def records(name: str) -> Records:
    """Adult, with a rare value of one feature that nothing else goes with as the trigger; or images of two digits."""
    if name == "adult":
        data = table(name)
        return data.X, data.y, data.schema, Backdoor({"capital_loss": 4000}, ">50K")
    _, first, second = name.split("-")
    data = table("mnist")
    wanted = np.isin(data.y, [first, second])
    schema = Schema({f"p{i}": Numeric(0, 255, integer=True) for i in range(SIDE**2)}, classes=[0, 1])
    door = Backdoor({SIDE * row + column: 255.0 for row, column in PATCH}, 1)
    return data.X.to_numpy()[wanted].astype(np.float32), (data.y[wanted] == second).astype(int), schema, door


def split(X: Any, y: np.ndarray, seed: int) -> list[tuple[Any, np.ndarray]]:
    order = np.random.default_rng(seed).permutation(len(y))
    parts = order[:TRAIN], order[TRAIN:][:4000]
    return [(X[part] if isinstance(X, np.ndarray) else X.iloc[part], y[part]) for part in parts]


NOISE_SCALES = 3
"""A leaf that may be all noise is below so many scales of its count's noise."""


def least_share(n: int, epsilon: float) -> float:
    """The share of ``n`` public records that so many noise scales are: counts have a tenth of the budget."""
    return min(0.05, NOISE_SCALES * 10 / (n * epsilon))


def with_least_leaf(experiment: Experiment, task: Task) -> Scores:
    """The accuracy of a tree that refuses small leaves, without poison; ``min_leaf: "noise"`` is ``least_share``."""
    data, method = table(task.set), experiment.methods[task.method]
    ((train, test),) = experiment.split.parts(data.y, task.seed)
    options = {**task.options, **method.options, "n_records": len(train)}
    if options.get("min_leaf") == "noise":
        options["min_leaf"] = least_share(len(train), task.value("epsilon"))
    model = made(method.kind, data.schema, task.seed, options).fit(data.X.iloc[train], data.y[train])
    return {"accuracy": float((model.predict(data.X.iloc[test]) == data.y[test]).mean())}


def backdoor(experiment: Experiment, task: Task) -> Scores:
    """With a number of poisoned records: what the attack gets. Without: what is certified, for all numbers of them."""
    method = experiment.methods[task.method]
    return _attacked(method, task) if "k" in task.options else _bounded(method, task)


def _attacked(method: Method, task: Task) -> Scores:
    """The splits that are certified, each poisoned once and learned from several times."""
    X, y, schema, door = records(task.set)
    repeats = (2 if task.method.startswith("PrivaTree") else 3) * (5 if task.set == "adult" else 1)
    success, accuracy = [], []
    for seed in range(SPLITS):
        train, test = split(X, y, seed)
        bad = door.poison(*train, task.value("k"), np.random.default_rng(seed))
        probes = [door.probe(*test), Probe(*test)]
        if method.kind == PLAIN:
            found = _plain(bad, probes)
        else:
            model = made(method.kind, schema, None, dict(method.options))
            found = retrain(model, bad.X, bad.y, probes, runs=repeats, random_state=1000 + seed, n_jobs=1)[0]
        success.append(1 - found[0].right / len(found[0].hits))
        accuracy.append(found[1].right / len(found[1].hits))
    shares = {"success": np.concatenate(success), "accuracy": np.concatenate(accuracy)}
    return {
        name: Measured(float(own.mean()), float(own.std(ddof=1) / math.sqrt(len(own))), len(own))
        for name, own in shares.items()
    }


def _plain(bad: Poisoned, probes: list[Probe]) -> list[Outcomes]:
    """A tree of scikit-learn's, on numbers: codes of categories must agree between the tables."""
    tables = [bad.X, *(probe.X for probe in probes)]
    numbers = [np.asarray(each) for each in tables]
    if not isinstance(bad.X, np.ndarray):
        import pandas as pd

        numbers = np.split(numbers_of(pd.concat(tables)), np.cumsum([len(each) for each in tables])[:-1])
    learner = DecisionTreeClassifier(max_depth=4).fit(numbers[0], bad.y)
    return [Outcomes.of(probe.right(learner.predict(own))[None]) for probe, own in zip(probes, numbers[1:])]


def _bounded(method: Method, task: Task) -> Scores:
    """By retrainings on clean records of random splits: each draws its own split."""
    X, y, schema, door = records(task.set)
    withstood, last = [], None
    drawn = np.bincount(np.random.default_rng(1).integers(SPLITS, size=CERTIFIED_RUNS), minlength=SPLITS)
    for seed, n in enumerate(drawn):
        train, test = split(X, y, seed)
        probe, model = door.probe(*test), made(method.kind, schema, None, dict(method.options))
        outcomes, last = retrain(model, *train, [probe], runs=int(n), random_state=seed, n_jobs=1)
        withstood.append(outcomes[0].right / len(probe.labels))
    shares, guarantee = np.concatenate(withstood), guarantee_of(last)
    found = {f"certified bound, k {k}": 1 - guaranteed_mean(shares, guarantee, k, ALPHA) for k in LEVELS}
    found |= {f"Corollary 3, k {k}": float(guarantee.most(1 - shares.mean(), k)) for k in LEVELS}
    return {name: Measured(value, math.nan, CERTIFIED_RUNS) for name, value in found.items()}
