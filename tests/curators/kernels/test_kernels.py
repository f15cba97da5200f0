"""What both engines promise, against a naive reference; and which of them is chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.curators import kernels

ENGINES = ["numpy", "numba"]


def naive_histograms(cells, offsets, n_cells, labels, n_classes, rows, starts):
    out = np.zeros((len(starts) - 1, n_cells, n_classes), np.int64)
    for node in range(len(starts) - 1):
        for k in range(starts[node], starts[node + 1]):
            i = k if rows is None else rows[k]
            for f, offset in enumerate(offsets):
                out[node, offset + cells[i, f], labels[i]] += 1
    return out


def naive_partition(column, table, n_parts, rows):
    return [[int(i) for i in rows if table[column[i]] == part] for part in range(n_parts)]


def partition(column, table, n_parts, rows=None):
    """The parts of one node alone."""
    empty = np.empty((len(column), 0), np.uint16 if column.dtype == np.uint8 else np.uint8)
    blocks = (column[:, None], empty) if column.dtype == np.uint8 else (empty, column[:, None])
    parts, ends = kernels.partition_level(blocks, [0], [table], [n_parts], rows)
    return [parts[a:b] for a, b in pairwise(ends)]


# Cuts and values


finite = st.floats(allow_nan=False, allow_infinity=False)
WIDTHS = st.sampled_from([1.0, 1e-300, 1e300, 5e-324, 3.7])


@st.composite
def grids(draw):
    """Sorted cuts: arbitrary ones, or a linear grid refined towards both ends, as the planner makes."""
    if draw(st.booleans()):
        return np.array(sorted(draw(st.lists(finite, max_size=40))), np.float64)
    low, width = draw(st.floats(-1e6, 1e6)), draw(WIDTHS)
    ends = 0.5 ** np.arange(1, draw(st.integers(1, 30)))
    inner = np.linspace(0, 1, draw(st.integers(2, 80)))
    return np.unique(low + width * np.concatenate([inner, ends * 0.1, 1 - ends * 0.1]))


@st.composite
def cut_problems(draw):
    cuts = draw(grids())
    with np.errstate(over="ignore"):
        near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
    near = near[np.isfinite(near)]
    corners = [0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308]
    values = np.concatenate([near, corners, draw(st.lists(finite, max_size=20))])
    return cuts, values


@settings(max_examples=300, deadline=None)
@given(problem=cut_problems())
@pytest.mark.parametrize("name", ENGINES)
def test_a_value_is_at_most_a_cut_exactly_when_its_cell_is(use, name, problem):
    use(name)
    cuts, values = problem
    out = np.full((len(values), 1), 9, np.uint16)
    assert kernels.cut_matrix(values[:, None], [cuts], out, [False])[0] == 0
    expected = (values[:, None] > cuts[None, :]).sum(axis=1)
    np.testing.assert_array_equal(out[:, 0], expected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, ">f8", np.uint8])
def test_every_type_and_order_is_cut_alike(engine, kind, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 100, (1500, 11)), kind, order=order)
    cuts = [np.sort(rng.choice(100, size, replace=False)).astype(float) for size in range(11)]
    block = np.zeros((1500, 14), np.uint8)
    assert not kernels.cut_matrix(X[::2], cuts, block[:750, 3:], [False] * 11).any()
    for f in range(11):
        expected = np.searchsorted(cuts[f], X[::2, f].astype(float))
        np.testing.assert_array_equal(block[:750, 3 + f], expected)
    assert not block[:, :3].any()
    assert not block[750:].any()


def test_missing_values_take_the_last_cell_and_are_flagged_without_one(engine):
    X = np.array([[np.nan, np.nan, np.inf, 1.0], [0.5, 0.5, np.nan, -np.inf]])
    cuts = [np.array([0.0, 1.0])] * 4
    out = np.zeros((2, 4), np.uint8)
    flags = kernels.cut_matrix(X, cuts, out, [True, False, False, True])
    np.testing.assert_array_equal(flags, [0, kernels.MISSING, kernels.MISSING | kernels.INFINITE, kernels.INFINITE])
    assert out[0, 0] == 3
    np.testing.assert_array_equal(out[1, :2], [1, 1])


def test_a_column_is_cut_into_its_place(engine):
    out = np.full((4, 3), 7, np.uint8)
    x = np.array([0.0, 1.0, np.nan, 2.0])
    assert kernels.cut_column(x, np.array([0.0, 1.0]), out[:, 1], True) == 0
    np.testing.assert_array_equal(out, [[7, 0, 7], [7, 1, 7], [7, 3, 7], [7, 2, 7]])
    assert kernels.cut_column(x, np.array([0.0, 1.0]), out[:, 1], False) == kernels.MISSING


def test_read_only_records_are_accepted(engine):
    X = np.linspace(0, 1, 50).reshape(25, 2)
    X.flags.writeable = False
    out = np.zeros((25, 2), np.uint8)
    kernels.cut_matrix(X, [np.array([0.5])] * 2, out, [False] * 2)
    out.flags.writeable = False
    labels = np.zeros(25, np.uint8)
    labels.flags.writeable = False
    assert kernels.histograms(out, np.array([0, 2]), 4, labels, 1).sum() == 50
    assert sum(map(len, partition(out[:, 0], np.array([0, 1], np.uint8), 2))) == 25


def test_no_rows_no_cuts_and_one_cell(engine):
    out = np.zeros((0, 2), np.uint8)
    assert not kernels.cut_matrix(np.zeros((0, 2)), [np.array([])] * 2, out, [False] * 2).any()
    one = np.full((3, 2), 9, np.uint8)
    kernels.cut_matrix(np.ones((3, 2)), [np.array([])] * 2, one, [False] * 2)
    assert not one.any()
    counts = kernels.histograms(one, np.array([0, 1]), 2, np.zeros(3, np.uint8), 1)
    np.testing.assert_array_equal(counts, [[[3], [3]]])
    counts = kernels.histograms(out, np.array([0, 1]), 2, np.zeros(0, np.uint8), 2)
    assert counts.shape == (1, 2, 2)
    assert not counts.any()
    parts = partition(out[:, 0], np.zeros(1, np.uint8), 3)
    assert [len(each) for each in parts] == [0, 0, 0]


# Counts


@st.composite
def levels(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, m = draw(st.integers(0, 60)), draw(st.integers(1, 6))
    widths = rng.integers(1, draw(st.sampled_from([2, 8, 256])) + 1, m)
    kind = draw(st.sampled_from([np.uint8, np.uint16]))
    cells = (rng.random((n, m)) * widths).astype(kind)
    order = rng.permutation(m)  # features need not lie in order
    offsets = np.empty(m, np.int64)
    offsets[order] = np.concatenate([[0], np.cumsum(widths[order])[:-1]])
    n_classes = draw(st.integers(1, 5))
    labels = rng.integers(0, n_classes, n).astype(draw(st.sampled_from([np.uint8, np.uint16])))
    if draw(st.booleans()):
        return cells, offsets, int(widths.sum()), labels, n_classes, None, np.array([0, n]), widths
    nodes = draw(st.integers(1, 7))
    node = rng.integers(0, nodes, n)
    rows = np.argsort(node, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=nodes))]).astype(np.int64)
    return cells, offsets, int(widths.sum()), labels, n_classes, rows, starts, widths


@settings(max_examples=100, deadline=None)
@given(level=levels())
@pytest.mark.parametrize("name", ENGINES)
def test_counts_and_sums_are_exact(use, name, level):
    use(name)
    *level, _ = level
    cells, offsets, n_cells, labels, n_classes, rows, starts = level
    expected = naive_histograms(*level)
    np.testing.assert_array_equal(kernels.histograms(*level), expected)
    again = kernels.histograms(*level, out=expected.copy())
    np.testing.assert_array_equal(again, 2 * expected)
    weights = np.arange(n_classes, dtype=np.int64)[:, None] * [0, 3**30] + [1, -(2**40)]
    values = weights[labels]  # beyond what a float64 sum would keep
    sums = kernels.sums(cells, offsets, n_cells, values, rows, starts)
    np.testing.assert_array_equal(sums, expected @ weights)
    np.testing.assert_array_equal(kernels.sums(cells, offsets, n_cells, values, rows, starts, sums.copy()), 2 * sums)


@settings(max_examples=100, deadline=None)
@given(level=levels(), seed=st.integers(0, 2**32 - 1), kind=st.sampled_from([np.uint8, np.int64]))
@pytest.mark.parametrize("name", ENGINES)
def test_a_record_of_weight_w_counts_as_w_copies(use, name, level, seed, kind):
    use(name)
    *level, _ = level
    cells, offsets, n_cells, labels, n_classes, rows, starts = level
    weights = np.random.default_rng(seed).integers(1, kernels.MOST_WEIGHT + 1, len(cells)).astype(kind)
    everything = np.arange(len(cells), dtype=np.int32) if rows is None else rows
    copies = np.repeat(everything, weights[everything])
    ends = np.concatenate([[0], np.cumsum(weights[everything], dtype=np.int64)])[starts]
    expected = naive_histograms(*level[:5], copies, ends)
    np.testing.assert_array_equal(kernels.histograms(*level, weights=weights), expected)
    np.testing.assert_array_equal(kernels.histograms(*level, expected.copy(), weights), 2 * expected)
    worth = np.arange(n_classes, dtype=np.int64)[:, None] * [0, 3**30] + [1, -(2**40)]
    sums = kernels.sums(cells, offsets, n_cells, worth[labels], rows, starts, weights=weights)
    np.testing.assert_array_equal(sums, expected @ worth)


@pytest.mark.parametrize("weights", [[0, 1, 1], [1, 65, 1], [1, 257, 1], [1, 1], [1.0, 1.0, 1.0], [[1], [1], [1]]])
def test_weights_that_a_byte_would_falsify_are_refused(engine, weights):
    cells, labels = np.zeros((3, 1), np.uint8), np.zeros(3, np.uint8)
    for count, what in ((kernels.histograms, (labels, 1)), (kernels.sums, (np.ones((3, 1), np.int64),))):
        with pytest.raises(ValueError, match="from 1 to 64"):
            count(cells, np.array([0]), 1, *what, weights=np.array(weights))


@settings(max_examples=100, deadline=None)
@given(level=levels(), data=st.data())
@pytest.mark.parametrize("name", ENGINES)
def test_rows_reach_their_parts_in_order(use, name, level, data):
    use(name)
    cells, _, _, _, _, rows, starts, widths = level
    nodes = len(starts) - 1
    features = data.draw(st.lists(st.integers(0, cells.shape[1] - 1), min_size=nodes, max_size=nodes))
    n_parts = data.draw(st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes))
    rng = np.random.default_rng(0)
    tables = [rng.integers(0, max(1, k), widths[f]).astype(np.uint8) for f, k in zip(features, n_parts)]
    narrow = cells.shape[1] // 2
    small = np.minimum(cells, 255).astype(np.uint8)
    blocks = (small[:, :narrow], cells[:, narrow:].astype(np.uint16))
    expected = []
    everything = np.arange(len(cells)) if rows is None else rows
    for i, f in enumerate(features):
        mine = everything[starts[i] : starts[i + 1]]
        expected += naive_partition(cells[:, f], tables[i], n_parts[i], mine)
    found, ends = kernels.partition_level(blocks, features, tables, n_parts, rows, starts)
    assert found.dtype == np.int32
    assert [found[a:b].tolist() for a, b in pairwise(ends)] == expected
    if n_parts[0]:
        first = everything[starts[0] : starts[1]].astype(np.int32)
        parts = partition(cells[:, features[0]], tables[0], n_parts[0], first)
        assert [each.tolist() for each in parts] == expected[: n_parts[0]]


def test_a_level_without_nodes_is_empty(engine):
    cells, rows, starts = np.zeros((3, 2), np.uint8), np.empty(0, np.int32), np.zeros(1, np.int64)
    labels = np.zeros(3, np.uint8)
    assert kernels.histograms(cells, np.array([0, 1]), 2, labels, 2, rows, starts).shape == (0, 2, 2)
    blocks = (cells, np.empty((3, 0), np.uint16))
    found, ends = kernels.partition_level(blocks, [], [], [], rows, starts)
    assert len(found) == 0
    assert ends.tolist() == [0]


def test_ten_thousand_categories_and_many_classes(engine):
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 10_000, (3000, 2)).astype(np.uint16)
    labels = rng.integers(0, 700, 3000).astype(np.uint16)
    counts = kernels.histograms(cells, np.array([0, 10_000]), 20_000, labels, 700)
    assert counts.sum() == 6000
    np.testing.assert_array_equal(counts[0].sum(axis=1)[:10_000], np.bincount(cells[:, 0], minlength=10_000))
    np.testing.assert_array_equal(counts[0, :10_000].sum(axis=0), np.bincount(labels, minlength=700))
    table = (np.arange(10_000) % 3).astype(np.uint8)
    for part, rows in enumerate(partition(cells[:, 1], table, 3)):
        np.testing.assert_array_equal(rows, np.flatnonzero(table[cells[:, 1]] == part))


def test_a_constant_feature_fills_one_cell(engine):
    out = np.zeros((500, 1), np.uint8)
    kernels.cut_matrix(np.full((500, 1), 3.0), [np.array([1.0, 3.0, 5.0])], out, [False])
    counts = kernels.histograms(out, np.array([0]), 4, np.zeros(500, np.uint8), 2)
    assert counts[0].tolist() == [[0, 0], [500, 0], [0, 0], [0, 0]]


def test_a_part_beyond_the_table_is_refused(engine):
    column = np.array([0, 1, 2], np.uint8)
    with pytest.raises(ValueError, match="n_parts"):
        partition(column, np.array([0, 1, 2], np.uint8), 2)
    with pytest.raises(IndexError):
        partition(column, np.array([0, 1], np.uint8), 2)


# The choice


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PRIVET_KERNELS": "", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


COUNT = """
import sys, numpy as np
from privet.curators import kernels
def count(n):
    kernels.histograms(np.zeros((n, 2), np.uint8), np.array([0, 1]), 2, np.zeros(n, np.uint8), 1)
    print(kernels._engine and kernels._engine.__name__.split(".")[-1], "numba" in sys.modules)
