"""A table in a database against its schema: cells, labels, weights and draws as expressions of its columns.

They give each record the cell that it has in memory: numbers are compared as doubles, NULL and NaN are missing, text is
compared byte by byte. What the schema does not allow is looked for when a fit begins, by one query; its errors name a
column and a rule, never a value.

A record's draw is MD5 of a salt, which is new for each draw, and of a key: the id of its person, a column that the user
names, or the engine's own number of the row. So it is the same whenever it is computed. An id or a named key belongs to
the record: adding or removing another one moves nothing, and parts are disjoint even for somebody who knows the salt. A
row's number is a place, which another record may have in another table. There the draws are independent ones for each
record only to those who do not know the salt, as in memory; it is in the database's log, whose readers have the table.
Samples, whose price needs secrecy from everybody, are never drawn in a database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from privet.curators.records import MOST_RECORDS
from privet.curators.sql.columns import WEIGHT, Cell, Column, Draw, Number
from privet.curators.sql.database import MANY, Database
from privet.curators.sql.expressions import (
    as_type,
    case,
    column,
    concatenated,
    inside,
    named,
    paren,
    part_of,
    selected,
    text,
    whole,
)
from privet.curators.sql.stretches import Stretches
from privet.errors import PrivetError, SchemaError
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.unit import Unit
from privet.schema import Categorical, Numeric, Schema
from privet.schema_values import Value, kind_of
from privet.tables.table import check_columns

LARGEST = float(np.finfo(np.float64).max)
CHECKED_AT_ONCE = 200
"""So many rules are looked at by one query: engines have a largest number of columns."""


_PLACE, _RECORDS, _KEY, _PERSON = "place", "records", "row_key", "person"


@dataclass(frozen=True)
class SqlRule:
    """What no record may break: ``broken`` is 0, or the number of the way in which a record does, and ``words`` say for
    each way what is wrong; "" where nothing is, and it only must be possible to compute."""

    broken: exp.Expr
    words: tuple[str, ...]


def _never(bad: exp.Expr, words: str) -> SqlRule:
    return SqlRule(case([(bad, whole(1))], whole(0)), (words,))


class Source:
    """The table; ``key`` names a column that tells its rows apart, if the engine has none of its own."""

    n_records = 0  # known once it has been checked

    def __init__(self, database: Database, table: exp.Table, schema: Schema, key: str | None) -> None:
        self.database, self.table, self.schema = database, table, schema
        self.unit = Unit.of(schema)
        kinds = database.columns(table)
        if schema.label is None:
            raise SchemaError("the schema does not name the label's column; set label, or name in [label]")
        named = [name for name in (schema.label, schema.person, key) if name is not None]
        check_columns(list(kinds), [*schema.columns, *named])
        self._kinds = {name: kinds[name] for name in dict.fromkeys([*schema.columns, *named])}
        self._alias = {name: f"r{i}" for i, name in enumerate(self._kinds)}
        self._doubles = self._read_as_doubles()
        self._check_kinds(key)
        self.row_key = self._found_key(key, kinds)
        if schema.person is not None and self.row_key is None:
            raise PrivetError(
                "whose records count how much is drawn by a key of theirs, and this table has none of its own. Give "
                "key='...', a column that tells a person's records apart."
            )

    # -- what columns hold ---------------------------------------------------------------------------------------------

    def _check_kinds(self, key: str | None) -> None:
        for name, kind in self._kinds.items():
            if kind is None:
                raise SchemaError(
                    f"column {name!r} must hold numbers, text or booleans; cast dates and other types in a view"
                )
        numeric = [f.mean_of or (name,) for name, f in self.schema.features.items() if isinstance(f, Numeric)]
        label = self.schema.label or ""
        for name in {*(own for columns in numeric for own in columns), *((label,) if self.schema.target else ())}:
            if self._kinds[name] == "text":
                raise SchemaError(f"column {name!r} must hold numbers only; cast the text in a view")
        for name, values in self._listed():
            own = self._kinds[name] or ""
            holds, wanted = (own if own in ("text", "booleans") else "numbers"), kind_of(values)
            if holds != wanted:
                raise SchemaError(
                    f"column {name!r} holds {holds}, but the schema lists {wanted}; convert one of the two"
                )
        for ids in {self.schema.person, key} - {None}:
            if self._kinds[ids or ""] not in ("text", "integers"):
                raise SchemaError(f"column {ids!r} must hold text or whole numbers to tell records apart; cast it")

    def _read_as_doubles(self) -> set[str]:
        """The columns that are cast once, where they are read: those that are not compared as they are, too."""
        own = {name for feature in self.schema.names for name in self._columns_of(feature)} | {self.schema.label or ""}
        listed = {name for name, _ in self._listed()}
        return {name for name in own - listed if self._kinds[name] not in ("text", "booleans", None)}

    def _columns_of(self, feature: str) -> Sequence[str]:
        return getattr(self.schema.features[feature], "mean_of", ()) or (feature,)

    def _listed(self) -> Iterator[tuple[str, tuple[Value, ...]]]:
        yield from ((name, f.values) for name, f in self.schema.features.items() if isinstance(f, Categorical))
        if self.schema.classes is not None:
            yield self.schema.label or "", self.schema.classes

    def _found_key(self, key: str | None, kinds: Mapping[str, Any]) -> exp.Expr | None:
        """What tells rows apart: the user's column, or one of the engine's own, if this is a table that has it."""
        if key is not None:
            return as_type(column(key), "text")
        for own in self.database.row_keys:
            if not set(own) & set(kinds) and self.database.has(self.table, own):
                pieces = [as_type(column(name), "text") for name in own]
                return concatenated(pieces[0], *(piece for name in pieces[1:] for piece in (text(":"), name)))
        return None

    @property
    def can_draw(self) -> bool:
        return self.row_key is not None or self.schema.person is not None

    # -- rows ----------------------------------------------------------------------------------------------------------

    def stretches(self, columns: Collection[Column]) -> Stretches | None:
        """What cells can be looked up in, where the engine is faster at that than at comparing."""
        compared = {own: self._compared(own) for own in columns if isinstance(own, Cell)}
        cuts = {own: points for own, points in compared.items() if points is not None and len(points) > MANY}
        return Stretches(self.database, cuts) if cuts and self.database.knows_ranges else None

    def rows(self, columns: Mapping[Column, str], salt: str, stretches: Stretches | None = None) -> exp.Select:
        """The records, with these columns under these names. ``salt`` draws which records of a person weigh more."""
        draws = [own for own in columns if isinstance(own, Draw)]
        weighed = WEIGHT in columns and self.schema.person is not None
        cells = [own for own in columns if isinstance(own, Cell)]
        looked_up = {own: self._cast_here(own) for own in cells if stretches is not None and own in stretches}
        compared = {name for own in columns if own not in looked_up for name in self._sources(own)}
        # What is looked up is cast there: DuckDB plans casts below many joins for longer than it takes to do them.
        as_they_are = {name for own in looked_up for name in self._sources(own)} - compared
        raw = self._raw(as_they_are | compared, as_they_are)
        if weighed:
            raw += self._places(salt)
        for i, draw in enumerate(draws):
            key = self._person() if self.schema.person is not None else self.row_key
            assert key is not None
            hashed = exp.func("MD5", concatenated(text(draw.salt), key.copy()))
            raw.append(named(self.database.exact_text(hashed), f"h{i}"))
        hashes = {draw: column(f"h{i}") for i, draw in enumerate(draws)}
        each = [named(self._value(own, hashes, stretches), name) for own, name in columns.items()]
        query = selected(each, inside(selected(raw, self.table.copy()), "inside"))
        if stretches is None:
            return query
        return stretches.joined(query, looked_up)

    def _raw(self, names: Collection[str], as_they_are: Collection[str] = ()) -> list[exp.Expr]:
        """The table's own columns, under names of ours. One at least: there are statements about no column at all."""
        return [
            named(column(name) if name in as_they_are else self._plain(name), alias)
            for name, alias in self._alias.items()
            if name in names or name == self.schema.label
        ]

    def _plain(self, name: str) -> exp.Expr:
        """A column as it is compared."""
        kind, own = self._kinds[name], column(name)
        if kind == "text":
            return self.database.exact_text(own)
        return as_type(own, "double") if kind == "numbers" or name in self._doubles else own

    def _sources(self, own: Column) -> Sequence[str]:
        if isinstance(own, Cell | Number):
            return self._columns_of(self.schema.names[own.feature])
        return ()

    def _value(self, own: Column, hashes: Mapping[Draw, exp.Expr], stretches: Stretches | None) -> exp.Expr:
        if isinstance(own, Cell):
            return as_type(self.cell(own, stretches), self.database.small(own.grid.features[own.feature].n_cells))
        if isinstance(own, Number):
            return self._number(self.schema.names[own.feature])
        if isinstance(own, Draw):
            return as_type(part_of(hashes[own], own.weights), self.database.small(len(own.weights)))
        if own == WEIGHT:
            return as_type(self._weight(), self.database.small(256))
        return self._label()

    # -- cells ---------------------------------------------------------------------------------------------------------

    def _compared(self, own: Cell) -> np.ndarray | None:
        """The cuts that numbers are compared with to find their cell; None where it is found otherwise."""
        feature, cuts = self.schema.features[own.grid.features[own.feature].name], own.grid.features[own.feature].cuts
        if cuts is None or isinstance(feature, Categorical):
            return None
        every = len(cuts) > 1 and feature.integer and (np.diff(cuts) == 1).all() and cuts[0] == np.floor(cuts[0])
        return None if every else cuts

    def cell(self, own: Cell, stretches: Stretches | None = None) -> exp.Expr:
        """The cell that a record is in."""
        cells = own.grid.features[own.feature]
        feature = self.schema.features[cells.name]
        if isinstance(feature, Categorical):
            return self._code(cells.name, feature.values)
        assert cells.cuts is not None
        cuts, value = cells.cuts, self._number(cells.name)
        if stretches is not None and own in stretches:
            value = self._cast_here(own)
            found = stretches.cell(own, value)
        elif self._compared(own) is None:
            above = exp.Sub(this=exp.Ceil(this=value), expression=self.database.number(cuts[0]))
            zero, most = self.database.number(0), self.database.number(len(cuts))
            found = case([(above <= zero, zero), (above.copy() >= most, most)], above.copy())
        else:
            found = self.database.bucket(value, cuts.tolist())
        if not cells.special:
            return found
        # NULL and NaN are at most nothing.
        there = exp.LTE(this=value.copy(), expression=self.database.number(LARGEST))
        return case([(there, found)], whole(len(cuts) + 1))

    def _cast_here(self, own: Cell) -> exp.Expr:
        """A number that is looked up, of columns that may be as they are in the table."""
        return self._number(own.grid.features[own.feature].name, lambda name: as_type(self._double(name), "double"))

    def _number(self, feature: str, double: Callable[[str], exp.Expr] | None = None) -> exp.Expr:
        """A numeric feature as a double."""
        parts = [(double or self._double)(own) for own in self._columns_of(feature)]
        if len(parts) == 1:
            return parts[0]
        total = self.database.number(0)
        for part in parts:  # in memory's order, so that the sum is rounded as there
            share = exp.Div(this=part, expression=self.database.number(len(parts)), typed=True)
            total = exp.Add(this=total, expression=share)
        return paren(total)

    def _double(self, name: str) -> exp.Expr:
        own = column(self._alias[name])
        if self._kinds[name] == "numbers" or name in self._doubles:
            return own  # cast already
        if self._kinds[name] == "booleans":
            one, zero = self.database.number(1), self.database.number(0)
            return case([(own, one), (exp.Not(this=own.copy()), zero)], exp.null())
        return as_type(own, "double")

    def _code(self, name: str, values: tuple[Value, ...]) -> exp.Expr:
        """The number of a listed value, and one more for all others."""
        own, kind, unlisted = column(self._alias[name]), self._kinds[name], whole(len(values))
        ways: list[tuple[exp.Expr, exp.Expr]]
        if kind == "booleans":
            ways = [(own.copy() if value else exp.Not(this=own.copy()), whole(i)) for i, value in enumerate(values)]
        elif kind == "text":
            ways = [
                (exp.EQ(this=own.copy(), expression=text(str(value))), whole(i))
                for i, value in enumerate(values)
                if "\0" not in str(value)  # which no engine's text has
            ]
        else:
            ways = [
                (exp.EQ(this=own.copy(), expression=same), whole(i)) for i, same in self._holdable(values, str(kind))
            ]
        return case(ways, unlisted)

    def _holdable(self, values: tuple[Any, ...], kind: str) -> Iterator[tuple[int, exp.Expr]]:
        """The values that a column can hold, as in memory: integers as integers, fractions in its precision."""
        if kind == "integers":
            yield from ((i, whole(int(value))) for i, value in enumerate(values) if value == int(value))
            return
        held = [(i, value) for i, value in enumerate(values) if isinstance(value, float) or float(value) == value]
        short = {np.float32(value) for _, value in held}
        narrow = kind == "float32" and len(short) == len(held)
        for i, value in held:
            own = self.database.number(float(np.float32(value)) if narrow else float(value))
            yield i, own

    # -- labels, targets and weights -----------------------------------------------------------------------------------

    def _label(self) -> exp.Expr:
        name = self.schema.label or ""
        if self.schema.classes is not None:
            return as_type(self._code(name, self.schema.classes), self.database.small(len(self.schema.classes) + 1))
        assert self.schema.target is not None
        return self.clamped(self._double(name), *self.schema.target)

    def clamped(self, value: exp.Expr, low: float, high: float) -> exp.Expr:
        least, most = self.database.number(low), self.database.number(high)
        return case([(value <= least, least.copy()), (value.copy() >= most, most.copy())], value.copy())

    def fixed(self, value: exp.Expr, low: float, high: float) -> exp.Expr:
        """A target of this range as a whole number of ``TARGET_ONE``, rounded as in memory: half to even."""
        span = max(high - low, float(np.finfo(float).tiny))
        above = paren(exp.Sub(this=self.clamped(value, low, high), expression=self.database.number(low)))
        share = exp.Div(this=above, expression=self.database.number(span), typed=True)
        t = paren(exp.Mul(this=share, expression=self.database.number(TARGET_ONE)))
        down = exp.Floor(this=t.copy())
        rest = paren(exp.Sub(this=t, expression=as_type(down.copy(), "double")))
        half, small = self.database.number(0.5), as_type(down, "bigint")
        odd = exp.EQ(this=exp.Mod(this=small.copy(), expression=whole(2)), expression=whole(1))
        up = exp.or_(rest > half, exp.and_(exp.EQ(this=rest.copy(), expression=half.copy()), odd))
        rounded = exp.Add(this=small, expression=case([(up, whole(1))], whole(0)))
        # Far below half of a unit nothing is divided: some engines call it an error that so small a share underflows.
        tiny = above.copy() < self.database.number(span * 2.0**-40)
        return case([(tiny, as_type(whole(0), "bigint"))], rounded)

    def _person(self) -> exp.Expr:
        """A person's id as text: the same text is the same person, for draws and for weights."""
        return self.database.exact_text(column(self.schema.person or ""))

    def _places(self, salt: str) -> list[exp.Expr]:
        """A record's place in an order that is drawn for its person alone, and how many records the person has."""
        assert self.row_key is not None
        by_person = [self._person()]
        order = exp.func("MD5", concatenated(text(salt), self.row_key.copy()))
        ordered = exp.Order(expressions=[exp.Ordered(this=own) for own in (order, self.row_key.copy())])
        place = exp.Window(this=exp.RowNumber(), partition_by=by_person, order=ordered)
        records = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[own.copy() for own in by_person])
        return [named(place, _PLACE), named(records, _RECORDS)]

    def _weight(self) -> exp.Expr:
        """As ``person_weights``: W // k each of k records that count, and one more for the first W mod k."""
        place, records, unit = column(_PLACE), column(_RECORDS), self.unit
        if self.schema.person is None:
            return whole(1)

        def share(k: int) -> exp.Expr:
            each, more = divmod(unit.weight, k)
            return case([(place.copy() <= whole(more), whole(each + 1))], whole(each)) if more else whole(each)

        beyond = (place > whole(unit.records), whole(0))
        fewer = [(exp.EQ(this=records.copy(), expression=whole(k)), share(k)) for k in range(1, unit.records)]
        return case([beyond, *fewer], share(unit.records))

    # -- what the schema does not allow --------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise SchemaError for records that the schema does not allow: before a fit asks anything.

        Every expression of a column is computed here for every record, so none can fail later, when a question has
        been paid for and the failure would tell of a record without noise.
        """
        rules = list(self._rules())
        for start in range(0, len(rules), CHECKED_AT_ONCE):
            some = rules[start : start + CHECKED_AT_ONCE]
            worst = [exp.Max(this=rule.broken) for rule in some]
            each = [named(exp.Coalesce(this=own, expressions=[whole(0)]), f"b{i}") for i, own in enumerate(worst)]
            used = {own.name for rule in some for own in rule.broken.find_all(exp.Column)}
            (found,) = self.database.numbers(selected(each, self._checked(used)))
            for way, rule in zip(found, some):
                if way and rule.words[way - 1]:
                    raise SchemaError(rule.words[way - 1])
        self._check_size()

    def _checked(self, used: Collection[str]) -> exp.Expr:
        """The table with those columns of ours that are used."""
        raw = self._raw({name for name, alias in self._alias.items() if alias in used})
        raw += [named(self._person(), _PERSON)] if _PERSON in used else []
        raw += [named(self.row_key.copy(), _KEY)] if _KEY in used and self.row_key is not None else []
        return inside(selected(raw, self.table.copy()), "inside")

    def _check_size(self) -> None:
        ids = {_PERSON, _KEY} if self.schema.person is not None else set()
        counted = [named(exp.Count(this=exp.Star()), "n")]
        if self.schema.person is not None:
            counted.append(named(exp.Count(this=exp.Distinct(expressions=[column(_PERSON)])), "persons"))
        (sizes,) = self.database.numbers(selected(counted, self._checked(ids)))
        self.n_records = int(sizes[0])
        if max(int(sizes[0]), int(sizes[-1]) * self.unit.weight) >= MOST_RECORDS:
            raise SchemaError(
                f"a database's curator counts fewer than {MOST_RECORDS:,} records"
                + ("" if self.schema.person is None else f", and each person as {self.unit.weight}")
            )
        if self.schema.person is not None:
            pair = [column(_PERSON), column(_KEY)]
            twice = selected([named(exp.Count(this=exp.Star()), "n")], self._checked(ids), by=pair)
            twice = twice.having(exp.Count(this=exp.Star()) > whole(1)).limit(1)
            if len(self.database.numbers(twice)):
                raise SchemaError("the key does not tell all records of a person apart; name another column")

    def _rules(self) -> Iterator[SqlRule]:
        for name, feature in self.schema.features.items():
            where = f"column {name!r}"
            if isinstance(feature, Numeric):
                for own in feature.mean_of or (name,):
                    column_of, instead = (
                        f"column {own!r}",
                        "fill them, or set missing = true in the schema before you fit",
                    )
                    yield self._number_rule(self._double(own), column_of, feature.missing, instead)
                if feature.mean_of:  # an engine that cannot compute it says so now
                    yield self._number_rule(self._number(name), where, True, "")
            else:
                unlisted = exp.EQ(this=self._code(name, feature.values), expression=whole(len(feature.values)))
                words = f"{where} has missing or unlisted values; list them, or set other = true"
                # Where they are allowed, too: a view or cast that fails on a record's value has to fail before a fit.
                yield _never(unlisted, "" if feature.other else words)
        label = self.schema.label or ""
        if self.schema.classes is not None:
            given = column(self._alias[label])
            missing = exp.Is(this=given, expression=exp.null())
            yield _never(missing, "the label has missing values (NaN); leave these records out")
            code = self._code(label, self.schema.classes)
            unlisted = exp.EQ(this=code, expression=whole(len(self.schema.classes)))
            yield _never(unlisted, "the label has values that the schema does not list among its classes")
        else:
            yield self._number_rule(self._double(label), "the target", False, "leave these records out, or fill them")
        if self.schema.person is not None:
            ids, words = column(_PERSON), f"the person's column {self.schema.person!r} has missing or blank ids"
            trimmed = exp.Trim(this=ids.copy(), expression=text(self.database.blanks()))
            missing = exp.or_(exp.Is(this=ids, expression=exp.null()), exp.EQ(this=trimmed, expression=text("")))
            yield _never(missing, f"{words}; leave these records out, or find out whose they are")
        if self.row_key is not None:
            missing = exp.Is(this=column(_KEY), expression=exp.null())
            yield _never(missing, "the key has missing values; name another column")

    def _number_rule(self, value: exp.Expr, where: str, missing: bool, instead: str) -> SqlRule:
        """Neither infinite nor, unless that is allowed, missing. Most numbers are neither, which is asked first."""
        largest = self.database.number(LARGEST)
        finite = exp.Between(this=value, low=self.database.number(-LARGEST), high=largest)
        ends = (as_type(text(end), "double") for end in ("inf", "-inf"))
        infinite = exp.or_(*(exp.EQ(this=value.copy(), expression=end) for end in ends))
        return SqlRule(
            case([(finite, whole(0)), (infinite, whole(1))], whole(0 if missing else 2)),
            (
                f"{where} contains infinity; replace it by a number",
                f"{where} contains NaN or missing values; {instead}",
            ),
        )
