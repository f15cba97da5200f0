"""Is a private choice among six models worth its budget? Against each of them with the whole budget.

Every repeat draws a test set, fits each candidate with the whole of epsilon on the rest, and the search with the same
epsilon: once on all of the rest, once with a fifth held out for a free score.

    python benchmarks/model_selection.py --repeats 10
"""

from __future__ import annotations

import argparse
import json
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


def accuracies(name: str, seed: int, trial: float) -> dict[str, float]:
    """Of each candidate and of two searches, on one test set."""
    data = load(name)
    y, order = np.asarray(data.y), np.random.default_rng([seed, 1]).permutation(len(data.y))
    test, train = np.split(order, [int(TEST * len(order))])
    X, labels = data.X.iloc[train], y[train]
    found = {}
    for i, own in enumerate(CANDIDATES):
        model = clone(own).set_params(schema=data.schema, epsilon=EPSILON, random_state=seed).fit(X, labels)
        found[f"candidate {i}"] = float((model.predict(data.X.iloc[test]) == y[test]).mean())
    for holdout in (None, 0.2):
        search = PrivateSearch(data.schema, candidates=CANDIDATES, epsilon=EPSILON, trial=trial, random_state=seed)
        search.fit(X, labels, holdout=holdout)
        right = float((search.predict(data.X.iloc[test]) == y[test]).mean())
        found["search" if holdout is None else "search with a score"] = right
        found["chosen" if holdout is None else "chosen with a score"] = search.best_index_
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--trial", type=float, default=0.5)
    parser.add_argument("--write", action="store_true", help=f"add the results to {RESULTS.name}")
    options = parser.parse_args()
    behind: dict[str, list[float]] = {"search": [], "search with a score": []}
    for name in options.sets:
        runs = [accuracies(name, seed, options.trial) for seed in range(options.repeats)]
        mean = {key: float(np.mean([own[key] for own in runs])) for key in runs[0] if "chosen" not in key}
        best = max(value for key, value in mean.items() if key.startswith("candidate"))
        for key, gaps in behind.items():
            gaps.append(best - mean[key])
        line = {"set": name, "repeats": options.repeats, "trial": options.trial}
        line |= {key: round(value, 4) for key, value in mean.items()}
        line["chosen"] = [int(own["chosen"]) for own in runs]
        print(json.dumps(line), flush=True)
        if options.write:
            with RESULTS.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print({key: round(float(np.mean(gaps)), 4) for key, gaps in behind.items()}, "behind the best single, on average")


if __name__ == "__main__":
    main()
