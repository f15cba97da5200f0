"""A connection of the user's: expressions go in, rows come out. All that engines do differently is here.

SQL is built of sqlglot's expressions and written down by it, so every name and every value is quoted by its rules.

A fit is one transaction, or in Spark, which has none, one view that is cached. Nothing else is written than temporary
tables inside of it, and at its end it is rolled back: they are gone, after an error, too. An engine's own error message
may quote a record, so it is never passed on once records are read.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from privet.curators.sql.expressions import (
    as_type,
    case,
    column,
    named,
    paren,
    quoted,
    selected,
    table_named,
    text,
    whole,
)
from privet.errors import DatabaseError, PrivetError
from privet.tables.persons import BLANKS

KINDS: Mapping[str, str] = {
    name: kind
    for kind, names in {
        "booleans": "bool boolean",
        "integers": "tinyint smallint int integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint "
        "int2 int4 int8 int16 int32 int64 uint8 uint16 uint32 uint64",
        "float32": "real float float4",
        "numbers": "double float8 decimal numeric decimal128 decimal256",
        "text": "text string varchar char bpchar name enum large_string string_view",
    }.items()
    for name in names.split()
}
"""What a column holds, by what its type is called. A type that is not here must be cast in a view."""

POSTGRES_TYPES = {16: "bool", 18: "char", 19: "name", 20: "int8", 21: "int2", 23: "int4", 25: "text"} | {
    700: "float4", 701: "float8", 1042: "bpchar", 1043: "varchar", 1700: "numeric"
}  # fmt: skip
"""PostgreSQL's types by their numbers, which are the same in every database."""

AT_ONCE = 2**17
"""So many rows are fetched at a time."""

MANY = 16
"""So many cuts are told apart in two steps."""


