"""Poisoned records: PrivaTree's Tables III and VIII and Figure 4 re-run, attacks on certificates, boosting by zCDP.

    make robustness                                   all of it (some hours on one core), then docs/robustness.md
    python benchmarks/robustness.py tables --sets magic
    python benchmarks/robustness.py page              the page alone, from what has been run

What was measured is kept in ``results/robustness.jsonl``, a line of JSON each, so that a run can be stopped and taken
up again. Noise is seeded for that; a seed changes no law. Guarantees are at confidence 0.99 for each set and method.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import shared_data
from privet import PrivateForestClassifier, PrivateTreeClassifier, PrivaTreeClassifier
from privet.robustness import Guarantee, Pure, certify, guarantee_of
from privet.robustness.aggregation import FiniteAggregationClassifier
from privet.robustness.attacks.label_flips import LabelFlips
from privet.robustness.attacks.removal import TargetedRemoval
from privet.robustness.attacks.search import SearchedAttack
from privet.robustness.attacks.table_edits import numbers_of
from privet.robustness.outcomes import Outcomes, guaranteed_mean
from privet.robustness.probe import Probe
from privet.robustness.retraining import retrain
from robustness_backdoor import backdoors
from robustness_page import write_page

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "robustness.jsonl"
PEER = Path(os.environ.get("PRIVET_DIFFPRIVLIB", HERE.parent / ".venv-diffprivlib" / "bin" / "python"))

SETS = ("magic", "california", "electricity", "default_credit_card", "breast_w", "diabetes", "adult", "mushroom",
        "nursery", "vote", "albert", "higgs_subset", "covertype_40pct")  # fmt: skip
SHARES = (Fraction(1, 1000), Fraction(5, 1000), Fraction(1, 100))
EPSILONS = (0.01, 0.1)
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
"""Retrainings of our tree for each epsilon: fewer where they take long; more where k epsilon is so small that what is
not certified is mostly what is not known."""

MANY, SOME, FEW = 2000, 500, 25
AGGREGATED = ("magic", "california", "electricity", "default_credit_card", "adult")
DEPTH = 4

Line = dict[str, Any]
Job = tuple[Line, Callable[[], Line]]


# -- Tables III and VIII -----------------------------------------------------------------------------------------------


def folds(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    y = shared_data.load(name).y.to_numpy()
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y))


def poisoned(name: str) -> list[int]:
    """How many records 0.1%, 0.5% and 1% of a fold's training records are, as the paper rounds: down."""
    n = max(len(train) for train, _ in folds(name))
    return [int(share * n) for share in SHARES]


def summary(shares: np.ndarray, epsilon: float, name: str, guarantee: Guarantee | None) -> Line:
    """The mean, what Corollary 2 makes of it, and, where a guarantee really holds, the certificate."""
    mean, levels = float(shares.mean()), poisoned(name)
    found = {
        "runs": len(shares),
        "mean": mean,
        "error": float(shares.std(ddof=1) / math.sqrt(len(shares))),
        "levels": levels,
        "corollary": [math.exp(-k * epsilon) * mean for k in levels],
    }
    if guarantee is not None:
        for key, factor in (("certified", 1), ("changed", 2)):
            found[key] = [guaranteed_mean(shares, guarantee, factor * k, ALPHA) for k in levels]
    return found


def ours(name: str, make: Callable[[Any, int], Any], epsilon: float, runs: int) -> Line:
    """Each retraining draws its fold, so that accuracies are independent draws from one law: that of all five."""
    data = shared_data.load(name)
    y, parts = data.y.to_numpy(), folds(name)
    drawn = np.bincount(np.random.default_rng(0).integers(FOLDS, size=runs), minlength=FOLDS)
    shares, model = [], None
    for fold, ((train, test), n) in enumerate(zip(parts, drawn)):
        if n:
            estimator = make(data.schema, len(train))
            probe = Probe(data.X.iloc[test], y[test])
            outcomes, model = retrain(
                estimator, data.X.iloc[train], y[train], [probe], runs=int(n), random_state=fold, n_jobs=1
            )
            shares.append(outcomes[0].right / len(test))
    sound = getattr(model, "variant", "sound") == "sound"
    return summary(np.concatenate(shares), epsilon, name, guarantee_of(model) if sound else None)


