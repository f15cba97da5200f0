"""Is a private choice among six models worth its budget? Against each of them with the whole budget.

Every repeat draws a test set, fits each candidate with the whole of epsilon on the rest, and the search with the same
epsilon: once on all of the rest, once with a fifth held out for a free score. Results are kept in a file, and a run
goes on where an earlier one ended.

    python benchmarks/model_selection.py --repeats 10
    python benchmarks/model_selection.py --sets magic covertype_40pct skin default_credit_card mushroom wall_robot
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from privet import PrivateForestClassifier, PrivateSearch, PrivateTreeClassifier, PrivaTreeClassifier
from shared_data import load

RESULTS = Path(__file__).parent / "results" / "model_selection.jsonl"
SETS = ("adult", "bank_full", "california", "electricity", "albert", "higgs_subset")
TEST, EPSILON = 0.2, 1.0
CANDIDATES: list[Any] = [
    PrivateTreeClassifier(max_depth=2),
    PrivateTreeClassifier(),
    PrivateTreeClassifier(leaves="counts"),
    PrivateForestClassifier(method="boosting", progress=False),
    PrivateForestClassifier(method="trees", n_trees=5, progress=False),
    PrivaTreeClassifier(),
]


def accuracies(name: str, seed: int, **options: Any) -> dict[str, float]:
    """Of each candidate and of two searches, on one test set."""
    data = load(name)
    y, order = np.asarray(data.y), np.random.default_rng([seed, 1]).permutation(len(data.y))
    test, train = np.split(order, [int(TEST * len(order))])
    X, labels = data.X.iloc[train], y[train]
    found = {}
    for i, own in enumerate(CANDIDATES):
        model = clone(own).set_params(schema=data.schema, epsilon=EPSILON, random_state=seed).fit(X, labels)
        found[f"candidate {i}"] = round(float((model.predict(data.X.iloc[test]) == y[test]).mean()), 5)
    for holdout in (None, 0.2):
        search = PrivateSearch(data.schema, candidates=CANDIDATES, epsilon=EPSILON, random_state=seed, **options)
        search.fit(X, labels, holdout=holdout)
        right = float((search.predict(data.X.iloc[test]) == y[test]).mean())
        found["search" if holdout is None else "search with a score"] = round(right, 5)
        found["chosen" if holdout is None else "chosen with a score"] = search.best_index_
    return found


def missing(sets: list[str], repeats: int, options: dict[str, Any]) -> list[tuple[str, int]]:
    done = {(own["set"], own["seed"]) for own in kept(options)}
    return [(name, seed) for seed in range(repeats) for name in sets if (name, seed) not in done]


def kept(options: dict[str, Any]) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    return [own for own in lines if options.items() <= own.items()]


def show(sets: list[str], options: dict[str, Any]) -> None:
    """A row for each set, and how far behind searches are on average: with the standard error of that over repeats."""
    behind: dict[str, list[float]] = {"search": [], "search with a score": []}
    errors: dict[str, list[float]] = {key: [] for key in behind}
    for name in sets:
        runs = [own for own in kept(options) if own["set"] == name]
        if len(runs) < 2:
            continue
        means = [float(np.mean([own[f"candidate {i}"] for own in runs])) for i in range(len(CANDIDATES))]
        best = int(np.argmax(means))
        row = [name, str(len(runs)), f"{means[best]:.4f} ({best})"]
        for key, gaps in behind.items():
            gap = np.array([own[f"candidate {best}"] - own[key] for own in runs])
            gaps.append(float(gap.mean()))
            errors[key].append(float(gap.std(ddof=1)) / len(gap) ** 0.5)
            row.append(f"{gap.mean():+.4f} ± {errors[key][-1]:.4f}")
        row.append(", ".join(str(own["chosen"]) for own in runs))
        print("| " + " | ".join(row) + " |", flush=True)
    for key, gaps in behind.items():
        if gaps:
            error = float(np.sqrt(np.square(errors[key]).sum())) / len(gaps)
            print(f"{key}: {np.mean(gaps):.4f} ± {error:.4f} behind the best single one, on average")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--trial", type=float, default=PrivateSearch.trial)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no repeat after so many minutes")
    parser.add_argument("--method", default="trials", help="trials or random_stopping")
    asked = parser.parse_args()
    options, start = {"trial": asked.trial, "method": asked.method}, time.monotonic()
    for name, seed in missing(asked.sets, asked.repeats, options):
        if time.monotonic() - start > 60 * asked.minutes:
            break
        line = {"set": name, "seed": seed, **options, **accuracies(name, seed, **options)}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")
    show(asked.sets, options)


if __name__ == "__main__":
    main()
