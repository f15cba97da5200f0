"""The machine code of boosting alone: sums in 32 bits are emptied before they overflow, whatever the rows."""

from __future__ import annotations

import numpy as np
import pytest

from privet.curators.kernels import compiled_boosting


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    from privet.curators.kernels import numba_engine

    for kernel, names, _ in compiled_boosting.signatures():
        numba_engine.ready(kernel, *names)


def jumps(*, direct, starts, features=(), cells=(), sizes=()):
    whole = (np.array(own, np.int64) for own in ([0], direct, starts, features))
    return (*whole, np.array(cells, np.uint8), np.array(sizes, np.uint8))


@pytest.mark.parametrize("safe", [1, 2, 3, 100])
def test_sums_of_few_rows_at_a_time_add_up(safe):
    columns, values = np.array([[0, 1, 1, 0, 1]], np.uint8), np.array([1, 10, 100, 1000, 10000], np.int32)
    plan = jumps(direct=[0, 0, -1, 0, 0, -1], starts=[0, 0, 0, 1, 1, 1, 2], features=[0, 0], cells=[1, 1], sizes=[1, 1])
    for whole, expected in ((True, [1001, 10110]), (False, [0, 10110])):
        out = np.zeros((6, 256), np.int64)
        stop, rows = (5 if whole else 3), np.array([4, 1, 2], np.int32)
        compiled_boosting.sum_parts(columns, *plan, values, rows, whole, 0, stop, safe, out)
        assert out[:, :2].tolist() == [expected] * 6
        assert not out[:, 2:].any()


def test_parts_are_sums_of_jumps_that_wrap_around():
    columns, parts = np.array([[0, 1, 2, 3, 4, 9]], np.uint8), np.empty(6, np.uint8)
    plan = jumps(direct=[-1], starts=[0, 3], features=[0, 0, 0], cells=[0, 2, 4], sizes=[7, 254, 251])[1:]
    zero = np.uint64(0)
    compiled_boosting.find_parts(columns, zero, np.uint64(6), zero, *plan, parts)
    assert parts.tolist() == [7, 7, 5, 5, 0, 0]


def test_stretches_of_rows_leave_none_out():
    n = 2 * compiled_boosting.STRETCH + 300
    columns, out = np.zeros((1, n), np.uint8), np.zeros(n, np.int64)
    values = np.zeros((5, 256), np.int64)
    values[:, 0] = [3, 4, 5, 6, 7]
    compiled_boosting.add_parts(
        columns, *jumps(direct=[-1] * 5, starts=[0] * 6), values, np.empty(0, np.int32), True, 0, n, out
    )
    assert (out == 25).all()
