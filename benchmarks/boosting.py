"""Private boosting on nine sets that its constants were tuned on, and on ten others: tables of docs/forests.md.

    python benchmarks/boosting.py                     what is missing, then the tables; it can be stopped and resumed
    python benchmarks/boosting.py --settings "1 1e-6" --splits 1 --sets magic adult
    python benchmarks/boosting.py --before FILE       also set by set against an earlier learner's runs

An earlier learner's runs are made by this script on the package of an earlier commit: ``git worktree add DIR COMMIT``,
then ``PYTHONPATH=DIR/src python benchmarks/boosting.py --results FILE``.

At most 40,000 records, three 80/20 splits, the manifest's ranges and categories as the schema, the number of records
measured privately. Targets of regression sets are classes here: above the median of all records or not (a public
question, for this purpose). A figure is the mean over splits, its error the standard error over splits; that of a mean
over sets adds their variances. Noise is seeded, so that the tables can be made again: the law is the same. Runs are
kept in ``benchmarks/results/boosting.jsonl``, a line for each fit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from privet import PrivateForestClassifier, Schema
from shared_data import REGRESSION_SETS, available, load

RESULTS = Path(__file__).parent / "results" / "boosting.jsonl"
MOST = 40_000
NINE = (
    "magic",
    "california",
    "electricity",
    "covertype_40pct",
    "higgs_subset",
    "default_credit_card",
    "adult",
    "bank_full",
    "albert",
)
HELD_OUT = (
    "mushroom",
    "nursery",
    "kddcup99_10pct",
    "skin",
    "wall_robot",
    "titanic",
    "diabetes",
    "parkinsons",
    "appliances_energy",
    "flights_nyc13",
)
SETTINGS = ("1 1e-6", "0.5 1e-6", "1", "4 1e-6", "8 1e-6")


def classes_of(name: str) -> tuple[Any, np.ndarray, Schema]:
    data = load(name)
    if name not in REGRESSION_SETS:
        return data.X, data.y.to_numpy(), data.schema
    y = np.where(data.y.to_numpy() > np.median(data.y), "high", "low")
    return data.X, y, Schema(dict(data.schema.features), classes=["low", "high"])


def fitted(name: str, setting: str, split: int) -> dict[str, Any]:
    """Accuracy, AUC (of two classes) and log loss of one fit."""
    X, y, schema = classes_of(name)
    kept = np.random.default_rng(split).permutation(len(y))[:MOST]
    train, test = np.split(kept, [len(kept) * 4 // 5])
    epsilon, *delta = map(float, setting.split())
    options: dict[str, Any] = {"delta": delta[0]} if delta else {}
    start = time.process_time()
    model = PrivateForestClassifier(
        schema, epsilon=epsilon, method="boosting", random_state=split, progress=False, **options
    ).fit(X.iloc[train], y[train])
    took = time.process_time() - start
    chances = model.predict_proba(X.iloc[test])
    truth = chances[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
    found = {
        "accuracy": float(np.mean(model.classes_[chances.argmax(axis=1)] == y[test])),
        "log_loss": float(-np.log(np.maximum(truth, 1e-12)).mean()),
        "seconds": round(took, 2),
    }
    if chances.shape[1] == 2:
        found["auc"] = float(roc_auc_score(y[test] == model.classes_[1], chances[:, 1]))
    return found


Runs = dict[tuple[str, str, int], dict[str, Any]]


def known(results: Path) -> Runs:
    lines = results.read_text().splitlines() if results.exists() else []
    return {(row["set"], row["setting"], row["split"]): row for row in map(json.loads, lines)}


def measure(sets: Sequence[str], settings: Sequence[str], splits: int, results: Path) -> None:
    done = known(results)
    for split in range(splits):
        for setting in settings:
            for name in sets:
                if (name, setting, split) not in done:
                    row = {"set": name, "setting": setting, "split": split, **fitted(name, setting, split)}
                    results.parent.mkdir(exist_ok=True)
                    with results.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(row, file=sys.stderr, flush=True)


def table(runs: Runs, sets: Sequence[str], settings: Sequence[str], title: str) -> None:
    """Means and errors over splits, and over all sets."""
    print(f"\n| {title} | {' | '.join(_title(setting) for setting in settings)} |")
    print("|---|" + "---|" * len(settings))
    means: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for name in sets:
        cells = []
        for setting in settings:
            rows = [row for (own, how, _), row in runs.items() if (own, how) == (name, setting)]
            words = []
            for what in ("accuracy", "auc"):
                found = mean_of([row[what] for row in rows if what in row])
                if found is not None:
                    means.setdefault((setting, what), []).append(found)
                    words.append(f"{found[0]:.3f} ± {found[1]:.3f}")
            cells.append(" / ".join(words))
        print(f"| {name} | {' | '.join(cells)} |")
    both = [[means.get((setting, what)) for what in ("accuracy", "auc")] for setting in settings]
    print(f"| **mean** | {' | '.join(' / '.join(map(_mean, filter(None, own))) for own in both)} |")


def compared(runs: Runs, before: Runs, sets: Sequence[str], settings: Sequence[str], title: str) -> None:
    """What is gained on the splits that both have: the mean difference, and its error over splits."""
    print(f"\n| {title} | {' | '.join(_title(setting) for setting in settings)} |")
    print("|---|" + "---|" * len(settings))
    gains: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for name in sets:
        cells = []
        for setting in settings:
            words = []
            for what in ("accuracy", "auc"):
                pairs = [(runs[key], old) for key, old in before.items() if key[:2] == (name, setting) and key in runs]
                found = mean_of([own[what] - old[what] for own, old in pairs if what in own and what in old])
                if found is not None:
                    gains.setdefault((setting, what), []).append(found)
                    words.append(f"{found[0]:+.4f} ± {found[1]:.4f}")
            cells.append(" / ".join(words))
        print(f"| {name} | {' | '.join(cells)} |")
    both = [[gains.get((setting, what)) for what in ("accuracy", "auc")] for setting in settings]
    print(f"| **mean** | {' | '.join(' / '.join(map(_mean, filter(None, own))) for own in both)} |")


def mean_of(values: Sequence[float]) -> tuple[float, float] | None:
    """The mean, and its standard error (0 of a single run)."""
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _mean(own: Sequence[tuple[float, float]]) -> str:
    """Over sets, with the error that those of the sets add up to."""
    return f"{np.mean([m for m, _ in own]):.4f} ± {np.sqrt(sum(e * e for _, e in own)) / len(own):.4f}"


def _title(setting: str) -> str:
    epsilon, *delta = setting.split()
    return f"({epsilon}, {delta[0]})" if delta else f"pure {epsilon}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=[*NINE, *HELD_OUT])
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--before", type=Path, help="an earlier learner's runs, to compare with")
    args = parser.parse_args()
    if not available():
        sys.exit("The shared data sets are not here: put them in ../shared or set PRIVET_SHARED.")
    measure(args.sets, args.settings, args.splits, args.results)
    runs = known(args.results)
    for sets, title in ((NINE, "accuracy / AUC, tuned on"), (HELD_OUT, "accuracy / AUC, held out")):
        some = [name for name in sets if name in args.sets]
        if some:
            table(runs, some, args.settings, title)
            if args.before is not None:
                compared(runs, known(args.before), some, args.settings, f"gain in {title}")


if __name__ == "__main__":
    main()
