"""Poisoned records: PrivaTree's Tables III and VIII and Figure 4 re-run, attacks on certificates, boosting by zCDP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from backdoors import LEVELS, NOISE_SCALES, PLAIN, TRAIN, backdoor, with_least_leaf
from certificates import DISTANCES, SHARES, aggregated, attacked, boosted, by_distance, certified
from privet_bench.experiment import Experiment, Figure, Measured, Method, Setting, Task, canonical, grid
from privet_bench.store import Mean, Row, papers
from privet_bench.tables import head, measured, provenance, row

SETS = ("magic", "california", "electricity", "default_credit_card", "breast_w", "diabetes", "adult", "mushroom",
        "nursery", "vote", "albert", "higgs_subset", "covertype_40pct")  # fmt: skip
DEPTH = {"max_depth": 4}
TREE, ONE_LABEL = "our tree", "one label, no splits"
PUBLISHED = {**DEPTH, "variant": "published"}


def paper(name: str, method: str, epsilon: float, share: str = "") -> float | None:
    """What Tables III and VIII print: the accuracy, or what Corollary 2 guarantees against a share of poison."""
    setting: Setting = {"epsilon": epsilon, **({"poison": share} if share else {})}
    found = papers().get((name, f"PrivaTree, Tables III and VIII: {method}", canonical(setting)))
    return found and found[0]


def printed(task: Task, measure: str) -> tuple[float, float] | None:
    method = {"PrivaTree": "privatree", "logistic regression": "logistic"}[task.method]
    found = paper(task.set, method, task.value("epsilon"), measure.removeprefix("corollary ").replace("accuracy", ""))
    return None if found is None else (found, float("nan"))


# -- tables ------------------------------------------------------------------------------------------------------------


def levels(own: dict[str, Mean], title: str, digits: int = 3) -> str:
    return " / ".join(f"{own[f'{title} {share}'].value:.{digits}f}" for share in SHARES)


def with_error(mean: Mean | Measured) -> str:
    return f"{mean.value:.3f} ± {mean.error:.4f}"


def guarantees(experiment: Experiment, rows: Sequence[Row], only: str) -> Iterator[str]:
    """Ours beside PrivaTree's printed guarantees."""
    found = measured(rows)
    for epsilon in sorted({own.task.value("epsilon") for own in rows}):
        setting = canonical({"epsilon": epsilon})
        both = any(method == ONE_LABEL and own == setting for _, method, own in found)
        yield from head(f"epsilon {epsilon:g}", [
            "k", "our tree: mean accuracy", "certified, records added or removed", "certified, records changed",
            "Corollary 2 on our mean (not certified)", *([f"{ONE_LABEL}: mean accuracy; certified"] if both else []),
            "PrivaTree, printed: accuracy; guarantees",
        ])  # fmt: skip
        for name in (name for name in experiment.sets if (name, TREE, setting) in found):
            tree, label = found[name, TREE, setting], found.get((name, ONE_LABEL, setting))
            cells = [levels(tree, "k", 0), with_error(tree["accuracy"])]
            cells += [levels(tree, title) for title in ("certified", "changed", "corollary")]
            if both:
                cells.append(f"{with_error(label['accuracy'])}; {levels(label, 'certified')}" if label else "")
            theirs = [paper(name, "privatree", epsilon, share) for share in ("", *SHARES)]
            first, *rest = ("–" if value is None else f"{value:.3f}" for value in theirs)
            yield row(name, [*cells, "" if theirs[0] is None else f"{first}; {' / '.join(rest)}"])
        yield ""
    yield provenance(experiment, rows, only)


def doors(experiment: Experiment, rows: Sequence[Row], only: str) -> Iterator[str]:
    """How often the trigger works, by the number of poisoned records; in brackets what is certified."""
    found = measured(rows)
    for name in (name for name in experiment.sets if any(name == own.set for own in rows)):
        own = {(m, json.loads(s).get("k")): cells for (n, m, s), cells in found.items() if n == name}
        ks = sorted({k for _, k in own if k is not None})
        yield from head(name, [*(f"k = {k}" for k in ks), "accuracy without poison"])
        for method in (method for method in experiment.methods if (method, 0) in own):
            cells = []
            for k in ks:
                success = own.get((method, k), {}).get("success")
                bound = own.get((method, None), {}).get(f"certified bound, k {k}")
                cell = f"{success.value:.3f} ± {success.error:.3f}" if success else ""
                cells.append(f"{cell} (≤ {bound.value:.3f})" if bound and cell else cell)
            yield row(method, [*cells, f"{own[method, 0]['accuracy'].value:.3f}"])
        yield ""
    yield provenance(experiment, rows, only)


