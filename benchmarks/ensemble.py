"""PrivateForestClassifier on the shared data sets: the tables of docs/forests.md.

    make ensemble                                     all tables (about half an hour on two cores)
    python benchmarks/ensemble.py adult --seeds 2     one of them: adult, wall_robot, others, rounds, auto

Five-fold stratified cross-validation, shuffled anew for each seed; the manifest's ranges and categories as the schema;
the number of records measured privately. A figure is the mean over seeds and folds, its error the standard error over
seeds. Noise is seeded, so that the tables can be made again: the law is the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from privet import PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.algorithms import private_forest
from privet.tree import rounds as tree_rounds
from shared_data import available, load

DELTA = 1e-6

ADULT_TARGETS = {
    "auto, delta 1e-6": {0.1: (0.833, 0.870), 0.5: (0.847, 0.902), 1.0: (0.852, 0.907)},
    "auto": {0.1: (0.833, None), 0.5: (0.843, None), 1.0: (0.847, None)},
}
"""Accuracy and AUC that the ensemble is to reach on Adult."""

SEEDS = {"adult": 5, "wall_robot": 3, "others": 2, "rounds": 3, "auto": 5}
"""How often each table is shuffled."""

OTHERS = (
    "magic",
    "california",
    "electricity",
    "default_credit_card",
    "higgs_subset",
    "bank_full",
    "diabetes",
    "mushroom",
    "wall_robot",
    "titanic",
    "covertype_40pct",
)


def forest(schema: Schema, epsilon: float, seed: int, **options: Any) -> Any:
    return PrivateForestClassifier(schema, epsilon=epsilon, random_state=seed, progress=False, **options)


def tree(schema: Schema, epsilon: float, seed: int, **options: Any) -> Any:
    return PrivateTreeClassifier(schema, epsilon=epsilon, random_state=seed, **options)


CONTENDERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "auto": (forest, {}),
    "auto, delta 1e-6": (forest, {"delta": DELTA}),
    "boosting": (forest, {"method": "boosting"}),
    "boosting, delta 1e-6": (forest, {"method": "boosting", "delta": DELTA}),
    "one tree": (tree, {}),
    "one tree with counts": (tree, {"leaves": "counts"}),
    "10 trees on disjoint parts": (forest, {"method": "trees", "n_trees": 10}),
}


def one_seed(
    name: str, seed: int, contenders: Sequence[str], epsilons: Sequence[float], most: int | None
) -> np.ndarray:
    """Accuracy and AUC (of two classes) of each contender at each epsilon, over five folds shuffled with this seed."""
    data = load(name)
    X, y = data.X, data.y.to_numpy()
    if most is not None and len(y) > most:
        kept = np.random.default_rng(seed).choice(len(y), most, replace=False)
        X, y = X.iloc[kept], y[kept]
    found = np.zeros((len(contenders), len(epsilons), 2))
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
    for fold, (train, test) in enumerate(folds):
        for i, contender in enumerate(contenders):
            make, options = CONTENDERS[contender]
            for j, epsilon in enumerate(epsilons):
                noise = hash((seed, fold, i, j)) % 2**31
                model = make(data.schema, epsilon, noise, **options).fit(X.iloc[train], y[train])
                found[i, j, 0] += np.mean(model.predict(X.iloc[test]) == y[test]) / 5
                chances = chances_of(model, X.iloc[test])
                if chances.shape[1] == 2:
                    found[i, j, 1] += roc_auc_score(y[test] == model.classes_[1], chances[:, 1]) / 5
    return found


def chances_of(model: Any, X: Any) -> np.ndarray:
    """Probabilities; of a model that releases labels alone 1 for its label, which is all that it has to rank by."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return (model.predict(X)[:, None] == model.classes_).astype(float)


