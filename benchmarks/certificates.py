"""Certificates against poisoned records, ensembles without privacy beside them, and attacks on them.

Measured on five folds. Each retraining draws its fold, so that accuracies are independent draws from one law: that of
all five. Guarantees are at confidence 0.99 for each set and method. Noise is seeded; a seed changes no law.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np

from privet.robustness import certify, guarantee_of
from privet.robustness.aggregation import FiniteAggregationClassifier
from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.label_flips import LabelFlips
from privet.robustness.attacks.removal import TargetedRemoval
from privet.robustness.attacks.search import SearchedAttack
from privet.robustness.attacks.table_edits import numbers_of
from privet.robustness.attacks.tilt import Tilt
from privet.robustness.outcomes import guaranteed_mean
from privet.robustness.probe import Probe
from privet.robustness.retraining import retrain
from privet_bench.data import table
from privet_bench.experiment import Experiment, Folds, Measured, Method, Parts, Scores, Task
from privet_bench.fits import made
from privet_bench.peers import answer

SHARES = {"0.1%": Fraction(1, 1000), "0.5%": Fraction(5, 1000), "1%": Fraction(1, 100)}
DISTANCES = (1, 2, 4, 8, 16, 32)
ALPHA = 0.01
FOLDS = 5
RUNS = {
    "breast_w": (10_000, 2000),
    "diabetes": (10_000, 2000),
    "vote": (10_000, 2000),
    "nursery": (1000, 500),
    "adult": (2000, 300),
    "albert": (500, 200),
    "higgs_subset": (500, 200),
    "covertype_40pct": (200, 100),
}
"""Retrainings of ours at an epsilon of a hundredth and of a tenth: fewer where they take long; more where k epsilon is
so small that what is not certified is mostly what is not known."""

MANY, SOME, FEW = 2000, 500, 25

MINUTES = {
    ("adult", 0.01, "1%"): 25,
    ("magic", 0.01, "1%"): 15,
    ("magic", 0.1, "0.1%"): 10,
    ("adult", 0.01, "0.5%"): 5,
    ("magic", 0.01, "0.5%"): 3,
    ("adult", 0.1, "0.1%"): 2,
}
"""Of search, by set, epsilon and poison: an hour in all, most of it where attacks find most."""


def folds(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(Folds(FOLDS).parts(table(name).y, 0))


def poisoned(name: str) -> dict[str, int]:
    """How many records 0.1%, 0.5% and 1% of a fold's training records are, as the paper rounds: down."""
    n = max(len(train) for train, _ in folds(name))
    return {said: int(share * n) for said, share in SHARES.items()}


def certified(experiment: Experiment, task: Task) -> Scores:
    """The mean, what Corollary 2 makes of it, and, where a guarantee really holds, the certificate."""
    method = experiment.methods[task.method]
    shares, guarantee = _logistic(method, task) if method.peer else _retrained(experiment, task)
    mean, runs, levels = float(shares.mean()), len(shares), poisoned(task.set)

    def rests(value: float) -> Measured:
        return Measured(value, math.nan, runs)

    found = {"accuracy": Measured(mean, float(shares.std(ddof=1) / math.sqrt(runs)), runs)}
    for said, k in levels.items():
        found[f"corollary {said}"] = rests(math.exp(-k * task.value("epsilon")) * mean)
        if guarantee is not None:
            found[f"k {said}"] = rests(k)
            found[f"certified {said}"] = rests(guaranteed_mean(shares, guarantee, k, ALPHA))
            found[f"changed {said}"] = rests(guaranteed_mean(shares, guarantee, 2 * k, ALPHA))
    return found


def _retrained(experiment: Experiment, task: Task) -> tuple[np.ndarray, object]:
    data, method, epsilon = table(task.set), experiment.methods[task.method], task.value("epsilon")
    printed = method.options.get("variant") == "published"
    runs = FEW if printed else RUNS.get(task.set, (MANY, SOME))[epsilon > 0.01]
    drawn = np.bincount(np.random.default_rng(0).integers(FOLDS, size=runs), minlength=FOLDS)
    shares, model = [], None
    for fold, ((train, test), n) in enumerate(zip(folds(task.set), drawn)):
        options = task.options | method.options | ({} if printed else {"n_records": len(train)})
        probe = Probe(data.X.iloc[test], data.y[test])
        outcomes, model = retrain(
            made(method.kind, data.schema, None, options), data.X.iloc[train], data.y[train], [probe],
            runs=int(n), random_state=fold, n_jobs=1,
        )  # fmt: skip
        shares.append(outcomes[0].right / len(test))
    return np.concatenate(shares), None if printed else guarantee_of(model)


