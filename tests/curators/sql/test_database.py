"""What engines do differently: types, doubles to the last bit, and SQL for those that nobody has run yet."""

import math
import signal
import struct

import numpy as np
import pytest
import sqlglot
from sqlglot import exp

import databases
from privet import Categorical, Numeric, Schema
from privet.curators.sql.database import BigQueryDatabase, SnowflakeDatabase, open_database
from privet.curators.sql.expressions import named, quoted, selected, table_named, whole
from privet.curators.sql.room import DrawingSqlRoom
from privet.curators.sql.source import Source
from privet.errors import DatabaseError, PrivetError
from privet.privacy.mechanisms import SecureMechanisms
from privet.questions.grid import public_grid
from privet.questions.split import Split

ENGINES = ["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)]


def some_doubles(n):
    rng = np.random.default_rng(0)
    bits = [struct.unpack("d", rng.bytes(8))[0] for _ in range(n)]
    return [x for x in bits if math.isfinite(x)] + [0.1, 0.30000000000000004, 5e-324, 1.7976931348623157e308, -0.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_doubles_are_written_to_their_last_bit(engine):
    values = sorted(set(some_doubles(100)))
    connection = databases.connect(engine)
    databases.store(connection, engine, "doubles", {"x": "double"}, [(x,) for x in values])
    database = open_database(connection)
    same = [exp.EQ(this=exp.column(quoted("x")), expression=database.number(x)) for x in values]
    counted = [named(exp.CountIf(this=own), f"n{i}") for i, own in enumerate(same)]
    if engine == "postgres":
        counted = [named(exp.Sum(this=exp.Case(ifs=[exp.If(this=own, true=whole(1))])), f"n{i}")
                   for i, own in enumerate(same)]  # fmt: skip
    assert (database.numbers(selected(counted, table_named("doubles"))) == 1).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_is_in_the_bucket_of_the_cuts_below_it(engine):
    cuts = sorted(set(some_doubles(60)))
    inner = cuts[:-1]
    values = [*cuts, *np.nextafter(inner, np.inf), *np.nextafter(inner, -np.inf)]
    values = [float(x) for x in values if math.isfinite(x)]
    connection = databases.connect(engine)
    databases.store(connection, engine, "doubles", {"i": "int", "x": "double"}, list(enumerate(values)))
    database = open_database(connection)
    for some in (cuts, cuts[:1], []):
        bucket = database.bucket(exp.column(quoted("x")), some)
        rows = database.numbers(selected([exp.column(quoted("i")), named(bucket, "b")], table_named("doubles")))
        found = rows[np.argsort(rows[:, 0]), 1]
        np.testing.assert_array_equal(found, np.searchsorted(np.array(some), values, side="left"))


def test_what_a_column_holds_is_known_by_its_type():
    duck = databases.connect("duckdb")
    duck.execute(
        "CREATE TABLE t(a INTEGER[], b DECIMAL(9,2), c ENUM('x'), d DATE, e FLOAT, f UHUGEINT, g VARCHAR, h BOOL)"
    )
    held = open_database(duck).columns(table_named("t"))
    assert list(held.values()) == [None, "numbers", "text", None, "float32", "integers", "text", "booleans"]
    postgres = databases.connect("postgres")
    postgres.execute("CREATE TABLE kinds(a int[], b numeric, c char(3), d date, e real, f int8, g varchar(9), h bool)")
    postgres.commit()
    held = open_database(postgres).columns(table_named("kinds"))
    assert list(held.values()) == [None, "numbers", "text", None, "float32", "integers", "text", "booleans"]


def test_an_engines_own_words_are_not_passed_on():
    duck = databases.connect("duckdb")
    duck.execute("CREATE TABLE t AS SELECT 'private value' AS a")
    with pytest.raises(DatabaseError, match="ConversionException") as caught:
        open_database(duck).run("SELECT CAST(a AS INTEGER) FROM t")
    assert "private" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("ask", ["run", "numbers", "batches"])
def test_ctrl_c_inside_a_statement_is_no_error_of_the_database(ask):
    """Python notes the signal while DuckDB counts, and DuckDB makes an error of it. An alarm is a Ctrl-C on time."""
    slow = "SELECT count(*) AS n FROM range(50000000) AS t(i) WHERE hash(i) % 7 = 3"
    statement = sqlglot.parse_one(slow, dialect="duckdb")
    database = open_database(databases.connect("duckdb"))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)

    def interrupted():
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        list(getattr(database, ask)(statement))  # a stream is asked for as it is read

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


SCHEMA = Schema(
    {"age": Numeric(0, 90, integer=True), "x": Numeric(0, 1, missing=True), "to'wn": Categorical(["a", "b'"])},
    classes=["no", "yes"],
    label="ill",
    person="who",
    records_per_person=3,
)


@pytest.mark.parametrize("kind", [SnowflakeDatabase, BigQueryDatabase])
def test_sql_for_engines_that_nobody_has_run_is_written_and_parsed(kind):
    class Described(kind):
        """Tells its columns without a connection."""

        def _look(self, table, *columns):
            return list(
                {"age": "int", "x": "double", "to'wn": "text", "ill": "text", "who": "text", "k": "int"}.items()
            )

    database = Described(None)
    source = Source(database, exp.Table(this=quoted("people")), SCHEMA, "k")
    room = DrawingSqlRoom(source, SecureMechanisms(), False)
    room.use(public_grid(SCHEMA))
    root = room.parts(room.everything(None), [1, 1])[0]
    nodes = room.split([(root, Split(0, bytes(50) + bytes([1]) * 41))])[0]
    from privet.curators.sql.ways import routes_of

    (route,) = routes_of(nodes)
    sql = database.text(room._counted(route, range(3)))
    parsed = sqlglot.parse_one(sql, dialect=database.dialect)
    assert isinstance(parsed, exp.Union)
    assert {own.name for own in parsed.find_all(exp.Table)} == {"people", "routed"}
    kept = database.text(database.kept("privet_x", source.rows({"label": "c0"}, "s")))
    assert sqlglot.parse_one(kept, dialect=database.dialect).find(exp.TemporaryProperty)
    with pytest.raises(PrivetError, match="nobody has run it"):
        database.begin()


@pytest.mark.slow
def test_spark_puts_no_variables_into_names():
    spark = databases.connect("spark")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW `privet tests` AS SELECT 1 AS a")
    database = open_database(spark)
    assert list(database.columns(table_named("privet tests"))) == ["a"]
    with pytest.raises(DatabaseError):
        database.columns(table_named("${spark.app.name}"))  # which is "privet tests"
    assert spark.conf.get("spark.sql.variable.substitute") == "true"
