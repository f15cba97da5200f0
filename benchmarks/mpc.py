"""Our engine against MPyC's arrays, three processes with TLS on this machine: `make mpc`.

The same program on both: 10,000 comparisons of 32-bit integers at once, and the product of a 91 x n matrix with an
n x 14 one (the histograms of one level of a tree on Adult's shape, n = 32,651). Times are wall clock of the slowest
server, after one small run of the same to warm up.

`--adult` trains a tree of depth 4 on the census data by the real commands (examples/mpc_loopback.py), with 10,000 and
with 1,000,000 records: what the servers do does not depend on the number, apart from waiting for the owners to count.
`--adult --delay 0.02` does so with 10,000 records and so many seconds of delay on every line, each way (a proxy).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd

from delayed import HERE, Delayed
from loopback import run_three, run_three_mpyc
from privet.shares.engine import Engine


def compare(engine: Engine, n: int) -> tuple[float, bool]:
    x, y = np.random.default_rng(0).integers(-(2**30), 2**30, (2, n))
    a, b = (engine.input(v if engine.party == 0 else None, 0, v.shape) for v in (x, y))
    engine.open(engine.less(a[:10], b[:10], 32))
    start = time.perf_counter()
    answer = engine.open(engine.less(a, b, 32))
    return time.perf_counter() - start, bool((answer == (x < y)).all())


def product(engine: Engine, n: int) -> tuple[float, bool]:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (91, n)), rng.integers(0, 2, (n, 14))
    a, b = (engine.input(v if engine.party == 0 else None, 0, v.shape) for v in (x, y))
    engine.open(a[:, :10] @ b[:10])
    start = time.perf_counter()
    answer = engine.open(a @ b)
    return time.perf_counter() - start, bool((answer == x @ y).all())


def far_apart(folder: Path, delay: float, proxies: ExitStack) -> None:
    """Everybody reaches each server by a line with a delay; servers listen where they did."""
    for own in sorted(folder.glob("server?.toml")):
        address = re.search(rf'^name = "{own.stem}"$.*?^address = "(.*?)"$', _consortium(own), re.M | re.S)
        assert address is not None
        proxy = proxies.enter_context(Delayed(int(address[1].rpartition(":")[2]), delay))
        own.write_text(f'listen = "{address[1]}"\n{own.read_text()}')
        for file in folder.glob("*.consortium.toml"):
            file.write_text(file.read_text().replace(f'"{address[1]}"', f'"{HERE}:{proxy.port}"'))


def _consortium(own: Path) -> str:
    return own.with_suffix(".consortium.toml").read_text()


def adult(runs: int, sizes: tuple[int, ...] = (10_000, 1_000_000), delay: float = 0.0) -> None:
    """Runs of both sizes take turns, and turns at being first, so that both meet the same machine."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    from mpc_loopback import OWNERS, lay_out, run

    from privet import PrivateTreeClassifier, load
    from privet.datasets import load_adult

    X, y, schema = load_adult()
    costs: dict[int, list[tuple[float, ...]]] = {rows: [] for rows in sizes}
    with tempfile.TemporaryDirectory() as name, ExitStack() as proxies:
        folders = {rows: Path(name) / str(rows) for rows in sizes}
        for rows, folder in folders.items():
            folder.mkdir()
            lay_out(folder, rows=rows, epsilon=runs)
            if delay:
                far_apart(folder, delay, proxies)
        for i in range(runs):
            for rows, folder in list(folders.items())[:: (-1) ** i]:
                model, said = run(folder, 1.0, ["--force", "--set", "max_depth=4", "--set", f"n_records={rows}"])
                learned = load(model)
                assert learned.tree_.depth == 4
                costs[rows].append((*_costs(said), learned.score(X, y)))
        learner = PrivateTreeClassifier(schema=schema, epsilon=1.0, max_depth=4)
        print(f"| records | {' | '.join(WHAT)} |\n|{'---|' * (len(WHAT) + 1)}")
        for rows, folder in folders.items():
            parts = pd.concat([pd.read_parquet(folder / f"{owner}.parquet") for owner in OWNERS])
            learner.n_records = rows
            central = [learner.fit(parts[list(X.columns)], parts[schema.label]).score(X, y) for _ in range(10)]
            columns = [*np.array(costs[rows]).T, np.array(central)]
            means = [f"{own.mean():,.4f} ± {own.std(ddof=1) / np.sqrt(len(own)):,.4f}" for own in columns]
            print(f"| {rows:,} | {' | '.join(means)} | {np.median(columns[TIME]):,.4f} |")


WHAT = ("rounds", "bytes sent by server 0", "its processor time, s", "its time but for waiting for owners, s",
        "waiting for owners to count, s", "accuracy on all records", "accuracy of one trusted machine, 10 runs",
        "median of its time but for waiting, s")  # fmt: skip
TIME = 3


def _costs(said: str) -> tuple[float, ...]:
    found = re.search(r"done: ([\d,]+) rounds, ([\d,]+) bytes .*?, ([\d.]+) s, ([\d.]+) s of them .*; ([\d.]+) s", said)
    assert found is not None
    rounds, sent, seconds, waited, cpu = (float(number.replace(",", "")) for number in found.groups())
    return rounds, sent, cpu, seconds - waited, waited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=32_651)
    parser.add_argument("--adult", action="store_true", help="The cost of training by the number of records.")
    parser.add_argument("--delay", type=float, default=0.0, help="With --adult: seconds on every line, each way.")
    parser.add_argument("--runs", type=int, default=4, help="With --adult: so many of each size.")
    options = parser.parse_args()
    if options.adult:
        adult(options.runs, *([(10_000,), options.delay] if options.delay else []))
        return
    for name, program, n in (
        ("comparisons", compare, options.comparisons),
        ("matrix product", product, options.rows),
    ):
        seconds = {}
        for engine, run in (("ours", run_three), ("MPyC", run_three_mpyc)):
            results = run(program, n)
            assert all(right for _, right in results)
            seconds[engine] = max(taken for taken, _ in results)
            print(f"{name:15} n = {n:6}  {engine:5} {seconds[engine] * 1e3:10.1f} ms", flush=True)
        print(f"{name:15} MPyC takes {seconds['MPyC'] / seconds['ours']:.0f} times as long", flush=True)


if __name__ == "__main__":
    main()
