"""Small tables of counts, all of them, for searches over every neighbour."""

from __future__ import annotations

import math

import numpy as np


def all_counts(bound, *shape):
    """Every integer array of this shape with entries from 0 to ``bound``: one in each row."""
    cells = math.prod(shape)
    grids = np.meshgrid(*[np.arange(bound + 1)] * cells, indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=-1).reshape(-1, *shape)


def one_more(data):
    """Each row with one record more, in every cell in turn."""
    for cell in range(math.prod(data.shape[1:])):
        more = data.copy()
        more.reshape(len(data), -1)[:, cell] += 1
        yield more
