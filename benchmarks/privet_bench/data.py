"""Data by name: from ``../shared/data`` where they are, else from OpenML.

``adult:hours_per_week`` is Adult with that column as the target. Ranges and categories are the manifest's; of a set
that comes from OpenML they are those that occur, as in the papers: a schema of a benchmark, not one to promise by.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

import shared_data
from privet import Categorical, Numeric, Schema
from privet.tables.table import read_table
from shared_data import Shared

TARGETS = {
    "adult": "hours_per_week",
    "bank_full": "age",
    "california": "MedInc",
    "default_credit_card": "x1",
    "electricity": "nswdemand",
    "magic": "fSize",
}
"""Sets of classes, and the numeric column of each that stands in as a target."""

OPENML: dict[str, tuple[int, tuple[float, float] | None]] = {
    "adult": (1590, None),
    "mushroom": (24, None),
    "nursery": (26, None),
    "vote": (56, None),
    "breast_w": (15, None),
    "diabetes": (37, None),
    "magic": (44125, None),
    "california": (45028, None),
    "electricity": (44120, None),
    "default_credit_card": (45020, None),
    "albert": (45035, None),
    "covertype_40pct": (44159, None),
    "bank_full": (1461, None),
    "banknote": (1462, None),
    "wall_robot": (1497, None),
    "higgs_subset": (23512, None),
    "skin": (1502, None),
    "mnist": (554, None),
    "give_me_some_credit": (45577, None),
    "nomao": (1486, None),
    "abalone": (183, (1.0, 29.0)),
    "higgs": (44129, None),
}
"""OpenML's numbers, and the public range of a target of numbers (abalone's rings)."""

ABOVE_MEDIAN = "above-median"
"""``parkinsons:above-median``: whether a target is above the median of all records, a public question for once."""

CLASSES = (*shared_data.PRIVATREE_SETS, *shared_data.OTHER_SETS, "mnist")
NUMBERS = (*shared_data.REGRESSION_SETS, *(f"{name}:{column}" for name, column in TARGETS.items()))
READY = ("give_me_some_credit", "nomao", "abalone", "higgs")
"""Sets that run as soon as there is a network: they are not among the shared ones."""


class NoData(Exception):
    """A set that cannot be read on this machine; its runs are left out, loudly."""


def is_set(name: str) -> bool:
    """Whether it is a set's name, and not one of an experiment that makes its own records."""
    return name in (*CLASSES, *NUMBERS) or name.split(":")[0] in OPENML


def here(name: str) -> bool:
    """Whether a set can be read without a network."""
    return shared_data.available() and name.split(":")[0] in shared_data.manifest()


@cache
def schema_of(name: str) -> Schema:
    return table(name).schema


@lru_cache(maxsize=4)
def table(name: str, rows: int | None = None) -> Shared:
    """A set, at most so many rows of it by a fixed draw; labels as text, targets within their range."""
    base, _, column = name.partition(":")
    data = _mnist() if base == "mnist" and here(base) else shared_data.load(base) if here(base) else _openml(base)
    if column == BLOCKS:
        return _blocks(data)
    data = replace(data, y=np.asarray(data.y))
    if column == ABOVE_MEDIAN:
        schema = Schema(dict(data.schema.features), classes=["low", "high"])
        data = Shared(name, data.X, np.where(data.y > np.median(data.y), "high", "low"), schema)
    elif column:
        features = dict(data.schema.features)
        if column not in features:
            raise NoData(f"{base} from OpenML has no column {column}")
        scope: Any = features.pop(column)
        schema = Schema(features, target=(scope.low, scope.high))
        data = Shared(name, data.X.drop(columns=column), data.X[column].to_numpy(float), schema)
    if data.schema.target is not None:
        data = replace(data, y=np.clip(data.y, *data.schema.target))
    if rows is not None and len(data.y) > rows:
        kept = np.random.default_rng(0).permutation(len(data.y))[:rows]
        data = replace(data, X=data.X.iloc[kept], y=data.y[kept])
    return data


def _mnist() -> Shared:
    import pandas as pd

    with np.load(shared_data.SHARED / "data" / "mnist.npz") as held:
        X, y = (np.concatenate([held[f"{part}_train"], held[f"{part}_test"]]) for part in "Xy")
    schema = Schema({f"p{i}": Numeric(0, 255, integer=True) for i in range(784)}, classes=list("0123456789"))
    return Shared("mnist", pd.DataFrame(X, columns=list(schema.names)), y.astype(str), schema)


BLOCKS = "blocks"
"""``mnist:blocks``: the means of 4 x 4 pixels, derived features that the library computes."""


def _blocks(data: Shared) -> Shared:
    import pandas as pd

    corners = [(row, column) for row in range(7) for column in range(7)]
    derived = Schema(
        {
            f"block_{row}_{column}": Numeric(
                0, 255, mean_of=[f"p{28 * (4 * row + i) + 4 * column + j}" for i in range(4) for j in range(4)]
            )
            for row, column in corners
        },
        classes=data.schema.classes,
    )
    read = read_table(data.X, derived)
    X = pd.DataFrame({name: read.numeric(name) for name in derived.names})
    plain = Schema({name: Numeric(0, 255) for name in derived.names}, classes=data.schema.classes)
    return Shared("mnist:blocks", X, data.y, plain)


def _openml(name: str) -> Shared:
    from sklearn.datasets import fetch_openml

    if name not in OPENML:
        raise NoData(f"{name} is not in {shared_data.SHARED}, and OpenML's number of it is not known")
    number, target = OPENML[name]
    try:
        found = fetch_openml(data_id=number, as_frame=True, parser="auto")
    except (OSError, ValueError) as error:  # OpenML's own errors are ValueErrors
        raise NoData(
            f"{name} is not in {shared_data.SHARED}, and OpenML (its set {number}) cannot be had: {error}"
        ) from error
    return from_frame(name, found.data, found.target, target)


def from_frame(name: str, X: Any, y: Any, target: tuple[float, float] | None) -> Shared:
    """Records without a manifest: those with missing values go, as in the papers, and ranges are what occurs."""
    X = X.rename(columns=lambda column: str(column).replace("-", "_"))
    whole = X.notna().all(axis=1) & y.notna()
    X, y = X[whole].reset_index(drop=True), y[whole].reset_index(drop=True)
    features: dict[str, Numeric | Categorical] = {}
    for column in X.columns:
        if X[column].dtype.kind in "iufb":
            low, high = float(X[column].min()), float(X[column].max())
            features[column] = Numeric(low, max(high, low + 1), integer=X[column].dtype.kind in "iub")
        else:
            X[column] = X[column].astype(str)
            features[column] = Categorical(sorted(X[column].unique()))
    if target is not None:
        return Shared(name, X, y.astype(float), Schema(features, target=target))
    labels = y.astype(str)
    return Shared(name, X, labels, Schema(features, classes=sorted(labels.unique())))
