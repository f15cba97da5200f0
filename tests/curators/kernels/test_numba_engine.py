"""Numba answers as NumPy does, to the bit, on any number of threads and in a forked child."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from privet.curators import kernels

ENGINES = ["numpy", "numba"]


def middling(seed, n=40_000, m=9, nodes=13):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * 10.0 ** rng.integers(-3, 4, m)
    X[rng.random((n, m)) < 0.01] = np.nan
    cuts = [np.unique(rng.normal(size=size) * 10.0**s) for size, s in zip(rng.integers(0, 250, m), range(-3, 6))]
    node = np.minimum(rng.geometric(0.3, n) - 1, nodes - 1)
    rows = np.argsort(node, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=nodes))]).astype(np.int64)
    return X, cuts, rng.integers(0, 3, n).astype(np.uint8), rows, starts


def whole_story(X, cuts, labels, rows, starts):
    """One level's every answer, as bytes."""
    n, m = X.shape
    cells = np.empty((n, m), np.uint8)
    flags = kernels.cut_matrix(X, cuts, cells, [True] * m)
    offsets = np.concatenate([[0], np.cumsum([len(each) + 2 for each in cuts])])
    n_cells = int(offsets[-1])
    root = kernels.histograms(cells, offsets[:-1], n_cells, labels, 3)
    level = kernels.histograms(cells, offsets[:-1], n_cells, labels, 3, rows, starts)
    sums = kernels.sums(cells, offsets[:-1], n_cells, labels.astype(np.int64)[:, None] - [1, 2], rows, starts)
    nodes = len(starts) - 1
    features = [i % m for i in range(nodes)]
    tables = [(np.arange(len(cuts[f]) + 2) % 3).astype(np.uint8) for f in features]
    blocks = (cells, np.empty((n, 0), np.uint16))
    parts, ends = kernels.partition_level(blocks, features, tables, [3] * nodes, rows, starts)
    weights = (np.arange(n) % 64 + 1).astype(np.uint8)
    weighed = kernels.histograms(cells, offsets[:-1], n_cells, labels, 3, rows, starts, weights=weights)
    answers = (flags, cells, root, level, sums, parts, ends, weighed)
    return [each.tobytes() for each in answers]


def test_engines_agree_bit_for_bit(use):
    for seed in range(3):
        data = middling(seed)
        use("numpy")
        expected = whole_story(*data)
        use("numba")
        assert whole_story(*data) == expected


@pytest.mark.parametrize("m", [1, 3, 28, 300])
@pytest.mark.parametrize("n_cuts", [0, 1, 100, 255])
def test_features_with_the_same_cuts_are_cut_as_any_others(use, m, n_cuts):
    rng = np.random.default_rng(m)
    cuts = np.sort(rng.normal(size=n_cuts))
    X = rng.normal(size=(1000, m))
    X[::7] = rng.choice([*cuts, -1e300, 0.0, 1e300, np.nan, -np.inf, np.inf], X[::7].shape)
    found = []
    for name in ENGINES:
        use(name)
        cells = np.zeros((1000, m), np.uint16)
        flags = kernels.cut_matrix(X, [cuts] * m, cells, [f % 2 == 0 for f in range(m)])
        cells[~np.isfinite(X) & (np.isinf(X) | (np.arange(m) % 2 == 1))] = 0  # a flagged value's cell means nothing
        found.append((flags.tolist(), cells.tolist()))
    assert found[0] == found[1]


def test_more_features_than_rows_are_shared_by_feature(use):
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 64, (300, 1500), dtype=np.uint8)
    labels = rng.integers(0, 2, 300).astype(np.uint8)
    offsets = np.arange(1500) * 64
    answers = []
    for name in ENGINES:
        use(name)
        answers.append(kernels.histograms(cells, offsets, 1500 * 64, labels, 2))
    np.testing.assert_array_equal(*answers)


def test_several_threads_may_count_at_once(engines, use, monkeypatch):
    monkeypatch.setattr(engines["numba"], "threads", lambda: 3)
    data = [middling(seed) for seed in range(4)]
    use("numpy")
    expected = [whole_story(*each) for each in data]
    use("numba")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda each: whole_story(*each), data * 4))
    assert found == expected * 4


def _counts_in_child(queue):
    queue.put(whole_story(*middling(0)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_counts_right(engines, use, monkeypatch):
    monkeypatch.setattr(engines["numba"], "threads", lambda: 2)
    use("numba")
    expected = whole_story(*middling(0))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_counts_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=120) == expected
    child.join()


def test_an_error_in_any_thread_reaches_the_caller(engines, monkeypatch):
    monkeypatch.setattr(engines["numba"], "threads", lambda: 3)

    def work(i):
        if i == 7:
            raise KeyError(i)
        return i * i

    with pytest.raises(KeyError):
        engines["numba"]._run(work, [(i,) for i in range(8)])
    assert engines["numba"]._run(work, [(i,) for i in range(7)]) == [0, 1, 4, 9, 16, 25, 36]
    assert engines["numba"]._run(work, []) == []


def test_more_cuts_than_a_table_can_mark_are_cut_all_the_same(use):
    cuts = np.arange(40_000.0)
    values = np.array([[-1.0], [0.0], [20_000.5], [39_999.0], [1e9]])
    out = np.zeros((5, 1), np.uint16)
    use("numba")
    assert not kernels.cut_matrix(values, [cuts], out, [False]).any()
    assert out[:, 0].tolist() == [0, 0, 20_001, 39_999, 40_000]
