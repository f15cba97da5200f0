"""Sums over the parts of many tables at once, as a round of boosting asks for them.

Splits of one feature follow from sums over its cells, however many they are; and a product follows from a larger one
that has its features, in parts that are not coarser. So little is counted, and the rest are public linear maps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.curators import kernels
from privet.curators.records import Binned
from privet.questions.grid import Grid
from privet.questions.linear_maps import grouped, merged
from privet.questions.split import Product, Split, Table, factors_of


def table_sums(
    binned: Binned, grid: Grid, tables: Sequence[Table], values: np.ndarray, rows: np.ndarray | None
) -> np.ndarray:
    """Exact sums of the columns of ``values`` over the parts of tables, one table below the other."""
    features = list(dict.fromkeys(table.feature for table in tables if isinstance(table, Split)))
    cells = dict(zip(features, _cell_sums(binned, grid, features, values, rows)))
    blocks: dict[Product, np.ndarray] = {}
    sums = []
    for table in tables:
        if isinstance(table, Split):
            sums.append(grouped(cells[table.feature], table))
            continue
        known = (merged(blocks[block], block, table) for block in reversed(blocks))
        found = next((own for own in known if own is not None), None)
        if found is None:
            found = blocks[table] = _product_sums(binned, table, values, rows)
        sums.append(found)
    return np.concatenate(sums)


def parts_of(binned: Binned, table: Table, rows: np.ndarray | None) -> np.ndarray:
    """The part of a table that each record is in, 0 for those that are not among the rows."""
    factors = factors_of(table)
    columns = [binned.column(split.feature) for split in factors]
    return kernels.product_cells(columns, [own.parts for own in factors], [own.n_children for own in factors], rows)


def _product_sums(binned: Binned, product: Product, values: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    parts, start = parts_of(binned, product, rows)[:, None], np.zeros(1, dtype=np.int64)
    return kernels.sums(parts, start, product.n_children, values, rows)[0]


def _cell_sums(
    binned: Binned, grid: Grid, features: Sequence[int], values: np.ndarray, rows: np.ndarray | None
) -> list[np.ndarray]:
    """Sums over the cells of each of some features; of most of them, all are counted in one pass over the records."""
    if 2 * len(features) > len(grid.features):
        sums = np.zeros((1, grid.n_cells, values.shape[1]), dtype=np.int64)
        for block in binned.blocks:
            kernels.sums(block.cells, grid.offsets[block.features], grid.n_cells, values, rows, None, sums)
        return [sums[0, grid.offsets[f] : grid.offsets[f + 1]] for f in features]
    start = np.zeros(1, dtype=np.int64)
    return [kernels.sums(binned.column(f)[:, None], start, grid.features[f].n_cells, values, rows)[0] for f in features]
