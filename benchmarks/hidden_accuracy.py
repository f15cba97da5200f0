"""Figures 2, 3, 4 and 6 of paper 003 on the shared data: accuracy and AUC of hidden trees and forests against epsilon.

    make hidden-accuracy                                 all of it; it can be stopped and taken up again
    python benchmarks/hidden_accuracy.py --sets titanic  one set
    python benchmarks/hidden_accuracy.py --show          the page and the figure of what has been run

Five 80/20 splits, some seeds of noise on each. Trees grow in the open, which for the same coins gives the tree that the
servers would open (tests/tree/test_hidden_tree.py); so this takes minutes. AUC is that of predicted labels: all
that a hidden tree gives away. Runs are kept in ``benchmarks/results/hidden_accuracy.jsonl``, a line for each point.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from privet import Categorical, HiddenForestClassifier, HiddenTreeClassifier, Schema
from privet.algorithms.baselines.mpc_id3 import MPCID3Classifier, PMPCID3Classifier
from shared_data import available, load

RESULTS = Path(__file__).parent / "results" / "hidden_accuracy.jsonl"
DOCS = Path(__file__).parents[1] / "docs"
SPLITS = 5


class Figure(NamedTuple):
    """The depth, the values of an attribute and the epsilons of Figure 2; the epsilon of Figure 3; seeds a split."""

    depth: int
    n_values: int
    epsilons: tuple[float, ...]
    at: float
    seeds: int


SETS = {
    "titanic": Figure(4, 5, (0.2, 0.5, 1.0, 1.5, 2.0), 0.2, 8),
    "heart_cleveland": Figure(3, 5, (0.2, 0.5, 1.0, 1.5, 2.0), 0.2, 8),
    "adult": Figure(5, 7, (0.005, 0.02, 0.1, 0.5, 1.0), 0.1, 2),
}

NO_NOISE, PUBLISHED, CDP = "no noise (MPC-ID3)", "published, true epsilon infinite", "CDP+PMPC"
VALUES, RANDOM = "sound, values", "sound, random structure"
THRESHOLDS, EQUALLY_DEEP = "sound, thresholds, twice as deep", "sound, thresholds"
SOUND = (VALUES, THRESHOLDS)
EXPONENTIAL = ", exponential"
FOREST_PUBLISHED, FOREST_EXTRA = "forest, published, true epsilon infinite", "forest, extra trees"
FOREST_VALUES, FOREST_THRESHOLDS = "forest, sound, values", "forest, sound, thresholds, twice as deep"
FOREST_SIZES = (1, 3, 10)
FORESTS = (FOREST_PUBLISHED, FOREST_EXTRA, FOREST_VALUES, FOREST_THRESHOLDS)

GROUPS = {
    "education": (
        ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"),
        ("HS-grad",),
        ("Some-college",),
        ("Assoc-acdm", "Assoc-voc"),
        ("Bachelors",),
        ("Masters",),
        ("Doctorate", "Prof-school"),
    ),
    "occupation": (
        ("Exec-managerial",),
        ("Prof-specialty",),
        ("Adm-clerical", "Tech-support"),
        ("Sales",),
        ("Craft-repair", "Transport-moving", "Machine-op-inspct"),
        ("Handlers-cleaners", "Farming-fishing", "Other-service", "Priv-house-serv"),
        ("Armed-Forces", "Protective-serv"),
    ),
}
"""Adult's categories that belong together by what the words mean; countries stay in the schema's order."""


class Point(NamedTuple):
    name: str
    method: str
    epsilon: float
    depth: int
    n_trees: int = 1


def model_of(point: Point, schema: Schema, n_records: int, seed: int) -> Any:
    method, e = point.method, point.epsilon
    # Two levels of thresholds have fewer leaves than one level of five values or seven.
    depth = 2 * point.depth if method in (THRESHOLDS, FOREST_THRESHOLDS) else point.depth
    shape: dict[str, Any] = {"max_depth": depth, "n_values": SETS[point.name].n_values}
    if method == NO_NOISE:
        return MPCID3Classifier(schema, **shape)
    noise = {"epsilon": e, "random_state": seed, **shape}
    if method in (CDP, CDP + EXPONENTIAL):
        leaves = "laplace" if method == CDP else "exponential"
        return PMPCID3Classifier(schema, variant="published", leaves=leaves, **noise)
    if method in (PUBLISHED, PUBLISHED + EXPONENTIAL):
        labels = "report_noisy_max" if method == PUBLISHED else "exponential"
        return HiddenTreeClassifier(schema, variant="published", labels=labels, **noise)
    if method in FORESTS:
        kind: dict[str, dict[str, Any]] = {
            FOREST_PUBLISHED: {"variant": "published", "labels": "report_noisy_max"},
            FOREST_EXTRA: {"structure": "random", "labels": "report_noisy_max"},
            FOREST_VALUES: {"n_records": n_records, "branches": "values"},
            FOREST_THRESHOLDS: {"n_records": n_records, "branches": "thresholds"},
        }
        return HiddenForestClassifier(schema, n_trees=point.n_trees, **kind[method], **noise)
    sound: dict[str, dict[str, Any]] = {
        VALUES: {"branches": "values"},
        THRESHOLDS: {"branches": "thresholds"},
        EQUALLY_DEEP: {"branches": "thresholds"},
        RANDOM: {"structure": "random"},
    }
    return HiddenTreeClassifier(schema, n_records=n_records, **sound[method], **noise)


def points(name: str) -> Iterator[Point]:
    """What Figures 2, 4, 3 and 6 show of one set, in the order in which they are run."""
    own = SETS[name]
    yield Point(name, NO_NOISE, own.epsilons[0], own.depth)
    for epsilon in own.epsilons:
        for method in (CDP, *SOUND, PUBLISHED, RANDOM, CDP + EXPONENTIAL, PUBLISHED + EXPONENTIAL):
            yield Point(name, method, epsilon, own.depth)
    for depth in (2, 3, 4, 5):
        for method in (CDP, *SOUND, EQUALLY_DEEP, PUBLISHED):
            yield Point(name, method, own.at, depth)
    for epsilon in own.epsilons[::2]:
        for n_trees in FOREST_SIZES:
            for depth in (2, 3, 5) if name != "adult" else (2, 3):
                for method in FORESTS:
                    yield Point(name, method, epsilon, depth, n_trees)


@cache
def table(name: str) -> tuple[Any, Any, Schema]:
    """As in the paper: 13 attributes of adult (the sampling weight says nothing about a person), listed values only."""
    data = load(name)
    features = {}
    for field, own in data.schema.features.items():
        if isinstance(own, Categorical):
            own = Categorical(own.values, other=False, groups=GROUPS.get(field, ()))
        if field != "fnlwgt":
            features[field] = own
    schema = Schema(features, classes=data.schema.classes, label=data.schema.label)
    return data.X[list(schema.names)], data.y, schema


def _seeds(point: Point) -> int:
    """Seeds of noise on each split: more where a tree is grown quickly, or where noise is most of what is seen."""
    if point.method == NO_NOISE:
        return 1
    if point.method == CDP and point.epsilon == SETS[point.name].epsilons[0]:
        return 8
    if point.method in FORESTS:
        return 2
    return 10 if point.method.startswith("sound") else SETS[point.name].seeds


def run(point: Point) -> np.ndarray:
    """Accuracy and AUC, (splits, seeds, 2)."""
    X, y, schema = table(point.name)
    positive = (schema.classes or ())[1]
    seeds = _seeds(point)
    found = np.empty((SPLITS, seeds, 2))
    for split in range(SPLITS):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=split, stratify=y)
        for seed in range(seeds):
            model = model_of(point, schema, len(train), 1000 * split + seed).fit(train, y_train)
            predicted = model.predict(test)
            auc = roc_auc_score(y_test == positive, predicted == positive)
            found[split, seed] = np.mean(predicted == y_test), auc
    return found


def kept() -> dict[Point, np.ndarray]:
    if not RESULTS.exists():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {Point(*row["point"]): np.array(row["scores"]) for row in rows}


def main(names: list[str], methods: list[str]) -> None:
    warnings.filterwarnings("ignore")
    done = kept()
    for name in names:
        for point in points(name):
            if point in done or not any(word in point.method for word in methods):
                continue
            found = done[point] = run(point)
            with RESULTS.open("a") as file:
                file.write(json.dumps({"point": point, "scores": found.round(5).tolist()}) + "\n")
            trees = f"{point.n_trees} trees, " if point.method in FORESTS else ""
            print(f"{name:16} depth {point.depth}, {trees}epsilon {point.epsilon:<6g} {point.method:34} "
                  f"accuracy {_mean(found[..., 0])}, AUC {_mean(found[..., 1])}", flush=True)  # fmt: skip


# -- what is shown ---------------------------------------------------------------------------------------------------


def _mean(scores: np.ndarray) -> str:
    """The mean and its standard error over all runs."""
    return f"{scores.mean():.3f} ± {scores.std(ddof=1) / np.sqrt(scores.size):.3f}".replace("0.", ".")


def lead(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """By how much one method is ahead of another, and the standard error of that: both are measured on the same five
    splits, so that is the spread of the five differences."""
    each = one.mean(axis=1) - other.mean(axis=1)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


INTRODUCTION = """# Hidden trees: accuracy and AUC against epsilon