def logistic(name: str, epsilon: float) -> Line:
    """In diffprivlib's environment, on categories as whole numbers."""
    data = shared_data.load(name)
    numbers, labels = numbers_of(data.X), np.unique(data.y.to_numpy(), return_inverse=True)[1]
    with tempfile.TemporaryDirectory() as folder:
        tasks = []
        for fold, (train, test) in enumerate(folds(name)):
            path = Path(folder) / f"{fold}.npz"
            np.savez(path, X_train=numbers[train], y_train=labels[train], X_test=numbers[test], y_test=labels[test])
            tasks.append({"data": str(path), "epsilon": epsilon, "runs": FEW // FOLDS, "seed": 100 * fold})
        said = subprocess.run(
            [str(PEER), str(HERE / "diffprivlib_env" / "logistic.py")],
            input="\n".join(map(json.dumps, tasks)), capture_output=True, text=True, check=True,
        )  # fmt: skip
    shares = [share for line in said.stdout.splitlines() for share in json.loads(line)]
    return summary(np.array(shares), epsilon, name, None)


def aggregation(name: str, n_parts: int, spread: int) -> Line:
    """Trees without privacy, on the first fold: what is certified is certain, so nothing is repeated."""
    data = shared_data.load(name)
    numbers, y = numbers_of(data.X), data.y.to_numpy()
    train, test = folds(name)[0]
    start = time.perf_counter()
    model = FiniteAggregationClassifier(n_parts, spread, DEPTH).fit(numbers[train], y[train])
    levels = poisoned(name)
    certified = model.certified_accuracy(numbers[test], y[test], [0, *levels])
    seconds = time.perf_counter() - start
    return {"mean": float(certified[0]), "certified": certified[1:].tolist(), "levels": levels, "seconds": seconds}


def tables(sets: tuple[str, ...]) -> Iterator[Job]:
    """Ours first, then the ensembles, then the printed methods."""
    asked = [(e, name, RUNS.get(name, (MANY, SOME))[i]) for i, e in enumerate(EPSILONS) for name in sets]
    for epsilon, name, runs in asked:
        key = {"kind": "table", "set": name, "epsilon": epsilon, "method": "PrivateTree"}
        yield key, partial(ours, name, our_tree(epsilon), epsilon, runs)
    for name in sets:
        if name in AGGREGATED:
            for method, shape in (("DPA", (1000, 1)), ("Finite Aggregation", (500, 2))):
                key = {"kind": "table", "set": name, "epsilon": None, "method": method}
                yield key, partial(aggregation, name, *shape)
    for epsilon, name, _ in asked:
        key = {"kind": "table", "set": name, "epsilon": epsilon}
        yield key | {"method": "PrivaTree, as printed"}, partial(ours, name, printed_tree(epsilon), epsilon, FEW)
        if PEER.exists():
            yield key | {"method": "logistic"}, partial(logistic, name, epsilon)


def our_tree(epsilon: float) -> Callable[[Any, int], Any]:
    return lambda schema, n: PrivateTreeClassifier(schema, epsilon=epsilon, max_depth=DEPTH, n_records=n)


def printed_tree(epsilon: float) -> Callable[[Any, int], Any]:
    return lambda schema, _: PrivaTreeClassifier(schema, epsilon=epsilon, max_depth=DEPTH, variant="published")


# -- attacks against certificates --------------------------------------------------------------------------------------


def attacked(name: str, epsilon: float, share: str, minutes: float) -> Line:
    """Our tree on one split: certified, and what label flips, removal and a search leave of it."""
    data = shared_data.load(name)
    y = data.y.to_numpy()
    train, test = folds(name)[0]
    X, labels, probe = data.X.iloc[train], y[train], Probe(data.X.iloc[test], y[test])
    tree = PrivateTreeClassifier(data.schema, epsilon=epsilon, max_depth=DEPTH, n_records=len(train))
    found = certify(tree, X, labels, probe.X, probe.labels, [share], runs=1000, random_state=0, n_jobs=1).rows[0]
    budget, rng = found.level.units, np.random.default_rng(0)
    attacks = {
        "label flips": LabelFlips(),
        "targeted removal": TargetedRemoval(),
        "search": SearchedAttack(tree, probe, minutes),
    }
    left = {}
    for title, attack in attacks.items():
        bad = attack.poison(X, labels, budget, rng)
        assert bad.distance <= budget
        outcomes, _ = retrain(tree, bad.X, bad.y, [probe], runs=400, n_jobs=1)
        left[title] = [outcomes[0].mean, outcomes[0].error]
    outcomes, _ = retrain(tree, X, labels, [probe], runs=400, n_jobs=1)
    return {"k": budget, "certified": found.accuracy, "clean": outcomes[0].mean, "left": left, "minutes": minutes}


def attacks(minutes: float) -> Iterator[Job]:
    for name in ("magic", "adult"):
        for epsilon, share in ((0.01, "0.5%"), (0.01, "1%"), (0.1, "0.1%")):
            key = {"kind": "attack", "set": name, "epsilon": epsilon, "share": share}
            yield key, partial(attacked, name, epsilon, share, minutes)


# -- boosting, by zCDP and by epsilon ----------------------------------------------------------------------------------


DISTANCES = (1, 2, 4, 8, 16, 32)


def boosted(name: str, epsilon: float, delta: float | None, runs: int) -> Line:
    data = shared_data.load(name)
    y = data.y.to_numpy()
    train, test = folds(name)[0]
    model = PrivateForestClassifier(
        data.schema, epsilon=epsilon, delta=delta, method="boosting", n_records=len(train), progress=False
    )
    probe = Probe(data.X.iloc[test], y[test])
    outcomes, last = retrain(model, data.X.iloc[train], y[train], [probe], runs=runs, random_state=0, n_jobs=1)
    return by_distance(outcomes[0], guarantee_of(last), epsilon)


def by_distance(outcomes: Outcomes, guarantee: Guarantee, epsilon: float) -> Line:
    certified = [outcomes.guaranteed(guarantee, k, ALPHA) for k in DISTANCES]
    majority = [outcomes.majority(guarantee, k, ALPHA / 2) for k in DISTANCES]
    # What the pure certificate of the same epsilon would be, if the learner with a delta had one: it has not.
    pure = [outcomes.guaranteed(Pure(Fraction(str(epsilon))), k, ALPHA) for k in DISTANCES]
    found = {"runs": outcomes.runs, "mean": outcomes.mean, "error": outcomes.error, "guarantee": str(guarantee)}
    return found | {"certified": certified, "majority": majority, "as_if_pure": pure, "distances": list(DISTANCES)}


def boosting(runs: int) -> Iterator[Job]:
    for name in ("magic", "california", "default_credit_card"):
        for epsilon in (1.0, 0.1):
            for delta in (1e-6, None):
                key = {"kind": "boosting", "set": name, "epsilon": epsilon, "delta": delta}
                yield key, partial(boosted, name, epsilon, delta, runs)


# -- running -----------------------------------------------------------------------------------------------------------


def kept(results: Path) -> list[Line]:
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def measure(jobs: Iterator[Job], results: Path, seconds: float) -> None:
    """Do what has not been done, and keep each answer as soon as it is there; begin none after ``seconds``."""
    done = {json.dumps(line["key"], sort_keys=True) for line in kept(results)}
    first = time.perf_counter()
    for key, job in jobs:
        if json.dumps(key, sort_keys=True) in done:
            continue
        start = time.perf_counter()
        if start - first > seconds:
            sys.exit("STOPPED by --seconds: the same command goes on from here.")
        found = job()
        with open(results, "a") as file:
            file.write(json.dumps({"key": key, **found}) + "\n")
        print(f"{time.perf_counter() - start:7.1f} s  {key}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["tables", "backdoor", "boosting", "attacks", "page"])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--minutes", type=float, default=60.0, help="of search for each searched attack, in all")
    parser.add_argument("--boosting-runs", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3, help="of each split, for a point of Figure 4")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no measurement of a part begins after these")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.parts != ["page"] and not shared_data.available():
        sys.exit("SKIPPED: the shared data sets are not here. Put them in ../shared or set PRIVET_SHARED.")
    if not PEER.exists():
        print(
            "SKIPPED: logistic regression. Make its environment with: make .venv-diffprivlib/installed", file=sys.stderr
        )
    parts = {
        "tables": lambda: tables(tuple(args.sets)),
        "backdoor": lambda: backdoors(args.repeats),
        "boosting": lambda: boosting(args.boosting_runs),
        "attacks": lambda: attacks(args.minutes / 6),
    }
    for part in args.parts:
        if part == "page":
            write_page(kept(args.results))
        else:
            measure(parts[part](), args.results, args.seconds)


if __name__ == "__main__":
    main()
