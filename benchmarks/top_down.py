"""DP-TopDown's Figures 1 to 3 with the sound variant: accuracy against leaf share, epsilon, and the share of the data.

    make top-down                                     the figures and docs/top_down.csv (half an hour on two cores)
    python benchmarks/top_down.py --seeds 2 --sets adult --output /tmp/top_down
    python benchmarks/top_down.py --draw              only the figures and tables, from docs/top_down.csv

As in the paper: at most 512 splits, error 0.1, minimum gain 0.01; 10 evenly spaced thresholds (skin 32; MNIST 3 on the
means of 4 x 4 blocks), categories one-hot; a fixed test set of a tenth (MNIST: its own). Unlike it: Gini, and records
counted privately. The line without privacy is the same algorithm with an epsilon of 10^12. An accuracy is
the mean over seeds, its error the standard error; a seed is noise and, where only a share of the data is used, the
choice of records. Noise is seeded, so that the figures can be made again: the law is the same.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # one process for each core

import numpy as np

from privet import Numeric, Schema, TopDownClassifier
from privet.tables.table import read_table
from shared_data import SHARED, available, load

SETS = {"adult": 10, "bank_full": 10, "skin": 32, "kddcup99_10pct": 10, "mnist": 3}
"""The data sets, with how many thresholds a feature has."""

EPSILONS = tuple(2.0**k for k in range(-3, 10))
NOT_PRIVATE = 1e12
SHARES = (0.01, 0.1)
LEAF_SHARES = (0.0001, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
FEW = (0.125, 1.0, 8.0, 64.0, 512.0)
DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Setting:
    """What one accuracy is about."""

    name: str
    epsilon: float
    budget: str = "decay"
    leaf_share: float = 0.5
    data_share: float = 1.0
    variant: str = "sound"


def settings(names: list[str]) -> list[Setting]:
    """Everything that is drawn, each once: first what matters most."""
    wanted = [Setting(name, epsilon) for name in names for epsilon in (*EPSILONS, NOT_PRIVATE)]
    for epsilon in (1.0, 8.0, 0.125):
        for name in names:
            wanted += [Setting(name, epsilon, "decay", share) for share in LEAF_SHARES]
            wanted += [Setting(name, epsilon, "uniform", share) for share in (0.1, 0.5, 0.9)]
    for name in names:
        for share in SHARES:
            wanted += [Setting(name, epsilon, data_share=share) for epsilon in (*EPSILONS[::2], NOT_PRIVATE)]
    for name in ("adult", "bank_full"):
        wanted += [Setting(name, epsilon, variant="published") for epsilon in FEW if name in names]
    return list(dict.fromkeys(wanted))


# -- data ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=5)
def tables(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray, Schema]:
    """Training and test tables, and the schema."""
    if name == "mnist":
        return mnist()
    data = load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    test, train = np.split(order, [len(order) // 10])
    y = data.y.to_numpy()
    return data.X.iloc[train], y[train], data.X.iloc[test], y[test], data.schema


def mnist() -> tuple[Any, np.ndarray, Any, np.ndarray, Schema]:
    """The means of 4 x 4 blocks: derived features, computed once by the library and then kept as plain ones."""
    import pandas

    held = np.load(SHARED / "data" / "mnist.npz")
    derived, names = mnist_schema(), [f"p{i}" for i in range(784)]

    def blocks(pixels: np.ndarray) -> Any:
        table = read_table(pandas.DataFrame(pixels, columns=names), derived)
        return pandas.DataFrame({name: table.numeric(name) for name in derived.names})

    plain = Schema({name: Numeric(0, 255) for name in derived.names}, classes=derived.classes)
    return blocks(held["X_train"]), held["y_train"], blocks(held["X_test"]), held["y_test"], plain


def mnist_schema() -> Schema:
    """49 blocks of the 28 x 28 pixels p0, p1, ..., row by row."""
    blocks = {
        f"block_{row}_{column}": Numeric(
            0, 255, mean_of=[f"p{28 * (4 * row + i) + 4 * column + j}" for i in range(4) for j in range(4)]
        )
        for row in range(7)
        for column in range(7)
    }
    return Schema(blocks, classes=range(10))


# -- runs ---------------------------------------------------------------------------------------------------------


def accuracies(setting: Setting, seeds: int) -> list[float]:
    X, y, X_test, y_test, schema = tables(setting.name)
    found = []
    for seed in range(seeds if setting.epsilon < NOT_PRIVATE or setting.data_share < 1 else 1):
        rows: Any = slice(None)
        if setting.data_share < 1:
            rows = np.random.default_rng(seed).permutation(len(y))[: round(setting.data_share * len(y))]
        model = TopDownClassifier(
            schema,
            epsilon=setting.epsilon,
            budget=setting.budget,
            leaf_share=setting.leaf_share,
            variant=setting.variant,
            splitting_class=SETS[setting.name],
            random_state=seed,
        )
        found.append(float((model.fit(X.iloc[rows], y[rows]).predict(X_test) == y_test).mean()))
    return found


def measure(wanted: list[Setting], seeds: int) -> Iterator[tuple[Setting, list[float]]]:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(accuracies, setting, seeds): setting for setting in wanted}
        for done, job in enumerate(as_completed(jobs), 1):
            yield jobs[job], job.result()
            print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


Results = dict[Setting, tuple[float, float]]


def write(path: Path, found: Iterator[tuple[Setting, list[float]]], mode: str) -> None:
    """One line for each setting, as it comes: mean, standard error, number of seeds."""
    with path.open(mode, newline="") as file:
        out = csv.writer(file)
        if mode == "w":
            out.writerow([*(field.name for field in fields(Setting)), "accuracy", "error", "seeds"])
        for setting, runs in found:
            error = np.std(runs, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else 0.0
            out.writerow([*asdict(setting).values(), f"{np.mean(runs):.5f}", f"{error:.5f}", len(runs)])
            file.flush()


def read(path: Path) -> Results:
    with path.open(newline="") as file:
        return {
            Setting(
                row["name"],
                float(row["epsilon"]),
                row["budget"],
                float(row["leaf_share"]),
                float(row["data_share"]),
                row["variant"],
            ): (float(row["accuracy"]), float(row["error"]))
            for row in csv.DictReader(file)
        }


# -- figures and tables -------------------------------------------------------------------------------------------


def panels(names: list[str]) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(names), figsize=(3.2 * len(names), 3.2), squeeze=False, layout="constrained")
    for axis, name in zip(axes[0], names):
        axis.set_title(name)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("test accuracy")
    return figure, axes[0]


def curve(axis: Any, results: Results, points: dict[float, Setting], **style: Any) -> None:
    known = {x: results[setting] for x, setting in points.items() if setting in results}
    if not known:
        return
    x = list(known)
    mean, error = (np.array([value[i] for value in known.values()]) for i in (0, 1))
    (line,) = axis.plot(x, mean, marker="o", markersize=3, linewidth=1.2, **style)
    axis.fill_between(x, mean - error, mean + error, color=line.get_color(), alpha=0.25, linewidth=0)


def draw(results: Results, prefix: str) -> None:
    names = [name for name in SETS if any(setting.name == name for setting in results)]
    colours = {0.125: "tab:blue", 1.0: "tab:orange", 8.0: "tab:green"}
    figure, axes = panels(names)
    for axis, name in zip(axes, names):
        for epsilon, colour in colours.items():
            for budget, dashes in (("decay", "-"), ("uniform", ":")):
                points = {share: Setting(name, epsilon, budget, share) for share in LEAF_SHARES}
                curve(axis, results, points, color=colour, linestyle=dashes, label=f"{budget}, epsilon {epsilon:g}")
        axis.set_xscale("logit")
        axis.minorticks_off()
        axis.set_xticks([0.001, 0.01, 0.1, 0.5, 0.9, 0.99], ["0.001", "0.01", "0.1", "0.5", "0.9", "0.99"], fontsize=7)
        axis.set_xlabel("share of the budget for leaves")
    axes[0].legend(fontsize=6)
    figure.savefig(f"{prefix}_leaf_share.png", dpi=130)

    figure, axes = panels(names)
    for axis, name in zip(axes, names):
        curve(axis, results, {e: Setting(name, e) for e in EPSILONS}, color="tab:blue", label="sound")
        published = {e: Setting(name, e, variant="published") for e in EPSILONS}
        if any(setting in results for setting in published.values()):
            curve(axis, results, published, color="tab:gray", linestyle="--", label="published (not private)")
        exact = results.get(Setting(name, NOT_PRIVATE))
        if exact is not None:
            axis.axhline(exact[0], color="black", linewidth=1, label="without noise")
        axis.set_xscale("log", base=2)
        axis.set_xlabel("epsilon")
    axes[0].legend(fontsize=7)
    figure.savefig(f"{prefix}_epsilon.png", dpi=130)

    figure, axes = panels(names)
    for axis, name in zip(axes, names):
        for share, colour in zip((*SHARES, 1.0), ("tab:red", "tab:orange", "tab:blue")):
            points = {e: Setting(name, e, data_share=share) for e in EPSILONS}
            curve(axis, results, points, color=colour, linestyle=":", label=f"{share:g} of the records")
            exact = results.get(Setting(name, NOT_PRIVATE, data_share=share))
            if exact is not None:
                axis.axhline(exact[0], color=colour, linewidth=1)
        axis.set_xscale("log", base=2)
        axis.set_xlabel("epsilon")
    axes[0].legend(fontsize=7)
    figure.savefig(f"{prefix}_data_share.png", dpi=130)


def print_tables(results: Results) -> None:
    """What the figures show, in numbers."""
    by_set: dict[str, list[Setting]] = defaultdict(list)
    for setting in results:
        by_set[setting.name].append(setting)
    names = [name for name in SETS if name in by_set]

    def cell(setting: Setting) -> str:
        if setting not in results:
            return ""
        mean, error = results[setting]
        return f"{mean:.3f} ± {error:.3f}" if error else f"{mean:.3f}"

    print("| data set | " + " | ".join(f"epsilon {e:g}" for e in FEW) + " | without noise |")
    print("|---|" + "---|" * (len(FEW) + 1))
    for name in names:
        print(f"| {name} | " + " | ".join(cell(Setting(name, e)) for e in (*FEW, NOT_PRIVATE)) + " |")
        if Setting(name, 1.0, variant="published") in results:
            row = " | ".join(cell(Setting(name, e, variant="published")) for e in FEW)
            print(f"| {name}, published | {row} | |")
    print("\n| data set | uniform, 1 | decay, 1 | uniform, 8 | decay, 8 | decay, 1: first, best and last leaf share |")
    print("|---|" + "---|" * 5)
    for name in names:
        pairs = [cell(Setting(name, e, budget)) for e in (1.0, 8.0) for budget in ("uniform", "decay")]
        best = max(LEAF_SHARES, key=lambda share: results.get(Setting(name, 1.0, "decay", share), (0.0, 0.0))[0])
        at = ", ".join(
            f"{s:g}: {cell(Setting(name, 1.0, 'decay', s))}" for s in (LEAF_SHARES[0], best, LEAF_SHARES[-1])
        )
        print(f"| {name} | " + " | ".join(pairs) + f" | {at} |")
    print("\n| data set, epsilon | " + " | ".join(f"{share:g} of the records" for share in (*SHARES, 1.0)) + " |")
    print("|---|" + "---|" * (len(SHARES) + 1))
    for name in names:
        for e in (0.5, 8.0):
            print(
                f"| {name}, {e:g} | " + " | ".join(cell(Setting(name, e, data_share=s)) for s in (*SHARES, 1.0)) + " |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS))
    parser.add_argument("--resume", action="store_true", help="keep the numbers that are there, and measure the others")
    parser.add_argument("--draw", action="store_true", help="draw from the numbers that are there")
    parser.add_argument("--output", type=Path, default=DOCS / "top_down", help="prefix of the files that are written")
    args = parser.parse_args()
    numbers = Path(f"{args.output}.csv")
    if not args.draw:
        if not available():
            sys.exit("The shared data sets are not here: put them in ../shared or set PRIVET_SHARED.")
        known = read(numbers) if args.resume and numbers.exists() else {}
        wanted = [setting for setting in settings(args.sets) if setting not in known]
        write(numbers, measure(wanted, args.seeds), "a" if known else "w")
    results = read(numbers)
    draw(results, str(args.output))
    print_tables(results)


if __name__ == "__main__":
    main()
