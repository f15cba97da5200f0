"""The machine code of boosting alone: sums in 32 bits are emptied before they overflow, whatever the rows."""

from __future__ import annotations

import numpy as np
import pytest

from privet.curators.kernels import compiled_boosting


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    from privet.curators.kernels import numba_engine  # noqa: F401  compiles, or loads


@pytest.mark.parametrize("stretch", [1, 2, 3, 100])
def test_stretches_of_rows_add_up(stretch):
    cells, values = np.array([[0], [1], [1], [0], [1]], np.uint8), np.array([1, 10, 100, 1000, 10000], np.int32)
    rows, scratch = np.array([4, 1, 2], np.int32), np.empty(2, np.int32)
    for whole, expected in ((True, [1001, 10110]), (False, [0, 10110])):
        out = np.zeros(2, np.int64)
        stop = 5 if whole else 3
        compiled_boosting.add_up(cells, values, rows, whole, 0, stop, stretch, np.zeros(1, np.int64), scratch, out)
        assert out.tolist() == expected
        maps, features = np.zeros((1, 4, 2), np.uint8), np.zeros((1, 4), np.int64)
        maps[0, 1] = [0, 1]
        parts = np.zeros((1, 2), np.int64)
        compiled_boosting.add_up_products(
            cells, values, rows, whole, 0, stop, stretch, features, maps, np.empty((1, 2), np.int32), parts
        )
        assert parts[0].tolist() == expected


def test_blocks_of_rows_leave_none_out():
    cells = np.zeros((1500, 1), np.uint8)
    out = np.zeros((1500, 1), np.int64)
    features, maps = np.array([[0, -1, -1, -1]] * 2), np.zeros((2, 4, 1), np.int32)
    compiled_boosting.add_terms(cells, features, maps, np.array([0, 1]), np.array([[3], [4]]), 0, 1500, out)
    assert (out == 7).all()
