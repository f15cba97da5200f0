"""Our engine against MPyC's arrays, three processes with TLS on this machine: `make mpc`.

The same program on both: 10,000 comparisons of 32-bit integers at once, and the product of a 91 x n matrix with an
n x 14 one (the histograms of one level of a tree on Adult's shape, n = 32,651). Times are wall clock of the slowest
server, after one small run of the same to warm up.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from privet.mpc.engine import Engine
from privet.mpc.loopback import run_three, run_three_mpyc


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=32_651)
    options = parser.parse_args()
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
