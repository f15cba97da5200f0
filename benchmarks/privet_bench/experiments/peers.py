"""Our default beside everybody else's private models of tables, and beside learners without privacy."""

from __future__ import annotations

from typing import Any

from privet_bench.data import CLASSES, NUMBERS, READY
from privet_bench.experiment import Experiment, Holdout, Method, Setting, grid

DELTA = 1e-6
EPSILONS = (0.01, 0.1, 1.0, 4.0)
SMALL = {"vote": 232, "heart_cleveland": 297, "breast_w": 683, "diabetes": 768, "titanic": 887, "banknote": 1372}
"""Sets of few rows, and how many: they have more runs, as their test sets are small too."""

OURS = "Privet"
QUICK = range(500, 503)


def of_classes(schema: Any, setting: Setting) -> bool:
    return schema.target is None


def of_numbers(schema: Any, setting: Setting) -> bool:
    return schema.target is not None


def not_of_many_classes(schema: Any, setting: Setting) -> bool:
    return schema.target is not None or len(schema.classes or ()) == 2


METHODS = {
    OURS: Method("PrivateForest", {"delta": DELTA}),
    "Privet, pure": Method("PrivateForest"),
    "DP-EBM": Method(
        "DP-EBM", {"delta": DELTA}, peer="interpret", takes=not_of_many_classes,
        weaker="weaker: the number of records and the categories that occur are read off the data; noise in floating "
        "point",
    ),
    "DP-XGBoost": Method(
        "DP-XGBoost", peer="dp-xgboost", takes=not_of_many_classes,
        weaker="broken: its noise is seeded by the clock, in whole seconds, and can be guessed; trees of one second "
        "share the noise of their leaves",
    ),
    "diffprivlib tree": Method("diffprivlib tree", peer="diffprivlib", takes=of_classes),
    "diffprivlib forest": Method(
        "diffprivlib forest", peer="diffprivlib", takes=of_classes,
        weaker="broken: rows go to its trees in order, one row inserted in front moves one row of each tree: up to 19 "
        "times its epsilon ([claims](claims.md))",
    ),
    "diffprivlib logistic": Method(
        "diffprivlib logistic", peer="diffprivlib", takes=of_classes,
        weaker="weaker: objective perturbation is proven for the exact minimum, and its solver stops near it (Iyengar "
        "et al., 2019)",
    ),
    "diffprivlib linear": Method("diffprivlib linear", peer="diffprivlib", takes=of_numbers),
}  # fmt: skip
"""All that promise privacy; what of a promise does not hold is said beside every number."""

PLAIN = {
    name: Method(name, peer="plain", private=False, weaker="no privacy") for name in ("LightGBM", "scikit-learn forest")
}

EXPERIMENTS = [
    Experiment(
        name="peers",
        title="Our default beside peers",
        source="Privet",
        sets=(*CLASSES, *NUMBERS, *READY),
        methods=METHODS,
        settings=grid(epsilon=EPSILONS),
        seeds=3,
        extra_seeds=dict.fromkeys(SMALL, 10),
        first_seed=500,  # splits of smaller seeds were used while defaults were chosen
        split=Holdout(2),
        rows=40_000,
        measures=("accuracy", "auc", "mse"),
        seconds=8,
        quick={
            "set": ("vote", "diabetes", "banknote", "mushroom", "nursery", "magic"),
            "epsilon": (1.0,),
            "seed": QUICK,
            "method": tuple(name for name in METHODS if name != "DP-XGBoost"),  # its build alone takes many minutes
        },
        note="Privet and DP-EBM have a delta of 1e-6, the others none. Everybody is told ranges, categories and "
        "classes; all else is as each library comes.",
    ),
    Experiment(
        name="without-privacy",
        title="Learners without privacy",
        source="Privet",
        sets=(*CLASSES, *NUMBERS),
        methods=PLAIN,
        settings=({},),
        seeds=3,
        extra_seeds=dict.fromkeys(SMALL, 10),
        first_seed=500,
        split=Holdout(2),
        rows=40_000,
        measures=("accuracy", "auc", "mse"),
        points=lambda task: task.seed == 500 or task.method == "LightGBM" or task.set in CLASSES[:-1],
        seconds=5,
        note="Forests on numbers and on mnist take a minute or more each: one run of them.",
        quick={"set": ("vote", "diabetes", "banknote", "mushroom", "nursery", "magic"), "seed": QUICK},
    ),
]
