"""Tables as the kernels take them: maps from cells of some columns to bytes, whose sum is a record's part."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_PARTS = 256
"""The most parts of a table, whose numbers are bytes."""

MOST_FACTORS = 4
"""The most columns of one."""

EACH_CELL = np.arange(256, dtype=np.uint8)
"""The map of a table that has a part for each cell of one narrow column."""

Factors = Sequence[tuple[int, NDArray[np.uint8]]]
"""A table: the numbers of its columns, with their maps."""


def table_of(columns: Sequence[int], part_maps: Sequence[NDArray[np.uint8]], n_parts: Sequence[int]) -> Factors:
    """A table of columns, each in so many parts; those of several are numbered as ``np.ravel_multi_index`` does."""
    if not 1 <= len(columns) <= MOST_FACTORS or not 1 <= math.prod(n_parts) <= MOST_PARTS:
        raise ValueError(f"a table has up to {MOST_FACTORS} columns and {MOST_PARTS} parts")
    shares = [math.prod(n_parts[j + 1 :]) for j in range(len(columns))]
    return [
        (column, own if share == 1 else own * np.uint8(share % 256))  # before 256 parts there is one part, which is 0
        for column, own, share in zip(columns, part_maps, shares)
    ]
