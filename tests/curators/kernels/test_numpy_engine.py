"""What is the NumPy engine's own: chunks, whatever their size, and memory bounded by them."""

from __future__ import annotations

import numpy as np
import pytest

from privet.curators.kernels import numpy_engine

ROWS = np.array([9, 1, 3, 4, 8, 2, 7, 0], np.int32)
STARTS = np.array([0, 3, 3, 8], np.int64)


def test_chunks_visit_every_listed_row_once_and_in_order(monkeypatch):
    monkeypatch.setattr(numpy_engine, "CHUNK", 6)
    seen = [(node, rows.tolist()) for node, rows in numpy_engine._chunks(ROWS, STARTS, 3)]
    assert seen == [(0, [9, 1]), (0, [3]), (2, [4, 8]), (2, [2, 7]), (2, [0])]
    seen = [(node, rows) for node, rows in numpy_engine._chunks(None, np.array([0, 3]), 3)]
    assert seen == [(0, slice(0, 2)), (0, slice(2, 3))]


@pytest.mark.parametrize("weights", [None, np.arange(1, 11, dtype=np.uint8)])
def test_the_size_of_a_chunk_changes_no_answer(monkeypatch, weights):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 5, (10, 3)).astype(np.uint8)
    labels = rng.integers(0, 2, 10).astype(np.uint8)
    values = rng.integers(-(2**40), 2**40, (10, 2))
    offsets = np.array([10, 0, 5])

    def answers():
        counts, sums = np.zeros((3, 15, 2), np.int64), np.zeros((3, 15, 2), np.int64)
        numpy_engine.histograms(cells, offsets, labels, weights, ROWS, STARTS, counts)
        numpy_engine.sums(cells, offsets, values, ROWS, STARTS, sums)
        return counts, sums

    whole = answers()
    assert whole[0].sum() == 3 * (len(ROWS) if weights is None else int(weights[ROWS].sum()))
    for size in (1, 6, 7):
        monkeypatch.setattr(numpy_engine, "CHUNK", size)
        for expected, found in zip(whole, answers()):
            np.testing.assert_array_equal(found, expected)


def test_sums_beyond_a_float_are_exact():
    values = np.array([[2**53], [1], [1]])
    out = np.zeros((1, 1, 1), np.int64)
    numpy_engine.sums(np.zeros((3, 1), np.uint8), np.array([0]), values, None, np.array([0, 3]), out)
    assert out[0, 0, 0] == 2**53 + 2
