"""Records in files beside records in memory: time, the largest anonymous memory, and how time grows with the rows.

    python benchmarks/scale.py --rows 5000000 50000000

makes Parquet files of 28 features (float32) in a scratch folder, fits one tree of depth 4 on them as a stream, predicts
them as a stream and, where ``--memory`` allows so many rows, fits in memory, each in a process of its own, and deletes
the files. A time counts from the call of fit to its end, libraries and kernels loaded before. What memory needs to load
the same files comes extra.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES = 28
FILE = 5_000_000
GROUP = 250_000


def schema() -> Any:
    from privet import Numeric, Schema

    return Schema({f"x{i}": Numeric(-5, 5) for i in range(FEATURES)}, classes=[0, 1], label="y")


def make(folder: Path, rows: int) -> None:
    """Normal features and a noisy linear label, a row group at a time."""
    weights = np.random.default_rng(0).normal(size=FEATURES).astype(np.float32)
    names = [f"x{i}" for i in range(FEATURES)]
    for number, start in enumerate(range(0, rows, FILE)):
        kinds = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
        with pq.ParquetWriter(folder / f"{number:04}.parquet", kinds, use_dictionary=False) as writer:
            for group in range(start, min(start + FILE, rows), GROUP):
                rng = np.random.default_rng(group)
                n = min(GROUP, rows - group)
                X = rng.standard_normal((FEATURES, n), dtype=np.float32)
                y = weights @ X + 2 * rng.standard_normal(n, dtype=np.float32) > 0
                writer.write_table(pa.table([*X, y.astype(np.int8)], schema=kinds), row_group_size=GROUP)


class Watch:
    """The largest anonymous memory of this process, looked at many times a second, in MB."""

    def __init__(self) -> None:
        self.peak, self._end = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._end.wait(0.02):
            lines = Path("/proc/self/status").read_text().splitlines()
            anonymous = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self.peak = max(self.peak, anonymous / 1024)

    def stop(self) -> float:
        self._end.set()
        self._thread.join()
        return self.peak


def warm_up() -> None:
    from privet import PrivateTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, FEATURES))
    PrivateTreeClassifier(schema(), epsilon=1.0, max_depth=4).fit(X, rng.integers(0, 2, len(X)))


def measure(kind: str, folder: Path) -> None:
    """Fit once, and print seconds, seconds to load, and megabytes."""
    from privet import PrivateTreeClassifier
    from privet.tables.table import read_file

    warm_up()
    model, watch, begin = PrivateTreeClassifier(schema(), epsilon=1.0, max_depth=4), Watch(), time.perf_counter()
    table: tuple[Any, ...] = (folder,)
    if kind != "files":
        loaded = [read_file(file, schema()) for file in sorted(folder.iterdir())]
        X, y = pa.concat_tables(X for X, _ in loaded), pa.chunked_array([c for _, y in loaded for c in y.chunks])
        del loaded
        table = (X, y) if kind == "arrow" else (np.stack([c.to_numpy() for c in X.columns], axis=1), y.to_numpy())
        del X, y
    start = time.perf_counter()
    model.fit(*table)
    print(time.perf_counter() - start, start - begin, watch.stop())


def measure_prediction(folder: Path) -> None:
    """Predict all records into a Parquet file, as the command does, and print the same."""
    from privet import PrivateTreeClassifier
    from privet.cli.files import rows_to
    from privet.cli.predictions import predictions

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, FEATURES))
    model = PrivateTreeClassifier(schema(), epsilon=1.0, max_depth=4).fit(X, rng.integers(0, 2, len(X)))
    model.predict(X)
    watch, start = Watch(), time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        tables = predictions(model, sorted(folder.iterdir()), None, proba=False, strict=False)
        rows_to(Path(scratch) / "out.parquet", tables)
    print(time.perf_counter() - start, 0, watch.stop())


def run(kind: str, folder: Path) -> tuple[float, float, float]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--measure", kind, str(folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, load, memory = map(float, done.stdout.split()[-3:])
    return seconds, load, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000_000])
    parser.add_argument("--memory", type=int, default=5_000_000, help="the most rows that are also fitted in memory")
    parser.add_argument("--keep", type=Path, help="a folder for the files, where they stay and are used again")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        kind, where = options.measure[0], Path(options.measure[1])
        measure_prediction(where) if kind == "predict" else measure(kind, where)
        return
    with tempfile.TemporaryDirectory() as scratch:
        compare(options.keep or Path(scratch), options.rows, options.memory)


def compare(where: Path, sizes: list[int], most_in_memory: int) -> None:
    print("| records | seconds | seconds to load | megabytes |\n|---|---|---|---|")
    for rows in sizes:
        folder = where / str(rows)
        if not folder.exists():
            folder.mkdir(parents=True)
            make(folder, rows)
        for kind in ("files", "predict", *(("arrow", "matrix") if rows <= most_in_memory else ())):
            seconds, load, memory = run(kind, folder)
            print(f"| {rows:,} x {FEATURES}, {kind} | {seconds:.2f} | {load:.2f} | {memory:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
