"""What is public about the records: ranges, categories, classes.

A schema is the one thing an algorithm may know about the data before it asks a private question, so
everything in it must come from public knowledge. A field that was read off the data says
``inferred``, and a receipt stays void while one does.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

from privet.errors import SchemaError

Value = str | bool | int | float

MOST_CATEGORIES = 65_535
"""Codes are 16 bits wide and one is kept for values that are not listed."""

_EXACT_INTEGERS = 2**53
"""Beyond it a float64, which is how records are read, cannot tell neighbouring integers apart."""


@dataclass(frozen=True, repr=False)
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
        _check_flags(self, "integer", "log", "missing", "inferred")
        object.__setattr__(self, "mean_of", _columns(self.mean_of))
        if self.mean_of and self.integer:
            raise SchemaError("a mean is not a whole number: leave integer out")
        low, high = _range(self.low, self.high)
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
        flags = [f", {name}=True" for name in ("integer", "log", "missing", "inferred") if getattr(self, name)]
        if self.mean_of:
            flags.append(f", mean_of={list(self.mean_of)!r}")
        return f"Numeric({_short(self.low)}, {_short(self.high)}{''.join(flags)})"


@dataclass(frozen=True, repr=False, eq=False)
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
        object.__setattr__(self, "values", _values(values, "values"))
        object.__setattr__(self, "other", other)
        object.__setattr__(self, "groups", _groups(groups, self.values))
        object.__setattr__(self, "inferred", inferred)
        _check_flags(self, "other", "inferred")

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
        flags = "" if self.other else ", other=False"
        flags += f", groups={[list(group) for group in self.groups]!r}" if self.groups else ""
        flags += ", inferred=True" if self.inferred else ""
        return f"Categorical({list(self.values)!r}{flags})"


class Features(Mapping[str, "Numeric | Categorical"]):
    """The features by name, in the order of an array's columns. Read-only."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Numeric | Categorical]) -> None:
        self._fields = dict(fields)

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
        return repr(self._fields)