class Database:
    """What every engine can do."""

    dialect = ""
    collation: str | None = None  # the one that compares text byte by byte
    materializes = True  # common table expressions, if told so
    most_columns = 1000
    knows_ranges = False  # of its columns: so it looks small numbers up, and counts them, without hashing
    in_process = False  # whether records are in this process anyway, and come out as arrays
    row_keys: tuple[tuple[str, ...], ...] = ()  # columns of the engine's own that tell a table's rows apart

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._busy = False

    # -- statements ----------------------------------------------------------------------------------------------------

    def text(self, statement: exp.Expr) -> str:
        return statement.sql(dialect=self.dialect, copy=False)

    def run(self, statement: exp.Expr | str) -> Any:
        """Run a statement and give back its cursor."""
        try:
            return self._execute(statement if isinstance(statement, str) else self.text(statement))
        except Exception as error:
            raise _without_values(error) from None

    def numbers(self, query: exp.Expr) -> np.ndarray:
        """The rows of a query that answers whole numbers: int64, (rows, columns)."""
        cursor = self.run(query)
        try:
            rows = self._fetch(cursor)
        except Exception as error:
            raise _without_values(error) from None
        width = len(query.selects) if isinstance(query, exp.Query) else 1
        return np.array([[int(value) for value in row] for row in rows], dtype=np.int64).reshape(-1, width)

    def batches(self, query: exp.Expr) -> Iterator[dict[str, np.ndarray]]:
        """The columns of a query, of numbers, by name, some rows at a time; NULL is NaN."""
        raise NotImplementedError

    def columns(self, table: exp.Expr) -> dict[str, str | None]:
        """The columns of a table or view, each with what it holds; None for what is neither text nor numbers."""
        return {name: _kind_named(kind) for name, kind in self._look(table, exp.Star())}

    def has(self, table: exp.Expr, names: Sequence[str]) -> bool:
        """Whether a table has columns that it does not list."""
        try:
            self._look(table, *map(column, names))
        except DatabaseError:
            return False
        return True

    def _look(self, table: exp.Expr, *columns: exp.Expr) -> list[tuple[str, str]]:
        """The names and types of columns. No record is read, so the engine may say itself what it does not find."""
        query = selected(columns, table.copy(), where=exp.false())
        try:
            return self._described(self._execute(self.text(query)))
        except Exception as error:
            raise DatabaseError(f"the database does not give out {self.text(table)}: {_first_line(error)}") from None

    def _described(self, cursor: Any) -> list[tuple[str, str]]:
        return [(entry[0], str(entry[1])) for entry in cursor.description]

    def _execute(self, sql: str) -> Any:
        cursor = self._connection.cursor()
        cursor.execute(sql)
        return cursor

    def _fetch(self, cursor: Any) -> Any:
        return cursor.fetchall()

    # -- the transaction of a fit --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a fit: from here on the tables stay as they are."""
        if self._busy:
            raise PrivetError("This connection is busy with another fit. End that one, or open a second connection.")
        self._begin()
        self._busy = True

    def end(self) -> None:
        """End it: everything temporary is gone. It never raises: there may be no connection any more."""
        if self._busy:
            self._busy = False
            try:
                self._end()
            except Exception:
                return

    def _begin(self) -> None:
        raise PrivetError(
            f"Privet writes SQL for {self.dialect}, and nobody has run it there yet: take DuckDB, PostgreSQL or Spark."
        )

    def _end(self) -> None:
        self._connection.rollback()

    # -- temporary tables ----------------------------------------------------------------------------------------------

    def may_write(self) -> bool:
        """Whether this connection may make temporary tables."""
        return True

    def keep(self, query: exp.Query) -> str:
        """Put the rows of a query into a temporary table of its own name."""
        name = f"privet_{secrets.token_hex(8)}"
        self.run(self.kept(name, query))
        return name

    def kept(self, name: str, query: exp.Query) -> exp.Expr:
        temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
        table = table_named(name)
        return exp.Create(this=table, kind="TABLE", expression=query, properties=temporary)

    def drop(self, name: str) -> None:
        self.run(f"DROP TABLE IF EXISTS {self.text(table_named(name))}")  # sqlglot changes how it is built

    # -- expressions ---------------------------------------------------------------------------------------------------

    def blanks(self) -> str:
        """The characters that show nothing, as far as this database can tell them apart."""
        return BLANKS

    def exact_text(self, value: exp.Expr) -> exp.Expr:
        """As text that is equal to another one exactly if all its bytes are."""
        plain = as_type(value, "text")
        return plain if self.collation is None else exp.Collate(this=plain, expression=quoted(self.collation))

    def number(self, value: float) -> exp.Expr:
        """This double, to its last bit."""
        return as_type(text(repr(float(value))), "double")

    def bucket(self, value: exp.Expr, cuts: Sequence[float]) -> exp.Expr:
        """How many of the increasing cuts are below a number: first by some of them, then by those between two.

        DuckDB takes about half as long for that as for comparisons that halve the cuts each time.
        """

        def within(first: int, last: int) -> exp.Expr:
            if first == last:
                return whole(first)
            step = 1 if last - first < MANY else math.isqrt(last - first) + 1
            starts = range(first, last + 1, step)
            ends = [start + step - 1 for start in starts[:-1]]
            ways = [
                (exp.LTE(this=value.copy(), expression=self.number(cuts[end])), within(start, end))
                for start, end in zip(starts, ends)
            ]
            return case(ways, within(starts[-1], last))

        return within(0, len(cuts))

    def small(self, n: int) -> str:
        """A type for whole numbers from 0 to below n."""
        return "smallint" if n <= 2**15 else "int" if n < 2**31 else "bigint"


