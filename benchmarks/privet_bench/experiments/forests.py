"""Forests of ours: boosting on sets that its constants were tuned on and on others; a private choice of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet import PrivateSearch
from privet_bench.data import ABOVE_MEDIAN, table
from privet_bench.experiment import Experiment, Holdout, Method, Scores, Task, grid
from privet_bench.fits import made, scores

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
        seconds=8,
    ),
    Experiment(
        name="model-selection",
        title="A private choice among six models against each of them with the whole budget",
        source="Privet",
        sets=("adult", "bank_full", "california", "electricity", "albert", "higgs_subset", "magic", "covertype_40pct",
              "skin", "default_credit_card", "mushroom", "wall_robot"),
        methods=CANDIDATES | {name: Method("PrivateSearch") for name in SEARCHES},
        settings=grid(epsilon=(1.0,)),
        seeds=10,
        run=searched,
        seconds=5,
    ),
]  # fmt: skip
