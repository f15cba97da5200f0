"""Accuracy of the baselines beside PrivateTreeClassifier and the numbers that PrivaTree's Table II prints for them.

    make baselines                                    the tables of docs/baselines.md (about half an hour on two cores)
    python benchmarks/baselines.py --seeds 2 --sets adult vote

Epsilon 0.1, depth 4, five-fold stratified cross-validation, shuffled anew for each seed; the manifest's ranges and
categories as the schema. An accuracy is the mean over seeds and folds, its error the standard error over seeds (a
printed error is one over five folds). Noise is seeded, so that the tables can be made again: the law is the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from privet.algorithms.registry import model_class
from shared_data import PRIVATREE_SETS, available, load, printed

EPSILON, DEPTH = 0.1, 4


@dataclass(frozen=True)
class Method:
    """A column of a table: a class with its options, and the name of its printed numbers, if there are any."""

    title: str
    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    paper: str | None = None


OURS = Method("PrivateTree", "PrivateTreeClassifier")

SOUND = (
    OURS,
    Method("random tree", "RandomTreeClassifier"),
    Method("SuLQ-ID3", "SuLQID3Classifier"),
    Method("DiffPID3, thresholds", "DiffPID3Classifier"),
    Method("DiffPID3, bins", "DiffPID3Classifier", {"numeric": "bins"}),
    Method("DPGDF", "DPGDFClassifier"),
    Method("BDPT", "BDPTClassifier"),
)
"""What is epsilon-DP."""

AS_PRINTED = (
    Method("random tree", "RandomTreeClassifier", paper="diffprivlib"),
    Method("DPGDF", "DPGDFClassifier", {"variant": "published", "n_bins": 0}, "dpgdf"),
    Method("BDPT", "BDPTClassifier", {"variant": "published"}, "bdpt"),
)
"""What PrivaTree's authors ran."""


def one_seed(name: str, method: Method, seed: int) -> float:
    """The accuracy over five folds shuffled with this seed."""
    data = load(name)
    y, correct = data.y.to_numpy(), 0
    folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    for fold, (train, test) in enumerate(folds):
        model = model_class(method.kind)(
            data.schema, epsilon=EPSILON, max_depth=DEPTH, random_state=5 * seed + fold, **method.options
        )
        correct += (model.fit(data.X.iloc[train], y[train]).predict(data.X.iloc[test]) == y[test]).sum()
    return float(correct / len(y))


def measure(names: Sequence[str], methods: Sequence[Method], seeds: int) -> dict[tuple[str, int], tuple[float, float]]:
    """Mean accuracy and its standard error by data set and number of the method."""
    runs: dict[tuple[str, int], list[float]] = {(name, m): [] for name in names for m in range(len(methods))}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(one_seed, name, methods[m], seed): (name, m) for name, m in runs for seed in range(seeds)}
        for done, job in enumerate(as_completed(jobs), 1):
            runs[jobs[job]].append(job.result())
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return {key: (float(np.mean(own)), float(np.std(own, ddof=1) / np.sqrt(seeds))) for key, own in runs.items()}


def majority(name: str) -> float:
    """The accuracy of the most common class."""
    return float(load(name).y.value_counts(normalize=True).iloc[0])


def shown(accuracy: tuple[float, float] | None) -> str:
    return "" if accuracy is None else f"{accuracy[0]:.3f} ± {accuracy[1]:.3f}"


def print_sound(names: Sequence[str], seeds: int) -> None:
    results = measure(names, SOUND, seeds)
    print(f"| data set | most common class | {' | '.join(method.title for method in SOUND)} |")
    print(f"|---|---|{'---|' * len(SOUND)}")
    for name in names:
        cells = " | ".join(shown(results[name, m]) for m in range(len(SOUND)))
        print(f"| {name} | {majority(name):.3f} | {cells} |")
    means = [np.mean([results[name, m][0] for name in names]) for m in range(len(SOUND))]
    print(f"| **mean** | {np.mean([majority(name) for name in names]):.3f} | {' | '.join(f'{x:.3f}' for x in means)} |")


def print_as_printed(names: Sequence[str], seeds: int) -> None:
    """Ours beside the printed numbers; in standard errors of both together, the paper's at least 0.005."""
    results = measure(names, AS_PRINTED, seeds)
    print(f"| data set | {' | '.join(f'{method.title} | printed | apart' for method in AS_PRINTED)} |")
    print(f"|---|{'---|' * 3 * len(AS_PRINTED)}")
    within, compared = [0] * len(AS_PRINTED), [0] * len(AS_PRINTED)
    for name in names:
        cells = []
        for m, method in enumerate(AS_PRINTED):
            paper, own = printed(name, EPSILON, str(method.paper)), results[name, m]
            if paper is None:
                cells += ["", "", ""]
                continue
            apart = (own[0] - paper[0]) / np.hypot(own[1], max(paper[1], 0.005))
            compared[m] += 1
            within[m] += abs(apart) <= 2
            cells += [shown(own), shown(paper), f"{apart:+.1f}"]
        print(f"| {name} | {' | '.join(cells)} |")
    print("| **within 2** |" + "".join(f" | | {a} of {b} |" for a, b in zip(within, compared)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=PRIVATREE_SETS)
    args = parser.parse_args()
    if not available():
        sys.exit("The shared data sets are not here: put them in ../shared or set PRIVET_SHARED.")
    print_as_printed(args.sets, args.seeds)
    print()
    print_sound(args.sets, args.seeds)


if __name__ == "__main__":
    main()