@dataclass(frozen=True, repr=False, eq=False)
class Schema:
    """Everything public about a table: its features, and its classes or its target's range.

    Args:
        features: `Numeric` and `Categorical` fields by column name. Arrays follow their order, or that of `columns`
            where features are derived from other columns.
        classes: The classes, for classification; the same rules as for `Categorical` values. A single
            class is allowed, since training on it must work.
        target: ``(low, high)``, for regression; targets outside are clamped.
        label: The name of the label's column, for files and the command line.
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
    inferred: bool = False

    def __init__(
        self,
        features: Mapping[str, Numeric | Categorical],
        *,
        classes: Iterable[Value] | None = None,
        target: tuple[float, float] | None = None,
        label: str | None = None,
        inferred: bool = False,
    ) -> None:
        if not isinstance(features, Mapping) or not features:
            raise SchemaError("a schema needs at least one feature: Schema({'age': Numeric(0, 120)}, ...)")
        for name, feature in features.items():
            _check_name(name, "a feature's name")
            if not isinstance(feature, Numeric | Categorical):
                raise SchemaError(f"feature {name!r} must be a Numeric or a Categorical")
        if (classes is None) == (target is None):
            raise SchemaError("give either classes (classification) or target=(low, high) (regression)")
        if label is not None:
            _check_name(label, "the label's name")
            if label in columns_of(features):
                raise SchemaError(f"{label!r} is the label, so it cannot be a feature too; remove one of them")
        put = object.__setattr__
        put(self, "features", Features(features))
        put(self, "classes", None if classes is None else _values(classes, "classes"))
        put(self, "target", None if target is None else _target(target))
        put(self, "label", label)
        put(self, "inferred", inferred)
        _check_flags(self, "inferred")

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
        return {"label": label, "features": {name: _field_dict(f) for name, f in self.features.items()}}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """Build from what `to_dict` gives. Unknown keys are an error, so that no misspelling is ignored."""
        content = _table(content, "the schema")
        _check_keys(content, ("label", "features"), "the schema")
        label = _table(content.get("label", {}), "[label]")
        _check_keys(label, ("name", "classes", "target", "inferred"), "[label]")
        features = {
            name: _field_from(name, entry) for name, entry in _table(content.get("features", {}), "[features]").items()
        }
        return cls(
            features,
            classes=label.get("classes"),
            target=label.get("target"),
            label=label.get("name"),
            inferred=label.get("inferred", False),
        )

    def to_toml(self, path: str | Path | None = None) -> str:
        """The schema as TOML, also written to ``path`` if one is given."""
        import tomli_w

        return _write(tomli_w.dumps(self.to_dict()), path)

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """Read TOML from a file, or from text: a string is text if it has more than one line."""
        return cls.from_dict(_parse(source, tomllib.loads, "TOML"))

    def to_json(self, path: str | Path | None = None) -> str:
        """The schema as JSON, also written to ``path`` if one is given."""
        return _write(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", path)

    @classmethod
    def from_json(cls, source: str | Path) -> Schema:
        """Read JSON from a file, or from text: a string is text if it starts with a brace."""
        return cls.from_dict(_parse(source, json.loads, "JSON"))

    def _key(self) -> tuple[Any, ...]:
        kind = type(self.classes[0]) if self.classes else None
        return self.features, kind, self.classes, self.target, self.label, self.inferred

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
        if self.inferred:
            lines += ["    inferred=True,"]
        return "\n".join([*lines, ")"])


def columns_of(features: Mapping[str, Numeric | Categorical]) -> tuple[str, ...]:
    """The columns that these features are read from."""
    sources = (getattr(feature, "mean_of", ()) or (name,) for name, feature in features.items())
    return tuple(dict.fromkeys(column for columns in sources for column in columns))


def kind_of(values: tuple[Value, ...]) -> Literal["text", "booleans", "numbers"]:
    """What categories or classes consist of."""
    if isinstance(values[0], str):
        return "text"
    return "booleans" if isinstance(values[0], bool) else "numbers"


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name, or nothing: ``; did you mean 'age'?``."""
    match = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {match[0]!r}?" if match else ""


