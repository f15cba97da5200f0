"""Hidden trees (paper 003): what they cost, and how accurate they are. `make hidden` and `make hidden-accuracy`.

Speed, on Adult's shape (32,651 rows, 13 attributes of 7 values, 2 classes), three processes with TLS on this machine,
all in one run: hidden training at depths 2 to 5, 1,000 hidden predictions, and for comparison one node of Algorithm 1
on MPyC's NumPy arrays and on MPyC's lists as printed, times the number of nodes. Machines are busy, so processor time
of a server is given beside the time that passed.

`--accuracy` is Figures 2 to 4: accuracy and AUC of predicted labels over five 80/20 splits, several seeds each, in the
open by the law of the hidden tree.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from privet import Categorical, HiddenTreeClassifier, Ledger, Schema
from privet.curators.hidden import HiddenCurator
from privet.mpc.loopback import run_three, run_three_mpyc

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


def _one_node(program: Any, rows: int) -> np.ndarray:
    """Seconds and processor time of one node: its cost is a part that is fixed and a part for each row, which are
    measured with few rows and with three times as many."""
    few, more = (np.array(run_three_mpyc(program, n, longest=3600)[0]) for n in (rows, 3 * rows))
    each = (more - few) / (2 * rows)
    whole = few + each * (ROWS - rows)
    print(f"MPyC, {program.__name__}, from {rows:,} and {3 * rows:,} rows: {whole[0]:.1f} s, "
          f"{whole[1]:.1f} s of processor time", flush=True)  # fmt: skip
    return whole


def speed(depths: list[int], mpyc_rows: int, runs: int) -> None:
    ours: dict[int, np.ndarray] = {}
    asked: dict[int, np.ndarray] = {}
    for depth in depths:
        done = [run_three(train, depth, "values", ring_bits=32, longest=3600, timeout=600)[0] for _ in range(runs)]
        ours[depth] = np.mean([training for training, _ in done], axis=0)
        asked[depth] = np.mean([predicting for _, predicting in done], axis=0)
        print(f"depth {depth}: training {_cost(ours[depth])}; 1,000 predictions {_cost(asked[depth])}", flush=True)
    for depth in (3, 6):
        training, predicting = run_three(train, depth, "thresholds", ring_bits=32, longest=3600, timeout=600)[0]
        print(
            f"thresholds, depth {depth}: training {_cost(training)}; 1,000 predictions {_cost(predicting)}", flush=True
        )
    arrays, lists = (_one_node(program, mpyc_rows) for program in (node_on_arrays, node_on_lists))
    for name, node in (("lists", lists), ("arrays", arrays)):
        for depth in depths:
            whole = node * nodes(depth)
            print(
                f"depth {depth}, MPyC {name}: {whole[0]:,.0f} s, {whole[1]:,.0f} s of processor time; "
                f"{whole[0] / ours[depth][0]:,.0f} and {whole[1] / ours[depth][1]:,.0f} times ours"
            )
    print(f"1,000 predictions at depth 3 are 1/{ours[3][0] / asked[3][0]:.0f} of the training")


def _cost(cost: Any) -> str:
    seconds, cpu, rounds, sent = cost
    return f"{seconds:.2f} s, {cpu:.2f} s of processor time, {rounds:,.0f} rounds, {sent / 1e6:,.1f} MB sent"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--depths", default="2,3,4,5")
    parser.add_argument("--mpyc-rows", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", default="titanic,heart_cleveland,adult")
    parser.add_argument("--methods", default="", help="Words of methods' names; by default all.")
    parser.add_argument("--epsilons", default="", help="Others than the figures'.")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    if options.accuracy:
        from hidden_accuracy import main

        epsilons = tuple(float(word) for word in options.epsilons.split(",") if word)
        main(options.sets.split(","), options.seeds, tuple(options.methods.split(",")), epsilons)
    else:
        from hidden import speed as run_speed  # so that processes of their own find the programs by name

        run_speed([int(depth) for depth in options.depths.split(",")], options.mpyc_rows, options.runs)
