"""The same Parquet files counted by our stream and inside DuckDB, and a table of PostgreSQL: seconds for one tree.

    python benchmarks/databases.py --rows 1000000 --postgres postgresql://user@host/db

makes Parquet files of 28 features (float32, as ``scale.py``), fits one tree of depth 4 on them, each engine in a
process of its own, and deletes them. A time counts from the making of the curator to the end of the fit. With
``--postgres`` the rows are copied there first, into a temporary table of that connection.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from scale import FEATURES, make, schema, warm_up


def measure(engine: str, folder: str, address: str) -> None:
    """Fit twice, and print the seconds of both: the first run of a process loads code."""
    import duckdb

    from privet import FileCurator, PrivateTreeClassifier, SqlCurator

    warm_up()
    connection = copied(folder, address) if engine == "postgres" else duckdb.connect()
    took = []
    for _ in range(2):
        start = time.perf_counter()
        curator: Any
        if engine == "files":
            curator = FileCurator(folder, schema())
        else:
            table = "people" if engine == "postgres" else f"{folder}/*.parquet"
            curator = SqlCurator(connection, table, schema())
        PrivateTreeClassifier(epsilon=1.0, max_depth=4).fit_curator(curator)
        took.append(time.perf_counter() - start)
    print(*took)


def copied(folder: str, address: str) -> Any:
    import psycopg

    connection = psycopg.connect(address, autocommit=True)
    columns = ", ".join(f"x{i} real" for i in range(FEATURES))
    connection.execute(f"CREATE TEMPORARY TABLE people ({columns}, y smallint)")
    with connection.cursor().copy("COPY people FROM STDIN") as copy:
        for batch in pq.read_table(folder).to_batches():
            for row in zip(*(own.to_pylist() for own in batch.columns)):
                copy.write_row(row)
    return connection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--postgres", default="", help="the address of a server to compare with")
    parser.add_argument("--measure", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure, options.postgres)
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.rows)
        best: dict[str, float] = {}
        for engine in ("files", "duckdb", *(["postgres"] if options.postgres else [])):
            command = [sys.executable, "-W", "ignore", __file__, "--measure", engine, folder]
            done = subprocess.run(
                [*command, "--postgres", options.postgres], check=True, capture_output=True, text=True
            )
            best[engine] = min(map(float, done.stdout.split()))
            beside = f", {best[engine] / best['files']:.1f} times files" if engine != "files" else ""
            print(f"{engine}: {best[engine]:.2f} s for {options.rows:,} x {FEATURES}{beside}", flush=True)


if __name__ == "__main__":
    main()
