"""Models of every form on a table with every kind of column, and records that try the corners, for tests of exports."""

from functools import cache

import numpy as np
import pandas as pd

from privet import (
    Categorical,
    DiPriMeForestClassifier,
    DiPriMeForestRegressor,
    Numeric,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    Schema,
)

QUOTES = 'it\'s "quoted"; -- \\ {x}'

FEATURES = {
    "age": Numeric(0, 90, integer=True),
    QUOTES: Numeric(0, 1, missing=True),
    "mean": Numeric(-1, 1, mean_of=("left", "right"), missing=True),
    "select": Categorical(["a", "b'c", 'd"e', "ä\n"]),
    "flag": Categorical([True, False], other=False),
    "code": Categorical([1, 2.5, -3]),
}

MODELS = {
    "tree": lambda schema: PrivateTreeClassifier(schema=schema, epsilon=15, max_depth=5, random_state=0),
    "counts": lambda schema: PrivateTreeClassifier(
        schema=schema, epsilon=15, max_depth=5, leaves="counts", random_state=0
    ),
    "forest": lambda schema: DiPriMeForestClassifier(schema=schema, epsilon=15, n_trees=5, max_depth=4, random_state=0),
    "boosting": lambda schema: PrivateForestClassifier(schema=schema, epsilon=9, method="boosting", random_state=0),
    "target_tree": lambda schema: PrivateTreeRegressor(schema=schema, epsilon=15, max_depth=4, random_state=0),
    "target_forest": lambda schema: DiPriMeForestRegressor(
        schema=schema, epsilon=15, n_trees=4, max_depth=4, random_state=0
    ),
    "target_boosting": lambda schema: PrivateForestRegressor(
        schema=schema, epsilon=9, method="boosting", random_state=0
    ),
}


def records(n: int, seed: int) -> pd.DataFrame:
    """Records of the features, missing and unlisted values and values on the edge of cells among them."""
    rng = np.random.default_rng(seed)
    missing = rng.random((4, n)) < 0.1
    return pd.DataFrame(
        {
            "age": rng.integers(-5, 100, n),
            QUOTES: np.where(missing[0], np.nan, rng.integers(0, 257, n) / 256),
            "left": np.where(missing[1], np.nan, rng.normal(size=n)),
            "right": rng.normal(size=n).round(2),
            "select": pd.Series(rng.choice(["a", "b'c", 'd"e', "ä\n", "other", ""], n)).mask(missing[2]).astype(object),
            "flag": rng.random(n) < 0.4,
            "code": np.where(missing[3], np.nan, rng.choice([1, 2.5, -3, 7], n)),
        }
    )


@cache
def exported(name: str, n_classes: int = 2):
    """A fitted model of that form."""
    X = records(3000, 1)
    signal = X["age"] / 30 + 2 * X["flag"] + (X["select"] == "b'c") * 2 + X[QUOTES].fillna(2) + X["code"].fillna(0) / 3
    if name.startswith("target"):
        schema = Schema(FEATURES, target=(0, 8))
        return MODELS[name](schema).fit(X, np.clip(signal, 0, 8))
    # Not in alphabetical order: predict_proba sorts its classes.
    schema = Schema(FEATURES, classes=["yes", "no", "it's"][:n_classes])
    places = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    return MODELS[name](schema).fit(X, np.array(schema.classes)[places])


FORMS = [*((name, 2) for name in MODELS), ("tree", 3), ("counts", 3), ("forest", 3), ("boosting", 3)]