Made by `make hidden-accuracy`; [hidden.md](hidden.md) says what it shows. Five 80/20 splits, several seeds of noise on
each, means ± standard errors over all runs; AUC is that of predicted labels. Sound trees have the number of records as
a public hint; those of thresholds may be twice as deep, which still gives them fewer leaves. *Published* is
ODP+FMPC-ID3: the epsilon above its column is what it claims, and the true one is infinite. CDP+PMPC as printed, with
Laplace noise at the leaves or, where it says so, by the exponential mechanism."""


def page(done: dict[Point, np.ndarray], names: list[str]) -> Iterator[str]:
    """The tables of all that has been run, in Markdown."""
    yield INTRODUCTION
    yield "\n![Accuracy of forests](hidden_forests.png)"
    for name in names:
        own = SETS[name]
        yield f"\n## {name}"
        for what, measure in enumerate(("accuracy", "AUC")):
            methods = (*SOUND, CDP, CDP + EXPONENTIAL, PUBLISHED, PUBLISHED + EXPONENTIAL, RANDOM)
            points = [(m, [Point(name, m, e, own.depth) for e in own.epsilons]) for m in methods]
            yield from table_of(f"{measure}, depth {own.depth}, at epsilon", own.epsilons, points, done, what)
        exact = done.get(Point(name, NO_NOISE, own.epsilons[0], own.depth))
        if exact is not None:
            yield f"\nWithout noise (MPC-ID3): accuracy {_mean(exact[..., 0])}, AUC {_mean(exact[..., 1])}."
        depths = (2, 3, 4, 5)
        points = [(m, [Point(name, m, own.at, d) for d in depths]) for m in (*SOUND, EQUALLY_DEEP, CDP, PUBLISHED)]
        yield from table_of(f"AUC, epsilon {own.at:g}, at depth", depths, points, done, 1)
        yield from against_cdp(done, name)
        for epsilon in own.epsilons[::2]:
            points = [
                (m.removeprefix("forest, "), [Point(name, m, epsilon, 3, n) for n in FOREST_SIZES]) for m in FORESTS
            ]
            title = f"accuracy of forests, depth 3, epsilon {epsilon:g}, trees"
            yield from table_of(title, FOREST_SIZES, points, done, 0)


def table_of(
    title: str, columns: tuple[float, ...], rows: Any, done: dict[Point, np.ndarray], what: int
) -> Iterator[str]:
    yield f"\n| {title} | " + " | ".join(f"{column:g}" for column in columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for name, row in rows:
        cells = [_mean(done[point][..., what]) if point in done else "" for point in row]
        if any(cells):
            yield f"| {name} | " + " | ".join(cells) + " |"


def against_cdp(done: dict[Point, np.ndarray], name: str) -> Iterator[str]:
    """Where a sound tree is behind CDP+PMPC by more than two standard errors."""
    compared, behind = 0, []
    for point, found in done.items():
        if point.name != name or point.method not in (*SOUND, EQUALLY_DEEP):
            continue
        for rival in (CDP, CDP + EXPONENTIAL):
            other = done.get(point._replace(method=rival))
            if other is None:
                continue
            for what, measure in enumerate(("accuracy", "AUC")):
                ahead, error = lead(found[..., what], other[..., what])
                compared += 1
                if ahead < -2 * error:
                    behind.append(f"\n- {point.method} at epsilon {point.epsilon:g}, depth {point.depth}: {measure} "
                                  f"{ahead:+.3f} ± {error:.3f} beside {rival}")  # fmt: skip
    yield (
        f"\nOf {compared} comparisons of sound trees with CDP+PMPC, in accuracy and AUC, the sound one is behind by "
        f"more than\ntwo standard errors (of the difference on the five splits) in {len(behind) or 'none'}."
        + "".join(behind)
    )


COLOURS = {VALUES: "C0", THRESHOLDS: "C2", RANDOM: "C7", CDP: "C1", PUBLISHED: "C3"}


def plot(names: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    done = kept()
    figure, axes = plt.subplots(3, len(names), figsize=(4.6 * len(names), 9.6), squeeze=False)
    for column, name in enumerate(names):
        own = SETS[name]
        for row, measure in enumerate(("accuracy", "AUC")):
            axis = axes[row][column]
            _lines(axis, done, [(e, [Point(name, m, e, own.depth) for m in COLOURS]) for e in own.epsilons], row)
            exact = done.get(Point(name, NO_NOISE, own.epsilons[0], own.depth))
            if exact is not None:
                axis.axhline(exact[..., row].mean(), color="black", linestyle=":", label="no noise, no privacy")
            axis.set_xscale("log" if name == "adult" else "linear")
            axis.set_xlabel("epsilon (of the dashed curve: its claim)")
            axis.set_title(f"{name}, depth {own.depth}: {measure}", fontsize=10)
        axis = axes[2][column]
        _lines(axis, done, [(d, [Point(name, m, own.at, d) for m in COLOURS if m != RANDOM]) for d in (2, 3, 4, 5)], 1)
        axis.set_xlabel("largest depth")
        axis.set_xticks((2, 3, 4, 5))
        axis.set_title(f"{name}, epsilon {own.at:g}: AUC", fontsize=10)
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(DOCS / "hidden_accuracy.png", dpi=110)


def plot_forests(names: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    done = kept()
    figure, axes = plt.subplots(3, len(names), figsize=(4.6 * len(names), 9.6), squeeze=False, sharex=True)
    for column, name in enumerate(names):
        for row, epsilon in enumerate(SETS[name].epsilons[::2]):
            axis = axes[row][column]
            for method, colour in zip(FORESTS, ("C3", "C7", "C0", "C2")):
                found = [(n, done.get(Point(name, method, epsilon, 3, n))) for n in FOREST_SIZES]
                shown = [(n, scores[..., 0]) for n, scores in found if scores is not None]
                axis.errorbar(
                    [n for n, _ in shown],
                    [scores.mean() for _, scores in shown],
                    [scores.std(ddof=1) / np.sqrt(scores.size) for _, scores in shown],
                    label=method.removeprefix("forest, "), color=colour, capsize=2,
                    linestyle="--" if method == FOREST_PUBLISHED else "-",
                )  # fmt: skip
            axis.set_title(f"{name}, epsilon {epsilon:g}, depth 3: accuracy", fontsize=10)
            axis.set_xscale("log")
            axis.set_xticks(FOREST_SIZES, [str(n) for n in FOREST_SIZES])
            axis.minorticks_off()
            axis.set_xlabel("trees")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(DOCS / "hidden_forests.png", dpi=110)


def _lines(axis: Any, done: dict[Point, np.ndarray], at: list[tuple[float, list[Point]]], what: int) -> None:
    for method, colour in COLOURS.items():
        found = [(x, done[p][..., what]) for x, each in at for p in each if p.method == method and p in done]
        if found:
            axis.errorbar(
                [x for x, _ in found],
                [scores.mean() for _, scores in found],
                [scores.std(ddof=1) / np.sqrt(scores.size) for _, scores in found],
                label=method, color=colour, capsize=2, linestyle="--" if method == PUBLISHED else "-",
            )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default="", help="Words of methods' names; by default all.")
    parser.add_argument(
        "--show", action="store_true", help="Only write docs/hidden_accuracy.md and its figure, of what has been run."
    )
    options = parser.parse_args()
    chosen = options.sets.split(",")
    if not options.show:
        if not available():
            raise SystemExit("skipped: the shared data are not here")
        main(chosen, options.methods.split(","))
    (DOCS / "hidden_accuracy.md").write_text("\n".join(page(kept(), list(SETS))) + "\n")
    plot(list(SETS))
    plot_forests(list(SETS))
