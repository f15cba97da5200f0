"""The shared data sets and the papers' printed numbers, for benchmarks and tests; both are optional.

They live beside the repository in ``../shared`` (or where ``PRIVET_SHARED`` points). Nothing in the package needs them.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from privet import Categorical, Numeric, Schema

SHARED = Path(os.environ.get("PRIVET_SHARED", Path(__file__).parents[2] / "shared"))

PRIVATREE_SETS = (
    "adult",
    "mushroom",
    "nursery",
    "vote",
    "breast_w",
    "diabetes",
    "magic",
    "california",
    "electricity",
    "default_credit_card",
    "albert",
)
"""The shared data sets that are in PrivaTree's tables."""

OTHER_SETS = (
    "banknote",
    "bank_full",
    "covertype_40pct",
    "heart_cleveland",
    "higgs_subset",
    "kddcup99_10pct",
    "skin",
    "titanic",
    "wall_robot",
)
"""Classification sets that are in none of them: the check that no default was tuned to the eleven."""


@dataclass(frozen=True, eq=False)
class Shared:
    """A data set of the manifest: a pandas frame of features, labels as text (or numbers), and its schema."""

    name: str
    X: Any
    y: Any
    schema: Schema


@cache
def manifest() -> dict[str, dict[str, Any]]:
    with open(SHARED / "data" / "MANIFEST.toml", "rb") as file:
        return {entry["name"]: entry for entry in tomllib.load(file)["dataset"]}


def available() -> bool:
    return (SHARED / "data" / "MANIFEST.toml").exists()


REGRESSION_SETS = {"parkinsons": (0.0, 55.0), "appliances_energy": (0.0, 1080.0), "flights_nyc13": (-60.0, 180.0)}
"""The regression sets with the public range of their targets: DiPriMe's scaling for the first two."""


@lru_cache(maxsize=4)
def load(name: str) -> Shared:
    """One set, with the manifest's ranges and categories as its public schema."""
    entry = manifest()[name]
    table = pq.read_table(SHARED / "data" / entry["file"]).to_pandas()
    features: dict[str, Numeric | Categorical] = {}
    numeric = {field["name"]: field for field in entry["numeric"]}
    categorical = {field["name"]: field for field in entry["categorical"]}
    for column in table.columns:
        if column in numeric:
            field = numeric[column]
            features[column] = Numeric(field["min"], field["max"], integer=field["integer"])
        elif column in categorical:
            table[column] = table[column].astype(str)
            features[column] = Categorical([str(value) for value in categorical[column]["categories"]])
    if name in REGRESSION_SETS:
        schema = Schema(features, target=REGRESSION_SETS[name], label=entry["target"])
        return Shared(name, table[list(features)], table[entry["target"]].astype(float), schema)
    labels = table[entry["target"]].astype(str)
    schema = Schema(features, classes=[str(c) for c in entry["classes"]], label=entry["target"])
    return Shared(name, table[list(features)], labels, schema)
