"""What is public about the records: ranges, categories, classes.

A schema is the one thing an algorithm may know about the data before it asks a private question, so
everything in it must come from public knowledge. A field that was read off the data says
``inferred``, and a receipt stays void while one does.

Schemas and their fields are final, frozen values: their constructors copy what they are given into exact built-in
types (``schema_values.py``), and nobody can subclass them.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NoReturn

from privet.errors import SchemaError
from privet.schema_file import as_table, check_keys, is_text, parse, write
from privet.schema_values import Value, as_columns, as_groups, as_name, as_range, as_target, as_values, check_flags
from privet.strict_json import loads_strict
from privet.values import exact_int, final

_EXACT_INTEGERS = 2**53
"""Beyond it a float64, which is how records are read, cannot tell neighbouring integers apart."""


MOST_RECORDS_PER_PERSON = 64
"""The largest cap: counts in parts of a person must fit the integers that counts of records do."""

DEFAULT_RECORDS_PER_PERSON = 20

_NO_LABEL = """the schema does not say what is to be predicted: add classes, or target = [low, high] for a number, as in

[label]
name = "outcome"
classes = ["no", "yes"]"""
_NO_FEATURES = "a schema needs at least one feature: Schema({'age': Numeric(0, 120)}, ...)"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Numeric:
    """A number in the closed public range ``low`` to ``high``; values outside are clamped.

    Args:
        low: Smallest value. ``low == high`` is a constant, which has nothing to split on.
        high: Largest value.
        integer: Only whole numbers occur, so thresholds fall between them.
        log: Values spread over orders of magnitude, so cells are spaced by their logarithm. Needs
            ``low >= 0``; zero is allowed because counts and amounts of money start there.
        missing: Values may be missing. Without it a missing value is an error.
        mean_of: The columns whose mean this feature is, of each record: a derived feature. By default it is a column
            itself. One missing value makes the mean missing.
        inferred: The range was read off the data and nobody has confirmed it yet.

    >>> Numeric(17, 90, integer=True)
    Numeric(17, 90, integer=True)
    >>> Numeric(0, 255, mean_of=["left", "right"])
    Numeric(0, 255, mean_of=['left', 'right'])
    """

    low: float
    high: float
    _: KW_ONLY
    integer: bool = False
    log: bool = False
    missing: bool = False
    mean_of: tuple[str, ...] = ()
    inferred: bool = False

    def __post_init__(self) -> None:
        check_flags(integer=self.integer, log=self.log, missing=self.missing, inferred=self.inferred)
        object.__setattr__(self, "mean_of", as_columns(self.mean_of))
        if self.mean_of and self.integer:
            raise SchemaError("a mean is not a whole number: leave integer out")
        low, high = as_range(self.low, self.high)
        if self.integer:
            if low != int(low) or high != int(high):
                raise SchemaError("low and high must be whole numbers when integer is true")
            if max(abs(low), abs(high)) > _EXACT_INTEGERS:
                raise SchemaError("an integer range must lie within -2**53 and 2**53; leave integer out")
            low, high = int(low), int(high)
        if self.log and low < 0:
            raise SchemaError("log needs low >= 0; raise low, or leave log out")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __repr__(self) -> str:
        entry = _field_dict(self)
        low, high = _short(entry.pop("low")), _short(entry.pop("high"))
        return f"Numeric({', '.join([low, high, *_options(entry)])})"


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Categorical:
    """One of the listed ``values``, in this order; they are all text, all booleans or all numbers.

    Types count: the text ``"001"`` never equals the number 1, while 1 and 1.0 are the same number.
    If one number has a fraction, all are kept as floats.

    Args:
        values: At least one, at most 65,535, all different.
        other: Unlisted and missing values share one more cell. With ``False`` they are an error.
        groups: Which values belong together, each in one group, for trees that have a child for each value and want
            fewer of them (``HiddenTreeClassifier``).
        inferred: The values were read off the data and nobody has confirmed them yet.

    >>> Categorical(["Female", "Male"])
    Categorical(['Female', 'Male'])
    """

    values: tuple[Value, ...]
    _: KW_ONLY
    other: bool = True
    groups: tuple[tuple[Value, ...], ...] = ()
    inferred: bool = False

    def __init__(
        self,
        values: Iterable[Value],
        *,
        other: bool = True,
        groups: Iterable[Iterable[Value]] = (),
        inferred: bool = False,
    ) -> None:
        check_flags(other=other, inferred=inferred)
        object.__setattr__(self, "values", as_values(values, "values"))
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "groups", as_groups(groups, self.values))
        object.__setattr__(self, "inferred", inferred)

    @property
    def n_codes(self) -> int:
        """How many different codes occur: one per value, and one for `other`."""
        return len(self.values) + self.other

    def _key(self) -> tuple[Any, ...]:
        # The type is part of it: to Python [False, True], [0, 1] and [0.0, 1.0] are equal lists.
        return type(self.values[0]), self.values, self.other, self.groups, self.inferred

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Categorical) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        entry = _field_dict(self)
        return f"Categorical({', '.join([repr(entry.pop('values')), *_options(entry)])})"


@final
class Features(Mapping[str, "Numeric | Categorical"]):
    """The features by name, in the order of an array's columns. Read-only."""

    __slots__ = ("_fields",)
    _fields: Mapping[str, Numeric | Categorical]

    def __init__(self, fields: Mapping[str, Numeric | Categorical]) -> None:
        object.__setattr__(self, "_fields", MappingProxyType(_copied(fields)))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("features cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        return Features, (dict(self._fields),)

    def __getitem__(self, name: str) -> Numeric | Categorical:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        # Order counts, unlike in a dict: it says which column of an array is which.
        return list(self.items()) == list(other.items()) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return repr(dict(self._fields))


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Schema:
    """Everything public about a table: its features, and its classes or its target's range.

    Args:
        features: `Numeric` and `Categorical` fields by column name. Arrays follow their order, or that of `columns`
            where features are derived from other columns.
        classes: The classes, for classification; the same rules as for `Categorical` values. A single
            class is allowed, since training on it must work.
        target: ``(low, high)``, for regression; targets outside are clamped.
        label: The name of the label's column, for files and the command line.
        person: The column that says whose record it is, such as ``"patient_id"``: the promise then covers a person with
            all their records. It is no feature. Without it the promise covers one row.
        records_per_person: With ``person``, how many records of one person count at most, from 1 to 64 and by default
            20: a public number. Of a person with more, so many are drawn. Every person has the same weight in all.
        inferred: The classes or the target's range were read off the data and not confirmed yet.

    >>> schema = Schema({"age": Numeric(17, 90, integer=True)}, classes=["no", "yes"], label="ill")
    >>> schema.task, schema.names, schema.unconfirmed
    ('classification', ('age',), ())
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    features: Features
    classes: tuple[Value, ...] | None = None
    target: tuple[float, float] | None = None
    label: str | None = None
    person: str | None = None
    records_per_person: int | None = None
    inferred: bool = False

    def __init__(
        self,
        features: Mapping[str, Numeric | Categorical],
        *,
        classes: Iterable[Value] | None = None,
        target: tuple[float, float] | None = None,
        label: str | None = None,
        person: str | None = None,
        records_per_person: int | None = None,
        inferred: bool = False,
    ) -> None:
        fields = Features(features)
        if (classes is None) == (target is None):
            raise SchemaError("give either classes (classification) or target=(low, high) (regression)")
        if label is not None:
            label = as_name(label, "the label's name")
            if label in columns_of(fields):
                raise SchemaError(f"{label!r} is the label, so it cannot be a feature too; remove one of them")
        if person is not None:
            person = as_name(person, "the person's column")
            if person in (label, *columns_of(fields)):
                raise SchemaError(f"{person!r} says whose record it is, so it cannot be a feature or the label too")
        check_flags(inferred=inferred)
        put = object.__setattr__
        put(self, "features", fields)
        put(self, "classes", None if classes is None else as_values(classes, "classes"))
        put(self, "target", None if target is None else as_target(target))
        put(self, "label", label)
        put(self, "person", person)
        put(self, "records_per_person", _cap(person, records_per_person))
        put(self, "inferred", inferred)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read: a feature's own, or those that it is derived from; each once, in order."""
        return columns_of(self.features)

    @property
    def task(self) -> Literal["classification", "regression"]:
        """What the label is for."""
        return "regression" if self.classes is None else "classification"

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """The fields that still say ``inferred``; the label comes last, as ``"label"`` if it has no name."""
        names = tuple(name for name, feature in self.features.items() if feature.inferred)
        return (*names, self.label or "label") if self.inferred else names

    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON, in hex: equal exactly when the schemas are equal."""
        canonical = self.to_dict()
        canonical["features"] = list(canonical["features"].items())
        text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, defaults left out; `from_dict` gives back an equal schema."""
        label: dict[str, Any] = {} if self.label is None else {"name": self.label}
        if self.classes is not None:
            label["classes"] = list(self.classes)
        if self.target is not None:
            label["target"] = list(self.target)
        if self.inferred:
            label["inferred"] = True
        person = {} if self.person is None else {"name": self.person, "records": self.records_per_person}
        features = {name: _field_dict(f) for name, f in self.features.items()}
        return {"label": label, **({"person": person} if person else {}), "features": features}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """Build from what `to_dict` gives. Unknown keys are an error, so that no misspelling is ignored."""
        content = as_table(content, "the schema")
        check_keys(content, ("label", "person", "features"), "the schema")
        label = as_table(content.get("label", {}), "[label]")
        check_keys(label, ("name", "classes", "target", "inferred"), "[label]")
        person = as_table(content.get("person", {}), "[person]")
        check_keys(person, ("name", "records"), "[person]")
        if "person" in content and "name" not in person:
            raise SchemaError("[person] needs a name: that of the column that says whose record it is")
        features = {
            name: _field_from(name, entry)
            for name, entry in as_table(content.get("features", {}), "[features]").items()
        }
        if not {"classes", "target"} & set(label):
            raise SchemaError(_NO_LABEL)
        return cls(
            features,
            classes=label.get("classes"),
            target=label.get("target"),
            label=label.get("name"),
            person=person.get("name"),
            records_per_person=person.get("records"),
            inferred=label.get("inferred", False),
        )

    def to_toml(self, path: str | Path | None = None) -> str:
        """The schema as TOML, also written to ``path`` if one is given."""
        import tomli_w

        return write(tomli_w.dumps(self.to_dict()), path, draft=bool(self.unconfirmed))

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """Read TOML from a file, or from text: a string is text if it has more than one line."""
        content = parse(source, tomllib.loads, "TOML")
        try:
            return cls.from_dict(content)
        except SchemaError as error:
            where = "" if is_text(source) else f"{source}: "
            raise SchemaError(f"{where}{error}") from None

    def to_json(self, path: str | Path | None = None) -> str:
        """The schema as JSON, also written to ``path`` if one is given."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        return write(text, path, draft=bool(self.unconfirmed))

    @classmethod
    def from_json(cls, source: str | Path) -> Schema:
        """Read JSON from a file, or from text: a string is text if it starts with a brace."""
        return cls.from_dict(parse(source, loads_strict, "JSON"))

    def _key(self) -> tuple[Any, ...]:
        kind = type(self.classes[0]) if self.classes else None
        people = self.person, self.records_per_person
        return self.features, kind, self.classes, self.target, self.label, people, self.inferred

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        lines = ["Schema(", "    {"]
        lines += [f"        {name!r}: {feature!r}," for name, feature in self.features.items()]
        lines += ["    },"]
        if self.classes is not None:
            lines += [f"    classes={list(self.classes)!r},"]
        if self.target is not None:
            lines += [f"    target=({_short(self.target[0])}, {_short(self.target[1])}),"]
        if self.label is not None:
            lines += [f"    label={self.label!r},"]
        if self.person is not None:
            lines += [f"    person={self.person!r},", f"    records_per_person={self.records_per_person},"]
        if self.inferred:
            lines += ["    inferred=True,"]
        return "\n".join([*lines, ")"])


def _copied(features: Mapping[str, Numeric | Categorical]) -> dict[str, Numeric | Categorical]:
    """The features as a dictionary of our own, read once."""
    if not isinstance(features, Mapping):
        raise SchemaError(_NO_FEATURES)
    fields: dict[str, Numeric | Categorical] = {}
    for given, feature in features.items():
        name = as_name(given, "a feature's name")
        if type(feature) is not Numeric and type(feature) is not Categorical:
            raise SchemaError(f"feature {name!r} must be a Numeric or a Categorical")
        fields[name] = feature
    if not fields:
        raise SchemaError(_NO_FEATURES)
    return fields


def _cap(person: str | None, records: int | None) -> int | None:
    """How many records of one person count."""
    if person is None:
        if records is not None:
            raise SchemaError("records_per_person needs person, the column that says whose record it is")
        return None
    if records is None:
        return DEFAULT_RECORDS_PER_PERSON
    try:
        cap = exact_int(records)
    except TypeError:
        cap = 0
    if not 1 <= cap <= MOST_RECORDS_PER_PERSON or isinstance(records, bool):
        raise SchemaError(f"records_per_person must be a whole number from 1 to {MOST_RECORDS_PER_PERSON}")
    return cap


def columns_of(features: Mapping[str, Numeric | Categorical]) -> tuple[str, ...]:
    """The columns that these features are read from."""
    sources = (getattr(feature, "mean_of", ()) or (name,) for name, feature in features.items())
    return tuple(dict.fromkeys(column for columns in sources for column in columns))


def _short(number: float) -> str:
    return repr(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _field_dict(feature: Numeric | Categorical) -> dict[str, Any]:
    """What a field is made of, without what is as by default."""
    parts = ((part, getattr(feature, part.name)) for part in fields(feature))
    return {part.name: _listed(value) for part, value in parts if part.default is MISSING or value != part.default}


def _listed(value: Any) -> Any:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


def _options(entry: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in entry.items()]


def _field_from(name: str, entry: Any) -> Numeric | Categorical:
    where = f"feature {name!r}"
    entry = as_table(entry, where)
    if "values" in entry:
        check_keys(entry, Categorical.__slots__, where)
    else:
        check_keys(entry, (*Numeric.__slots__, "values", "other"), where)
        if "low" not in entry or "high" not in entry or "other" in entry:
            raise SchemaError(f"{where} needs low and high if it is a number, or values if it is a category")
    try:
        return Categorical(**entry) if "values" in entry else Numeric(**entry)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None
