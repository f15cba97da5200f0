"""Counts in 16 bits are carried over before they are full."""

from __future__ import annotations

import numpy as np
import pytest

from privet.curators import kernels


@pytest.mark.parametrize("cells_of_each", [128, 256])
@pytest.mark.parametrize("apart", [1, 9])
def test_more_records_in_one_cell_than_16_bits_hold_are_all_counted(use, cells_of_each, apart):
    use("numba")
    n, m = 200_000, 5
    cells = np.full((n, m), cells_of_each - 1, np.uint8)
    rows = np.arange(0, n, apart, dtype=np.int32)
    offsets = np.arange(m) * cells_of_each
    every = (cells, offsets, m * cells_of_each, np.ones(n, np.uint8), 2)
    whole, level = kernels.histograms(*every), kernels.histograms(*every, rows, np.array([0, len(rows)]))
    for counts, size in ((whole, n), (level, len(rows))):
        assert counts[0, cells_of_each - 1 :: cells_of_each, 1].tolist() == [size] * m
        assert counts.sum() == size * m
