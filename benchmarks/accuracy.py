"""Accuracy of PrivateTreeClassifier on the shared data sets, beside PrivaTree's published numbers.

    make accuracy                                     the tables of docs/accuracy.md (about 20 minutes on two cores)
    python benchmarks/accuracy.py --seeds 3 --sets adult vote

Five-fold stratified cross-validation, shuffled anew for each seed; depth at most 4; the manifest's ranges and
categories as the schema; the number of records measured privately (``--hint`` gives it as a public hint instead). An
accuracy is the mean over seeds and folds, its error the standard error over seeds. Noise is seeded, so that the tables
can be made again: the law is the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from privet import PrivateTreeClassifier, Schema
from shared_data import OTHER_SETS, PRIVATREE_SETS, available, load, privatree_published

EPSILONS = (0.01, 0.1, 1.0)


def one_seed(name: str, seed: int, **options: Any) -> list[float]:
    data = load(name)
    return accuracy_of_folds(data.X, data.y.to_numpy(), data.schema, seed, **options)


def accuracy_of_folds(
    X: Any, y: np.ndarray, schema: Schema, seed: int, hint: bool = False, leaves: str = "labels", max_depth: int = 4
) -> list[float]:
    """The accuracy at each epsilon, over five folds shuffled with this seed."""
    correct = np.zeros(len(EPSILONS))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    for fold, (train, test) in enumerate(folds):
        X_train, X_test = X.iloc[train], X.iloc[test]
        for i, epsilon in enumerate(EPSILONS):
            model = PrivateTreeClassifier(
                schema,
                epsilon=epsilon,
                max_depth=max_depth,
                leaves=leaves,
                n_records=len(train) if hint else None,
                random_state=hash((seed, fold, i)) % 2**31,
            )
            correct[i] += (model.fit(X_train, y[train]).predict(X_test) == y[test]).sum()
    return list(correct / len(y))


def measure(names: Iterable[str], seeds: int, **options: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean accuracy and its standard error at each epsilon, by data set."""
    names = list(names)
    results: dict[str, list[list[float]]] = {name: [] for name in names}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(one_seed, name, seed, **options): name for seed in range(seeds) for name in names}
        for done, job in enumerate(as_completed(jobs), 1):
            results[jobs[job]].append(job.result())
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return {
        name: (np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs)))
        for name, runs in results.items()
    }


def print_table(results: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """A Markdown table, with the published numbers, gains and counts where there are any."""
    columns = " | ".join(f"eps {epsilon:g} | published | gain" for epsilon in EPSILONS)
    print(f"| data set | {columns} |\n|---|{'---|' * 3 * len(EPSILONS)}")
    gains: list[list[float]] = [[] for _ in EPSILONS]
    kept = [0] * len(EPSILONS)
    for name, (mean, error) in results.items():
        cells = []
        for i, epsilon in enumerate(EPSILONS):
            printed = privatree_published(epsilon).get(name)
            cells.append(f"{mean[i]:.3f} ± {error[i]:.3f}")
            if printed is None:
                cells += ["", ""]
                continue
            gain = mean[i] - printed[0]
            gains[i].append(gain)
            kept[i] += gain >= -max(printed[1], 0.001)
            cells += [f"{printed[0]:.3f} ± {printed[1]:.3f}", f"{gain:+.3f}"]
        print(f"| {name} | {' | '.join(cells)} |")
    if any(gains):
        means = " | ".join(f"| at or above on {k} of {len(g)} | {np.mean(g):+.4f}" for g, k in zip(gains, kept))
        print(f"| **mean gain** {means} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--hint", action="store_true", help="give the number of records as a public hint")
    parser.add_argument("--leaves", choices=("labels", "counts"), default="labels")
    parser.add_argument("--max-depth", type=int, default=4)
    args = parser.parse_args()
    if not available():
        sys.exit("The shared data sets are not here: put them in ../shared or set PRIVET_SHARED.")
    for names in [args.sets] if args.sets else [PRIVATREE_SETS, OTHER_SETS]:
        print_table(measure(names, args.seeds, hint=args.hint, leaves=args.leaves, max_depth=args.max_depth))
        print()


if __name__ == "__main__":
    main()
