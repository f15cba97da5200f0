"""Do the 95% intervals of private scores hold the truth in 95% of runs?

20,000 records of a data set are the population. 6,000 are drawn from it with replacement, and a model is fitted with
30% of them held out; 19 times more it is scored on as many records that are drawn anew. Each time one looks whether the
interval of each score holds what the model does on the whole population.

    python benchmarks/evaluation.py                     # 1,000 runs on each of four sets: ten minutes
    python benchmarks/evaluation.py --runs 100 --sets adult
    python benchmarks/evaluation.py --first 1000        # with other populations, draws and noise
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from privet import PrivateForestClassifier, PrivateTreeClassifier, PrivateTreeRegressor
from privet.evaluate.intervals import Estimate
from privet.evaluate.scorers import LEAST_CHANCE
from shared_data import REGRESSION_SETS, Shared, load

RESULTS = Path(__file__).parent / "results" / "evaluation.jsonl"
POPULATION, DRAWN, HOLDOUT, TIMES = 20_000, 6000, 0.3, 20

MODELS: dict[str, Any] = {
    "adult": PrivateForestClassifier(epsilon=1, method="boosting", progress=False),
    "covertype_40pct": PrivateTreeClassifier(epsilon=0.5, leaves="counts"),
    "skin": PrivateForestClassifier(epsilon=1, method="trees", n_trees=5, progress=False),
    "flights_nyc13": PrivateTreeRegressor(epsilon=2),
}


def population(name: str, seed: int = 0) -> Shared:
    """So many records of a set, drawn once."""
    data = load(name)
    rows = np.random.default_rng(seed).permutation(len(data.y))[:POPULATION]
    return replace(data, X=data.X.iloc[rows], y=np.asarray(data.y)[rows])


def truth(model: Any, data: Shared) -> dict[str, float]:
    """What the model does on the whole population."""
    if data.name in REGRESSION_SETS:
        low, high = data.schema.target or (0, 1)
        off = np.abs(model.predict(data.X) - np.clip(data.y, low, high))
        at = {f"{q:.0%} of errors below": float(np.quantile(off, q)) for q in (0.5, 0.9)}
        return {"mean absolute error": float(off.mean()), "mean squared error": float((off**2).mean()), **at}
    chances = model.predict_proba(data.X)
    column = model.classes_.tolist().index(data.schema.classes[1])  # type: ignore[index]
    positive = data.y == data.schema.classes[1]  # type: ignore[index]
    return {
        "accuracy": float((model.predict(data.X) == data.y).mean()),
        "AUC": float(roc_auc_score(positive, chances[:, column])),
        "log loss": float(log_loss(positive, np.clip(chances[:, column], LEAST_CHANCE, 1 - LEAST_CHANCE))),
    }


def runs_of(data: Shared, seed: int) -> Iterator[dict[str, tuple[float, ...]]]:
    """For each score its true value, the estimate and the ends of its interval: of one model, scored many times."""
    rng = np.random.default_rng([seed, 1])  # not the stream that the fit draws from
    rows = rng.integers(len(data.y), size=DRAWN)
    model = MODELS[data.name].set_params(schema=data.schema, random_state=seed)
    model.fit(data.X.iloc[rows], data.y[rows], holdout=HOLDOUT)
    true, found = truth(model, data), model.evaluation_
    for turn in range(TIMES):
        if turn:
            rows = rng.integers(len(data.y), size=rng.binomial(DRAWN, HOLDOUT))
            fresh = data.X.iloc[rows], data.y[rows]
            found = model.evaluate(*fresh, epsilon=model.epsilon, random_state=1000 * (seed + 1) + turn)
        said: dict[str, Estimate] = found.summary
        yield {name: (true[name], said[name].value, said[name].low, said[name].high) for name in true}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--sets", nargs="*", default=list(MODELS))
    parser.add_argument("--write", action="store_true", help=f"add the results to {RESULTS.name}")
    options = parser.parse_args()
    for name in options.sets:
        data = population(name, options.first)
        seeds = range(options.first, options.first + options.runs // TIMES)
        runs = [own for seed in seeds for own in runs_of(data, seed)]
        for score in runs[0]:
            true, value, low, high = np.array([own[score] for own in runs]).T
            held = float(((low <= true) & (true <= high)).mean())
            line = {
                "set": name,
                "model": repr(MODELS[name].set_params(schema=None, random_state=None)),
                "score": score,
                "runs": len(runs),
                "first": options.first,
                "held": round(held, 4),
                "mean width": float(np.format_float_positional((high - low).mean(), precision=4, fractional=False)),
                "mean error": float(np.format_float_positional((value - true).mean(), precision=4, fractional=False)),
            }
            print(json.dumps(line), flush=True)
            if options.write:
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
