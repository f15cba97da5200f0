"""What hidden trees (paper 003) cost: `make hidden`. Their accuracy is `privet-bench run hidden-accuracy`.

On Adult's shape (32,651 rows, 13 attributes of 7 values, 2 classes), three processes with TLS on this machine, all in
one run: hidden training at depths 2 to 5, 1,000 hidden predictions, and for comparison one node of Algorithm 1 on
MPyC's NumPy arrays, with all rows, and on MPyC's lists as printed, with two smaller numbers of rows from which all of
them are extrapolated; times the number of nodes. How busy the machine was is printed too, and processor time of a
server beside the time that passed.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from loopback import run_three, run_three_mpyc
from privet import Categorical, HiddenTreeClassifier, Ledger, Schema
from privet.curators.hidden import HiddenCurator
from privet.curators.row_owners import check_queries, check_rows

ROWS, ATTRIBUTES, VALUES = 32_651, 13, 7
SCHEMA = Schema({f"a{i}": Categorical(range(VALUES), other=False) for i in range(ATTRIBUTES)}, classes=["no", "yes"])


def adult_shape(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Rows of Adult's shape, one 1 among the values of each attribute and one among the classes: what is in them makes
    no difference to what is computed."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, VALUES, (rows, ATTRIBUTES))
    y = (rng.random(rows) < 0.15 + 0.03 * X[:, 0]).astype(int)
    cells = np.zeros((ATTRIBUTES * VALUES, rows), dtype=np.int64)
    for i in range(ATTRIBUTES):
        cells[i * VALUES + X[:, i], np.arange(rows)] = 1
    return cells, np.stack([1 - y, y])


class Held:
    """Rows that are on shares already: owners that have left."""

    def __init__(self, engine: Any) -> None:
        self._cells, self._classes = adult_shape()
        self._engine = engine
        self.most_records = ROWS

    def rows(self, grid: Any) -> tuple[Any, Any]:
        here = self._engine.party == 0
        shared = [self._engine.input(table if here else None, 0, table.shape) for table in (self._cells, self._classes)]
        self._engine.mesh.check()
        self.shared = _now(self._engine)
        check_rows(self._engine, shared[0], shared[1], grid)
        return shared[0], shared[1]


def _now(engine: Any) -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time(), engine.mesh.rounds, engine.mesh.bytes_sent])


def train(engine: Any, depth: int, branches: str) -> tuple[list[float], list[float]]:
    """Seconds, seconds of processor time, rounds and bytes sent: of a training, and of 1,000 predictions after it."""
    held = Held(engine)
    curator = HiddenCurator(SCHEMA, engine, held, ledger=Ledger(math.inf))
    learner = HiddenTreeClassifier(epsilon=1.0, max_depth=depth, branches=branches, n_values=VALUES)
    tree = learner.fit_curator(curator).tree_
    engine.mesh.check()
    training = _now(engine) - held.shared
    queries = held._cells[:, :1000]
    shares = engine.input(queries if engine.party == 0 else None, 0, queries.shape)
    engine.mesh.check()
    before = _now(engine)
    check_queries(engine, shares, tree.shape.grid)
    tree.predict(engine, shares)
    engine.mesh.check()
    return training.tolist(), (_now(engine) - before).tolist()


# -- Algorithm 1 on MPyC, one node -----------------------------------------------------------------------------------


def node_on_arrays(engine: Any, rows: int) -> tuple[float, float]:
    """One inner node of Algorithm 1 on MPyC's secure arrays: class counts, scores, the best attribute, routing."""
    runtime, kind = engine.runtime, engine.runtime.SecInt(32)
    cells, classes = adult_shape(rows)
    D = runtime.input(kind.array(cells.astype(object)), senders=0)
    T = runtime.input(kind.array(np.ones(rows, dtype=object)), senders=0)
    Y = runtime.input(kind.array(classes.astype(object)), senders=0)
    engine._run(runtime.output(T[:2]))
    start = time.perf_counter(), time.process_time()
    counts = [runtime.np_matmul(D, Y[c] * T) for c in range(2)]
    larger = runtime.np_maximum(*counts)
    scores = np.sum(np.reshape(larger, (ATTRIBUTES, VALUES)), axis=1)
    best = runtime.np_argmax(scores)
    k = runtime.np_unit_vector(best if not isinstance(best, tuple) else best[0], ATTRIBUTES)
    chosen = runtime.np_matmul(k, np.reshape(D, (ATTRIBUTES, VALUES * rows)))
    routed = np.reshape(chosen, (VALUES, rows)) * T
    engine._run(runtime.output(routed[0, :2]))
    return time.perf_counter() - start[0], time.process_time() - start[1]