def _logistic(method: Method, task: Task) -> tuple[np.ndarray, None]:
    """In diffprivlib's environment, on categories as whole numbers."""
    y = table(task.set).y
    shares = [
        (
            answer(method.peer, method.kind, task.set, None, *part, 100 * fold + seed, task.options)["predicted"]
            == y[part[1]]
        ).mean()
        for fold, part in enumerate(folds(task.set))
        for seed in range(FEW // FOLDS)
    ]
    return np.array(shares), None


def first_fold(task: Task) -> Parts:
    """Records and labels to learn from, and others to be right on."""
    data = table(task.set)
    for part in folds(task.set)[0]:
        yield data.X.iloc[part], data.y[part]


def aggregated(experiment: Experiment, task: Task) -> Scores:
    """Trees without privacy: what is certified is certain, so nothing is repeated."""
    levels, start = poisoned(task.set), time.perf_counter()
    accuracy, *held = _of_ensemble(experiment, task, [0, *levels.values()])
    found = {f"certified {said}": own for said, own in zip(levels, held)}
    return {"accuracy": accuracy, **found, "seconds": time.perf_counter() - start}


def _of_ensemble(experiment: Experiment, task: Task, distances: list[int]) -> list[float]:
    """On the first fold."""
    data, (train, test) = table(task.set), folds(task.set)[0]
    numbers, model = numbers_of(data.X), FiniteAggregationClassifier(**experiment.methods[task.method].options)
    model.fit(numbers[train], data.y[train])
    return list(map(float, model.certified_accuracy(numbers[test], data.y[test], distances)))


def by_distance(experiment: Experiment, task: Task) -> Scores:
    """What is guaranteed against up to 1% of poison, in steps of a thousandth, and Corollary 2 on the mean."""
    n = max(len(train) for train, _ in folds(task.set))
    distances = [n * step // 1000 for step in range(11)]
    if experiment.methods[task.method].kind == "aggregation":
        held = _of_ensemble(experiment, task, distances)
        return {f"guaranteed accuracy, k {k}": own for k, own in zip(distances, held)}
    shares, guarantee = _retrained(experiment, task)
    mean, epsilon = float(shares.mean()), task.value("epsilon")
    found = {f"Corollary 2, k {k}": math.exp(-k * epsilon) * mean for k in distances}
    if guarantee is not None:
        found |= {f"guaranteed accuracy, k {k}": guaranteed_mean(shares, guarantee, k, ALPHA) for k in distances}
    return {name: Measured(value, math.nan, len(shares)) for name, value in found.items()}


def attacked(experiment: Experiment, task: Task) -> Scores:
    """Our tree on one split: certified, and what label flips, removal, a tilt of its law and a search leave of it."""
    (X, y), test = first_fold(task)
    epsilon, share, probe = task.value("epsilon"), task.value("poison"), Probe(*test)
    options = {"epsilon": epsilon, "n_records": len(y), **experiment.methods[task.method].options}
    tree = made("PrivateTreeClassifier", table(task.set).schema, None, options)
    found = certify(tree, X, y, *test, [share], runs=1000, random_state=0, n_jobs=1).rows[0]
    budget, rng = found.level.units, np.random.default_rng(0)
    attacks = {
        "label flips": LabelFlips(),
        "targeted removal": TargetedRemoval(),
        "tilt": Tilt(tree, probe),
        "search": SearchedAttack(tree, probe, MINUTES[task.set, epsilon, share]),
    }
    left, minutes = {}, math.nan
    for title, attack in {"clean": None, **attacks}.items():
        start = time.monotonic()
        bad = Poisoned(X, y, 0) if attack is None else attack.poison(X, y, budget, rng)
        minutes = (time.monotonic() - start) / 60
        assert bad.distance <= budget
        outcomes = retrain(tree, bad.X, bad.y, [probe], runs=400, random_state=1, n_jobs=1)[0][0]
        left[title] = Measured(outcomes.mean, outcomes.error, 400)
    # The search is the last.
    return {"k": budget, **left, "minutes of search": minutes, "certified": Measured(found.accuracy, math.nan, 1000)}


def boosted(experiment: Experiment, task: Task) -> Scores:
    """Boosting on one split: what is certified of its accuracy and of a majority's, by the guarantee that it has."""
    (X, y), test = first_fold(task)
    options = {**task.options, **experiment.methods[task.method].options}
    runs = options.pop("runs")
    model = made("PrivateForestClassifier", table(task.set).schema, None, {**options, "n_records": len(y)})
    (outcomes,), last = retrain(model, X, y, [Probe(*test)], runs=runs, random_state=0, n_jobs=1)
    guarantee = guarantee_of(last)
    found = {"accuracy": Measured(outcomes.mean, outcomes.error, runs)}
    for k in DISTANCES:
        at = {
            "certified": outcomes.guaranteed(guarantee, k, ALPHA),
            "majority": outcomes.majority(guarantee, k, ALPHA / 2),
        }
        found |= {f"{name} k {k}": Measured(value, math.nan, runs) for name, value in at.items()}
    return found
