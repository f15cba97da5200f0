"""The same records counted by our stream, inside DuckDB, Spark and PostgreSQL: seconds for one tree.

    python benchmarks/databases.py --rows 1000000 --spark --postgres own

makes Parquet files of 28 features (float32, as ``scale.py``), fits one tree of depth 4 on them, each engine in a
process of its own, and deletes them. A time counts from the making of the curator to the end of the fit. Engines take
turns, so that a busy machine slows all of them; the best fit of each counts. With ``--spark`` a local session reads the
files, on all cores (Spark is installed in an environment of its own); with ``--postgres`` the rows are copied first
into a temporary table of a server: one that is started for this (``own``), or the one at an address.
With ``--cpu`` the processor's time of our stream and of DuckDB counts, each on one thread: for a busy machine. The
memory is the largest anonymous one of a process that fits; of Spark and PostgreSQL it is not that of the engine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.csv as csv
import pyarrow.parquet as pq

from postgres_server import postgres_address
from privet_bench.peers import packages
from scale import FEATURES, Watch, make, schema, warm_up


def measure(engine: str, folder: str, address: str, cpu: bool) -> None:
    """Fit twice, and print megabytes and the seconds of both: the first run of a process loads code."""
    from privet import FileCurator, PrivateTreeClassifier, SqlCurator

    warm_up()
    connection = connected(engine, folder, address)
    if cpu and engine == "duckdb":
        connection.execute("SET threads = 1")
    clock = time.process_time if cpu else time.perf_counter
    watch, took = Watch(), []
    for _ in range(2):
        start = clock()
        curator: Any
        if engine == "files":
            curator = FileCurator(folder, schema())
        else:
            table = f"{folder}/*.parquet" if engine == "duckdb" else "people"
            curator = SqlCurator(connection, table, schema())
        PrivateTreeClassifier(epsilon=1.0, max_depth=4).fit_curator(curator)
        took.append(clock() - start)
    print(watch.stop(), *took)


def connected(engine: str, folder: str, address: str) -> Any:
    """A connection to an engine that has the records, as ``people`` if it does not read the files itself."""
    if engine == "postgres":
        return copied(folder, address)
    if engine == "spark":
        from pyspark.sql import SparkSession

        from privet.tables.files import cores

        builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", str(cores())).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        session.read.parquet(folder).createOrReplaceTempView("people")
        return session
    import duckdb

    return duckdb.connect()


def copied(folder: str, address: str) -> Any:
    import psycopg

    connection = psycopg.connect(address, autocommit=True)
    columns = ", ".join(f"x{i} real" for i in range(FEATURES))
    connection.execute(f"CREATE TEMPORARY TABLE people ({columns}, y smallint)")
    with connection.cursor().copy("COPY people FROM STDIN (FORMAT csv)") as copy:
        for batch in pq.read_table(folder).to_batches(max_chunksize=50_000):
            text = BytesIO()
            csv.write_csv(batch, text, csv.WriteOptions(include_header=False))
            copy.write(text.getvalue())
    connection.execute("ANALYZE people")
    return connection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=2, help="how often each engine is started, for two fits")
    parser.add_argument("--spark", action="store_true", help="compare with a local session of Spark")
    parser.add_argument("--postgres", default="", help="the address of a server to compare with, or 'own'")
    parser.add_argument("--cpu", action="store_true", help="the processor's time, of files and DuckDB alone")
    parser.add_argument("--keep", type=Path, help="a folder for the files, where they stay and are used again")
    parser.add_argument("--measure", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cpu and (options.spark or options.postgres):
        parser.error("--cpu is for engines in this process: files and DuckDB")
    if options.measure:
        measure(*options.measure, options.postgres, options.cpu)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)) / str(options.rows)
        if not folder.exists():
            folder.mkdir(parents=True)
            make(folder, options.rows)
        compare(folder, options)


def compare(folder: Path, options: argparse.Namespace) -> None:
    """Let the engines take turns, and print what each took."""
    engines = ["files", "duckdb", *["spark"] * options.spark, *["postgres"] * bool(options.postgres)]
    address = postgres_address() if options.postgres == "own" else options.postgres
    surroundings = {"NUMBA_NUM_THREADS": "1"} if options.cpu else {}
    if options.spark:
        surroundings["PYTHONPATH"] = f"{packages('spark')}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    took: dict[str, list[float]] = {engine: [] for engine in engines}
    memory = dict.fromkeys(engines, 0.0)
    for _ in range(options.turns):
        for engine in engines:
            command = [sys.executable, "-W", "ignore", __file__, "--measure", engine, str(folder)]
            command += ["--postgres", address, *["--cpu"] * options.cpu]
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **surroundings}
            )
            megabytes, *seconds = map(float, done.stdout.split())
            memory[engine] = max(memory[engine], megabytes)
            took[engine] += seconds
    for engine, times in took.items():
        beside = f", {min(times) / min(took['files']):.1f} times files" if engine != "files" else ""
        all_times = " ".join(f"{own:.2f}" for own in sorted(times))
        print(
            f"{engine}: {min(times):.2f} s for {options.rows:,} x {FEATURES}{beside} (fits: {all_times}), "
            f"{memory[engine]:,.0f} MB"
        )


if __name__ == "__main__":
    main()
