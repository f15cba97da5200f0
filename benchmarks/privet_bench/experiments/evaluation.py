"""Do the 95% intervals of private scores hold the truth in 95% of runs?

20,000 records of a set are the population. 6,000 are drawn from it with replacement, and a model is fitted with 30% of
them held out; 19 times more it is scored on as many records that are drawn anew. Each time one looks whether the
interval of each score holds what the model does on the whole population.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from privet.evaluate.evaluation import Evaluation
from privet.evaluate.scorers import LEAST_CHANCE
from privet_bench.data import table
from privet_bench.experiment import Experiment, Method, Scores, Task
from privet_bench.fits import made
from privet_bench.store import Row, mean
from privet_bench.tables import cell, head, provenance, row
from shared_data import Shared

POPULATION, DRAWN, HOLDOUT, TIMES = 20_000, 6000, 0.3, 20
MODELS = {
    "adult": Method("PrivateForestClassifier", {"epsilon": 1, "method": "boosting"}),
    "covertype_40pct": Method("PrivateTreeClassifier", {"epsilon": 0.5, "leaves": "counts"}),
    "skin": Method("PrivateForestClassifier", {"epsilon": 1, "method": "trees", "n_trees": 5}),
    "flights_nyc13": Method("PrivateTreeRegressor", {"epsilon": 2}),
}
OF_SEVERAL = {
    "boosting, epsilon 1": Method("PrivateForestClassifier", {"epsilon": 1, "method": "boosting"}),
    "tree with counts, epsilon 1": Method("PrivateTreeClassifier", {"epsilon": 1, "leaves": "counts"}),
    "five trees, epsilon 2": Method("PrivateForestClassifier", {"epsilon": 2, "method": "trees", "n_trees": 5}),
}
"""Models of more than two classes."""


def truth(model: Any, data: Shared) -> dict[str, float]:
    """What the model does on the whole population."""
    if len(data.schema.classes or ()) > 2:
        return {"accuracy": float((model.predict(data.X) == data.y).mean())}
    if data.schema.target is not None:
        off = np.abs(model.predict(data.X) - data.y)
        at = {f"{q:.0%} of errors below": float(np.quantile(off, q)) for q in (0.5, 0.9)}
        return {"mean absolute error": float(off.mean()), "mean squared error": float((off**2).mean()), **at}
    second = (data.schema.classes or ())[1]
    chances, positive = model.predict_proba(data.X)[:, list(model.classes_).index(second)], data.y == second
    return {
        "accuracy": float((model.predict(data.X) == data.y).mean()),
        "AUC": float(roc_auc_score(positive, chances)),
        "log loss": float(log_loss(positive, np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE))),
    }


def area_by_bins(model: Any, data: Shared, found: Evaluation) -> dict[str, float]:
    """Of several classes: the area of the score as the table has it, which depends on how many bins it has."""
    n = len(data.schema.classes or ())
    if n <= 2:
        return {}
    chances = model.predict_proba(data.X)
    ends = np.linspace(1 / n, 1, len(found.marks) // n + 1)
    most = np.searchsorted(ends[1:-1], chances.max(axis=1), side="left")
    scores = [np.where(chances.argmax(axis=1) == k, most + 1, -most) for k in range(n)]
    areas = [roc_auc_score(data.y == own, score) for own, score in zip(model.classes_, scores)]
    return {"AUC by bins": float(np.mean(areas))}


def held(experiment: Experiment, task: Task) -> Scores:
    """Of one model, scored many times: the share of intervals that hold the truth, their width, the mean error."""
    data, method = table(task.set, POPULATION), MODELS.get(task.set) or experiment.methods[task.method]
    rng = np.random.default_rng([task.seed, 1])  # not the stream that the fit draws from
    rows = rng.integers(len(data.y), size=DRAWN)
    model = made(method.kind, data.schema, task.seed, dict(method.options))
    model.fit(data.X.iloc[rows], data.y[rows], holdout=HOLDOUT)
    known, found, all_of, true_of = truth(model, data), model.evaluation_, [], []
    for turn in range(TIMES):
        if turn:
            rows = rng.integers(len(data.y), size=rng.binomial(DRAWN, HOLDOUT))
            again = 1000 * (task.seed + 1) + turn
            found = model.evaluate(data.X.iloc[rows], data.y[rows], epsilon=model.epsilon, random_state=again)
        said, true = found.summary, {**known, **area_by_bins(model, data, found)}
        all_of.append([(said[name].value, said[name].low, said[name].high) for name in true])
        true_of.append(list(true.values()))
    value, low, high = np.moveaxis(np.array(all_of), 2, 0)
    exact = np.array(true_of)
    measured = {
        "held": ((low <= exact) & (exact <= high)).mean(axis=0),
        "mean width": (high - low).mean(axis=0),
        "mean error": (value - exact).mean(axis=0),
    }
    return {f"{name}: {what}": float(own[i]) for what, own in measured.items() for i, name in enumerate(true)}


def by_score(experiment: Experiment, rows: Sequence[Row], only: str) -> Iterator[str]:
    """A line for each score of each model: how often it was held, the width of its interval, its mean error."""
    groups: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for own in rows:
        score, _, what = own.measure.partition(": ")
        model = ", ".join(filter(None, (own.set, own.method if len(experiment.methods) > 1 else "")))
        groups.setdefault((model, score), {}).setdefault(what, []).append(own)
    yield from head("set, score", ["held", "mean width", "mean error", "looks"])
    for (model, score), found in groups.items():
        cells = [cell(mean(found[what]), "") for what in ("held", "mean width", "mean error")]
        yield row(f"{model}, {score}", [*cells, f"{TIMES * len(found['held'])}"])
    yield "\n" + provenance(experiment, rows, only)


EXPERIMENTS = [
    Experiment(
        name="evaluation",
        title="How often 95% intervals of private scores hold the truth",
        source="Privet",
        sets=tuple(MODELS),
        methods={"default model": Method("by set")},
        settings=({},),
        seeds=12,
        run=held,
        layout=by_score,
        seconds=4,
        note="Twenty looks at each of 12 models: 240 runs a set.",
    ),
    Experiment(
        name="evaluation-classes",
        title="The same for more than two classes",
        source="Privet",
        sets=("wall_robot",),
        methods=OF_SEVERAL,
        settings=({},),
        seeds=20,
        run=held,
        layout=by_score,
        seconds=8,
        note="Twenty looks at each of 20 models: 400 runs each.",
    ),
]