"""


def test_small_work_does_not_import_numba():
    assert run(COUNT + "count(1000)")[0] == ["None", "False"]


def test_small_work_that_adds_up_moves_to_numba():
    out, _ = run(COUNT + "kernels.PATIENCE = 5000; count(1000); count(1000); count(1000)")
    assert out == ["None", "False", "None", "False", "numba_engine", "True"]


def test_the_environment_fixes_the_engine():
    assert run(COUNT + "kernels.PATIENCE = 0; count(10)", PRIVET_KERNELS="numpy")[0] == [
        "numpy_engine",
        "False",
    ]
    assert run(COUNT + "count(10)", PRIVET_KERNELS="numba")[0] == ["numba_engine", "True"]


def test_an_unknown_engine_is_refused(monkeypatch):
    monkeypatch.setattr(kernels, "_engine", None)
    monkeypatch.setenv("PRIVET_KERNELS", "abacus")
    with pytest.raises(ValueError, match="numpy or numba"):
        kernels.histograms(np.zeros((1, 1), np.uint8), np.array([0]), 1, np.zeros(1, np.uint8), 1)


def test_without_numba_numpy_counts_and_says_so():
    code = "import sys; sys.modules['numba'] = None\n" + COUNT + "kernels.PATIENCE = 0; count(10)"
    out, err = run(code)
    assert out[0] == "numpy_engine"
    assert err.count("\n") == 1
    assert "NumPy" in err


# Boosting: pairs by score, sums by part, and steps by part


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_pairs_are_looked_up_by_rounded_scores(engine, kind):
    records = [(score, label) for score in (*range(-40, 41), -(2**40), 2**40) for label in (0, 1, 2)]
    table = np.arange(2 * 5 * 2, dtype=np.int32).reshape(2, 5, 2)
    scores = np.array([score for score, _ in records], np.int64)
    labels = np.array([label for _, label in records], kind)
    first, second = kernels.look_up(scores, labels, 1, table, 3)
    places = [min(max((score + 4) // 8 + 2, 0), 4) for score, _ in records]
    expected = [table[int(label == 1), place].tolist() for place, (_, label) in zip(places, records)]
    assert [list(pair) for pair in zip(first.tolist(), second.tolist())] == expected


@st.composite
def tables(draw):
    """Columns, tables of them, rows and a number for each record, some as large as 32 bits hold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.sampled_from([0, 1, 40, 2500])), draw(st.integers(1, 5))
    widths = rng.integers(1, draw(st.sampled_from([2, 9, 256])) + 1, m)
    columns = (rng.random((m, n)) * widths[:, None]).astype(np.uint8)
    several = []
    for _ in range(draw(st.integers(0, 9))):
        own = rng.choice(m, rng.integers(1, min(m, 4) + 1), replace=False).tolist()
        sizes = rng.integers(1, {1: 257, 2: 17, 3: 7, 4: 5}[len(own)], len(own)).tolist()
        maps = [rng.integers(size, size=widths[f]).astype(np.uint8) for f, size in zip(own, sizes)]
        several.append((own, maps, sizes) if draw(st.booleans()) else (own[:1], [kernels.EACH_CELL], [256]))
    rows = np.flatnonzero(rng.random(n) < 0.5).astype(np.int32) if draw(st.booleans()) else None
    values = rng.choice([2**31 - 1, -(2**31), 5, -1] if draw(st.booleans()) else [7, -3], size=n).astype(np.int32)
    return columns, several, rows, values


