"""DiPriMe's Table 1 and our regressors on the shared regression sets.

    make regression                                       all of it: about an hour on one core
    python benchmarks/regression.py --seeds 5 parkinsons  one set, fewer splits
    python benchmarks/regression.py --show                the tables of what has been run

Every run is a fresh 90/10 split; errors are means of squared errors on the test part, with targets divided by DiPriMe's
maximum (elsewhere by the width of the range). Runs are kept in ``--results``, a line of JSON each, so that a run can
be stopped and taken up again. Noise is seeded for that; a seed changes no law.

Defaults were chosen on the three sets of the first tables. So there are held-out ones: numeric columns of the
classification sets, predicted from the others. No default of trees was ever tried on them, and none of boosting on
bank_full, default_credit_card and electricity.
"""

from __future__ import annotations

import argparse
import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import shared_data
from privet import Schema

RESULTS = Path(__file__).parent / "results" / "regression.jsonl"
DEPTHS = {"parkinsons": (4, 7), "appliances_energy": (6, 9), "flights_nyc13": (7, 10)}
"""The printed depths: of trees on a tenth of the records, and of trees on all of them."""

BINNED_DEPTHS = {"parkinsons": 3, "appliances_energy": 4}

HELD_OUT = {
    "adult": "hours_per_week",
    "bank_full": "age",
    "california": "MedInc",
    "default_credit_card": "x1",
    "electricity": "nswdemand",
    "magic": "fSize",
}
"""Sets of classes, and the numeric column of each that stands in as a target."""

FIRST_SEED = 100
"""Splits of smaller seeds were used while defaults were chosen."""

OURS = "PrivateForestRegressor"
SOUND = ("PrivateTreeRegressor", "DiPriMe sound", "DiPriMeExp sound", "DiPriMeFlip sound")


def methods(name: str, epsilon: float) -> dict[str, Callable[[Any, int], Any]]:
    """Every method of a set's table, made from a schema and a number of records; printed names are as published."""
    from privet import DiPriMeForestRegressor, PrivateForestRegressor, PrivateTreeRegressor
    from privet.algorithms.baselines import DPERTRegressor, DPRFRegressor

    part, whole = DEPTHS.get(name, (None, None))

    def diprime(attribute: str, variant: str) -> Callable[[Any, int], Any]:
        return lambda schema, n: DiPriMeForestRegressor(
            schema, epsilon=epsilon, attribute=attribute, variant=variant, max_depth=part, n_records=n
        )

    sound = {
        "DiPriMe sound": diprime("random", "sound"),
        "DiPriMeExp sound": diprime("exp", "sound"),
        "DiPriMeFlip sound": diprime("flip", "sound"),
        "PrivateTreeRegressor": lambda schema, _: PrivateTreeRegressor(schema, epsilon=epsilon),
        "PrivateForestRegressor": lambda schema, _: PrivateForestRegressor(schema, epsilon=epsilon, progress=False),
        "PrivateForestRegressor, delta 1e-6": lambda schema, _: PrivateForestRegressor(
            schema, epsilon=epsilon, delta=1e-6, progress=False
        ),
    }
    if name not in BINNED_DEPTHS:  # not in the paper's table, and trees with a child for each of 105 airports explode
        return sound
    printed = {
        "DP-RF": lambda schema, _: DPRFRegressor(
            schema, epsilon=epsilon, variant="published", max_depth=BINNED_DEPTHS[name]
        ),
        "DP-ERT": lambda schema, _: DPERTRegressor(schema, epsilon=epsilon, variant="published", max_depth=whole),
        "DiPriMe": diprime("random", "published"),
        "DiPriMeExp": diprime("exp", "published"),
        "DiPriMeFlip": diprime("flip", "published"),
    }
    median = {
        "Median": lambda schema, _: DiPriMeForestRegressor(
            schema, epsilon=1e9, attribute="exp", variant="published", max_depth=whole, partition=False
        )
    }
    return (median if epsilon == 10 else {}) | printed | sound


def load(name: str) -> tuple[Any, np.ndarray, Any]:
    """Features, targets within their range, and the schema."""
    data = shared_data.load(name)
    if name not in HELD_OUT:
        return data.X, np.clip(data.y.to_numpy(), *data.schema.target), data.schema
    column = HELD_OUT[name]
    features = dict(data.schema.features)
    scope = features.pop(column)
    return data.X.drop(columns=column), data.X[column].to_numpy(float), Schema(features, target=(scope.low, scope.high))


