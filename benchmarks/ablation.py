"""What each default of PrivateTreeClassifier is worth: one of them changed at a time, all data sets in one run.

    make ablation                                     the table of docs/defaults.md (about half an hour on two cores)
    python benchmarks/ablation.py --seeds 1 --variants "the rule" "depth 4 always"

Prints, for each variant, the mean gain over PrivaTree's published accuracy on the eleven sets and the mean accuracy on
the nine others, which no constant was chosen by alone. Sets are cut to ``--rows`` records, drawn once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from fractions import Fraction
from typing import Any

import numpy as np

from accuracy import EPSILONS, accuracy_of_folds
from privet.algorithms import private_tree
from privet.tree import planning, splits
from shared_data import OTHER_SETS, PRIVATREE_SETS, available, load, privatree_published


def rule() -> None:
    """The defaults as they are."""


def constant(module: Any, name: str, value: Any) -> Callable[[], None]:
    """A variant with one constant changed, where it is defined and where it was imported."""

    def change() -> None:
        setattr(module, name, value)
        if hasattr(private_tree, name):
            setattr(private_tree, name, value)

    return change


def always(depth: int) -> Callable[[], None]:
    return constant(planning, "worthwhile", lambda deeper, *_: -np.inf if deeper <= depth else np.inf)


def gini(*weights: int) -> Callable[[], None]:
    """The same Gini weight on all inner levels."""
    return constant(planning, "gini_weights", lambda depth: weights * (depth - 1))


def cells(most: int) -> Callable[[], None]:
    grid = private_tree.public_grid
    return constant(private_tree, "public_grid", lambda schema: grid(schema, most))


def flat_prior() -> None:
    with_prior = splits.public_splits.__wrapped__

    def without(grid: Any) -> Any:
        found = with_prior(grid)
        object.__setattr__(found, "log_prior", np.zeros(len(found)))
        return found

    private_tree.public_splits = without


def labels_after_splits() -> None:
    planning.MOST_JOINT = 0


VARIANTS: dict[str, tuple[Callable[[], None], dict[str, Any]]] = {
    "the rule": (rule, {}),
    "n given as a public hint": (rule, {"hint": True}),
    'leaves="counts"': (rule, {"leaves": "counts"}),
    "depth 1 always": (always(1), {}),
    "depth 2 always": (always(2), {}),
    "depth 4 always": (always(4), {}),
    "depth from half as many records (PAYS_OFF 2.5)": (constant(planning, "PAYS_OFF", 2.5), {}),
    "depth from twice as many records (PAYS_OFF 10)": (constant(planning, "PAYS_OFF", 10), {}),
    "equal budgets for all levels": (constant(planning, "LEVEL_GROWTH", Fraction(1)), {}),
    "budgets that double": (constant(planning, "LEVEL_GROWTH", Fraction(2)), {}),
    "10% to measure the size": (constant(planning, "SIZE_SHARE", Fraction(1, 10)), {}),
    "inner splits by Gini alone": (gini(256), {}),
    "inner splits by errors alone": (gini(0), {}),
    "labels after the splits": (labels_after_splits, {}),
    "one prior weight for every split": (flat_prior, {}),
    "one against the rest only": (constant(splits, "MOST_SUBSETS", 2), {}),
    "unlisted values weigh as much as any subset": (constant(splits, "UNLISTED_WEIGHT", 1.0), {}),
    "a last split need not pay": (constant(planning, "SPLIT_WORTH", 0), {}),
    "128 cells": (cells(128), {}),
    "64 cells": (cells(64), {}),
    "32 cells": (cells(32), {}),
}


def change(variant: str) -> None:
    """Make a worker process one of this variant, for good."""
    VARIANTS[variant][0]()


def one_seed(variant: str, name: str, seed: int, rows: int) -> list[float]:
    """The accuracies of one variant on one shuffle of one set."""
    data = load(name)
    kept = np.random.default_rng(0).permutation(len(data.y))[:rows]
    options = VARIANTS[variant][1]
    return accuracy_of_folds(data.X.iloc[kept], data.y.iloc[kept].to_numpy(), data.schema, seed, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--variants", nargs="*", choices=VARIANTS, default=list(VARIANTS))
    args = parser.parse_args()
    if not available():
        sys.exit("The shared data sets are not here: put them in ../shared or set PRIVET_SHARED.")
    columns = " | ".join(f"gain {e:g}" for e in EPSILONS) + " | " + " | ".join(f"others {e:g}" for e in EPSILONS)
    print(f"| variant | {columns} |\n|---|{'---|' * 2 * len(EPSILONS)}", flush=True)
    for variant in args.variants:
        runs: dict[str, list[list[float]]] = {name: [] for name in (*PRIVATREE_SETS, *OTHER_SETS)}
        with ProcessPoolExecutor(os.cpu_count(), initializer=change, initargs=(variant,)) as pool:
            jobs = {
                pool.submit(one_seed, variant, name, seed, args.rows): name
                for name in runs
                for seed in range(args.seeds)
            }
            for job in as_completed(jobs):
                runs[jobs[job]].append(job.result())
        mean = {name: np.mean(results, axis=0) for name, results in runs.items()}
        published = {name: [privatree_published(e)[name][0] for e in EPSILONS] for name in PRIVATREE_SETS}
        gains = np.mean([mean[name] - published[name] for name in PRIVATREE_SETS], axis=0)
        others = np.mean([mean[name] for name in OTHER_SETS], axis=0)
        cells_of = [f"{gain:+.4f}" for gain in gains] + [f"{other:.4f}" for other in others]
        print(f"| {variant} | {' | '.join(cells_of)} |", flush=True)


if __name__ == "__main__":
    main()