def _short(number: float) -> str:
    return repr(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SchemaError(f"{what} must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SchemaError(f"{what} must be finite")
    return number + 0.0  # turns -0.0 into 0.0, so that equal ranges are written alike


def _range(low: Any, high: Any) -> tuple[float, float]:
    low, high = _number(low, "low"), _number(high, "high")
    if low > high:
        raise SchemaError("low must not be above high; swap them?")
    if not math.isfinite(high - low):
        raise SchemaError("the range is too wide for floating point; choose a narrower one")
    return low, high


def _target(target: Any) -> tuple[float, float]:
    if isinstance(target, str) or not isinstance(target, Iterable) or len(pair := tuple(target)) != 2:
        raise SchemaError("target must be two numbers: (low, high)")
    try:
        return _range(*pair)
    except SchemaError as error:
        raise SchemaError(f"target: {error}") from None


def _values(values: Any, what: str) -> tuple[Value, ...]:
    """Check categories or classes and give them one type: str, bool, int or float."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise SchemaError(f"{what} must be a list, such as ['no', 'yes']")
    plain = tuple(_plain(value, what) for value in values)
    if not plain:
        raise SchemaError(f"{what} must not be empty")
    if len(plain) > MOST_CATEGORIES:
        raise SchemaError(f"{what} must be at most {MOST_CATEGORIES:,}; group them, or leave the column out")
    types = {type(value) for value in plain}
    if types == {int, float}:
        if any(float(value) != value for value in plain):
            raise SchemaError(f"{what} mix fractions with integers too large to be told apart beside them")
        plain = tuple(float(value) for value in plain)
    elif len(types) > 1:
        raise SchemaError(f"{what} must be all text, all booleans or all numbers; put text in quotes")
    if len(set(plain)) < len(plain):
        twice = Counter(plain).most_common(1)[0][0]
        raise SchemaError(f"{what} must all be different, and {twice!r} is listed twice")
    return plain


def _groups(groups: Any, values: tuple[Value, ...]) -> tuple[tuple[Value, ...], ...]:
    """Check that groups hold every one of the values once, and give them the values' type."""
    if isinstance(groups, str | Mapping) or not isinstance(groups, Iterable):
        raise SchemaError("groups must be a list of lists, such as [['Mon', 'Tue'], ['Sat', 'Sun']]")
    listed = [_values(group, "each of groups") for group in groups]
    if not listed:
        return ()
    flat = _values([value for group in listed for value in group], "groups")
    alike = {type(flat[0]), type(values[0])} in ({type(values[0])}, {int, float})
    if not alike or set(flat) != set(values):
        raise SchemaError("groups must hold every one of the values, each in one group, and nothing else")
    own = {value: value for value in values}
    return tuple(tuple(own[value] for value in group) for group in listed)


def _plain(value: Any, what: str) -> Value:
    """One value as Python's own type, whatever NumPy or pandas made of it."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, str):
        _check_text(value, what)
        return str(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        if not -(2**63) <= int(value) < 2**63:
            raise SchemaError(f"{what} must fit in 64-bit integers; write larger ones as text")
        return int(value)
    if isinstance(value, float):
        return _number(value, f"each of the {what}")
    raise SchemaError(f"{what} must be text, booleans or numbers; leave missing values out")


def _check_text(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{what} must be valid Unicode") from None


def _check_name(name: Any, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise SchemaError(f"{what} must be text and not empty")
    _check_text(name, what)


def _columns(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise SchemaError("mean_of must be a list of column names")
    names = tuple(names)
    for name in names:
        _check_name(name, "a column in mean_of")
    if len(set(names)) < len(names):
        raise SchemaError("mean_of must not name a column twice")
    return names


def _check_flags(owner: Any, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(owner, name), bool):
            raise SchemaError(f"{name} must be true or false")


def _check_keys(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            hint = nearest(str(key), known) or f"; known are {', '.join(known)}"
            raise SchemaError(f"{where} has an unknown key {key!r}{hint}")


def _table(entry: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise SchemaError(f"{where} must be a table")
    return entry


def _field_dict(feature: Numeric | Categorical) -> dict[str, Any]:
    entry: dict[str, Any]
    if isinstance(feature, Categorical):
        entry = {"values": list(feature.values)}
        if not feature.other:
            entry["other"] = False
        if feature.groups:
            entry["groups"] = [list(group) for group in feature.groups]
    else:
        entry = {"low": feature.low, "high": feature.high}
        entry |= {name: True for name in ("integer", "log", "missing") if getattr(feature, name)}
        if feature.mean_of:
            entry["mean_of"] = list(feature.mean_of)
    if feature.inferred:
        entry["inferred"] = True
    return entry


def _field_from(name: str, entry: Any) -> Numeric | Categorical:
    where = f"feature {name!r}"
    entry = _table(entry, where)
    if "values" in entry:
        _check_keys(entry, ("values", "other", "groups", "inferred"), where)
    else:
        known = ("low", "high", "integer", "log", "missing", "mean_of", "inferred", "values", "other")
        _check_keys(entry, known, where)
        if "low" not in entry or "high" not in entry or "other" in entry:
            raise SchemaError(f"{where} needs low and high if it is a number, or values if it is a category")
    try:
        return Categorical(**entry) if "values" in entry else Numeric(**entry)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None


def _parse(source: str | Path, loads: Callable[[str], Any], language: str) -> Any:
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{")):
        text, where = source, "the schema"
    else:
        where = str(source)
        try:
            text = Path(source).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SchemaError(f"{where}: no such file; write a schema there, or draft one") from None
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError(f"{where} cannot be read as UTF-8 text ({type(error).__name__})") from None
    try:
        return loads(text)
    except ValueError as error:
        raise SchemaError(f"{where} is not valid {language}: {error}") from None


def _write(text: str, path: str | Path | None) -> str:
    if path is not None:
        # No newline translation: the file is the same on every system, as its fingerprint is.
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text
