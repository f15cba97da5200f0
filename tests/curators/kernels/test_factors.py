"""Tables for the kernels: the parts of several columns are numbered as NumPy numbers them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.curators import kernels


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3).filter(lambda sizes: np.prod(sizes) <= 256), st.randoms())
def test_parts_are_numbered_as_ravel_multi_index_does(sizes, random):
    maps = [np.array([random.randrange(n) for _ in range(7)], np.uint8) for n in sizes]
    table = kernels.table_of(range(len(sizes)), maps, sizes)
    parts = sum(own.astype(int) for _, own in table) % 256
    assert parts.tolist() == np.ravel_multi_index([own.astype(int) for own in maps], sizes).tolist()


def test_a_table_of_too_many_parts_or_columns_is_refused():
    one = np.zeros(1, np.uint8)
    for columns, sizes in (([0, 1], [17, 17]), ([], []), ([0] * 5, [1] * 5)):
        with pytest.raises(ValueError, match="up to 4 columns and 256 parts"):
            kernels.table_of(columns, [one] * len(columns), sizes)