def of_boosting(experiment: Experiment, rows: Sequence[Row], only: str) -> Iterator[str]:
    """Certificates of boosting: of its accuracy, and of the labels that a majority keeps."""
    yield from head("set, budget, accuracy", ["certificate", *(f"k = {k}" for k in DISTANCES)])
    found = measured(rows)
    for name in experiment.sets:
        for setting in experiment.settings:
            own = found.get((name, "boosting", canonical(setting)), {})
            kind = "zCDP" if "delta" in setting else "pure"
            budget = "epsilon " + ", delta ".join(f"{value:g}" for value in setting.values())
            for what, title in (("certified", "accuracy"), ("majority", "majority kept")) if own else ():
                cells = [f"{own[f'{what} k {k}'].value:.3f}" for k in DISTANCES]
                yield row(f"{name}, {budget}, {with_error(own['accuracy'])}", [f"{kind}, {title}", *cells])
    yield "\n" + provenance(experiment, rows, only)


# -- backdoors ---------------------------------------------------------------------------------------------------------

LEAST = 0.04
"""A leaf's least share of the records: the largest share of poison, and three scales of the noise of counts at 0.1."""


AS_IT_COMES = "the tree as it comes"


def learners(epsilon: float, n_trees: int) -> dict[str, Method]:
    own = {"epsilon": epsilon, "n_records": TRAIN}
    return {
        f"PrivateTree, {epsilon:g}": Method("PrivateTreeClassifier", own),
        f"PrivateTree, {epsilon:g}, leaves of {LEAST:.0%} or more": Method(
            "PrivateTreeClassifier", {**own, "leaves": "counts", "min_leaf": LEAST}
        ),
        f"PrivateForest, {n_trees} trees, {epsilon:g}": Method(
            "PrivateForestClassifier", {**own, "method": "trees", "n_trees": n_trees}
        ),
        f"PrivaTree as printed, {epsilon:g}": Method("PrivaTreeClassifier", {**PUBLISHED, "epsilon": epsilon}),
    }


IMAGE_LEVELS = {"mnist-0-1": (0, 5, 11, 56, 112), "mnist-6-7": (0, 112)}


def of_interest(task: Task) -> bool:
    """Fits of PrivaTree on 784 joint quantiles take seconds each; only what is a theorem has a bound."""
    printed, held_out, k = task.method.startswith("PrivaTree"), task.set == "mnist-6-7", task.value("k")
    if task.method.startswith("PrivateTree, 0.01, leaves"):
        return False
    if k is None:
        return task.method.startswith("Private") and not held_out
    if task.set == "adult":
        return True
    return k in IMAGE_LEVELS[task.set] and not (printed and (held_out or k not in (0, 112)))


def panels(task: Task) -> list[str]:
    """One for each set and epsilon; what has none is in both."""
    own = [epsilon for epsilon in (0.1, 0.01) if f", {epsilon}" in task.method]
    return [f"{task.set}, epsilon {epsilon}" for epsilon in own or (0.1, 0.01)]


DPA = Method("aggregation", {"n_parts": 1000, "spread": 1, **DEPTH}, private=False)
PRIVATREE = Method("PrivaTreeClassifier", PUBLISHED, weaker="not private: its own accounting")

