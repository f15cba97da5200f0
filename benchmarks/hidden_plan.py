"""How a hidden tree spends its budget, and what else it could do: `make hidden-plan`, the tables of docs/hidden.md.

On the shared sets that hidden_accuracy.py does not show, cut to 5,000 records, with two 80/20 splits and some seeds
of noise each: the mean accuracy at depth 4 with six values, and the number of records as a hint. One constant of
``privet/tree/planning.py`` is changed at a time. Then both kinds of tree as they come, with five values, at several
depths, with the hint and without: what the defaults rest on.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import train_test_split

from privet import HiddenTreeClassifier
from privet.tree import planning
from shared_data import available, load

SETS = (
    "nursery", "vote", "breast_w", "diabetes", "magic", "california", "default_credit_card", "banknote", "bank_full",
    "electricity", "mushroom",
)  # fmt: skip
EPSILONS = (0.02, 0.1, 0.5, 2.0)
ROWS, SPLITS = 5000, 2


def gini_on(depth: int) -> tuple[int, ...]:
    return (0,) * (depth - 1)


VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "values": ("values", {}),
    "values, equal budgets": ("values", {"LEVEL_GROWTH": Fraction(1)}),
    "values, budgets that double": ("values", {"LEVEL_GROWTH": Fraction(2)}),
    "values, depth from half as many records": ("values", {"VALUES_PAY_OFF": 1}),
    "values, depth from twice as many records": ("values", {"VALUES_PAY_OFF": 4}),
    "values, always depth 4": ("values", {"VALUES_PAY_OFF": -math.inf}),
    "thresholds": ("thresholds", {}),
    "thresholds, inner splits by errors alone": ("thresholds", {"gini_weights": gini_on}),
    "thresholds, labels after the splits": ("thresholds", {"MOST_JOINT": 0}),
    "thresholds, equal budgets": ("thresholds", {"LEVEL_GROWTH": Fraction(1)}),
}


AS_THEY_COME: dict[str, dict[str, Any]] = {
    f"{branches}, depth {depth}{', no hint' * (not hint)}": {"branches": branches, "max_depth": depth, "hint": hint}
    for hint in (True, False)
    for branches, depths in (("values", (2, 3, 4)), ("thresholds", (2, 3, 4, 5, 6)))
    for depth in depths
}


def accuracies(seeds: int, *, hint: bool = True, **params: Any) -> np.ndarray:
    """(sets, epsilons), means over splits and seeds."""
    found = np.zeros((len(SETS), len(EPSILONS)))
    for s, name in enumerate(SETS):
        data = load(name)
        chosen = np.random.default_rng(0).permutation(len(data.y))[:ROWS]
        X, y = data.X.iloc[chosen], data.y.iloc[chosen]
        for split in range(SPLITS):
            train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=split, stratify=y)
            for e, epsilon in enumerate(EPSILONS):
                for seed in range(seeds):
                    model = HiddenTreeClassifier(
                        data.schema, epsilon=epsilon, n_records=len(train) if hint else None,
                        random_state=1000 * split + seed, **params,
                    ).fit(train, y_train)  # fmt: skip
                    found[s, e] += np.mean(model.predict(test) == y_test) / (SPLITS * seeds)
    return found


def changed(constants: dict[str, Any], measure: Callable[[], np.ndarray]) -> np.ndarray:
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(patch.object(planning, name, value))
        for plan in (planning.plan_levels, planning.plan_values):
            plan.cache_clear()
        return measure()


def head() -> None:
    print("| accuracy at epsilon | " + " | ".join(f"{e:g}" for e in EPSILONS) + " | mean |")
    print("|---|" + "---|" * (len(EPSILONS) + 1))


def row(name: str, found: np.ndarray) -> None:
    means = found.mean(axis=0)
    cells = [f"{mean:.4f}".replace("0.", ".") for mean in (*means, means.mean())]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--as-they-come", action="store_true", help="the second table alone")
    options = parser.parse_args()
    if not available():
        raise SystemExit("skipped: the shared data are not here")
    warnings.filterwarnings("ignore")
    if not options.as_they_come:
        head()
        for name, (branches, constants) in VARIANTS.items():
            params = {"branches": branches, "max_depth": 4, "n_values": 6}
            row(name, changed(constants, lambda params=params: accuracies(options.seeds, **params)))
        print()
    head()
    for name, params in AS_THEY_COME.items():
        row(name, accuracies(options.seeds, **params))
