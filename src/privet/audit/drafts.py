"""A search for bad neighbours: tables on which one record shows most.

Guarantees break in corners: ties, empty and pure nodes, one record or none, values at and beyond the ends of a range,
categories that are rare or not listed, missing values, the order of rows. Tables are drawn with a liking for all of
these, and the worst ones found are changed a little, again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.audit.pair import Pair, Record, table
from privet.schema import Categorical, Numeric, Schema

UNLISTED = "not listed"


@dataclass(frozen=True)
class Draft:
    """Neighbours in the making: the records of the smaller table, the one that is added, and how rows are shuffled.

    ``numbers`` makes tables of plain numbers, for estimators that take nothing else: categories by their position, and
    nothing missing or unlisted. Where the schema names a person, neighbours differ by one, who has the records ``more``
    as well; the other records take turns among the other persons.
    """

    schema: Schema
    records: tuple[Record, ...]
    added: Record
    order: int = 0
    numbers: bool = False
    more: tuple[Record, ...] = ()

    def pair(self) -> Pair:
        """The two tables. The row order of the larger one follows from ``order``: it must not matter."""
        smaller, added = list(self.records), [self.added]
        columns = None if self.numbers else self.schema.names
        if self.schema.person is not None and columns is not None:
            columns = (*columns, self.schema.person)
            smaller = [_of(i % (1 + len(smaller) // 2), record) for i, record in enumerate(smaller)]
            added = [_of(-1, record) for record in (self.added, *self.more)]
        larger = [*smaller, *added]
        rng = np.random.default_rng(self.order)
        larger = [larger[i] for i in rng.permutation(len(larger))] if self.order else larger
        one, other = (table(rows, columns, self.schema) for rows in (smaller, larger))
        return Pair(one, other, self.schema)


def _of(person: int, record: Record) -> Record:
    """A record with whose it is, before its label."""
    return (*record[:-1], person, record[-1])


def random_schema(rng: np.random.Generator, numbers: bool = False, regression: bool = False) -> Schema:
    """A few small features of all kinds, and one to three classes (or a target's range); mostly so small that all
    outputs can be listed.
    """
    tiny = rng.random() < 0.75
    features: dict[str, Any] = {}
    for name in "abc"[: rng.choice([1, 2, 3], p=[0.7, 0.3, 0.0] if tiny else [0.4, 0.4, 0.2])]:
        kind = rng.choice(
            ["category", "integer", "constant", "real"], p=[0.55, 0.4, 0.05, 0] if tiny else [0.3, 0.4, 0, 0.3]
        )
        missing = not numbers and bool(rng.random() < 0.25)
        if kind == "category":
            values = ["u", "v", "w"][: rng.integers(1, 3 if tiny else 4)]
            features[name] = Categorical(values, other=not numbers and bool(rng.random() < 0.4))
        elif kind == "integer":
            low = int(rng.choice([0, -1, -(2**40)]))
            features[name] = Numeric(low, low + int(rng.integers(1, 3 if tiny else 5)), integer=True, missing=missing)
        elif kind == "constant":
            features[name] = Numeric(1, 1, missing=missing)
        else:
            features[name] = Numeric(0, float(rng.choice([1.0, 1e6])), log=bool(rng.random() < 0.3), missing=missing)
    persons: dict[str, Any] = {}
    if not numbers and rng.random() < 0.25:
        persons = {"person": "who", "records_per_person": int(rng.choice([1, 2, 3]))}
    if regression:
        return Schema(features, target=(-1.0, float(rng.choice([-1, 1, 1e6], p=[0.05, 0.8, 0.15]))), **persons)
    n_classes = int(rng.choice([1, 2, 3], p=[0.05, 0.8, 0.15]))
    return Schema(features, classes=list(range(n_classes)) if numbers else ["n", "y", "m"][:n_classes], **persons)


def random_draft(
    rng: np.random.Generator, schema: Schema | None = None, numbers: bool = False, regression: bool = False
) -> Draft:
    """A few records, mostly nasty ones, and one more."""
    schema = schema or random_schema(rng, numbers, regression)
    n = int(rng.choice([0, 1, 2, 3, 4, 6, 9], p=[0.1, 0.15, 0.2, 0.2, 0.15, 0.1, 0.1]))
    if numbers:
        n = max(n, 2)
    records = [_record(rng, schema, numbers) for _ in range(n)]
    pattern = rng.choice(["as drawn", "all alike", "pure", "ties"])
    if records and pattern == "all alike":
        records = records[:1] * n
    elif records and pattern == "pure":
        records = [(*record[:-1], records[0][-1]) for record in records]
    elif records and pattern == "ties":
        records = [(*record[:-1], label) for record in records for label in _labels(schema)][: max(n, 2)]
    added = _record(rng, schema, numbers)
    if records and rng.random() < 0.3:
        added = (*records[int(rng.integers(len(records)))][:-1], added[-1])
    more = () if schema.person is None else tuple(_record(rng, schema, numbers) for _ in range(rng.integers(4)))
    return Draft(schema, tuple(records), added, int(rng.integers(2) * rng.integers(2**31)), numbers, more)


def mutated(rng: np.random.Generator, draft: Draft) -> Draft:
    """The same neighbours with one small change."""
    records, added = list(draft.records), draft.added
    at = int(rng.integers(len(records))) if records else -1
    change = rng.choice(["value", "added", "label", "again", "drop", "more", "order"])
    if draft.schema.person is not None and rng.random() < 0.3:
        own = [*draft.more, _record(rng, draft.schema, False)]
        return replace(draft, more=tuple(own[int(rng.integers(2)) :][:4]))
    if change == "value" and records:
        records[at] = _with_new_value(rng, draft, records[at])
    elif change == "added":
        added = _with_new_value(rng, draft, added)
    elif change == "label" and records:
        records[at] = (*records[at][:-1], _pick(rng, _labels(draft.schema)))
    elif change == "again" and records:
        records.append(records[at])
    elif change == "drop" and len(records) > (2 if draft.numbers else 0):
        del records[at]
    elif change == "more":
        records.append(_record(rng, draft.schema, draft.numbers))
    else:
        return replace(draft, order=int(rng.integers(1, 2**31)))
    return replace(draft, records=tuple(records), added=added)


def _record(rng: np.random.Generator, schema: Schema, numbers: bool) -> Record:
    return (*(_value(rng, f, numbers) for f in schema.features.values()), _pick(rng, _labels(schema)))


def _with_new_value(rng: np.random.Generator, draft: Draft, record: Record) -> Record:
    at = int(rng.integers(len(record)))
    if at == len(record) - 1:
        return (*record[:-1], _pick(rng, _labels(draft.schema)))
    feature = list(draft.schema.features.values())[at]
    return (*record[:at], _value(rng, feature, draft.numbers), *record[at + 1 :])


def _value(rng: np.random.Generator, feature: Numeric | Categorical, numbers: bool) -> Any:
    """A value, often an extreme one."""
    if isinstance(feature, Categorical):
        if numbers:
            return int(rng.integers(feature.n_codes))
        strange = feature.other and rng.random() < 0.2
        return _strange(rng, feature) if strange else _pick(rng, feature.values)
    if feature.missing and not numbers and rng.random() < 0.25:
        return None
    low, high = float(feature.low), float(feature.high)
    inside = float(rng.integers(int(low), int(high) + 1)) if feature.integer else float(rng.uniform(low, high))
    options = [low, high, inside, inside]
    if not numbers:  # clamped by our own estimators; what others do with such values is their affair
        options += [low - 1.0, high * 2 + 1e9, np.nextafter(high, np.inf), np.nextafter(low, -np.inf)]
    return float(_pick(rng, options))


def _strange(rng: np.random.Generator, feature: Categorical) -> Any:
    """A value that is not listed, or missing."""
    unlisted = {str: UNLISTED, bool: None, int: 2**40 + 7, float: -12345.5}[type(feature.values[0])]
    return None if rng.random() < 0.5 else unlisted


def _labels(schema: Schema) -> tuple[Any, ...]:
    if schema.classes is not None:
        return schema.classes
    assert schema.target is not None
    low, high = schema.target
    return low, high, (low + high) / 2


def _pick(rng: np.random.Generator, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]