EXPERIMENTS = [
    Experiment(
        name="robustness",
        title="What is certified against poisoned records",
        source="PrivaTree, Tables III and VIII",
        sets=SETS,
        methods={
            TREE: Method("PrivateTreeClassifier", DEPTH),
            ONE_LABEL: Method("PrivateTreeClassifier", {"max_depth": 0}),
        },
        settings=grid(epsilon=(0.01, 0.1)),
        seeds=1,
        run=certified,
        points=lambda task: task.method == TREE or task.value("epsilon") == 0.01,
        layout=guarantees,
        seconds=100,
    ),
    Experiment(
        name="robustness-printed",
        title="PrivaTree and private logistic regression as printed, and Corollary 2 on their means",
        source="PrivaTree, Tables III and VIII",
        sets=SETS,
        methods={
            "PrivaTree": PRIVATREE,
            "logistic regression": Method(
                "scaled logistic", peer="diffprivlib",
                weaker="broken: its columns are scaled, and their norm bounded, by what occurs",
            ),
        },
        settings=grid(epsilon=(0.01, 0.1)),
        seeds=1,
        run=certified,
        measures=("accuracy", *(f"corollary {share}" for share in SHARES)),
        printed=printed,
        columns="measure",
        seconds=60,
    ),
    Experiment(
        name="robustness-aggregation",
        title="Ensembles without privacy, and what they certify",
        source="Deep Partition Aggregation, Finite Aggregation",
        sets=("magic", "california", "electricity", "default_credit_card", "adult"),
        methods={
            "DPA": DPA,
            "Finite Aggregation": Method("aggregation", {"n_parts": 500, "spread": 2, **DEPTH}, private=False),
        },
        settings=({},),
        seeds=1,
        run=aggregated,
        measures=("accuracy", *(f"certified {share}" for share in SHARES), "seconds"),
        columns="measure",
    ),
    Experiment(
        name="robustness-figure-3",
        title="Guaranteed accuracy against the number of poisoned records",
        source="PrivaTree, Figure 3",
        sets=("adult", "magic"),
        methods={
            TREE: Method("PrivateTreeClassifier", DEPTH), "PrivaTree, published": PRIVATREE, "DPA, no privacy": DPA,
        },
        settings=({}, *grid(epsilon=(0.01, 0.1))),
        seeds=1,
        run=by_distance,
        points=lambda task: task.method.startswith("DPA") == (task.value("epsilon") is None),
        columns="value",
        figures=[
            Figure("robustness_guarantees.png", "k", measure="guaranteed accuracy", scale="linear",
                   bounds={"Corollary 2": "--"})
        ],
        seconds=60,
        note="Ours at confidence 0.99. Corollary 2 is of the mean, a guarantee only where epsilon is true.",
    ),
    Experiment(
        name="robustness-backdoor",
        title="Backdoors: how often the trigger works, and what is certified",
        source="PrivaTree, Figure 4",
        sets=("mnist-0-1", "mnist-6-7", "adult"),
        methods={"tree without privacy": Method(PLAIN, private=False), **learners(0.1, 10), **learners(0.01, 3)},
        settings=({}, *grid(k=LEVELS)),
        seeds=1,
        run=backdoor,
        points=of_interest,
        layout=doors,
        figures=[
            Figure(
                "robustness_backdoor.png", "k", measure="success", scale="symlog",
                where=lambda task: task.set != "mnist-6-7", bounds={"certified bound": "--"}, panels=panels, height=3.6,
                label="success of the attack",
            )
        ],
        seconds=30,
    ),
    Experiment(
        name="robustness-leaves",
        title="What it costs, without poison, to refuse small leaves",
        source="Privet",
        sets=("adult", "magic", "california", "electricity", "default_credit_card"),
        methods={
            AS_IT_COMES: Method("PrivateTreeClassifier"),
            "counts": Method("PrivateTreeClassifier", {"leaves": "counts"}),
            f"leaves of {NOISE_SCALES} noise scales or more": Method(
                "PrivateTreeClassifier", {"leaves": "counts", "min_leaf": "noise"}
            ),
            f"leaves of {LEAST:.0%} or more": Method("PrivateTreeClassifier", {"leaves": "counts", "min_leaf": LEAST}),
        },
        settings=grid(epsilon=(0.1, 1.0)),
        seeds=10,
        run=with_least_leaf,
        down=("epsilon",),
        against=AS_IT_COMES,
        digits=4,
        seconds=1,
    ),
    Experiment(
        name="robustness-attacks",
        title="What attacks leave of our tree, and what was certified",
        source="Privet",
        sets=("magic", "adult"),
        methods={TREE: Method("PrivateTreeClassifier", DEPTH)},
        settings=[{"epsilon": e, "poison": share} for e, share in ((0.01, "0.5%"), (0.01, "1%"), (0.1, "0.1%"))],
        seeds=1,
        run=attacked,
        measures=("k", "clean", "label flips", "targeted removal", "tilt", "search", "minutes of search", "certified"),
        columns="measure",
        down=("epsilon", "poison"),
        digits=4,
        seconds=1000,
    ),
    Experiment(
        name="robustness-boosting",
        title="Boosting: certificates by zCDP beside those by pure epsilon",
        source="Privet",
        sets=("magic", "california", "default_credit_card"),
        methods={"boosting": Method("PrivateForestClassifier", {"method": "boosting", "runs": 240})},
        settings=[{"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0}, {"epsilon": 0.1, "delta": 1e-6}, {"epsilon": 0.1}],
        seeds=1,
        run=boosted,
        layout=of_boosting,
        seconds=100,
    ),
]  # fmt: skip
