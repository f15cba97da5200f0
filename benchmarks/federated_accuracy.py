"""Trees between owners: the simulation of the report on federated histograms, its Figure 2, and Adult split five ways.

    make federated-accuracy                                  all of it, about half an hour of a core; it can be resumed
    python benchmarks/federated_accuracy.py --runs 5 adult   one part, fewer runs
    python benchmarks/federated_accuracy.py simulation --only n=250 depth=5
    python benchmarks/federated_accuracy.py --show           tables and plots of what has been run, into docs

Gaussian mixtures of five components for each of two classes, five owners (section 4.1.1 of the report). The public
range of every feature is -4 to 4, for all methods; the report's program takes it from the data. Every run is fresh
data, noise and split; runs are kept in ``--results``, a line of JSON each, run by run, so that a run that is stopped
has been fair to all settings. Owners are simulated without messages (``owners.py``), trees from histograms in the
simulation by a compiled copy of the algorithm (``compiled_histogram_tree.py``).

"saving, bounds 0" is Algorithm 6 with the printed noise on bounds that are all 0. The report's program computes them
so: it takes the least over thresholds of a function that is 0 at the smallest value. "Twice the records" is what that
program trains private trees on: it draws n for each class and set, where the report says n / 2.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import compiled_histogram_tree
from owners import Owners
from privet import HistogramTreeClassifier, Numeric, PrivateTreeClassifier, Schema, SplittingClass, TopDownClassifier
from privet.questions.grid import even_cuts, public_grid

RESULTS = Path(__file__).parent / "results" / "federated_accuracy.jsonl"
DOCS = Path(__file__).parents[1] / "docs"
OWNERS = 5
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
GRID = tuple(product((0.3, 0.9), (10, 25, 50), (250, 1000, 100), (5, 10)))
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


HISTOGRAMS = {
    "plain, published": {"saving": False, "sound": False},
    "saving, published": {"saving": True, "sound": False},
    "plain, sound": {"saving": False, "sound": True},
    "saving, sound": {"saving": True, "sound": True},
    "saving, stops on asked": {"saving": True, "sound": False, "stops_on_asked": True},
    "saving, bounds 0": {"saving": True, "sound": False, "stops_on_asked": True, "real_bounds": False},
    "plain, twice the records": {"saving": False, "sound": False},
    "saving, twice the records": {"saving": True, "sound": False},
}
"""Trees from histograms."""

READINGS = ("saving, stops on asked", "saving, bounds 0", "plain, twice the records", "saving, twice the records")
"""Readings of the report's Algorithm 6 that are not ours: at depth 5 alone."""

METHODS = [*HISTOGRAMS, "proposals"]
COLOURS = {
    "plain, published": "tab:red",
    "saving, published": "tab:orange",
    "saving, stops on asked": "tab:pink",
    "saving, bounds 0": "tab:gray",
    "plain, sound": "tab:brown",
    "saving, sound": "gold",
    "proposals": "tab:purple",
    "local": "tab:green",
    "central": "tab:blue",
}


