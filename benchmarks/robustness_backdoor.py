"""Backdoors: PrivaTree's Figure 4 on MNIST, zeros against ones, and a trigger value in a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import shared_data
from privet import Numeric, PrivateForestClassifier, PrivateTreeClassifier, PrivaTreeClassifier, Schema
from privet.robustness import guarantee_of
from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.backdoor import Backdoor
from privet.robustness.attacks.table_edits import numbers_of
from privet.robustness.outcomes import Outcomes, guaranteed_mean
from privet.robustness.probe import Probe
from privet.robustness.retraining import retrain

SIDE, TRAIN = 28, 11_200
PATCH = [(25, 25), (25, 27), (26, 26), (27, 25), (27, 27)]
MNIST_DOOR = Backdoor({SIDE * row + column: 255.0 for row, column in PATCH}, 1)
LEVELS = (0, 1, 5, 11, 56, 84, 112)
"""Poisoned records: up to 1% of 11,200."""

LEAST = 0.04
"""A leaf's least share of the records: the largest share of poison, and three scales of the noise of counts at 0.1."""

CERTIFIED_RUNS = 200
IMAGE_LEVELS = (0, 5, 11, 56, 112)
HELD_OUT_LEVELS = (0, 112)
SLOW_LEVELS, SLOW_REPEATS = (0, 112), 2
ALPHA = 0.01
SPLITS = 4
"""Certified runs draw one of so many splits."""

Line = dict[str, Any]
Job = tuple[Line, Callable[[], Line]]
Table = tuple[Any, np.ndarray, Schema, Backdoor]


@cache
def digits(first: int, second: int) -> Table:
    """Images of two digits, whose classes are 0 and 1."""
    data = np.load(shared_data.SHARED / "data" / "mnist.npz")
    X, y = (np.concatenate([data[f"{name}_train"], data[f"{name}_test"]]) for name in "Xy")
    wanted = (y == first) | (y == second)
    schema = Schema({f"p{i}": Numeric(0, 255, integer=True) for i in range(SIDE**2)}, classes=[0, 1])
    return X[wanted].astype(np.float32), (y[wanted] == second).astype(int), schema, MNIST_DOOR


@cache
def adult() -> Table:
    """The trigger is a rare value of one feature that nothing else goes with."""
    data = shared_data.load("adult")
    return data.X, data.y.to_numpy(), data.schema, Backdoor({"capital_loss": 4000}, ">50K")


TABLES = {"mnist": partial(digits, 0, 1), "adult": adult, "held out": partial(digits, 6, 7)}
"""What was looked at while a leaf's least share and the number of trees were chosen, and digits that were not."""


def rows(X: Any, chosen: np.ndarray) -> Any:
    return X[chosen] if isinstance(X, np.ndarray) else X.iloc[chosen]


