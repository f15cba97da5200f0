"""Fits models of a peer library, in that library's own environment: it must not import privet.

    python benchmarks/peers_worker.py     reads one task per line of JSON, and answers each with a line

A task names an ``.npz`` file with ``X_train``, ``y_train`` and ``X_test`` (numbers, or codes of categories), says what
is public about the columns, and names a file for the predictions: labels or numbers, and ``chances`` of two classes.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np


def dp_ebm(task: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """With its defaults, the public ranges and the types of all columns."""
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    numeric = [n is None for n in task["categories"]]
    shared = {
        "feature_types": ["continuous" if own else "nominal" for own in numeric],
        "privacy_bounds": {f: tuple(task["ranges"][f]) for f, own in enumerate(numeric) if own},
        "epsilon": task["epsilon"],
        "delta": task["delta"],
        "n_jobs": 1,
        "random_state": task["seed"],
    }

    def table(cells: np.ndarray) -> Any:
        import pandas as pd

        return pd.DataFrame({f: cells[:, f] if own else _names(cells[:, f]) for f, own in enumerate(numeric)})

    if task["target"] is None:
        model = DPExplainableBoostingClassifier(**shared)
    else:
        low, high = task["target"]
        model = DPExplainableBoostingRegressor(privacy_target_min=low, privacy_target_max=high, **shared)
    return model.fit(table(X), y), table


def _names(codes: np.ndarray) -> np.ndarray:
    return np.array([f"c{int(code)}" for code in codes], dtype=object)


def one_hot(task: dict[str, Any], X: np.ndarray) -> np.ndarray:
    """Numbers scaled by their public range, categories as indicators: all in [0, 1]."""
    columns = []
    for f, n in enumerate(task["categories"]):
        if n is None:
            low, high = task["ranges"][f]
            columns.append(np.clip((X[:, f] - low) / max(high - low, 1e-300), 0, 1)[:, None])
        else:
            columns.append(np.eye(n)[X[:, f].astype(int)])
    return np.concatenate(columns, axis=1)


def diffprivlib_model(task: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """The forest, the logistic regression or the linear regression, on columns in [0, 1]."""
    from diffprivlib import models

    def table(cells: np.ndarray) -> np.ndarray:
        return one_hot(task, cells)

    cells = table(X)
    shared = {"epsilon": task["epsilon"], "random_state": task["seed"]}
    if task["model"] == "forest":
        model = models.RandomForestClassifier(bounds=(0.0, 1.0), classes=np.arange(task["n_classes"]), **shared)
    elif task["model"] == "logistic":
        # A numeric column and an indicator for each category: no row is longer than the root of the columns.
        model = models.LogisticRegression(data_norm=float(np.sqrt(len(task["categories"]))), **shared)
    else:
        model = models.LinearRegression(bounds_X=(0.0, 1.0), bounds_y=tuple(task["target"]), **shared)
    return model.fit(cells, y), table


FITS = {"dp-ebm": dp_ebm, "diffprivlib": diffprivlib_model}


def answer(task: dict[str, Any]) -> None:
    data = np.load(task["data"])
    model, table = FITS[task["library"]](task, data["X_train"], data["y_train"])
    test = table(data["X_test"])
    found = {"predicted": np.asarray(model.predict(test))}
    if task["n_classes"] == 2:
        found["chances"] = np.asarray(model.predict_proba(test))[:, 1]
    np.savez(task["answer"], **found)


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        task = json.loads(line)
        try:
            answer(task)
            print(json.dumps({"ok": True}), flush=True)
        except Exception as error:
            print(json.dumps({"ok": False, "error": f"{type(error).__name__}: {error}"[:300]}), flush=True)


if __name__ == "__main__":
    main()
