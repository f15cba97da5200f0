"""One run of most experiments: fit on the training part, predict the rest, score.

Noise is seeded, so that a number can be made again; a seed changes no law. Our learners measure the number of records
privately unless an experiment gives it as a public hint (``n_records: "given"``). With a ``data_share`` only that part
of the training records is used, drawn by the seed.
"""

from __future__ import annotations

import inspect
import time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from privet.algorithms.registry import model_class
from privet.schema import Schema
from privet.tree.forest import Forest
from privet_bench import peers
from privet_bench.data import table
from privet_bench.experiment import Experiment, Method, Scores, Task

Answer = dict[str, Any]


def scores(experiment: Experiment, task: Task) -> Scores:
    """Of all that was predicted in one split or in all folds, taken together."""
    data, method = table(task.set, experiment.rows), experiment.methods[task.method]
    answers, truth = [], []
    for fold, (train, test) in enumerate(experiment.split.parts(data.y, task.seed)):
        answers.append(_answer(experiment, task, method, train, test, 1000 * fold + task.seed))
        truth.append(data.y[test])
    joined = {name: np.concatenate([own[name] for own in answers]) for name in answers[0] if name != "seconds"}
    found = scored(joined, np.concatenate(truth), data.schema)
    return {name: found[name] for name in experiment.measures if name in found}


def _answer(experiment: Experiment, task: Task, method: Method, train: Any, test: Any, seed: int) -> Answer:
    options = task.options | method.options | method.by_set.get(task.set, {})
    share = options.pop("data_share", 1.0)
    if share < 1:
        train = np.random.default_rng(seed).permutation(train)[: round(share * len(train))]
    if method.peer:
        return peers.answer(method.peer, method.kind, task.set, experiment.rows, train, test, seed, options)
    data = table(task.set, experiment.rows)
    if options.get("n_records") == "given":
        options["n_records"] = len(train)
    start = time.process_time()
    model = made(method.kind, data.schema, seed, options).fit(data.X.iloc[train], data.y[train])
    answer = {"seconds": time.process_time() - start, "predicted": model.predict(data.X.iloc[test])}
    if "auc" in experiment.measures and len(data.schema.classes or ()) == 2 and hasattr(model, "predict_proba"):
        if isinstance(getattr(model, "forest_", None), Forest) and "aim" not in options and "aim" in model.get_params():
            # A tree is for labels: where probabilities are the aim, it may be boosted instead.
            model.set_params(aim="probabilities").fit(data.X.iloc[train], data.y[train])
        second = list(model.classes_).index((data.schema.classes or ())[1])
        answer["chances"] = model.predict_proba(data.X.iloc[test])[:, second]
    return answer


def made(kind: str, schema: Schema, seed: int, options: dict[str, Any]) -> Any:
    """A model of ours; ``PrivateForest`` is the classifier or the regressor, as the schema wants."""
    if kind in ("PrivateForest", "PrivateTree"):
        kind += "Classifier" if schema.target is None else "Regressor"
    own = model_class(kind)
    quiet = {"progress": False} if "progress" in inspect.signature(own).parameters else {}
    return own(schema, random_state=seed, **quiet, **options)


def scored(answer: Answer, truth: np.ndarray, schema: Schema) -> Scores:
    if schema.target is not None:
        low, high = schema.target
        return {"mse": float(((np.clip(answer["predicted"], low, high) - truth) ** 2).mean() / (high - low) ** 2)}
    found = {"accuracy": float((answer["predicted"] == truth).mean())}
    if "chances" in answer:
        found["auc"] = float(roc_auc_score(truth == (schema.classes or ())[1], answer["chances"]))
    return found