def naive_parts(columns, table):
    own, maps, sizes = table
    return np.ravel_multi_index([part[columns[f]] for f, part in zip(own, maps)], sizes)


@settings(max_examples=100, deadline=None)
@given(problem=tables())
@pytest.mark.parametrize("name", ENGINES)
def test_sums_and_steps_by_parts_are_exact(use, name, problem):
    use(name)
    columns, several, rows, values = problem
    factors = [
        [(own[0], maps[0])] if maps[0] is kernels.EACH_CELL else kernels.table_of(own, maps, sizes)
        for own, maps, sizes in several
    ]
    found = kernels.part_sums(columns, factors, values, rows)
    worth = np.random.default_rng(0).integers(-(2**40), 2**40, size=(len(several), 256))
    scores, kept = np.full(len(values), 3), slice(None) if rows is None else rows
    expected = scores.copy()
    for table, sums, mine in zip(several, found, worth):
        parts = naive_parts(columns, table)[kept]
        exact = np.zeros(256, np.int64)
        np.add.at(exact, parts, values[kept].astype(np.int64))
        assert sums.tolist() == exact.tolist()
        expected[kept] += mine[parts]
    kernels.add_parts(columns, factors, worth, scores, rows)
    assert scores.tolist() == expected.tolist()


def test_a_table_of_one_part_and_256_keeps_them_apart(engine):
    columns = np.stack([np.zeros(256, np.uint8), np.arange(256, dtype=np.uint8)])
    factors = kernels.table_of([0, 1], [np.zeros(1, np.uint8), np.arange(256, dtype=np.uint8)], [1, 256])
    assert kernels.part_sums(columns, [factors], np.arange(256, dtype=np.int32))[0].tolist() == list(range(256))


# Predictions


def test_rows_descend_to_their_leaves(engine):
    cells = np.array([[0, 0], [1, 0], [1, 1], [2, 1]], np.uint8)
    features, starts = np.array([0, -1, 1, -1, -1]), np.array([0, 0, 3, 0, 0])
    children = np.array([1, 2, 2, 3, 4], np.int32)
    assert kernels.descend(cells, features, starts, children).tolist() == [1, 3, 4, 4]
    assert kernels.descend(cells, features[1:2], starts[:1], children[:0]).tolist() == [0] * 4


def test_steps_by_parts_of_wide_columns_add_up(engine):
    rng = np.random.default_rng(0)
    columns = rng.integers(600, size=(2, 1500)).astype(np.uint16)
    maps = [np.sort(rng.integers(16, size=600)).astype(np.uint8), rng.integers(16, size=600).astype(np.uint8)]
    values, scores = rng.integers(-(2**40), 2**40, size=(1, 256)), np.zeros(1500, np.int64)
    kernels.add_parts(columns, [kernels.table_of([0, 1], maps, [16, 16])], values, scores)
    assert scores.tolist() == values[0][16 * maps[0][columns[0]].astype(int) + maps[1][columns[1]]].tolist()
