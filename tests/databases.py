"""Real databases for tests: DuckDB in this process, a PostgreSQL server and a Spark session of our own."""

import atexit
import math
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import needs
from privet import Categorical, MemoryCurator, Numeric, Schema
from privet.privacy.mechanisms import mechanisms

BINARIES = "/usr/lib/postgresql/*/bin/"
NAMES = {"double": {"postgres": "double precision"}, "text": {"spark": "string"}, "float": {"postgres": "real"}}


@cache
def postgres_folder():
    """A server that listens on a socket in a folder of its own, until the tests end. It refuses to run as root."""
    initdb, control = (needs.program(name, BINARIES + name) for name in ("initdb", "pg_ctl"))
    folder = Path(tempfile.mkdtemp(prefix="privet-pg-"))
    as_user = []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        as_user = [needs.program("setpriv"), "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def run(*command):
        subprocess.run([*as_user, *map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def stop():
        subprocess.run([*as_user, control, "-D", str(folder / "data"), "-m", "immediate", "stop"], cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    run(initdb, "-D", folder / "data", "-A", "trust", "-U", "owner", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c log_statement=all"
    run(control, "-D", folder / "data", "-o", settings, "-l", folder / "log", "-w", "start")
    return folder


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