def run(name: str, method: str, epsilon: float, seed: int) -> dict[str, Any]:
    X, y, schema = load(name)
    low, high = schema.target
    order = np.random.default_rng(seed).permutation(len(y))
    n = len(order) * 9 // 10
    train, test = order[:n], order[n:]
    model = methods(name, epsilon)[method](schema, n).set_params(random_state=seed)
    model.fit(X.iloc[train], y[train])
    scale = high if low == 0 else high - low
    error = float(((model.predict(X.iloc[test]) - y[test]) ** 2).mean() / scale**2)
    constant = float(((y[train].mean() - y[test]) ** 2).mean() / scale**2)
    return {"set": name, "method": method, "epsilon": epsilon, "seed": seed, "mse": error, "constant": constant}


def published() -> dict[tuple[str, str], tuple[float, float]]:
    with open(shared_data.SHARED / "published" / "diprime_mse.toml", "rb") as file:
        rows = tomllib.load(file)["row"]
    return {(row["method"], row["dataset"]): (row["mse"] * row["scale"], row["error"] * row["scale"]) for row in rows}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """The tables, as Markdown: means with standard errors, in thousandths, and the number of splits."""
    for epsilon in sorted({r["epsilon"] for r in runs}, reverse=True):
        for sets in (DEPTHS, HELD_OUT):
            own = [r for r in runs if r["epsilon"] == epsilon and r["set"] in sets]
            if own:
                _table(own, [name for name in sets if any(r["set"] == name for r in own)], epsilon)


def _table(runs: list[dict[str, Any]], names: list[str], epsilon: float) -> None:
    printed = published() if epsilon == 10 else {}
    columns = [
        (name, known) for name in names for known in ((False, True) if ("DiPriMe", name) in printed else (False,))
    ]
    print(f"\nEpsilon {epsilon:g}{', held out' if names[0] in HELD_OUT else ''}, mean squared error x 1000:\n")
    _row("method", ["printed" if known else name for name, known in columns])
    _row("---", ["---"] * len(columns))
    for method in dict.fromkeys(method for name in names for method in methods(name, epsilon)):
        cells = []
        for name, known in columns:
            own = list(errors(runs, name, method).values())
            if known:
                cells.append(_cell(*printed[method, name]) if (method, name) in printed else "")
            elif own:
                spread = np.std(own, ddof=1) / math.sqrt(len(own)) if len(own) > 1 else math.nan
                cells.append(f"{_cell(float(np.mean(own)), spread)} ({len(own)})")
            else:
                cells.append("")
        _row(method, cells)
    constants = {name: np.mean([r["constant"] for r in runs if r["set"] == name]) for name in names}
    _row("the mean, not private", ["" if known else f"{1000 * constants[name]:.2f}" for name, known in columns])
    print()
    for theirs in SOUND:
        gains = {name: gain(runs, name, OURS, theirs) for name in names}
        known = {name: own for name, own in gains.items() if own is not None}
        if known:
            print(
                f"{OURS} below {theirs}: {', '.join(f'{name} {own:.1%}' for name, own in known.items())}; "
                f"on average {np.mean(list(known.values())):.1%}."
            )


def errors(runs: list[dict[str, Any]], name: str, method: str) -> dict[int, float]:
    """The error of each split, by seed."""
    return {r["seed"]: r["mse"] for r in runs if (r["set"], r["method"]) == (name, method)}


def gain(runs: list[dict[str, Any]], name: str, ours: str, theirs: str) -> float | None:
    """How much lower our error is, on the splits that both have."""
    one, other = errors(runs, name, ours), errors(runs, name, theirs)
    both = one.keys() & other.keys()
    return 1 - sum(one[seed] for seed in both) / sum(other[seed] for seed in both) if both else None


def _row(head: str, cells: list[str]) -> None:
    print(f"| {head} | {' | '.join(cells)} |")


def _cell(mean: float, error: float) -> str:
    return f"{1000 * mean:.2f}" + ("" if math.isnan(error) else f" ± {1000 * error:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=[*DEPTHS, *HELD_OUT])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="*", default=[10.0, 1.0])
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    if not shared_data.available():
        raise SystemExit(f"skipped: there are no shared data in {shared_data.SHARED}")
    asked.results.parent.mkdir(exist_ok=True)
    done = {(r["set"], r["method"], r["epsilon"], r["seed"]) for r in read(asked.results)}
    for seed in range(FIRST_SEED, FIRST_SEED + (0 if asked.show else asked.seeds)):
        for name in asked.sets:
            for epsilon in asked.epsilons:
                for method in asked.methods or methods(name, epsilon):
                    if (name, method, epsilon, seed) not in done:
                        with asked.results.open("a") as file:
                            file.write(json.dumps(run(name, method, epsilon, seed)) + "\n")
    show(read(asked.results))


if __name__ == "__main__":
    main()