def measure(
    names: Iterable[str], contenders: Sequence[str], epsilons: Sequence[float], seeds: int, most: int | None = None
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Means and standard errors over seeds, by data set: arrays of contender, epsilon and (accuracy, AUC)."""
    results: dict[str, list[np.ndarray]] = {name: [] for name in names}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {
            pool.submit(one_seed, name, seed, contenders, epsilons, most): name
            for seed in range(seeds)
            for name in results
        }
        for done, job in enumerate(as_completed(jobs), 1):
            results[jobs[job]].append(job.result())
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return {
        name: (np.mean(runs, axis=0), np.std(runs, axis=0, ddof=min(1, len(runs) - 1)) / np.sqrt(len(runs)))
        for name, runs in results.items()
    }


def adult(seeds: int, contenders: Sequence[str]) -> None:
    epsilons = (0.1, 0.5, 1.0)
    mean, error = measure(["adult"], contenders, epsilons, seeds)["adult"]
    heads = " | ".join(f"accuracy {e:g} | AUC {e:g}" for e in epsilons)
    print(f"| Adult | {heads} |\n|---|{'---|' * 2 * len(epsilons)}")
    for i, contender in enumerate(contenders):
        cells = []
        for j, epsilon in enumerate(epsilons):
            targets = ADULT_TARGETS.get(contender, {}).get(epsilon, (None, None))
            for k, target in enumerate(targets):
                met = "" if target is None else (" (met)" if mean[i, j, k] >= target else f" (target {target})")
                cells.append(f"{mean[i, j, k]:.4f} ± {error[i, j, k]:.4f}{met}")
        print(f"| {contender} | {' | '.join(cells)} |")


def others(seeds: int, most: int | None, contenders: Sequence[str]) -> None:
    epsilons = (0.1, 1.0)
    results = measure(OTHERS, contenders, epsilons, seeds, most)
    for j, epsilon in enumerate(epsilons):
        for k, what in enumerate(("accuracy", "AUC")):
            print(f"\n| {what}, epsilon {epsilon:g} | {' | '.join(contenders)} |\n|---|{'---|' * len(contenders)}")
            shown = {name: pair for name, pair in results.items() if pair[0][..., k].any()}  # AUC of two classes alone
            for name, (mean, error) in shown.items():
                cells = [f"{mean[i, j, k]:.3f} ± {error[i, j, k]:.3f}" for i in range(len(contenders))]
                print(f"| {name} | {' | '.join(cells)} |")
            means = np.mean([mean[:, j, k] for mean, _ in shown.values()], axis=0)
            print(f"| **mean** | {' | '.join(f'{value:.4f}' for value in means)} |")


def wall_robot(seeds: int) -> None:
    """Beside DP-ERT: random trees with noisy counts at the leaves, or one with labels by permute-and-flip."""
    from privet.algorithms.baselines import DPERTClassifier, RandomTreeClassifier

    def ert(schema: Schema, epsilon: float, seed: int, **options: Any) -> Any:
        kind = DPERTClassifier if "n_trees" in options else RandomTreeClassifier
        return kind(schema, epsilon=epsilon, random_state=seed, **options)

    rivals = {}
    for depth in (4, 6, 8, 10):
        rivals[f"one random tree, depth {depth}"] = (ert, {"max_depth": depth})
        rivals[f"DP-ERT, 10 trees, depth {depth}"] = (ert, {"max_depth": depth, "n_trees": 10})
    CONTENDERS.update(rivals)
    contenders = ["auto", *rivals]
    mean, error = measure(["wall_robot"], contenders, (1.0,), seeds)["wall_robot"]
    print("| wall_robot, epsilon 1 | accuracy |\n|---|---|")
    for i, contender in enumerate(contenders):
        print(f"| {contender} | {mean[i, 0, 0]:.4f} ± {error[i, 0, 0]:.4f} |")


ROUNDS_SETS = ("magic", "california", "electricity", "default_credit_card")
"""Where the constants of boosting are varied: not Adult."""


def _recipes(times: float = 1.0, **changes: Any) -> dict[str, Any]:
    """The recipes of both currencies with other numbers, and so many times the rounds."""
    return {name: replace(own, rounds=own.rounds * times, **changes) for name, own in tree_rounds.RECIPES.items()}


ROUNDS_VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "twice as many rounds": {"RECIPES": _recipes(2.0)},
    "half as many rounds": {"RECIPES": _recipes(0.5)},
    "an eighth of a round chooses": {"CHOICE_SHARE": Fraction(1, 8)},
    "half of a round chooses": {"CHOICE_SHARE": Fraction(1, 2)},
    "half chooses, and half as many rounds more": {"CHOICE_SHARE": Fraction(1, 2), "RECIPES": _recipes(1.5)},
    "ridge 1": {"RIDGE": 1.0},
    "ridge 2": {"RIDGE": 2.0},
    "ridge 8": {"RIDGE": 8.0},
    "8 cells": {"RECIPES": _recipes(cells=8)},
    "16 cells": {"RECIPES": _recipes(cells=16)},
    "32 cells": {"RECIPES": _recipes(cells=32)},
    "no products": {"RECIPES": _recipes(alone=Fraction(2))},
    "no triples": {"RECIPES": _recipes(triple=0)},
    "the same budget for every round": {"RECIPES": _recipes(growth=0)},
    "no penalty": {"PENALTY": 0.0},
    "one partition of each feature": {"PARTITIONS": 1},
    "ten partitions of each feature": {"PARTITIONS": 10},
}


def rounds(seeds: int, most: int = 10_000) -> None:
    """Boosting at epsilon 1 with one constant changed at a time: mean accuracy and AUC over sets and 80/20 splits."""
    print("| constant | accuracy | AUC | accuracy, delta 1e-6 | AUC, delta 1e-6 |\n|---|---|---|---|---|")
    first: np.ndarray | None = None
    for variant, constants in ROUNDS_VARIANTS.items():
        with ExitStack() as stack:
            for name, value in constants.items():
                for module in (private_forest, tree_rounds):
                    if hasattr(module, name):
                        stack.enter_context(patch.object(module, name, value))
            runs = np.array([[_split(name, seed, most) for name in ROUNDS_SETS] for seed in range(seeds)])
        by_seed = runs.mean(axis=1)
        first = by_seed if first is None else first
        mean = by_seed.mean(axis=0)
        error = (by_seed - first).std(axis=0, ddof=1) / np.sqrt(seeds)  # of the difference: splits are the same
        cells = [f"{m:.4f}" + (f" ± {e:.4f}" if constants else "") for m, e in zip(mean, error)]
        print(f"| {variant} | {' | '.join(cells)} |", flush=True)


def _split(name: str, seed: int, most: int) -> list[float]:
    """Accuracy and AUC on one split, pure and with a delta."""
    data = load(name)
    kept = np.random.default_rng(seed).permutation(len(data.y))[:most]
    train, test = np.split(kept, [len(kept) * 4 // 5])
    y, found = data.y.to_numpy(), []
    for delta in (None, DELTA):
        model = forest(data.schema, 1.0, seed, method="boosting", delta=delta).fit(data.X.iloc[train], y[train])
        chances = model.predict_proba(data.X.iloc[test])
        found.append(float(np.mean(model.classes_[chances.argmax(axis=1)] == y[test])))
        found.append(float(roc_auc_score(y[test] == model.classes_[1], chances[:, 1])))
    return found


AUTO_SETS = (*OTHERS[:6], "covertype_40pct", "adult", "albert")
AUTO_CELLS = (
    (0.1, 1_500), (0.1, 5_000), (0.1, 10_000), (1.0, 1_500), (0.3, 10_000), (1.0, 3_000), (1.0, 5_000), (1.0, 10_000)
)  # fmt: skip
"""Epsilon and number of records, by their product."""

AUTO_CONTENDERS = ("one tree", "one tree with counts", "boosting", "boosting, delta 1e-6")


def auto(seeds: int) -> None:
    """Where boosting overtakes one tree: means over nine sets of two classes, on 80/20 splits of so many records."""
    heads = [f"{what}, {name}" for what in ("accuracy", "AUC") for name in AUTO_CONTENDERS]
    print(f"| n * epsilon | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for epsilon, n in AUTO_CELLS:
        runs = np.array([[_contest(name, seed, n, epsilon) for name in AUTO_SETS] for seed in range(seeds)])
        mean = runs.mean(axis=(0, 1)).T.ravel()
        error = (runs.std(axis=0, ddof=min(1, seeds - 1)) ** 2).mean(axis=0) / (seeds * len(AUTO_SETS))
        cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, np.sqrt(error).T.ravel())]
        print(f"| {n * epsilon:,.0f} ({n:,} records) | {' | '.join(cells)} |", flush=True)


def _contest(name: str, seed: int, n: int, epsilon: float) -> list[tuple[float, float]]:
    """Accuracy and AUC of each contender, learned from ``n`` records and tested on a quarter as many."""
    data = load(name)
    kept = np.random.default_rng([n, seed]).permutation(len(data.y))[: n * 5 // 4]
    train, test = np.split(kept, [n])
    y, found = data.y.to_numpy(), []
    for contender in AUTO_CONTENDERS:
        make, options = CONTENDERS[contender]
        model = make(data.schema, epsilon, seed, **options).fit(data.X.iloc[train], y[train])
        chances = chances_of(model, data.X.iloc[test])[:, 1]
        right = float(np.mean(model.predict(data.X.iloc[test]) == y[test]))
        found.append((right, float(roc_auc_score(y[test] == model.classes_[1], chances))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(SEEDS))
    parser.add_argument("--seeds", type=int, help=f"how many shuffles; by default {SEEDS}")
    parser.add_argument("--most", type=int, default=20_000, help="records kept of a larger set, drawn for each seed")
    parser.add_argument("--contenders", nargs="*", choices=CONTENDERS, default=list(CONTENDERS))
    args = parser.parse_args()
    if not available():
        sys.exit("The shared data sets are not here: put them in ../shared or set PRIVET_SHARED.")
    for table in args.tables:
        print(f"\n## {table}\n", flush=True)
        seeds = args.seeds or SEEDS[table]
        if table == "others":
            others(seeds, args.most, args.contenders)
        elif table == "adult":
            adult(seeds, args.contenders)
        else:
            {"wall_robot": wall_robot, "rounds": rounds, "auto": auto}[table](seeds)


if __name__ == "__main__":
    main()
