"""Figures 2, 3, 4 and 6 of paper 003 on the shared data: accuracy and AUC of hidden trees and forests against epsilon.

Five 80/20 splits, some seeds of noise on each. Trees grow in the open, which for the same coins gives the tree that the
servers would open (tests/tree/test_hidden_tree.py); so this takes minutes. AUC is that of predicted labels: all that a
hidden tree gives away. Sound trees have the number of records as a public hint; those of thresholds may be twice as
deep, which still gives them fewer leaves. The epsilon of what is published is what it claims; the true one is infinite.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from functools import cache
from typing import Any

from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from privet import Categorical, HiddenForestClassifier, HiddenTreeClassifier, Schema
from privet.algorithms.baselines.mpc_id3 import MPCID3Classifier, PMPCID3Classifier
from privet.tree import planning
from privet_bench import fits
from privet_bench.data import table
from privet_bench.experiment import Experiment, Figure, Method, Scores, Setting, Task, grid
from privet_bench.processes import apart, constant

SPLITS = 5
DEPTHS = {"titanic": 4, "heart_cleveland": 3, "adult": 5}
VALUES = {"titanic": 5, "heart_cleveland": 5, "adult": 7}
EPSILONS = {"adult": (0.005, 0.02, 0.1, 0.5, 1.0)} | dict.fromkeys(
    ("titanic", "heart_cleveland"), (0.2, 0.5, 1.0, 1.5, 2.0)
)
AT = {"titanic": 0.2, "heart_cleveland": 0.2, "adult": 0.1}
"""The epsilon at which depths are compared."""

NO_NOISE, TWICE = "no noise (MPC-ID3)", ", twice as deep"
VOID = "not private: its true epsilon is infinite"
TREES: dict[str, tuple[Any, Setting]] = {
    NO_NOISE: (MPCID3Classifier, {}),
    "CDP+PMPC": (PMPCID3Classifier, {"variant": "published", "leaves": "laplace"}),
    "CDP+PMPC, exponential": (PMPCID3Classifier, {"variant": "published", "leaves": "exponential"}),
    "sound, values": (HiddenTreeClassifier, {"branches": "values", "n_records": "given"}),
    "sound, thresholds, twice as deep": (HiddenTreeClassifier, {"branches": "thresholds", "n_records": "given"}),
    "sound, thresholds": (HiddenTreeClassifier, {"branches": "thresholds", "n_records": "given"}),
    "sound, random structure": (HiddenTreeClassifier, {"structure": "random", "n_records": "given"}),
    "published, true epsilon infinite": (HiddenTreeClassifier, {"variant": "published", "labels": "report_noisy_max"}),
    "published, true epsilon infinite, exponential": (
        HiddenTreeClassifier, {"variant": "published", "labels": "exponential"},
    ),
}  # fmt: skip
FORESTS: dict[str, tuple[Any, Setting]] = {
    "forest, published, true epsilon infinite": (
        HiddenForestClassifier, {"variant": "published", "labels": "report_noisy_max"},
    ),
    "forest, extra trees": (HiddenForestClassifier, {"structure": "random", "labels": "report_noisy_max"}),
    "forest, sound, values": (HiddenForestClassifier, {"branches": "values", "n_records": "given"}),
    "forest, sound, thresholds, twice as deep": (
        HiddenForestClassifier, {"branches": "thresholds", "n_records": "given"},
    ),
}  # fmt: skip
NOT_AT_DEPTHS = (
    NO_NOISE,
    "CDP+PMPC, exponential",
    "sound, random structure",
    "published, true epsilon infinite, exponential",
)

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


@cache
def records(name: str) -> tuple[Any, Any, Schema]:
    """As in the paper: 13 attributes of adult (the sampling weight says nothing about a person), listed values only."""
    data, features = table(name), {}
    for field, own in data.schema.features.items():
        if isinstance(own, Categorical):
            own = Categorical(own.values, other=False, groups=GROUPS.get(field, ()))
        if field != "fnlwgt":
            features[field] = own
    schema = Schema(features, classes=data.schema.classes, label=data.schema.label)
    return data.X[list(schema.names)], data.y, schema


def grown(experiment: Experiment, task: Task) -> Scores:
    """One fit: the seed is of the split and, beyond the fifth, of other noise on the same splits."""
    X, y, schema = records(task.set)
    split, again = task.seed % SPLITS, task.seed // SPLITS
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=split, stratify=y)
    kind, options = (TREES | FORESTS)[task.method]
    own = {**options, **task.options, "n_values": VALUES[task.set]}
    own["max_depth"] = own.pop("depth") * (2 if task.method.endswith(TWICE) else 1)
    if "n_records" in own:
        own["n_records"] = len(train)
    if kind is MPCID3Classifier:
        own = {name: own[name] for name in ("max_depth", "n_values")}
    else:
        own["random_state"] = 1000 * split + again
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = kind(schema, **own).fit(train, y_train).predict(test)
    positive = (schema.classes or ())[1]
    auc = float(roc_auc_score(y_test == positive, predicted == positive))
    return {"accuracy": float((predicted == y_test).mean()), "auc": auc}


def figures_of(task: Task) -> bool:
    """Figures 2 and 4: all epsilons at one depth. Figure 3: all depths at one epsilon. Figure 6: forests."""
    name, epsilon, depth, trees = task.set, task.value("epsilon"), task.value("depth"), task.value("n_trees")
    if (trees is not None) != (task.method in FORESTS) or epsilon not in EPSILONS[name]:
        return False
    if task.method in FORESTS:
        return epsilon in EPSILONS[name][::2] and depth in ((2, 3) if name == "adult" else (2, 3, 5))
    if task.method == NO_NOISE:
        return (epsilon, depth) == (EPSILONS[name][0], DEPTHS[name])
    at_all = depth == DEPTHS[name] and task.method != "sound, thresholds"
    return at_all or (epsilon == AT[name] and task.method not in NOT_AT_DEPTHS)


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "values": ("values", {}),
    "values, equal budgets": ("values", {"LEVEL_GROWTH": Fraction(1)}),
    "values, budgets that double": ("values", {"LEVEL_GROWTH": Fraction(2)}),
    "values, depth from half as many records": ("values", {"VALUES_PAY_OFF": 1}),
    "values, depth from twice as many records": ("values", {"VALUES_PAY_OFF": 4}),
    "values, always depth 4": ("values", {"VALUES_PAY_OFF": -math.inf}),
    "thresholds": ("thresholds", {}),
    "thresholds, inner splits by errors alone": ("thresholds", {"gini_weights": lambda depth: (0,) * (depth - 1)}),
    "thresholds, labels after the splits": ("thresholds", {"MOST_JOINT": 0}),
    "thresholds, equal budgets": ("thresholds", {"LEVEL_GROWTH": Fraction(1)}),
}
"""One constant of the plan changed at a time."""

PLANS = {
    name: Method("HiddenTreeClassifier", {"branches": branches, "max_depth": 4, "n_values": 6, "n_records": "given"})
    for name, (branches, _) in CHANGES.items()
} | {
    f"{branches}, depth {depth}{'' if hint else ', no hint'}": Method(
        "HiddenTreeClassifier", {"branches": branches, "max_depth": depth} | ({"n_records": "given"} if hint else {})
    )
    for hint in (True, False)
    for branches, depths in (("values", (2, 3, 4)), ("thresholds", (2, 3, 4, 5, 6)))
    for depth in depths
}


def planned(experiment: Experiment, task: Task) -> Scores:
    """A fit with one constant changed, in a process that ends with it; or as it comes."""

    def run() -> Scores:
        for name, value in CHANGES.get(task.method, ("", {}))[1].items():
            constant(planning, name, value)()
        return fits.scores(experiment, task)

    return apart(run)


POINTS = [
    {"epsilon": epsilon, "depth": depth, **trees}
    for epsilon in sorted({e for own in EPSILONS.values() for e in own})
    for depth in (2, 3, 4, 5)
    for trees in ({}, {"n_trees": 1}, {"n_trees": 3}, {"n_trees": 10})
]
EXPERIMENTS = [
    Experiment(
        name="hidden-accuracy",
        title="Hidden trees and forests against epsilon and depth",
        source="Hidden trees, Figures 2, 3, 4 and 6",
        sets=tuple(DEPTHS),
        methods={name: Method(name, weaker=VOID if "published" in name else "") for name in (*TREES, *FORESTS)},
        settings=POINTS,
        seeds=2 * SPLITS,
        measures=("accuracy", "auc"),
        points=figures_of,
        run=grown,
        columns="epsilon",
        figures=[
            Figure("hidden_accuracy.png", "epsilon",
                   where=lambda task: task.method in TREES and task.value("depth") == DEPTHS[task.set]),
            Figure("hidden_forests.png", "n_trees",
                   where=lambda task: task.method in FORESTS and task.value("depth") == 3
                   and task.value("epsilon") in (0.1, 1.0)),
        ],
    ),
    Experiment(
        name="hidden-plan",
        title="How a hidden tree spends its budget, and what else it could do",
        source="Privet",
        sets=("nursery", "vote", "diabetes", "magic", "bank_full", "mushroom"),
        methods=PLANS,
        settings=grid(epsilon=(0.02, 0.1, 0.5, 2.0)),
        seeds=2,
        rows=5000,
        run=planned,
        columns="epsilon",
        against="thresholds",
        digits=4,
        pooled=("set",),
        note="Over six sets of at most 5,000 records, two splits; an earlier run had eleven sets.",
    ),
]  # fmt: skip
