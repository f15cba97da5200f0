"""The Adult data set (census income), which ships with the package.

Barry Becker and Ronny Kohavi (1996), UCI Machine Learning Repository, https://doi.org/10.24432/C5XW20, CC BY 4.0.
Rows with missing values are left out: 45,222 people, 14 features, the task is whether income exceeds 50,000.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from privet.schema import Schema


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table, its labels and its public schema; unpacks in that order."""

    X: Any
    y: Any
    schema: Schema

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.schema))


def load_adult() -> Dataset:
    """Adult: features as a pandas data frame where pandas is installed, else as an Arrow table.

    The ranges and categories of its schema come from the documentation of the survey and the data set, rounded
    outward where only observed ranges are known.

    >>> X, y, schema = load_adult()
    >>> len(y), schema.classes
    (45222, ('<=50K', '>50K'))
    """
    import pyarrow.parquet as pq

    files = resources.files("privet.datasets")
    with resources.as_file(files / "adult.parquet") as path:
        table = pq.read_table(path)
    schema = Schema.from_toml((files / "adult.toml").read_text(encoding="utf-8"))
    features, label = table.select(list(schema.names)), table.column(schema.label)
    try:
        import pandas  # noqa: F401
    except ImportError:
        return Dataset(features, label, schema)
    return Dataset(features.to_pandas(), label.to_pandas(), schema)
