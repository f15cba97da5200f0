"""A table that nobody is in: drawn from a schema, to try a model on before it meets records.

Numbers are even over their range (over its logarithm, if the schema says so), categories even over their values. The
label follows from a few of the features by a rule that is drawn too; one record in ten has a random one instead. So
there is something to learn, neither easy nor hard. Classes are equally common, unless it is public how common each is.
Real data differ: what is told of a stand-in is a guide, not a promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.schema import Categorical, Numeric, Schema

_WRONG = 0.1
_FEATURES_THAT_MATTER = 4


def stand_in(
    schema: Schema, n_records: int, seed: int = 0, class_shares: Sequence[float] | None = None
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """A table of the schema's columns, its labels or targets, and persons' ids if the schema has persons.

    ``class_shares``: how common each class of the schema is, in its order and adding up to 1.
    """
    import pyarrow as pa

    rng = np.random.default_rng([2, seed])
    columns: dict[str, Any] = {}
    signals = []
    for name, feature in schema.features.items():
        if isinstance(feature, Categorical):
            codes = rng.integers(len(feature.values), size=n_records)
            columns[name] = np.array(feature.values, dtype=object)[codes]
            signals.append(rng.standard_normal(len(feature.values))[codes])
            continue
        parts = [_numbers(feature, rng.random(n_records)) for _ in feature.mean_of or (name,)]
        columns |= dict(zip(feature.mean_of or (name,), parts))
        place = rng.uniform(0.3, 0.7)
        signals.append(np.sign(_share(feature, np.mean(parts, axis=0)) - place) + 1e-3 * rng.random(n_records))
    rng.shuffle(signals)
    score = sum(signals[:_FEATURES_THAT_MATTER], start=np.zeros(n_records))
    table = pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})
    ids = np.arange(n_records) if schema.person is not None else None
    return table, _labels(schema, score, class_shares, rng), ids


def _numbers(feature: Numeric, shares: np.ndarray) -> np.ndarray:
    low, high = feature.low, feature.high
    if feature.log:
        values = np.expm1(np.log1p(low) + shares * (np.log1p(high) - np.log1p(low)))
    else:
        values = low + shares * (high - low)
    return np.clip(np.rint(values) if feature.integer else values, low, high)


def _share(feature: Numeric, values: np.ndarray) -> np.ndarray:
    """Where in its range each value lies, from 0 to 1."""
    low, high = feature.low, feature.high
    if feature.log:
        low, high, values = np.log1p(low), np.log1p(high), np.log1p(values)
    return (values - low) / max(high - low, np.finfo(float).tiny)


def _labels(
    schema: Schema, score: np.ndarray, class_shares: Sequence[float] | None, rng: np.random.Generator
) -> np.ndarray:
    ranks = np.argsort(np.argsort(score, kind="stable")) / max(len(score), 1)
    wrong = rng.random(len(score)) < _WRONG
    if schema.target is not None:
        low, high = schema.target
        return low + (high - low) * np.where(wrong, rng.random(len(score)), ranks)
    n_classes = len(schema.classes or ())
    ends = np.cumsum([1 / n_classes] * n_classes if class_shares is None else class_shares)[:-1]
    codes, others = (np.searchsorted(ends, shares, side="right") for shares in (ranks, rng.random(len(score))))
    return np.array(schema.classes)[np.where(wrong, others, codes)]
