"""Real databases for tests: DuckDB in this process, a PostgreSQL server and a Spark session of our own."""

import math
import tempfile
from functools import cache

import numpy as np

import needs
import postgres_server
from privet import Categorical, MemoryCurator, Numeric, Schema
from privet.privacy.mechanisms import mechanisms

NAMES = {"double": {"postgres": "double precision"}, "text": {"spark": "string"}, "float": {"postgres": "real"}}


def postgres_folder():
    """Where a server of these tests listens, until they end."""
    try:
        return postgres_server.postgres_folder()
    except postgres_server.NoServer as error:
        needs.missing(str(error))


def postgres_log():
    return (postgres_folder() / "log").read_text()


@cache
def spark_session():
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        needs.missing("pyspark is not installed")
    needs.program("java")
    builder = SparkSession.builder.master("local[2]").appName("privet tests").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.sql.warehouse.dir", tempfile.mkdtemp(prefix="privet-spark-")).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def connect(engine, **settings):
    if engine == "postgres":
        import psycopg

        return psycopg.connect(
            host=str(postgres_folder()), user="owner", dbname="postgres", options="-c lock_timeout=10s", **settings
        )
    if engine == "spark":
        return spark_session()
    import duckdb

    return duckdb.connect()


def store(connection, engine, name, types, rows):
    """Make a table of these columns, name and type, and rows."""
    from sqlglot import exp

    kinds = [NAMES.get(kind, {}).get(engine, kind) for kind in types.values()]
    table = exp.to_identifier(name, quoted=True).sql(dialect=engine)
    if engine == "spark":
        from pyspark.sql.types import StructField, StructType, _parse_datatype_string

        fields = [StructField(own, _parse_datatype_string(kind)) for own, kind in zip(types, kinds)]
        connection.createDataFrame([tuple(row) for row in rows], StructType(fields)).createOrReplaceTempView(name)
        return
    if engine == "duckdb":
        connection.register("privet_given", arrow(types, rows))
        connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM privet_given")
        connection.unregister("privet_given")
        return
    named = ", ".join(
        f"{exp.to_identifier(own, quoted=True).sql(dialect=engine)} {kind}" for own, kind in zip(types, kinds)
    )
    cursor = connection.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS {table}")
    cursor.execute(f"CREATE TABLE {table} ({named})")
    with cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    connection.commit()


def arrow(types, rows):
    """The same table in memory, missing values as they are."""
    import pyarrow as pa

    kinds = {"double": pa.float64(), "float": pa.float32(), "text": pa.string(), "boolean": pa.bool_()}
    kinds |= {"bigint": pa.int64(), "int": pa.int32(), "smallint": pa.int16()}
    columns = list(zip(*rows)) or [()] * len(types)
    return pa.table(
        {name: pa.array(own, kinds[kind], from_pandas=False) for (name, kind), own in zip(types.items(), columns)}
    )


# -- some people -----------------------------------------------------------------------------------------------------

TYPES = {"age": "int", "in'come": "double", "town": "text", "id": "bigint", "ill": "text", "cost": "double"}
FEATURES = {
    "age": Numeric(18, 60, integer=True),
    "in'come": Numeric(0, 9, missing=True),
    "town": Categorical(["a", "b'"]),
}
CLASSES = Schema(FEATURES, classes=["no", "yes"], label="ill")
TARGET = Schema(FEATURES, target=(0, 10), label="cost")
PERSONS = Schema(FEATURES, classes=["no", "yes"], label="ill", person="id", records_per_person=3)


def some_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        age, town = int(rng.integers(15, 66)), ["a", "b'", "c"][rng.integers(3)]
        income = math.nan if rng.random() < 0.1 else None if rng.random() < 0.1 else float(rng.uniform(-1, 10))
        ill = (age > 40) ^ (rng.random() < 0.1)
        rows.append((age, income, town, i // 2, "yes" if ill else "no", float(age / 6 + rng.normal())))
    return rows


def stored(engine, rows=None, name="people", **settings):
    connection = connect(engine, **settings)
    store(connection, engine, name, TYPES, some_rows() if rows is None else rows)
    return connection


def memory(schema, rows=None, seed=1, **settings):
    table = arrow(TYPES, some_rows() if rows is None else rows)
    return MemoryCurator(table, table.column(schema.label), schema, mechanisms=mechanisms(seed), **settings)
