"""Sums over the parts of many tables at once, as a round of boosting asks for them.

Splits of one feature follow from sums over its cells, however many they are; and a product follows from a larger one
that has its features, in parts that are not coarser. So little is counted, in one pass over the records, and the rest
are public linear maps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.curators import kernels
from privet.curators.records import Binned
from privet.questions.linear_maps import parts_within
from privet.questions.split import Product, Split, Table, factors_of

EACH_PART = kernels.EACH_CELL
"""A column that holds parts is a table by itself."""


def table_sums(
    binned: Binned, tables: Sequence[Table], values: Sequence[np.ndarray], rows: np.ndarray | None
) -> np.ndarray:
    """Exact sums of columns of 32-bit numbers over the parts of tables, one table below the other."""
    counted, sources = _sources(binned, tables)
    into = np.zeros((len(tables), kernels.MOST_PARTS), dtype=np.int64)
    for own, (_, parts) in zip(into, sources):
        own[: len(parts)] = parts
    n_parts = [table.n_children for table in tables]
    into += np.concatenate([[0], np.cumsum(n_parts, dtype=np.int64)[:-1]])[:, None]
    which, sums = [source for source, _ in sources], np.zeros((len(values), sum(n_parts)), dtype=np.int64)
    for own, found in zip(sums, _counted_sums(binned, counted, values, rows)):
        np.add.at(own, into.ravel(), found[which].ravel())
    return sums.T


def add_step(binned: Binned, table: Table, values: Sequence[int], rows: np.ndarray | None, scores: np.ndarray) -> None:
    """Add to each record's score what a step has for its part of a table."""
    padded = np.zeros((1, kernels.MOST_PARTS), dtype=np.int64)
    padded[0, : len(values)] = values
    if binned.is_narrow(table):
        kernels.add_parts(binned.columns, [_narrow_table(binned, table)], padded, scores, rows)
    else:
        kernels.add_parts(parts_of(binned, table, rows)[None], [[(0, EACH_PART)]], padded, scores, rows)


def parts_of(binned: Binned, table: Table, rows: np.ndarray | None) -> np.ndarray:
    """The part of a table that each record is in, 0 for those that are not among the rows."""
    parts = np.zeros(len(binned.narrow.cells), dtype=np.uint8)
    listed = slice(None) if rows is None else rows
    for feature, own in _factors(table):
        parts[listed] += own[binned.column(feature)[listed]]
    return parts


def _sources(binned: Binned, tables: Sequence[Table]) -> tuple[list[Table | int], list[tuple[int, np.ndarray]]]:
    """What is counted: tables, and narrow features cell by cell. And for each table the number of what it follows from,
    with the part of it that each part of that lies in."""
    counted: list[Table | int] = []
    of_feature: dict[int, int] = {}
    sources: list[tuple[int, np.ndarray]] = []
    for table in tables:
        if isinstance(table, Split) and binned.is_narrow(table):
            if table.feature not in of_feature:
                of_feature[table.feature] = len(counted)
                counted.append(table.feature)
            sources.append((of_feature[table.feature], table.parts))
            continue
        source = _block(counted, table) if isinstance(table, Product) else None
        if source is None:
            source = len(counted), EACH_PART[: table.n_children]
            counted.append(table)
        sources.append(source)
    return counted, sources


def _block(counted: Sequence[Table | int], product: Product) -> tuple[int, np.ndarray] | None:
    """The last of what is counted that a product follows from: in a list, the larger ones come first."""
    for i in range(len(counted) - 1, -1, -1):
        block = counted[i]
        parts = parts_within(block, product) if isinstance(block, Product) else None
        if parts is not None:
            return i, parts
    return None


def _counted_sums(
    binned: Binned, counted: Sequence[Table | int], values: Sequence[np.ndarray], rows: np.ndarray | None
) -> np.ndarray:
    """Sums over the parts of what is counted: of narrow columns in one pass for each of the values, others alone."""
    sums = np.zeros((len(values), len(counted), kernels.MOST_PARTS), dtype=np.int64)
    narrow = [i for i, own in enumerate(counted) if isinstance(own, int) or binned.is_narrow(own)]
    tables = [_narrow_table(binned, counted[i]) for i in narrow]
    for own, column in zip(sums, values):
        own[narrow] = kernels.part_sums(binned.columns, tables, column, rows)
    for i in sorted(set(range(len(counted))) - set(narrow)):
        parts = parts_of(binned, counted[i], rows)[None]  # type: ignore[arg-type]
        for own, column in zip(sums, values):
            own[[i]] = kernels.part_sums(parts, [[(0, EACH_PART)]], column, rows)
    return sums


def _narrow_table(binned: Binned, table: Table | int) -> kernels.Factors:
    if isinstance(table, int):
        return [(binned.place[table], kernels.EACH_CELL)]
    return [(binned.place[feature], own) for feature, own in _factors(table)]


def _factors(table: Table) -> kernels.Factors:
    """The features of a table, with what a record's cell of each adds to the number of its part."""
    factors = factors_of(table)
    return kernels.table_of(
        [own.feature for own in factors], [own.parts for own in factors], [own.n_children for own in factors]
    )
