"""PrivaTree against its own Table II, and what its accuracy costs.

    make privatree                                       the table of docs/privatree.md
    python benchmarks/privatree.py --seeds 12 --sets vote breast_w diabetes --models published "full labels"

Depth 4, epsilon 0.1 (``--epsilon`` has 0.01 and 1 too: Tables VI and VII), five-fold stratified cross-validation,
shuffled anew for each seed, the manifest's ranges and categories as the schema, the number of training records public:
all as in the paper. Noise is seeded, so that the table can be made again. An accuracy is the mean over seeds and folds,
its error the standard error over seeds. *Reproduced* means that the published variant is within two combined standard
errors of the printed number, the paper's taken as at least 0.005. The true epsilon is that of the published variant's
receipt with early stopping off; with it on, it is infinite.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from privet import PrivateTreeClassifier, PrivaTreeClassifier, Schema
from shared_data import PRIVATREE_SETS, SHARED, available, load

SUITES = {"electricity": "numerical", "default_credit_card": "numerical"}
"""Which of a set's two rows is about our file."""

PAPER_ERROR = 0.005
"""The least that a printed standard error, over five folds of one shuffle, counts for."""


@cache
def printed(epsilon: float) -> dict[str, dict[str, tuple[float, float]]]:
    """The printed accuracy and standard error of PrivaTree and PrivaTree*, by data set."""
    with open(SHARED / "published" / "privatree_accuracy.toml", "rb") as file:
        rows = tomllib.load(file)["row"]
    return {
        row["dataset"]: {
            name: (row[name]["accuracy"], row[name]["error"]) for name in ("privatree", "privatree_star") if name in row
        }
        for row in rows
        if row["epsilon"] == epsilon and SUITES.get(row["dataset"], row["suite"]) == row["suite"]
    }


class _FullLabels(PrivaTreeClassifier):
    """The published variant with the labels' whole budget as their exponent, for the remark in docs/privatree.md."""

    def _shares(self, *args: Any) -> Any:
        shares = super()._shares(*args)
        return replace(shares, leaf=2 * shares.leaf)


def models(schema: Schema, epsilon: float, n: int, seed: int) -> dict[str, Any]:
    """What is compared, each with its own name."""
    common: dict[str, Any] = {"epsilon": epsilon, "max_depth": 4, "n_records": n, "random_state": seed}
    return {
        "published": PrivaTreeClassifier(schema, variant="published", **common),
        "published*": PrivaTreeClassifier(schema, variant="published", bins="exact", **common),
        "sound": PrivaTreeClassifier(schema, **common),
        "full labels": _FullLabels(schema, variant="published", **common),
        "joint": PrivateTreeClassifier(schema, **common),
    }


def one_seed(name: str, seed: int, epsilon: float, which: Iterable[str]) -> dict[str, float]:
    """The accuracy of every model over five folds shuffled with this seed."""
    data = load(name)
    y = data.y.to_numpy()
    correct = dict.fromkeys(which, 0)
    for fold, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=seed).split(y, y)):
        X_train, X_test = data.X.iloc[train], data.X.iloc[test]
        compared = models(data.schema, epsilon, len(train), hash((seed, fold)) % 2**31)
        for model in which:
            correct[model] += int((compared[model].fit(X_train, y[train]).predict(X_test) == y[test]).sum())
    return {model: right / len(y) for model, right in correct.items()}


def measure(
    names: Iterable[str], seeds: int, epsilon: float, which: Iterable[str]
) -> dict[str, dict[str, tuple[float, float]]]:
    """Mean accuracy and its standard error, by data set and model."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(one_seed, name, seed, epsilon, which): name for seed in range(seeds) for name in runs}
        for done, job in enumerate(as_completed(jobs), 1):
            runs[jobs[job]].append(job.result())
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return {
        name: {
            model: (
                float(np.mean([run[model] for run in own])),
                float(np.std([run[model] for run in own], ddof=1) / np.sqrt(len(own))),
            )
            for model in which
        }
        for name, own in runs.items()
    }


def true_epsilon(name: str, epsilon: float) -> float:
    """What the published variant costs without its early stop, by its receipt."""
    data = load(name)
    n = len(data.X) * 4 // 5
    few = data.X.iloc[:100], data.y.iloc[:100]  # prices depend on the number of records that is stated, not on records
    model = PrivaTreeClassifier(data.schema, epsilon=epsilon, variant="published", early_stop=False, n_records=n)
    receipt = model.fit(*few).privacy_
    receipt.verify()
    return float(receipt.epsilon)


def reproduced(ours: tuple[float, float], paper: tuple[float, float]) -> bool:
    return abs(ours[0] - paper[0]) <= 2 * np.hypot(ours[1], max(paper[1], PAPER_ERROR))


def print_table(results: dict[str, dict[str, tuple[float, float]]], epsilon: float) -> None:
    which = list(next(iter(results.values())))
    print(f"| data set | printed | {' | '.join(which)} | reproduced | true epsilon |\n|---|{'---|' * (len(which) + 3)}")
    hits = []
    for name, own in results.items():
        paper = printed(epsilon)[name]["privatree"]
        hits.append(reproduced(own["published"], paper))
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in (paper, *own.values())]
        print(f"| {name} | {' | '.join(cells)} | {'yes' if hits[-1] else 'no'} | {true_epsilon(name, epsilon):.3g} |")
    means = [np.mean([printed(epsilon)[name]["privatree"][0] for name in results])]
    means += [np.mean([own[model][0] for own in results.values()]) for model in which]
    print(f"| **mean** | {' | '.join(f'{mean:.3f}' for mean in means)} | {sum(hits)} of {len(hits)} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sets", nargs="*", default=PRIVATREE_SETS)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--models", nargs="*", default=["published", "published*", "sound", "joint"])
    args = parser.parse_args()
    if not available():
        sys.exit("The shared data sets are not here: put them in ../shared or set PRIVET_SHARED.")
    print_table(measure(args.sets, args.seeds, args.epsilon, args.models), args.epsilon)


if __name__ == "__main__":
    main()