def split(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(len(y))
    return order[:TRAIN], order[TRAIN:][:4000]


def attacked(table: str, make: Callable[[Schema], Any], k: int, repeats: int) -> Line:
    """The mean success of the backdoor with ``k`` poisoned records, and the accuracy: the splits that are certified,
    each poisoned once and learned from ``repeats`` times."""
    X, y, schema, door = TABLES[table]()
    success, accuracy = [], []
    for seed in range(SPLITS):
        train, test = split(y, seed)
        bad = door.poison(rows(X, train), y[train], k, np.random.default_rng(seed))
        probes = [door.probe(rows(X, test), y[test]), Probe(rows(X, test), y[test])]
        learner = make(schema)
        if isinstance(learner, DecisionTreeClassifier):
            found = _plain(learner, bad, probes)
        else:
            found = retrain(learner, bad.X, bad.y, probes, runs=repeats, random_state=1000 + seed, n_jobs=1)[0]
        success.append(1 - found[0].right / len(found[0].hits))
        accuracy.append(found[1].right / len(found[1].hits))
    shares = np.concatenate(success)
    error = float(shares.std(ddof=1) / np.sqrt(len(shares)))
    return {
        "success": float(shares.mean()), "error": error, "accuracy": float(np.mean(accuracy)), "runs": len(shares)
    }  # fmt: skip


def _plain(learner: DecisionTreeClassifier, bad: Poisoned, probes: list[Probe]) -> list[Outcomes]:
    """A learner of scikit-learn's, on numbers: codes of categories must agree between the tables."""
    tables = [bad.X, *(probe.X for probe in probes)]
    numbers = [np.asarray(each) for each in tables]
    if not isinstance(bad.X, np.ndarray):
        numbers = np.split(numbers_of(_stacked(*tables)), np.cumsum([len(each) for each in tables])[:-1])
    learner.fit(numbers[0], bad.y)
    return [Outcomes.of(probe.right(learner.predict(own))[None]) for probe, own in zip(probes, numbers[1:])]


def _stacked(*tables: Any) -> Any:
    import pandas as pd

    return pd.concat(tables)


def bounded(table: str, make: Callable[[Schema], Any], runs: int) -> Line:
    """The certified success, by retrainings on clean records of random splits: each draws its own split."""
    X, y, schema, door = TABLES[table]()
    withstood, last = [], None
    splits = np.bincount(np.random.default_rng(1).integers(SPLITS, size=runs), minlength=SPLITS)
    for seed, n in enumerate(splits):
        train, test = split(y, seed)
        probe: Probe = door.probe(rows(X, test), y[test])
        outcomes, last = retrain(
            make(schema), rows(X, train), y[train], [probe], runs=int(n), random_state=seed, n_jobs=1
        )
        withstood.append(outcomes[0].right / len(probe.labels))
    shares, guarantee = np.concatenate(withstood), guarantee_of(last)
    return {
        "runs": runs,
        "levels": list(LEVELS),
        "bound": [1 - guaranteed_mean(shares, guarantee, k, ALPHA) for k in LEVELS],
        "corollary": [float(guarantee.most(1 - shares.mean(), k)) for k in LEVELS],
    }


def learners() -> dict[str, tuple[Callable[[Schema], Any], bool]]:
    """What is attacked, and whether its guarantee is a theorem."""
    found: dict[str, tuple[Callable[[Schema], Any], bool]] = {
        "tree without privacy": (lambda schema: DecisionTreeClassifier(max_depth=4), False)
    }
    for e, n_trees in ((0.1, 10), (0.01, 3)):
        tree = partial(PrivateTreeClassifier, epsilon=e, n_records=TRAIN)
        forest = partial(PrivateForestClassifier, epsilon=e, n_records=TRAIN, method="trees", n_trees=n_trees)
        printed = partial(PrivaTreeClassifier, epsilon=e, max_depth=4, variant="published")
        found[f"PrivateTree, {e:g}"] = (tree, True)
        if e == 0.1:
            found[f"PrivateTree, {e:g}, leaves of {LEAST:.0%} or more"] = (
                partial(tree, leaves="counts", min_leaf=LEAST), True
            )  # fmt: skip
        found[f"PrivateForest, {n_trees} trees, {e:g}"] = (partial(forest, progress=False), True)
        found[f"PrivaTree as printed, {e:g}"] = (printed, False)
    return found


def backdoors(repeats: int) -> Iterator[Job]:
    images = (shared_data.SHARED / "data" / "mnist.npz").exists()
    if not images:
        print("SKIPPED: Figure 4. There is no mnist.npz among the shared data.", file=sys.stderr)
    for table in TABLES if images else ("adult",):
        for name, (make, sound) in learners().items():
            slow = table != "adult" and name.startswith("PrivaTree ")  # seconds for each fit: 784 joint quantiles
            if table == "held out" and slow:
                continue
            if sound and table != "held out":
                key = {"kind": "bound", "table": table, "method": name}
                yield key, lambda a=(table, make, CERTIFIED_RUNS): bounded(*a)
            image_levels = HELD_OUT_LEVELS if table == "held out" else IMAGE_LEVELS
            for k in SLOW_LEVELS if slow else LEVELS if table == "adult" else image_levels:
                key = {"kind": "backdoor", "table": table, "method": name, "k": k}
                yield key, lambda a=(table, make, k, SLOW_REPEATS if slow else repeats): attacked(*a)
