"""Counting in a database gives the same whole numbers as counting in memory, whatever is asked in which order."""

import math

import numpy as np
import pytest

import databases
from privet import Categorical, MemoryCurator, Numeric, Schema
from privet.curators.sql.curator import SqlCurator
from privet.privacy.mechanisms import mechanisms
from privet.questions.grid import even_grid, public_grid
from privet.questions.split import Split

FEATURES = {
    "whole number": Numeric(-3, 9, integer=True),
    "large": Numeric(0, 10**9, integer=True, missing=True),
    'a "number"': Numeric(-2, 5, missing=True),
    "narrow": Numeric(0, 1),
    "mean": Numeric(0, 1, mean_of=["narrow", "flag"]),
    "text's": Categorical(["a", "b'c", 'd"e', "f\\g", " a", "a ", "", "ü", "${x}"]),
    "code": Categorical([3, -1, 2**53 + 1, 7]),
    "share": Categorical([0.5, 0.1, 3.0]),
    "short": Categorical([0.1, 0.25]),
    "flag": Categorical([True, False]),
    "one": Numeric(4, 4),
}
TYPES = {
    "whole number": "int",
    "large": "bigint",
    'a "number"': "double",
    "narrow": "float",
    "text's": "text",
    "code": "bigint",
    "share": "double",
    "short": "float",
    "flag": "boolean",
    "one": "smallint",
    "unused": "text",
    "label": "text",
    "target": "double",
    "person": "text",
}
CLASSIFIED = Schema(FEATURES, classes=["no", "y'es", "?"], label="label")
MEASURED = Schema(FEATURES, target=(-1.5, 2.25), label="target")


def some_rows(n, seed):
    rng = np.random.default_rng(seed)
    cuts = public_grid(CLASSIFIED).features[2].cuts
    doubles = [*cuts[:3], *np.nextafter(cuts[:3], 9), math.nan, None, -0.0, 0.0, 1e308, -1e308, 5e-324, -2.0, 5.0]
    texts = ["a", "b'c", 'd"e', "f\\g", " a", "a ", "", "ü", "${x}", "A", "unlisted", None, "a\n", "%s", "$1"]

    def one(values):
        return values[rng.integers(len(values))]

    def number(low, high):
        return float(rng.uniform(low, high))

    return [
        (
            int(rng.integers(-6, 13)),
            one([None, 0, 1, 2**40, -(2**62), int(rng.integers(10**9))]),
            _float(one([*doubles, *(number(-3, 6) for _ in range(20))])),
            float(np.float32(number(-0.2, 1.2))),
            one(texts),
            one([3, -1, 2**53, 2**53 + 1, 7, 8, None]),
            one([0.5, 0.1, 3.0, 0.1 + 1e-17, math.nan, None, 0.10000001]),
            one([float(np.float32(0.1)), 0.25, None, 0.5]),
            one([True, False]),
            int(rng.integers(9)),
            "x",
            one(["no", "y'es", "?"]),
            one([-1.5, 2.25, 9.0, -1e300, -1.5 + 3.75 * 0.5 / 65536, -1.5 + 3.75 * 1.5 / 65536, number(-2, 3)]),
            one(["p1", "P1", "p 2", "${p}"]) if rng.random() < 0.1 else f"q{i}",
        )
        for i in range(n)
    ]


def _float(value):
    return None if value is None else float(value)


def rooms(engine, schema, rows, key=None, seed=1):
    """The room in a database and the room in memory, of the same records."""
    connection = databases.connect(engine)
    name = "people" if engine == "spark" else "some people"
    databases.store(connection, engine, name, TYPES, rows)
    table = databases.arrow(TYPES, rows)
    memory = MemoryCurator(
        table.drop_columns(["label", "target"]), table.column(schema.label), schema, mechanisms=mechanisms(seed)
    )
    desk = SqlCurator(connection, name, schema, key=key, mechanisms=mechanisms(seed)).open()
    return desk._room, memory.room()


@pytest.mark.parametrize("schema", [CLASSIFIED, MEASURED], ids=["classes", "target"])
@pytest.mark.parametrize(
    ("engine", "writes"),
    [("duckdb", True), ("postgres", True), ("postgres", False), pytest.param("spark", True, marks=pytest.mark.slow)],
)
def test_every_count_is_that_of_memory(engine, schema, writes):
    room, memory = rooms(engine, schema, some_rows(300, 0))
    room._writes &= writes
    rng = np.random.default_rng(5)
    nodes = [(room.everything(None), memory.everything(None))]
    grids = [even_grid(schema, 5), public_grid(schema), public_grid(schema, 16)]
    try:
        for step in range(4 if engine == "spark" else 8):
            if step % 3 == 0:
                grid = grids[step // 3]
                room.use(grid)
                memory.use(grid)
            if step == 2 and schema.target:
                room.focus(-0.5, 1.1)
                memory.focus(-0.5, 1.1)
            asked = [nodes[i] for i in rng.integers(len(nodes), size=3)]
            ours, theirs = zip(*asked)
            np.testing.assert_array_equal(room.histograms(ours), memory.histograms(theirs))
            np.testing.assert_array_equal(room.totals(ours), memory.totals(theirs))
            if schema.target:
                cuts = np.linspace(-1.5, 2.2, 40)
                np.testing.assert_array_equal(room.target_counts(ours[0], cuts), memory.target_counts(theirs[0], cuts))
            splits = []
            for _ in range(2):
                feature = int(rng.integers(len(grid.features)))
                parts = rng.integers(0, 3, size=grid.features[feature].n_cells).astype(np.uint8)
                splits.append(Split(feature, bytes(parts), 3))
            below = zip(room.split(list(zip(ours, splits))), memory.split(list(zip(theirs, splits))))
            nodes += [pair for families in below for pair in zip(*families)]
            nodes += zip(room.copies(ours[0], 2), memory.copies(theirs[0], 2))
    finally:
        room.close()
