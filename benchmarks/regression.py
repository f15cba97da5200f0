"""DiPriMe's Table 1 and our regressors on the shared regression sets.

    make regression                                       all of it: hours on two cores
    python benchmarks/regression.py --seeds 5 parkinsons  one set, fewer splits
    python benchmarks/regression.py --show                the tables of what has been run

Every run is a fresh 90/10 split; errors are means of squared errors on the test part, with targets divided by DiPriMe's
maximum (the width of the range for flights). Runs are kept in ``--results``, a line of JSON each, so that a run can
be stopped and taken up again. Noise is seeded for that; a seed changes no law.
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

RESULTS = Path(__file__).parent / "results" / "regression.jsonl"
ROWS = {"flights_nyc13": 60_000}
"""Sets that are cut to so many rows, drawn anew for each split."""

DEPTHS = {"parkinsons": (4, 7), "appliances_energy": (6, 9), "flights_nyc13": (7, 10)}
"""The printed depths: of trees on a tenth of the records, and of trees on all of them."""

BINNED_DEPTHS = {"parkinsons": 3, "appliances_energy": 4, "flights_nyc13": 4}


def methods(name: str) -> dict[str, Callable[[Any, float], Any]]:
    """Every method of the tables, made from a schema and an epsilon; the printed names for what is as published."""
    from privet import DiPriMeForestRegressor, PrivateForestRegressor, PrivateTreeRegressor
    from privet.algorithms.baselines import DPERTRegressor, DPRFRegressor

    part, whole = DEPTHS[name]

    def diprime(attribute: str, variant: str) -> Callable[[Any, float], Any]:
        return lambda schema, epsilon: DiPriMeForestRegressor(
            schema, epsilon=epsilon, attribute=attribute, variant=variant, max_depth=part
        )

    return {
        "Median": lambda schema, _: DiPriMeForestRegressor(
            schema, epsilon=1e9, attribute="exp", variant="published", max_depth=whole, partition=False
        ),
        "DP-RF": lambda schema, epsilon: DPRFRegressor(
            schema, epsilon=epsilon, variant="published", max_depth=BINNED_DEPTHS[name]
        ),
        "DP-ERT": lambda schema, epsilon: DPERTRegressor(schema, epsilon=epsilon, variant="published", max_depth=whole),
        "DiPriMe": diprime("random", "published"),
        "DiPriMeExp": diprime("exp", "published"),
        "DiPriMeFlip": diprime("flip", "published"),
        "DiPriMe sound": diprime("random", "sound"),
        "DiPriMeExp sound": diprime("exp", "sound"),
        "DiPriMeFlip sound": diprime("flip", "sound"),
        "PrivateTreeRegressor": lambda schema, epsilon: PrivateTreeRegressor(schema, epsilon=epsilon),
        "PrivateForestRegressor": lambda schema, epsilon: PrivateForestRegressor(schema, epsilon=epsilon),
    }


def run(name: str, method: str, epsilon: float, seed: int) -> dict[str, Any]:
    data = shared_data.load(name)
    low, high = data.schema.target
    order = np.random.default_rng(seed).permutation(len(data.y))[: ROWS.get(name)]
    n = len(order) * 9 // 10
    train, test = order[:n], order[n:]
    y = np.clip(data.y.to_numpy(), low, high)
    model = methods(name)[method](data.schema, epsilon).set_params(random_state=seed)
    model.fit(data.X.iloc[train], y[train])
    scale = high if low == 0 else high - low
    error = float(((model.predict(data.X.iloc[test]) - y[test]) ** 2).mean() / scale**2)
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
    names = [name for name in DEPTHS if any(r["set"] == name for r in runs)]
    printed = published()
    for epsilon in sorted({r["epsilon"] for r in runs}, reverse=True):
        print(f"\nEpsilon {epsilon:g}, mean squared error x 1000:\n")
        print("| method |" + "".join(f" {name} | printed |" for name in names))
        print("|---|" + "---|---|" * len(names))
        for method in methods(names[0]):
            cells = []
            for name in names:
                own = [r["mse"] for r in runs if (r["set"], r["method"], r["epsilon"]) == (name, method, epsilon)]
                error = np.std(own, ddof=1) / math.sqrt(len(own)) if len(own) > 1 else math.nan
                cells.append(f"{_cell(np.mean(own), error)} ({len(own)})" if len(own) > 1 else "")
                cells.append(_cell(*printed[method, name]) if (method, name) in printed and epsilon == 10 else "")
            if any(cells):
                print(f"| {method} | " + " | ".join(cells) + " |")
        constants = [np.mean([r["constant"] for r in runs if r["set"] == name]) for name in names]
        print("| the mean, not private | " + " | ".join(f"{1000 * c:.2f} | " for c in constants) + "|")
        gains = [gain(runs, name, epsilon) for name in names]
        print(
            f"\nPrivateTreeRegressor below DiPriMe sound, on the splits that both have: "
            f"{', '.join(f'{name} {own:.1%}' for name, own in zip(names, gains))}; on average {np.mean(gains):.1%}."
        )


def gain(runs: list[dict[str, Any]], name: str, epsilon: float) -> float:
    """How much lower our tree's error is than that of DiPriMe, sound, with a random attribute."""
    ours, theirs = (
        {r["seed"]: r["mse"] for r in runs if (r["set"], r["method"], r["epsilon"]) == (name, method, epsilon)}
        for method in ("PrivateTreeRegressor", "DiPriMe sound")
    )
    both = ours.keys() & theirs.keys()
    return 1 - sum(ours[seed] for seed in both) / sum(theirs[seed] for seed in both) if both else math.nan


def _cell(mean: float, error: float) -> str:
    return f"{1000 * mean:.2f} ± {1000 * error:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(DEPTHS))
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
    for seed in range(0 if asked.show else asked.seeds):
        for name in asked.sets:
            for epsilon in asked.epsilons:
                for method in asked.methods or methods(name):
                    if (name, method, epsilon, seed) in done or (method == "Median" and epsilon != 10):
                        continue
                    with asked.results.open("a") as file:
                        file.write(json.dumps(run(name, method, epsilon, seed)) + "\n")
    show(read(asked.results))


if __name__ == "__main__":
    main()
