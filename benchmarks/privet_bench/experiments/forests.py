"""Forests of ours: boosting on sets that its constants were tuned on and on others; where it overtakes one tree; what
its constants are worth; a private choice of a model."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet import PrivateSearch
from privet.tree import rounds
from privet_bench.data import ABOVE_MEDIAN, table
from privet_bench.experiment import Experiment, Folds, Holdout, Method, Parts, Scores, Task, grid
from privet_bench.fits import made, scores
from privet_bench.processes import apart, constant

TUNED = (
    "magic", "california", "electricity", "covertype_40pct", "higgs_subset", "default_credit_card", "adult",
    "bank_full", "albert",
)  # fmt: skip
TARGETS = tuple(f"{name}:{ABOVE_MEDIAN}" for name in ("parkinsons", "appliances_energy", "flights_nyc13"))
HELD_OUT = ("mushroom", "nursery", "kddcup99_10pct", "skin", "wall_robot", "titanic", "diabetes", *TARGETS)

CANDIDATES = {
    "tree of depth 2": Method("PrivateTreeClassifier", {"max_depth": 2}),
    "tree": Method("PrivateTreeClassifier"),
    "tree with counts": Method("PrivateTreeClassifier", {"leaves": "counts"}),
    "boosting": Method("PrivateForestClassifier", {"method": "boosting"}),
    "five trees": Method("PrivateForestClassifier", {"method": "trees", "n_trees": 5}),
    "PrivaTree": Method("PrivaTreeClassifier"),
}
SEARCHES: dict[str, Any] = {"search": None, "search with a score": 0.2}
STOPPING = {"epsilon": 1.0, "method": "random_stopping", "trial": 0.3}


def searched(experiment: Experiment, task: Task) -> Scores:
    """A candidate with the whole budget, or a private search among all of them with the same budget."""
    if task.method in CANDIDATES:
        return scores(experiment, task)
    data = table(task.set, experiment.rows)
    ((train, test),) = experiment.split.parts(data.y, task.seed)
    # The search gives each candidate its schema, budget and seed.
    candidates = [made(own.kind, data.schema, 0, {"epsilon": 1.0, **own.options}) for own in CANDIDATES.values()]
    search = PrivateSearch(data.schema, candidates=candidates, random_state=task.seed, **task.options)
    search.fit(data.X.iloc[train], data.y[train], holdout=SEARCHES[task.method])
    right = float(np.mean(search.predict(data.X.iloc[test]) == data.y[test]))
    return {"accuracy": right, "chosen": float(search.best_index_)}


DELTA = {"delta": 1e-6}
CONTENDERS = {
    "boosting": Method("PrivateForestClassifier", {"method": "boosting"}),
    "boosting, delta 1e-6": Method("PrivateForestClassifier", {"method": "boosting", **DELTA}),
    "one tree": Method("PrivateTreeClassifier"),
    "one tree with counts": Method("PrivateTreeClassifier", {"leaves": "counts"}),
    "10 trees on disjoint parts": Method("PrivateForestClassifier", {"method": "trees", "n_trees": 10}),
}
WITHOUT_PARTS = {name: own for name, own in CONTENDERS.items() if "disjoint" not in name}
SMALL = ("diabetes", "titanic", "banknote", "breast_w", "vote", "heart_cleveland")


@dataclass(frozen=True)
class Drawn:
    """So many records to learn from, drawn by the seed, and at most 4,000 others for the test."""

    n: int

    def parts(self, y: np.ndarray, seed: int) -> Parts:
        order = np.random.default_rng([self.n, seed]).permutation(len(y))
        yield order[: self.n], order[self.n :][:4000]


def drawn(experiment: Experiment, task: Task) -> Scores:
    """Where the number of records is a setting."""
    options = task.options
    split = Drawn(options.pop("n"))
    return scores(replace(experiment, split=split), replace(task, setting=json.dumps(options)))


def recipes(times: float = 1.0, **changes: Any) -> dict[str, Any]:
    """The recipes of both currencies with other numbers, and so many times the rounds."""
    return {name: replace(own, rounds=own.rounds * times, **changes) for name, own in rounds.RECIPES.items()}


CONSTANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "twice as many rounds": {"RECIPES": recipes(2.0)},
    "half as many rounds": {"RECIPES": recipes(0.5)},
    "an eighth of a round chooses": {"CHOICE_SHARE": Fraction(1, 8)},
    "half of a round chooses": {"CHOICE_SHARE": Fraction(1, 2)},
    "half chooses, and half as many rounds more": {"CHOICE_SHARE": Fraction(1, 2), "RECIPES": recipes(1.5)},
    "ridge 1": {"RIDGE": 1.0},
    "ridge 2": {"RIDGE": 2.0},
    "ridge 8": {"RIDGE": 8.0},
    "8 cells": {"RECIPES": recipes(cells=8)},
    "16 cells": {"RECIPES": recipes(cells=16)},
    "32 cells": {"RECIPES": recipes(cells=32)},
    "no products": {"RECIPES": recipes(alone=Fraction(2))},
    "no triples": {"RECIPES": recipes(triple=0)},
    "the same budget for every round": {"RECIPES": recipes(growth=0)},
    "no penalty": {"PENALTY": 0.0},
    "one partition of each feature": {"PARTITIONS": 1},
    "ten partitions of each feature": {"PARTITIONS": 10},
}


def with_constants(experiment: Experiment, task: Task) -> Scores:
    """A fit with one constant of boosting changed, in a process that ends with it."""

    def run() -> Scores:
        for name, value in CONSTANTS[task.method].items():
            constant(rounds, name, value)()
        return scores(experiment, task)

    return apart(run)


RANDOM_TREES = {
    f"{title}, depth {depth}": Method(kind, {"max_depth": depth, **options})
    for depth in (4, 6, 8, 10)
    for title, kind, options in (
        ("one random tree", "RandomTreeClassifier", {}),
        ("DP-ERT, 10 trees", "DPERTClassifier", {"n_trees": 10}),
    )
}

EXPERIMENTS = [
    Experiment(
        name="boosting",
        title="Private boosting on nine sets that it was tuned on, and on ten others",
        source="Privet",
        sets=(*TUNED, *HELD_OUT),
        methods={"boosting": Method("PrivateForestClassifier", {"method": "boosting"})},
        settings=[{"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 0.5, "delta": 1e-6}, {"epsilon": 1.0},
                  {"epsilon": 4.0, "delta": 1e-6}, {"epsilon": 8.0, "delta": 1e-6}],
        seeds=3,
        split=Holdout(2),
        rows=40_000,
        measures=("accuracy", "auc"),
        columns="epsilon",
        seconds=8,
    ),
    Experiment(
        name="model-selection",
        title="A private choice among six models against each of them with the whole budget",
        source="Privet",
        sets=("adult", "bank_full", "california", "electricity", "albert", "higgs_subset", "magic", "covertype_40pct",
              "skin", "default_credit_card", "mushroom", "wall_robot"),
        methods=CANDIDATES | {name: Method("PrivateSearch") for name in SEARCHES},
        settings=[{"epsilon": 1.0}, STOPPING],
        seeds=5,
        extra_seeds=dict.fromkeys(
            ("adult", "bank_full", "california", "electricity", "albert", "higgs_subset"), 10
        ),
        points=lambda task: task.options != STOPPING or (
            task.method in SEARCHES and task.set in ("bank_full", "california", "electricity") and task.seed < 2
        ),
        run=searched,
        seconds=5,
    ),
    Experiment(
        name="forests-adult",
        title="Forests on Adult, five folds",
        source="Privet",
        sets=("adult",),
        methods=CONTENDERS,
        settings=grid(epsilon=(0.1, 0.5, 1.0)),
        seeds=2,
        split=Folds(),
        measures=("accuracy", "auc"),
        columns="epsilon",
        digits=4,
        seconds=20,
    ),
    Experiment(
        name="forests-others",
        title="Forests on at most 5,000 records of other sets, five folds",
        source="Privet",
        sets=("magic", "california", "electricity", "default_credit_card", "higgs_subset", "bank_full", "diabetes",
              "mushroom", "wall_robot", "titanic", "covertype_40pct"),
        methods=WITHOUT_PARTS,
        settings=grid(epsilon=(0.1, 1.0)),
        seeds=2,
        split=Folds(),
        rows=5000,
        measures=("accuracy", "auc"),
    ),
    Experiment(
        name="auto-tuned",
        title="Where boosting overtakes one tree, on the nine sets that boosting was tuned on",
        source="Privet",
        sets=TUNED,
        methods=WITHOUT_PARTS,
        settings=[{"epsilon": epsilon, "n": n} for n, epsilon in (
            (60, 1.0), (120, 1.0), (1500, 0.1), (250, 1.0), (500, 1.0), (5000, 0.1), (10_000, 0.1), (1500, 1.0),
            (3000, 1.0), (10_000, 0.3), (5000, 1.0), (10_000, 1.0))],
        seeds=2,
        rows=40_000,
        measures=("accuracy", "auc"),
        run=drawn,
        pooled=("set",),
        down=("n", "epsilon"),
        seconds=0.5,
        note="The error is that of a draw of records and noise, over all sets and seeds.",
    ),
    Experiment(
        name="auto-held-out",
        title="The same on seven sets that nothing was chosen on, where `auto` begins to boost for probabilities",
        source="Privet",
        sets=("mushroom", "nursery", "kddcup99_10pct", "skin", *TARGETS),
        methods=WITHOUT_PARTS,
        settings=[{"epsilon": 1.0, "n": n} for n in (120, 170, 210, 260, 500)],
        seeds=6,
        rows=40_000,
        first_seed=100,
        measures=("accuracy", "auc"),
        run=drawn,
        pooled=("set",),
        down=("n", "epsilon"),
        seconds=0.2,
    ),
    Experiment(
        name="auto-small",
        title="The same on six small sets, with four fifths of their records",
        source="Privet",
        sets=SMALL,
        methods=WITHOUT_PARTS,
        settings=grid(epsilon=(0.1, 0.3, 1.0, 4.0)),
        seeds=8,
        first_seed=100,
        measures=("accuracy", "auc"),
        pooled=("set",),
        down=("epsilon",),
        seconds=0.2,
    ),
    Experiment(
        name="boosting-constants",
        title="Boosting at epsilon 1 with one constant changed at a time, on at most 10,000 records of four sets",
        source="Privet",
        sets=("magic", "california", "electricity", "default_credit_card"),
        methods={name: Method("PrivateForestClassifier", {"method": "boosting"}) for name in CONSTANTS},
        settings=[{"epsilon": 1.0}, {"epsilon": 1.0, **DELTA}],
        seeds=2,
        rows=10_000,
        measures=("accuracy", "auc"),
        run=with_constants,
        against="as it is",
        digits=4,
        pooled=("set",),
        columns="measure",
        seconds=1,
    ),
    Experiment(
        name="forests-wall-robot",
        title="Our default beside random trees, wall_robot at epsilon 1",
        source="Privet",
        sets=("wall_robot",),
        methods={"auto": Method("PrivateForestClassifier"), **RANDOM_TREES},
        settings=grid(epsilon=(1.0,)),
        seeds=3,
        split=Folds(),
        columns="measure",
    ),
]  # fmt: skip
