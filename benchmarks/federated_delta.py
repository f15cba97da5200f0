"""Where a delta pays off between owners: shares of geometric against shares of Skellam noise: `make federated-delta`.

`HistogramTreeClassifier` of depth 3 at epsilon 1, delta 1e-6 for Skellam noise, five owners of whom one may collude, on
the report's Gaussian mixture with p features (correlation 0.3) and on the census data. Every run draws new data and
noise, of the law of all owners' shares together, without the protocol around it. For each p the deviation of the noise
of one count at the root, as its receipt has it, and the accuracy on fresh data: means with their standard errors.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from federated_accuracy import mixture, owners_of, schema_of
from owners import Owners
from privet import HistogramTreeClassifier, Schema
from privet.datasets import load_adult

DELTA = 1e-6


def fit(
    tables: list[Any], schema: Schema, delta: float | None, epsilon: float, depth: int, seed: Any
) -> tuple[HistogramTreeClassifier, float]:
    """A model, and the standard deviation of the noise of a count at its root: four shares make up what is paid for."""
    model = HistogramTreeClassifier(epsilon=epsilon, delta=delta, max_depth=depth)
    model.fit_curator(Owners(tables, schema, seed, colluders=1, delta=delta))
    model.privacy_.verify()
    scale = model.privacy_.events[0].scale
    whole = scale if delta else math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)
    return model, whole * math.sqrt(len(tables) / (len(tables) - 1))


def row(name: str, results: dict[str, list[tuple[float, float]]]) -> None:
    cells = []
    for kind in ("geometric", "Skellam"):
        noise, accuracy = np.array(results[kind]).T
        error = accuracy.std(ddof=1) / math.sqrt(len(accuracy)) if len(accuracy) > 1 else math.nan
        cells += [f"{noise.mean():.1f}", f"{accuracy.mean():.3f} ± {error:.3f}"]
    print(f"| {name} | {cells[0]} | {cells[2]} | {cells[1]} | {cells[3]} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--depth", type=int, default=3)
    own = parser.parse_args()
    print("| data | noise of a count, geometric | Skellam | accuracy, geometric | Skellam |\n|---|---|---|---|---|")
    for p in (2, 5, 10, 25, 50, 100):
        results: dict[str, list[tuple[float, float]]] = {"geometric": [], "Skellam": []}
        for run in range(own.runs):
            rng = np.random.default_rng([run, p])
            (X, y), (X_test, y_test) = mixture(5000, p, 0.3, rng), mixture(5000, p, 0.3, rng)
            for kind, delta in (("geometric", None), ("Skellam", DELTA)):
                model, noise = fit(owners_of(X, y), schema_of(p), delta, own.epsilon, own.depth, [run, p])
                results[kind].append((noise, float(model.score(X_test, y_test))))
        row(f"mixture, p = {p}", results)
    X, y, schema = load_adult()
    results = {"geometric": [], "Skellam": []}
    for run in range(own.runs):
        order = np.random.default_rng(run).permutation(len(X))
        test, train = order[: len(X) // 5], order[len(X) // 5 :]
        tables = [(X.iloc[part], y.iloc[part]) for part in np.array_split(train, 5)]
        for kind, delta in (("geometric", None), ("Skellam", DELTA)):
            model, noise = fit(tables, schema, delta, own.epsilon, own.depth, run)
            results[kind].append((noise, float(model.score(X.iloc[test], y.iloc[test]))))
    row("Adult, 14 features", results)


if __name__ == "__main__":
    main()
