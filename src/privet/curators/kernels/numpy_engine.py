"""The kernels in plain NumPy: the reference, and what small data needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .factors import Factors

# Bounds each temporary to 2 MB of int64 (or one row), and keeps it in cache.
CHUNK = 1 << 18


def cut_matrix(X: Any, cuts: Sequence[NDArray], out: NDArray, missing: Sequence[bool]) -> NDArray[np.uint8]:
    n, m = X.shape
    flags = np.zeros(m, np.uint8)
    step = max(4096, CHUNK // max(1, m))  # rows that stay in cache while each column is read
    for a in range(0, n, step):
        part = slice(a, a + step)
        for f in range(m):
            x = np.asarray(X[part, f], np.float64)
            cells = np.searchsorted(cuts[f], x, side="left")
            if not np.isfinite(x).all():
                empty = np.isnan(x)
                cells[empty] = len(cuts[f]) + 1 if missing[f] else 0
                flags[f] |= bool(empty.any() and not missing[f]) * 1 | bool(np.isinf(x).any()) * 2
            out[part, f] = cells
    return flags


def histograms(
    cells: NDArray,
    offsets: NDArray,
    labels: NDArray,
    weights: NDArray[np.uint8] | None,
    rows: NDArray | None,
    starts: NDArray,
    out: NDArray,
) -> None:
    _, n_cells, n_classes = out.shape
    base = np.asarray(offsets, np.int64) * n_classes
    for node, part in _chunks(rows, starts, cells.shape[1]):
        flat = cells[part].astype(np.int64)
        flat *= n_classes
        flat += base
        flat += labels[part, None]
        # Weighed in floating point, but exactly: a chunk's counts are small integers.
        weighed = None if weights is None else np.repeat(weights[part], cells.shape[1])
        counts = np.bincount(flat.ravel(), weighed, n_cells * n_classes)
        out[node] += counts.astype(np.int64, copy=False).reshape(n_cells, n_classes)


def sums(
    cells: NDArray, offsets: NDArray, values: NDArray, rows: NDArray | None, starts: NDArray, out: NDArray
) -> None:
    # bincount weighs in floating point, which is not exact; add.at is.
    for node, part in _chunks(rows, starts, cells.shape[1]):
        flat = cells[part] + np.asarray(offsets, np.int64)
        np.add.at(out[node], flat, values[part][:, None, :])


def look_up(
    scores: NDArray, labels: NDArray, output: int, table: NDArray, shift: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    reach = table.shape[1] // 2
    places = np.clip(((scores + (1 << shift - 1)) >> shift) + reach, 0, 2 * reach)
    found = table[(labels == output).astype(np.intp), places]
    return np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])


def part_sums(columns: NDArray, tables: Sequence[Factors], values: NDArray, rows: NDArray | None, out: NDArray) -> None:
    own = slice(None) if rows is None else rows
    wide = values[own].astype(np.int64)
    for table, sums in zip(tables, out):
        np.add.at(sums, _parts(columns, table, own), wide)


def add_parts(
    columns: NDArray, tables: Sequence[Factors], values: NDArray, rows: NDArray | None, scores: NDArray
) -> None:
    own = slice(None) if rows is None else rows
    for table, mine in zip(tables, values):
        scores[own] += mine[_parts(columns, table, own)]


def _parts(columns: NDArray, table: Factors, own: slice | NDArray) -> NDArray[np.uint8]:
    return reduce(np.add, (each[columns[column, own]] for column, each in table))


def descend(cells: NDArray, features: NDArray, starts: NDArray, children: NDArray) -> NDArray[np.int64]:
    leaves = np.zeros(len(cells), np.int64)
    moving = np.arange(len(cells)) if features[0] >= 0 else np.empty(0, np.int64)
    while len(moving):
        nodes = leaves[moving]
        leaves[moving] = children[starts[nodes] + cells[moving, features[nodes]]]
        moving = moving[features[leaves[moving]] >= 0]
    return leaves


def partition_level(
    blocks: tuple[NDArray, NDArray],
    features: Sequence[int],
    tables: Sequence[NDArray],
    n_parts: Sequence[int],
    rows: NDArray | None,
    starts: NDArray,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    narrow = blocks[0].shape[1]
    lists: list[NDArray] = [np.empty(0, np.int32)]
    for i, feature in enumerate(features):
        if not n_parts[i]:
            continue
        column = blocks[0][:, feature] if feature < narrow else blocks[1][:, feature - narrow]
        own = slice(starts[i], starts[i + 1])
        mine = np.arange(own.start, own.stop, dtype=np.int32) if rows is None else rows[own]
        parts = tables[i][column[mine]]
        lists += [mine[parts == part] for part in range(n_parts[i])]
    ends = np.cumsum([len(each) for each in lists], dtype=np.int64)
    return np.concatenate(lists), ends


def _chunks(rows: NDArray | None, starts: NDArray, m: int) -> Iterator[tuple[int, slice | NDArray]]:
    size = max(1, CHUNK // max(1, m))
    for node in range(len(starts) - 1):
        for a in range(starts[node], starts[node + 1], size):
            part = slice(a, min(a + size, int(starts[node + 1])))
            yield node, part if rows is None else rows[part]