class DuckDatabase(Database):
    """DuckDB, in this process: tables of its own and all files that it reads."""

    dialect = "duckdb"
    collation = "C"
    row_keys = (("rowid",), ("filename", "file_row_number"))
    knows_ranges = True
    in_process = True

    def _execute(self, sql: str) -> Any:
        return self._connection.execute(sql)  # a cursor would be a connection of its own, without temporary tables

    def numbers(self, query: exp.Expr) -> np.ndarray:
        cursor = self.run(query)
        try:
            columns = cursor.fetchnumpy().values()
        except Exception as error:
            raise _without_values(error) from None
        return np.stack([np.asarray(own).astype(np.int64) for own in columns], axis=1)

    def batches(self, query: exp.Expr) -> Iterator[dict[str, np.ndarray]]:
        try:
            # As a relation, which is read as a stream: a statement's result would be in memory as a whole first.
            rows = self._connection.sql(self.text(query))
            read = getattr(rows, "to_arrow_reader", None) or rows.fetch_record_batch  # before DuckDB 2
            for batch in read(AT_ONCE):
                yield {name: own.to_numpy(zero_copy_only=False) for name, own in zip(batch.schema.names, batch.columns)}
        except Exception as error:
            raise _without_values(error) from None

    def _begin(self) -> None:
        try:
            self._connection.begin()
        except Exception as error:
            raise _no_fit(error) from None

    def number(self, value: float) -> exp.Expr:
        written = repr(abs(float(value)))
        literal = exp.Literal.number(written if "e" in written else f"{written}e0")  # without it, it is a decimal
        return exp.Neg(this=literal) if value < 0 else literal

    def small(self, n: int) -> str:
        return "utinyint" if n <= 256 else super().small(n)


class PostgresDatabase(Database):
    """PostgreSQL by psycopg, psycopg2 or ADBC. A fit is one transaction, REPEATABLE READ."""

    dialect = "postgres"
    collation = "C"
    most_columns = 1600
    row_keys = (("tableoid", "ctid"),)

    @property
    def _autocommits(self) -> bool:
        return bool(getattr(self._connection, "autocommit", False))

    def _begin(self) -> None:
        level = "ISOLATION LEVEL REPEATABLE READ"
        try:
            self._execute(f"BEGIN {level}" if self._autocommits else f"SET TRANSACTION {level}")
        except Exception as error:
            raise _no_fit(error) from None
        if self._fetch(self.run("SELECT current_setting('transaction_isolation')"))[0][0] != "repeatable read":
            raise PrivetError("This connection commits each statement by itself, so it has no snapshot: turn that off.")
        self.run("SET LOCAL standard_conforming_strings = on")

    def _end(self) -> None:
        if self._autocommits:
            self._execute("ROLLBACK")
        else:
            self._connection.rollback()

    def _look(self, table: exp.Expr, *columns: exp.Expr) -> list[tuple[str, str]]:
        info = getattr(self._connection, "info", None)
        if not self._autocommits and int(getattr(info, "transaction_status", 0)):
            raise PrivetError("This connection has a transaction open. Commit it or roll it back; a fit has its own.")
        try:
            return super()._look(table, *columns)
        finally:
            if not self._autocommits:
                self._connection.rollback()  # of the transaction that this look began

    def blanks(self) -> str:
        encoding = self._fetch(self.run("SELECT current_setting('server_encoding')"))[0][0]
        return BLANKS if encoding == "UTF8" else "".join(filter(str.isascii, BLANKS))

    def _described(self, cursor: Any) -> list[tuple[str, str]]:
        named = [(entry[0], entry[1]) for entry in cursor.description]
        return [(name, POSTGRES_TYPES.get(kind, "") if isinstance(kind, int) else str(kind)) for name, kind in named]

    def may_write(self) -> bool:
        self.run("SAVEPOINT privet")
        try:
            self.keep(exp.Select(expressions=[named(whole(1), "one")]))
            allowed = True
        except DatabaseError:
            allowed = False
        self.run("ROLLBACK TO SAVEPOINT privet")  # raises where there is no connection any more
        return allowed

    def bucket(self, value: exp.Expr, cuts: Sequence[float]) -> exp.Expr:
        if not len(cuts):
            return whole(0)
        # width_bucket counts the thresholds that are at or below a number. Those below it are the others' negatives.
        mirrored = "{" + ",".join(repr(-float(cut)) for cut in reversed(cuts)) + "}"
        thresholds = as_type(text(mirrored), "double[]")
        at_or_above = exp.Anonymous(this="WIDTH_BUCKET", expressions=[exp.Neg(this=paren(value)), thresholds])
        return exp.Sub(this=whole(len(cuts)), expression=at_or_above)


