"""Sums over the parts of many tables at once, as a round of boosting asks for them.

Splits of one feature follow from sums over its cells, however many they are; and a product follows from a larger one
that has its features, in parts that are not coarser. So little is counted, in few passes over the records, and the rest
are public linear maps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.curators import kernels
from privet.curators.records import Binned
from privet.questions.grid import Grid
from privet.questions.linear_maps import grouped, merged, refines
from privet.questions.split import Product, Split, Table, factors_of


def table_sums(
    binned: Binned, grid: Grid, tables: Sequence[Table], values: Sequence[np.ndarray], rows: np.ndarray | None
) -> np.ndarray:
    """Exact sums of columns of 32-bit numbers over the parts of tables, one table below the other."""
    features = list(dict.fromkeys(table.feature for table in tables if isinstance(table, Split)))
    cells = dict(zip(features, _cell_sums(binned, grid, features, values, rows)))
    counted = _blocks([table for table in tables if isinstance(table, Product)])
    blocks = dict(zip(counted, _product_sums(binned, list(counted), values, rows)))
    of_product = {table: block for block, mine in counted.items() for table in mine}
    sums = []
    for table in tables:
        if isinstance(table, Split):
            sums.append(grouped(cells[table.feature], table))
        else:
            sums.append(merged(blocks[of_product[table]], of_product[table], table))
    return np.concatenate(sums)


def parts_of(binned: Binned, table: Table, rows: np.ndarray | None) -> np.ndarray:
    """The part of a table that each record is in, 0 for those that are not among the rows."""
    factors = factors_of(table)
    columns = [binned.column(split.feature) for split in factors]
    return kernels.product_cells(columns, [own.parts for own in factors], [own.n_children for own in factors], rows)


def _blocks(products: Sequence[Product]) -> dict[Product, list[Product]]:
    """The products to count, each with those that follow from it; the larger of them come first in a list."""
    blocks: dict[Product, list[Product]] = {}
    for product in products:
        block = next((own for own in reversed(blocks) if refines(own, product)), product)
        blocks.setdefault(block, []).append(product)
    return blocks


def _product_sums(
    binned: Binned, products: Sequence[Product], values: Sequence[np.ndarray], rows: np.ndarray | None
) -> list[np.ndarray]:
    """Sums over the parts of products: those of narrow columns in one pass, the others one by one."""
    n_narrow, place = len(binned.narrow.features), binned.place
    narrow = [own for own in products if all(place[split.feature] < n_narrow for split in own.factors)]
    sums = [
        kernels.product_sums(
            binned.narrow.cells,
            [[place[split.feature] for split in own.factors] for own in narrow],
            [[split.parts for split in own.factors] for own in narrow],
            [[split.n_children for split in own.factors] for own in narrow],
            column,
            rows,
        )
        for column in values
    ]
    found = dict(zip(narrow, (np.stack(columns, axis=1) for columns in zip(*sums))))
    start = np.zeros(1, dtype=np.int64)
    for own in products:
        if own not in found:
            parts = parts_of(binned, own, rows)[:, None]
            columns = [kernels.column_sums(parts, start, own.n_children, column, rows) for column in values]
            found[own] = np.stack(columns, axis=1)
    return [found[own] for own in products]


def _cell_sums(
    binned: Binned, grid: Grid, features: Sequence[int], values: Sequence[np.ndarray], rows: np.ndarray | None
) -> list[np.ndarray]:
    """Sums over the cells of each of some features; of most of them, all are counted in one pass over the records."""
    if 2 * len(features) > len(grid.features):
        sums = np.zeros((len(values), grid.n_cells), dtype=np.int64)
        for column, own in zip(values, sums):
            for block in binned.blocks:
                kernels.column_sums(block.cells, grid.offsets[block.features], grid.n_cells, column, rows, own)
        return [sums[:, grid.offsets[f] : grid.offsets[f + 1]].T for f in features]
    start = np.zeros(1, dtype=np.int64)
    return [
        np.stack(
            [
                kernels.column_sums(binned.column(f)[:, None], start, grid.features[f].n_cells, column, rows)
                for column in values
            ],
            axis=1,
        )
        for f in features
    ]
