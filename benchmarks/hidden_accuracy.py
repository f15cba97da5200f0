"""Figures 2, 3 and 4 of paper 003 on the shared data: accuracy and AUC of hidden trees against epsilon.

Five 80/20 splits, some seeds of noise on each; means with standard errors over all of them. AUC is that of predicted
labels, which is all that a hidden tree gives away. Trees grow in the open by the law of the hidden ones.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from privet import HiddenTreeClassifier
from privet.algorithms.baselines.mpc_id3 import MPCID3Classifier, PMPCID3Classifier
from shared_data import available, load

RESULTS = Path(__file__).parent / "results"
SPLITS = 5
SETS = {
    "titanic": (4, 5, (0.2, 0.5, 1.0, 1.5, 2.0)),
    "heart_cleveland": (3, 5, (0.2, 0.5, 1.0, 1.5, 2.0)),
    "adult": (5, 7, (0.005, 0.02, 0.1, 0.5, 1.0)),
}
"""Depth, values of an attribute, and the figures' epsilons."""

AT = {"titanic": 0.2, "heart_cleveland": 0.2, "adult": 0.1}
"""The epsilons of Figure 3, which varies the depth."""

Make = Callable[[Any, float, int, int, int, int], Any]

METHODS: dict[str, Make] = {
    "no noise (MPC-ID3)": lambda schema, e, d, w, n, seed: MPCID3Classifier(schema, max_depth=d, n_values=w),
    "published, true epsilon infinite": lambda schema, e, d, w, n, seed: HiddenTreeClassifier(
        schema, epsilon=e, max_depth=d, n_values=w, variant="published", labels="report_noisy_max", random_state=seed
    ),
    "CDP+PMPC, Laplace": lambda schema, e, d, w, n, seed: PMPCID3Classifier(
        schema, epsilon=e, max_depth=d, n_values=w, variant="published", random_state=seed
    ),
    "CDP+PMPC, exponential": lambda schema, e, d, w, n, seed: PMPCID3Classifier(
        schema, epsilon=e, max_depth=d, n_values=w, variant="published", leaves="exponential", random_state=seed
    ),
    "sound, values": lambda schema, e, d, w, n, seed: HiddenTreeClassifier(
        schema, epsilon=e, max_depth=d, n_values=w, n_records=n, random_state=seed
    ),
    "sound, thresholds": lambda schema, e, d, w, n, seed: HiddenTreeClassifier(
        schema, epsilon=e, max_depth=d, n_values=w, branches="thresholds", n_records=n, random_state=seed
    ),
    "sound, random structure": lambda schema, e, d, w, n, seed: HiddenTreeClassifier(
        schema, epsilon=e, max_depth=d, n_values=w, structure="random", n_records=n, random_state=seed
    ),
}


def scores(name: str, make: Make, epsilon: float, depth: int, seeds: int) -> np.ndarray:
    """Accuracy and AUC of every split and seed."""
    data, values = load(name), SETS[name][1]
    X, schema = data.X, data.schema
    if name == "adult":  # the paper has 13 attributes; the sampling weight says nothing about a person
        from privet import Schema

        schema = Schema(
            {f: own for f, own in schema.features.items() if f != "fnlwgt"}, classes=schema.classes, label=schema.label
        )
        X = X[list(schema.names)]
    found = []
    for split in range(SPLITS):
        parts = train_test_split(X, data.y, test_size=0.2, random_state=split, stratify=data.y)
        for seed in range(seeds):
            model = make(schema, epsilon, depth, values, len(parts[0]), 1000 * split + seed).fit(parts[0], parts[2])
            predicted = model.predict(parts[1])
            found.append(
                (
                    np.mean(predicted == parts[3]),
                    roc_auc_score(parts[3] == schema.classes[1], predicted == schema.classes[1]),
                )
            )
    return np.array(found)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["method"], row["epsilon"], row["depth"]


def main(names: list[str], seeds: int, methods: tuple[str, ...] = ("",), epsilons: tuple[float, ...] = ()) -> None:
    """``methods``: words of which a method's name has one; ``epsilons`` other than the figures', at their depth."""
    warnings.filterwarnings("ignore")
    if not available():
        print("skipped: the shared data are not here")
        return
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        depth, _, all_epsilons = SETS[name]
        some = 1 if name == "adult" else seeds
        path = RESULTS / f"hidden_{name}.json"
        found = {_key(row): row for row in json.loads(path.read_text())} if path.exists() else {}
        for method, make in METHODS.items():
            if not any(word in method for word in methods):
                continue
            exact = method.startswith("no noise")
            asked = [(epsilon, depth) for epsilon in epsilons or all_epsilons][: 1 if exact else None]
            asked += [
                (AT[name], other) for other in (2, 3, 4, 5) if other != depth and method in DEPTHS and not epsilons
            ]
            for epsilon, deep in asked:
                row = _row(name, method, epsilon, deep, scores(name, make, epsilon, deep, 1 if exact else some))
                found[_key(row)] = row
                path.write_text(json.dumps(list(found.values()), indent=1))  # it can be stopped and taken up again
    plot([name for name in SETS if (RESULTS / f"hidden_{name}.json").exists()])


DEPTHS = ("published, true epsilon infinite", "CDP+PMPC, Laplace", "sound, values", "sound, thresholds")


def _row(name: str, method: str, epsilon: float, depth: int, found: np.ndarray) -> dict[str, Any]:
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    print(
        f"{name:16} depth {depth} epsilon {epsilon:<6g} {method:34} accuracy {mean[0]:.3f} ± {error[0]:.3f}  "
        f"AUC {mean[1]:.3f} ± {error[1]:.3f}",
        flush=True,
    )
    return {
        "method": method, "epsilon": epsilon, "depth": depth, "runs": len(found),
        "accuracy": mean[0], "accuracy_error": error[0], "auc": mean[1], "auc_error": error[1],
    }  # fmt: skip


def plot(names: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(names), figsize=(4.6 * len(names), 7), squeeze=False)
    for column, name in enumerate(names):
        depth, rows = SETS[name][0], json.loads((RESULTS / f"hidden_{name}.json").read_text())
        for row, what in enumerate(("accuracy", "auc")):
            axis = axes[row][column]
            for number, method in enumerate(METHODS):
                own = [found for found in rows if found["method"] == method and found["depth"] == depth]
                if not own:
                    continue
                if method.startswith("no noise"):
                    axis.axhline(own[0][what], color="black", linestyle=":", label=method)
                    continue
                style = "--" if method.startswith("published") else "-"
                axis.errorbar(
                    [found["epsilon"] for found in own], [found[what] for found in own],
                    [found[f"{what}_error"] for found in own], label=method, linestyle=style, capsize=2,
                    color=f"C{number}",
                )  # fmt: skip
            axis.set_xscale("log" if name == "adult" else "linear")
            axis.set_xlabel("epsilon (of the published curve: claimed)")
            axis.set_title(
                f"{name}, depth {depth}: {'accuracy' if what == 'accuracy' else 'AUC of labels'}", fontsize=10
            )
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(RESULTS / "hidden.png", dpi=130)