class SparkDatabase(Database):
    """A Spark session. It has no transactions: a fit reads what it has cached of tables that must not change."""

    dialect = "spark"
    collation = "UTF8_BINARY"
    materializes = False
    most_columns = 10_000

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._kept: list[str] = []

    def _execute(self, sql: str) -> Any:
        # Spark would put the values of variables into a name or text that has "${...}" in it.
        conf, substitute = self._connection.conf, "spark.sql.variable.substitute"
        before = conf.get(substitute)
        conf.set(substitute, "false")
        try:
            return self._connection.sql(sql)
        finally:
            conf.set(substitute, before)

    def _fetch(self, cursor: Any) -> Any:
        return cursor.collect()

    def _described(self, cursor: Any) -> list[tuple[str, str]]:
        return [(field.name, field.dataType.simpleString()) for field in cursor.schema.fields]

    def _begin(self) -> None:
        pass

    def _end(self) -> None:
        while self._kept:
            self.drop(self._kept[-1])

    def keep(self, query: exp.Query) -> str:
        """As a view of rows that know no more where they came from: Spark would plan that again in every statement."""
        name, rows = f"privet_{secrets.token_hex(8)}", self.run(query)
        try:
            rows.localCheckpoint().createOrReplaceTempView(name)
        except Exception as error:
            raise _without_values(error) from None
        self._kept.append(name)
        return name

    def number(self, value: float) -> exp.Expr:
        literal = exp.Literal.number(f"{abs(float(value))!r}D")
        return exp.Neg(this=literal) if value < 0 else literal

    def drop(self, name: str) -> None:
        self._kept.remove(name)
        self.run(f"DROP VIEW IF EXISTS {self.text(table_named(name))}")


class SnowflakeDatabase(Database):
    """Only written down, never run yet."""

    dialect = "snowflake"
    materializes = False


class BigQueryDatabase(Database):
    """Only written down, never run yet."""

    dialect = "bigquery"
    materializes = False


ENGINES: Mapping[str, type[Database]] = {
    "duckdb": DuckDatabase,
    "_duckdb": DuckDatabase,
    "psycopg": PostgresDatabase,
    "psycopg2": PostgresDatabase,
    "pyspark": SparkDatabase,
    "snowflake": SnowflakeDatabase,
    "google": BigQueryDatabase,
}
"""Engines by the package that a connection comes from."""


def open_database(connection: Any) -> Database:
    """The engine behind a connection."""
    package = type(connection).__module__.partition(".")[0]
    if package == "adbc_driver_manager":
        vendor = str(connection.adbc_get_info().get("vendor_name", "")).lower()
        package = {"postgresql": "psycopg", "duckdb": "duckdb", "snowflake": "snowflake"}.get(vendor, vendor)
    if package not in ENGINES:
        raise PrivetError(
            "SqlCurator takes a connection of DuckDB, of PostgreSQL (psycopg or ADBC), or a Spark session; "
            f"this is a {type(connection).__qualname__}. Of SQLAlchemy it is engine.raw_connection().dbapi_connection."
        )
    return ENGINES[package](connection)


def _kind_named(name: str) -> str | None:
    return None if name.endswith("]") else KINDS.get(name.lower().partition("(")[0])


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _no_fit(error: Exception) -> DatabaseError:
    return DatabaseError(f"no fit can begin here: {_first_line(error)}. Commit what is open, or connect again.")


def _without_values(error: Exception) -> BaseException:
    """What may be said of an engine's error: its kind, since its words may quote a record. Ctrl-C is none, but DuckDB
    makes one of it."""
    if isinstance(error, RuntimeError) and "interrupt" in str(error).lower():
        return KeyboardInterrupt()
    code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    name = type(error).__name__ + (f", SQLSTATE {code}" if code else "")
    return DatabaseError(
        f"the database did not answer ({name}); its own words are not shown, because they may quote a record. What was "
        "asked until now is paid for, and nothing more. If the connection is lost, connect and fit again."
    )