def mixture(n: int, p: int, rho: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """n/2 records of each class; class 0 has its components' means at i/5, class 1 at -i/5, i from 1 to 5."""
    covariance = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    y = np.repeat([0, 1], n // 2)
    means = rng.integers(1, 6, n) / 5 * np.where(y == 0, 1, -1)
    X = rng.multivariate_normal(np.zeros(p), covariance, n, method="cholesky") + means[:, None]
    order = rng.permutation(n)
    return X[order], y[order]


def schema_of(p: int) -> Schema:
    return Schema({f"x{j}": Numeric(-4, 4) for j in range(p)}, classes=[0, 1])


def owners_of(X: Any, y: Any) -> list[tuple[Any, Any]]:
    parts = np.array_split(np.arange(len(y)), OWNERS)
    return [(X[part], y[part]) for part in parts]


def simulate(task: dict[str, Any]) -> list[dict[str, Any]]:
    """All methods on one data set."""
    from sklearn.tree import DecisionTreeClassifier

    rho, p, n, depth, run = (task[name] for name in ("rho", "p", "n", "depth", "run"))
    seed = [run, int(10 * rho), p, n, depth]
    rng = np.random.default_rng(seed)
    (X, y), (X_test, y_test) = mixture(n, p, rho, rng), mixture(n, p, rho, rng)
    tables, found = owners_of(X, y), []
    names, task = task["methods"], _without(task, "methods")
    for name, (rows, labels) in {"local": tables[0], "central": (X, y)}.items():
        if name in names:
            model = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=10, random_state=run).fit(rows, labels)
            found.append({**task, "method": name, "accuracy": float(model.score(X_test, y_test))})
    for name, epsilon in product(METHODS, EPSILONS):
        if name not in names:
            continue
        noise = np.random.SeedSequence([*seed, zlib.crc32(name.encode()), int(10 * epsilon)])
        if name in HISTOGRAMS:
            train = mixture(2 * n, p, rho, np.random.default_rng([*seed, 2])) if "twice" in name else (X, y)
            accuracy = histogram_tree(train, (X_test, y_test), epsilon, depth, noise, **HISTOGRAMS[name])
        else:
            model = PrivateTreeClassifier(epsilon=epsilon, max_depth=depth)
            accuracy = model.fit_curator(Owners(tables, schema_of(p), noise)).score(X_test, y_test)
        found.append({**task, "method": name, "epsilon": epsilon, "accuracy": float(accuracy)})
    return found


def histogram_tree(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    epsilon: float,
    max_depth: int,
    noise: np.random.SeedSequence,
    *,
    saving: bool,
    sound: bool,
    stops_on_asked: bool = False,
    real_bounds: bool = True,
    leaf_share: float = 0.5,
    bounds_share: float = 0.25,
) -> float:
    """The accuracy of a tree from histograms with the report's parameters, between five owners."""
    cuts = even_cuts(Numeric(-4, 4), 10)
    bins, test_bins = (np.searchsorted(cuts, X, side="left").astype(np.uint8) for X, _ in (train, test))
    owner = np.repeat(np.arange(OWNERS), [len(y) for _, y in owners_of(*train)])
    return compiled_histogram_tree.accuracy(
        bins, train[1], owner, OWNERS, test_bins, test[1], 10, epsilon, max_depth, saving, sound, stops_on_asked,
        real_bounds, 10.0, leaf_share, bounds_share, np.random.default_rng(noise),
    )  # fmt: skip


def shares(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Figure 2: 300 records, 10 features, depth 7, epsilon 5, by the shares of the budget."""
    run = task["run"]
    rng = np.random.default_rng([run, 2])
    (X, y), (X_test, y_test) = mixture(300, 10, 0.3, rng), mixture(300, 10, 0.3, rng)
    asked = [{"leaf_share": a, "saving": False} for a in SHARES]
    asked += [{"leaf_share": a, "bounds_share": b, "saving": True} for a, b in product(SHARES, SHARES)]
    found = []
    for variant, (i, params) in product(("published", "sound"), enumerate(asked)):
        noise = np.random.SeedSequence([run, 2, i, variant == "sound"])
        accuracy = histogram_tree((X, y), (X_test, y_test), 5.0, 7, noise, sound=variant == "sound", **params)
        found.append({**task, "variant": variant, **params, "accuracy": accuracy})
    return found


def wide_class(schema: Schema) -> SplittingClass:
    """More public questions: closer thresholds toward the ends of long ranges, and subsets of few values."""
    cuts = {cells.name: cells.cuts for cells in public_grid(schema).features}
    of: dict[str, Any] = {}
    for name, feature in schema.features.items():
        if isinstance(feature, Numeric):
            of[name] = [float(cut) for cut in cuts[name]] if feature.high - feature.low > 1000 else 32
        elif len(feature.values) <= 9:
            _, *others = feature.values
            of[name] = [list(group) for k in range(1, len(others) + 1) for group in combinations(others, k)]
    return SplittingClass(32, of=of)


def adult_models(schema: Schema, epsilon: float) -> dict[str, Any]:
    best_first = {"leaf_share": 0.1, "max_nodes": 31}
    slow_decay = {"budget": lambda depth: 0.3 * 0.7 ** (depth - 1), "splitting_class": wide_class(schema)}
    return {
        "PrivateTree, LocalRNM on masked sums (proposals)": PrivateTreeClassifier(epsilon=epsilon),
        "TopDown, LocalRNM": TopDownClassifier(epsilon=epsilon, split="local_rnm", splitting_class=32, **best_first),
        "TopDown, LocalRNM, wider class, slower decay": TopDownClassifier(
            epsilon=epsilon, split="local_rnm", **best_first, **slow_decay
        ),
        "TopDown, NoisyCounts": TopDownClassifier(epsilon=epsilon, split="noisy_counts", **best_first),
        "histograms": HistogramTreeClassifier(epsilon=epsilon),
        "histograms, saving": HistogramTreeClassifier(epsilon=epsilon, save_budget=True),
        "histograms, 3 levels, 20 bins, a tenth for leaves": HistogramTreeClassifier(
            epsilon=epsilon, max_depth=3, n_bins=20, leaf_share=0.1
        ),
    }


ADULT_EPSILONS = (1.0, 0.3, 0.1, 3.0)


def adult(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Adult split five ways, one fifth of it for the test; one owner may collude. The same test for all methods."""
    from privet.datasets import load_adult

    X, y, schema = load_adult()
    order = np.random.default_rng([task["run"], 3]).permutation(len(X))
    train, test = order[: -len(X) // 5], order[-len(X) // 5 :]
    tables = [(X.iloc[part], y.iloc[part]) for part in np.array_split(train, OWNERS)]
    epsilon, found = task["epsilon"], []

    def note(name: str, model: Any) -> None:
        found.append({**task, "method": name, "accuracy": float(model.score(X.iloc[test], y.iloc[test]))})

    note("central", PrivateTreeClassifier(schema, epsilon=epsilon).fit(X.iloc[train], y.iloc[train]))
    note("local", PrivateTreeClassifier(schema, epsilon=epsilon).fit(*tables[0]))
    for name, noise in product(adult_models(schema, epsilon), ("shared", "own")):
        seed = [task["run"], int(10 * epsilon), zlib.crc32(name.encode()), noise == "own"]
        owners = Owners(tables, schema, seed, colluders=1, noise=noise)
        model = adult_models(schema, epsilon)[name].fit_curator(owners)
        note(name if noise == "shared" else f"{name}, own noise", model)
    return found


PARTS = {"simulation": simulate, "shares": shares, "adult": adult}


def tasks(parts: list[str], runs: int, only: dict[str, float]) -> Iterator[dict[str, Any]]:
    for run in range(runs):
        if "adult" in parts:
            yield from ({"part": "adult", "run": run, "epsilon": epsilon} for epsilon in ADULT_EPSILONS)
        if "shares" in parts:
            yield {"part": "shares", "run": run}
        if "simulation" in parts:
            for rho, p, n, depth in GRID:
                setting = {"rho": rho, "p": p, "n": n, "depth": depth}
                if all(setting[name] == value for name, value in only.items()):
                    yield {"part": "simulation", "run": run, **setting}


KEYS = {"simulation": ("run", "rho", "p", "n", "depth"), "shares": ("run",), "adult": ("run", "epsilon")}


def key(task: dict[str, Any]) -> tuple[Any, ...]:
    return (task["part"], *(task[name] for name in KEYS[task["part"]]))


def missing(asked: Iterator[dict[str, Any]], methods: list[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks that are not done, each of the simulation's with the methods that it lacks."""
    done: dict[tuple[Any, ...], set[str]] = {}
    for row in rows:
        done.setdefault(key(row), set()).add(row.get("method", ""))
    todo = []
    for task in asked:
        if task["part"] != "simulation":
            todo += [task] if key(task) not in done else []
            continue
        known = [name for name in methods if task["depth"] == 5 or name not in READINGS]
        if left := [name for name in known if name not in done.get(key(task), ())]:
            todo.append({**task, "methods": left})
    return todo


def work(task: dict[str, Any]) -> list[dict[str, Any]]:
    return PARTS[task["part"]](task)


def read(path: Path) -> list[dict[str, Any]]:
    """What has been run, each result once."""
    lines = map(json.loads, path.read_text().splitlines() if path.exists() else [])
    rows = [{**_without(line, "found"), **row} for line in lines for row in line["found"]]
    return list({json.dumps(_without(row, "accuracy"), sort_keys=True): row for row in rows}.values())


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--methods", nargs="*", help=f"of the simulation: {'; '.join(METHODS)}; local; central")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--only", nargs="*", default=[], help="settings of the simulation, such as n=250 depth=5")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    if not options.show:
        os.nice(5)
        only = {name: float(value) for name, value in (setting.split("=") for setting in options.only)}
        asked = tasks(options.parts or list(PARTS), options.runs, only)
        todo = missing(asked, options.methods or [*METHODS, "local", "central"], read(options.results))
        options.results.parent.mkdir(exist_ok=True)
        with options.results.open("a") as file, ProcessPoolExecutor(options.jobs) as pool:
            for task, found in zip(todo, pool.map(work, todo) if options.jobs > 1 else map(work, todo)):
                known = _without(task, "methods")
                file.write(json.dumps({**known, "found": [_without(row, *known) for row in found]}) + "\n")
                file.flush()
    show(read(options.results))


# -- tables and plots ----------------------------------------------------------------------------------------------

PAGE = DOCS / "histogram_tree.md"


def show(rows: list[dict[str, Any]]) -> None:
    """Print the tables, put them into the page between their marks, and draw the plots."""
    by_part = {part: [row for row in rows if row["part"] == part] for part in PARTS}
    if own := by_part["simulation"]:
        write("simulation", simulation_table(own))
        write("readings", readings_table(own))
        write("ahead", ahead_table(own))
        for n in (100, 250, 1000):
            plot_simulation(own, n)
    if own := by_part["shares"]:
        write("shares", shares_table(own))
        plot_shares(own)
    if own := by_part["adult"]:
        write("adult", adult_table(own))
        plot_adult(own)


def write(name: str, table: list[str]) -> None:
    """Print a table and replace what the page has between ``<!-- name -->`` and ``<!-- /name -->``."""
    text = "\n".join(table)
    print(f"\n{text}")
    page = PAGE.read_text()
    before, found, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- /{name} -->")
    if found and end:
        PAGE.write_text(f"{before}{found}{text}\n{end}{after}")


class Means:
    """Mean accuracies with their standard errors, by what distinguishes rows."""

    def __init__(self, rows: list[dict[str, Any]], names: tuple[str, ...]) -> None:
        self._names = names
        self._values: dict[tuple[Any, ...], list[float]] = {}
        for row in rows:
            self._values.setdefault(tuple(row.get(name) for name in names), []).append(row["accuracy"])

    def at(self, **where: Any) -> tuple[float, float, int]:
        """Mean, standard error and number of runs; of a name that is left out, whatever its value."""
        values = [
            value
            for key, own in self._values.items()
            if all(where.get(name, found) == found for name, found in zip(self._names, key))
            for value in own
        ]
        if not values:
            return math.nan, math.nan, 0
        error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
        return float(np.mean(values)), error, len(values)

    def cell(self, **where: Any) -> str:
        value, error, _ = self.at(**where)
        return "" if math.isnan(value) else f"{value:.3f}" if math.isnan(error) else f"{value:.3f} ± {error:.3f}"


SETTING = ("rho", "p", "n", "depth")


def simulation_means(rows: list[dict[str, Any]]) -> Means:
    return Means(rows, (*SETTING, "method", "epsilon"))


def runs_of(rows: list[dict[str, Any]]) -> str:
    counts = Means([row for row in rows if row.get("method") == "local"], SETTING)
    each = [counts.at(**setting)[2] for setting in settings(rows)]
    return f"{min(each)}" if min(each) == max(each) else f"{min(each)} to {max(each)}"


def simulation_table(rows: list[dict[str, Any]]) -> list[str]:
    """Means over correlations and numbers of features."""
    means = simulation_means(rows)
    names = [name for name in [*METHODS, "local", "central"] if name not in READINGS]
    lines = [f"Means of 6 settings, {runs_of(rows)} runs of each:", "", _row(["records, depth", "epsilon", *names])]
    lines.append(_row(["---"] * (len(names) + 2)))
    for n, depth, epsilon in product((100, 250, 1000), (5, 10), EPSILONS):
        cells = [means.cell(n=n, depth=depth, method=name, **_at(name, epsilon)) for name in names]
        lines.append(_row([f"{n}, {depth}", f"{epsilon:g}", *cells]))
    return lines


def readings_table(rows: list[dict[str, Any]]) -> list[str]:
    means, names = simulation_means(rows), ["plain, published", "saving, published", *READINGS, "local"]
    lines = ["Depth 5, means of all 18 settings:", "", _row(["epsilon", *names]), _row(["---"] * (len(names) + 1))]
    for epsilon in EPSILONS:
        lines.append(
            _row([f"{epsilon:g}", *(means.cell(depth=5, method=name, **_at(name, epsilon)) for name in names)])
        )
    return lines


def ahead_table(rows: list[dict[str, Any]]) -> list[str]:
    means = simulation_means(rows)
    lines = ["In so many of the settings the first has the larger mean, by epsilon:", ""]
    lines += [_row(["first; second", *(f"{epsilon:g}" for epsilon in EPSILONS)]), _row(["---"] * (len(EPSILONS) + 1))]
    for first, second in (
        ("saving, published", "plain, published"),
        ("saving, published", "local"),
        ("plain, published", "local"),
        ("saving, sound", "plain, sound"),
        ("saving, sound", "local"),
        ("proposals", "saving, sound"),
        ("proposals", "local"),
    ):
        cells = []
        for epsilon in EPSILONS:
            pairs = [
                [means.at(method=name, **_at(name, epsilon), **setting)[0] for name in (first, second)]
                for setting in settings(rows)
            ]
            cells.append(f"{sum(a > b for a, b in pairs)} of {len(pairs)}")
        lines.append(_row([f"{first}; {second}", *cells]))
    return lines


def _at(name: str, epsilon: float) -> dict[str, float]:
    return {"epsilon": epsilon} if name in METHODS else {}


def settings(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [dict(zip(SETTING, found)) for found in sorted({tuple(row[name] for name in SETTING) for row in rows})]


def shares_table(rows: list[dict[str, Any]]) -> list[str]:
    means = Means(rows, ("variant", "leaf_share", "bounds_share"))
    lines = [f"{len({row['run'] for row in rows})} runs, by the leaves' share:", ""]
    lines += [_row(["variant, bounds' share", *(f"leaves {a:g}" for a in SHARES)]), _row(["---"] * (len(SHARES) + 1))]
    for variant, bounds in product(("published", "sound"), (None, *SHARES)):
        what = "no saving" if bounds is None else f"{bounds:g}"
        cells = [means.cell(variant=variant, leaf_share=a, bounds_share=bounds) for a in SHARES]
        lines.append(_row([f"{variant}, {what}", *cells]))
    return lines


def adult_table(rows: list[dict[str, Any]]) -> list[str]:
    """Accuracies, and how far below the central tree of the same run."""
    means, epsilons = Means(rows, ("method", "epsilon")), sorted({row["epsilon"] for row in rows})
    central = {row["run"]: row["accuracy"] for row in rows if row["method"] == "central" and row["epsilon"] == 1}
    runs = ", ".join(f"{means.at(method='central', epsilon=epsilon)[2]} at {epsilon:g}" for epsilon in epsilons)
    lines = [f"Runs by epsilon: {runs}.", ""]
    lines += [_row(["method", *(f"{epsilon:g}" for epsilon in epsilons), "points below central at 1"])]
    lines += [_row(["---"] * (len(epsilons) + 2))]
    for name in dict.fromkeys(row["method"] for row in rows):
        below = [
            100 * (central[row["run"]] - row["accuracy"])
            for row in rows
            if row["method"] == name and row["epsilon"] == 1
        ]
        error = np.std(below, ddof=1) / math.sqrt(len(below)) if len(below) > 1 else math.nan
        cells = [means.cell(method=name, epsilon=epsilon) for epsilon in epsilons]
        lines.append(_row([name, *cells, f"{np.mean(below):.2f} ± {error:.2f}"]))
    return lines


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def plot_simulation(rows: list[dict[str, Any]], n: int) -> None:
    import matplotlib.pyplot as plt

    own = [row for row in rows if row["n"] == n]
    if not own:
        return
    means, columns = simulation_means(own), sorted({(row["depth"], row["p"]) for row in own})
    figure, axes = plt.subplots(
        2, len(columns), figsize=(3.2 * len(columns), 7), sharex=True, sharey="row", squeeze=False
    )
    for (i, rho), (j, (depth, p)) in product(enumerate((0.9, 0.3)), enumerate(columns)):
        axis, setting = axes[i, j], {"rho": rho, "p": p, "depth": depth}
        for name in METHODS:
            if name in READINGS:
                continue
            values, errors = zip(*(means.at(method=name, epsilon=epsilon, **setting)[:2] for epsilon in EPSILONS))
            axis.errorbar(EPSILONS, values, errors, color=COLOURS[name], marker="o", markersize=3, label=name)
        for name in ("local", "central"):
            axis.axhline(means.at(method=name, **setting)[0], color=COLOURS[name], linestyle="--", label=name)
        axis.set_title(f"correlation {rho:g}, {p} features, depth {depth}", fontsize=9)
        axis.set_xscale("log")
        axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axis.minorticks_off()
    for axis in axes[1]:
        axis.set_xlabel("epsilon, as claimed")
    for axis in axes[:, 0]:
        axis.set_ylabel("test accuracy")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncol=4, loc="lower center")
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(DOCS / f"federated_accuracy_{n}.png", dpi=80)
    plt.close(figure)


def plot_shares(rows: list[dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    means = Means(rows, ("variant", "leaf_share", "bounds_share"))
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.2))
    for variant, colour in (("published", "tab:red"), ("sound", "tab:brown")):
        values, errors = zip(*(means.at(variant=variant, leaf_share=a, bounds_share=None)[:2] for a in SHARES))
        axes[0].errorbar(SHARES, values, errors, color=colour, marker="o", label=variant)
    axes[0].set_title("without saving")
    axes[0].set_xlabel("leaves' share")
    axes[0].set_ylabel("test accuracy")
    axes[0].legend()
    maps = {
        variant: [[means.at(variant=variant, leaf_share=a, bounds_share=b)[0] for a in SHARES] for b in SHARES]
        for variant in ("published", "sound")
    }
    low, high = np.nanmin(list(maps.values())), np.nanmax(list(maps.values()))
    for axis, (variant, values) in zip(axes[1:], maps.items()):
        image = axis.imshow(values, origin="lower", vmin=low, vmax=high, cmap="viridis")
        axis.set_xticks(range(len(SHARES)), SHARES)
        axis.set_yticks(range(len(SHARES)), SHARES)
        axis.set_xlabel("leaves' share")
        axis.set_ylabel("bounds' share")
        axis.set_title(f"with saving, {variant}")
        figure.colorbar(image, ax=axis)
    figure.tight_layout()
    figure.savefig(DOCS / "federated_shares.png", dpi=80)
    plt.close(figure)


def plot_adult(rows: list[dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    means, epsilons = Means(rows, ("method", "epsilon")), sorted({row["epsilon"] for row in rows})
    figure, axis = plt.subplots(figsize=(9, 5.5))
    for i, name in enumerate(dict.fromkeys(row["method"] for row in rows if "own noise" not in row["method"])):
        values, errors = zip(*(means.at(method=name, epsilon=epsilon)[:2] for epsilon in epsilons))
        plain = name in ("central", "local")
        colour = "black" if name == "central" else "gray" if name == "local" else f"C{i - 2}"
        axis.errorbar(
            epsilons, values, errors, marker="o", markersize=4, capsize=2, label=name, color=colour,
            linestyle="--" if plain else "-",
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axis.minorticks_off()
    axis.set_xlabel("epsilon")
    axis.set_ylabel("test accuracy")
    axis.set_title("Adult between five owners, one of whom may collude")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(DOCS / "federated_adult.png", dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    main()
