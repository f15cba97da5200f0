"""Sums in exact integers are those of NumPy, and what 64 bits cannot hold is refused."""

from __future__ import annotations

import numpy as np
import pytest

from privet.errors import LeakError
from privet.privacy.fixed_point import fits, folded, sizes

TABLES = np.random.default_rng(0).integers(0, 100, (5, 4, 3))


@pytest.mark.parametrize("operation", [np.add, np.maximum])
def test_a_fold_is_a_reduction_of_the_last_axis(operation):
    before = TABLES.copy()
    assert np.array_equal(folded(operation, TABLES), operation.reduce(TABLES, axis=-1))
    assert np.array_equal(TABLES, before)


def test_sizes_leave_room_for_their_squares():
    assert np.array_equal(sizes(TABLES), TABLES.sum(axis=-1))
    assert sizes(np.array([[2**27 - 1, 0]])) == 2**27 - 1
    with pytest.raises(LeakError, match="134 million"):
        sizes(np.array([[2**27 - 1, 1]]))


def test_products_stay_below_the_last_bits():
    fits(np.array([2**31 - 1]), 2**31)
    fits(np.array([], dtype=np.int64), 2**62)
    with pytest.raises(LeakError, match="overflow"):
        fits(np.array([2**31]), 2**31)