def node_on_lists(engine: Any, rows: int) -> tuple[float, float]:
    """The same node as printed, on lists of secure integers; ``rows`` of the rows, for all of them take minutes."""
    runtime, kind = engine.runtime, engine.runtime.SecInt(32)
    cells, classes = adult_shape(rows)
    D = [runtime.input([kind(int(v)) for v in row], senders=0) for row in cells]
    T = runtime.input([kind(1)] * rows, senders=0)
    Y = [runtime.input([kind(int(v)) for v in row], senders=0) for row in classes]
    engine._run(runtime.output(T[0]))
    start = time.perf_counter(), time.process_time()
    C = [runtime.schur_prod(y, T) for y in Y]
    scores = []
    for i in range(ATTRIBUTES):
        largest = [runtime.max([runtime.in_prod(D[i * VALUES + j], C[c]) for c in range(2)]) for j in range(VALUES)]
        scores.append(runtime.sum(largest))
    best, _ = runtime.argmax(scores)
    k = [best == i for i in range(ATTRIBUTES)]
    for j in range(VALUES):
        X = [runtime.in_prod([D[i * VALUES + j][r] for i in range(ATTRIBUTES)], k) for r in range(rows)]
        routed = runtime.schur_prod(T, X)
        engine._run(runtime.output(routed[0]))
    engine._run(runtime.output(routed))
    return time.perf_counter() - start[0], time.process_time() - start[1]


def nodes(depth: int) -> int:
    return (VALUES**depth - 1) // (VALUES - 1)


def _run_node(program: Any, rows: int) -> np.ndarray:
    found = np.array(run_three_mpyc(program, rows, longest=3600)[0])
    print(f"MPyC, {program.__name__}, {rows:,} rows: {found[0]:.2f} s, {found[1]:.2f} s of processor time; {_load()}",
          flush=True)  # fmt: skip
    return found


def _extrapolated(program: Any, few: int, more: int) -> np.ndarray:
    """Seconds and processor time of a node with all rows: a part that is fixed, and a part for each row."""
    less, much = _run_node(program, few), _run_node(program, more)
    return less + (much - less) / (more - few) * (ROWS - few)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def far_apart(delay: float) -> None:
    """Training between servers whose messages take ``delay`` seconds to arrive."""
    for depth, branches, ring_bits in ((3, "values", 32), (3, "thresholds", 64)):
        found = run_three(train, depth, branches, ring_bits=ring_bits, longest=3600, timeout=600, delay=delay)
        _report(f"{branches}, {1000 * delay:.0f} ms of delay", depth, *found[0])


def speed(depths: list[int], runs: int) -> dict[int, np.ndarray]:
    """What hidden training costs at each depth."""
    ours: dict[int, np.ndarray] = {}
    asked: dict[int, np.ndarray] = {}
    for depth in depths:
        done = [
            run_three(train, depth, "values", ring_bits=32, longest=3600, timeout=600)[0]
            for _ in range(runs if depth < 5 else 1)
        ]
        ours[depth] = np.median([training for training, _ in done], axis=0)
        asked[depth] = np.median([predicting for _, predicting in done], axis=0)
        _report("values", depth, ours[depth], asked[depth])
    for depth in (3, 6):
        training, predicting = run_three(train, depth, "thresholds", ring_bits=64, longest=3600, timeout=600)[0]
        _report("thresholds", depth, training, predicting)
    if 3 in ours:
        times = ours[3] / asked[3]
        print(
            f"1,000 predictions at depth 3 are 1/{times[0]:.0f} of the training, 1/{times[1]:.0f} of its processor time"
        )
    return ours


def beside_mpyc(ours: dict[int, np.ndarray], list_rows: tuple[int, int]) -> None:
    """Algorithm 1 on MPyC, times the number of nodes."""
    arrays = _run_node(node_on_arrays, ROWS)
    lists = _extrapolated(node_on_lists, *list_rows)
    for name, node in (("lists", lists), ("arrays", arrays)):
        for depth in ours:
            whole = node * nodes(depth)
            print(f"depth {depth}, MPyC {name}: {whole[0]:,.0f} s, {whole[1]:,.0f} s of processor time; "
                  f"{whole[0] / ours[depth][0]:,.0f} and {whole[1] / ours[depth][1]:,.0f} times ours")  # fmt: skip


def _report(branches: str, depth: int, training: Any, predicting: Any) -> None:
    print(f"{branches}, depth {depth}: training {_cost(training)}; 1,000 predictions {_cost(predicting)}; {_load()}",
          flush=True)  # fmt: skip


def _cost(cost: Any) -> str:
    seconds, cpu, rounds, sent = cost
    return f"{seconds:.2f} s, {cpu:.2f} s of processor time, {rounds:,.0f} rounds, {sent / 1e6:,.1f} MB sent"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", default="2,3,4,5")
    parser.add_argument("--list-rows", default="1000,4000", help="Two numbers of rows for MPyC's lists.")
    parser.add_argument("--runs", type=int, default=3, help="Of which the median is taken; once at depth 5.")
    parser.add_argument("--ours", action="store_true", help="Leave MPyC out.")
    parser.add_argument("--delay", type=float, help="Train between servers whose messages take so many seconds.")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    import hidden  # so that processes of their own find the programs by name

    if options.delay is not None:
        hidden.far_apart(options.delay)
    else:
        few, more = (int(rows) for rows in options.list_rows.split(","))
        ours = hidden.speed([int(depth) for depth in options.depths.split(",")], options.runs)
        if not options.ours:
            hidden.beside_mpyc(ours, (few, more))
