"""Exact counting on cells: the in-memory curator's inner loops.

Records are stored as *cells*: row-major ``(n, m)`` blocks of small integers, uint8 (*narrow*) where
every feature of the block has at most 256 cells, else uint16 (*wide*). A node owns an increasing int32
list of rows, and a level is the concatenation of its nodes' lists with ``starts`` (int64, nodes + 1)
marking where each begins, from 0; ``rows=None`` means one node that owns every row. Boosting and its predictions read
blocks that are turned on their side, a row for each feature.

Two engines give bit-identical answers. NumPy costs nothing to start; Numba is 5 to 30 times faster
once loaded. By default the work starts on NumPy and moves to Numba, for good, when an input is large or
small ones have added up. ``PRIVET_KERNELS=numpy`` or ``numba`` fixes the engine.

Everything here is exact and nothing here is private: only curators may call it. Cells and labels are
trusted to be in range, because the curator wrote them.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import numpy_engine
from .factors import EACH_CELL, MOST_PARTS, Factors, table_of

__all__ = [
    "EACH_CELL",
    "INFINITE",
    "MISSING",
    "MOST_PARTS",
    "MOST_WEIGHT",
    "Factors",
    "add_parts",
    "cut_column",
    "cut_matrix",
    "descend",
    "histograms",
    "look_up",
    "part_sums",
    "partition_level",
    "sums",
    "table_of",
]

MISSING = 1
"""Flag: a NaN in a feature that has no missing cell."""
INFINITE = 2
"""Flag: an infinite value."""
MOST_WEIGHT = 64
"""The most identical copies that one record may stand for."""
# In cells counted, which take NumPy some 4 ns each. Loading Numba from its cache takes as long as this
# many: moving now costs at most about twice what the better choice, known in advance, would have.
PATIENCE = 200_000_000
CUT, SUM, ROUTE = 10, 4, 4  # what other work on a cell or row costs NumPy, in cells counted

SLOWER = "privet: counting with NumPy, some ten times slower on this many records: pip install 'privet[fast]'"

_engine: ModuleType | None = None
_done = 0


def cut_matrix(X: Any, cuts: Sequence[NDArray], out: NDArray, missing: Sequence[bool]) -> NDArray[np.uint8]:
    """Write each value's cell to ``out`` and return one flag per feature, 0 where all is well.

    The cell is the number of cuts strictly below the value, so ``x <= cuts[f][i]`` if and only if
    ``cell <= i``, with no rounding. NaN takes the last cell, ``len(cuts[f]) + 1``, where ``missing[f]``,
    and otherwise sets flag ``MISSING``; an infinite value sets flag ``INFINITE``. A flagged value's
    cell means nothing.

    ``X`` is ``(n, m)``, float64 in any memory order or another real type (converted a slice at a time);
    each ``cuts[f]`` is sorted; ``out`` is ``(n, m)`` uint8 or uint16 with any strides.

    Costs one pass over ``X``, and at most 16 KB for each of 256 features at a time.
    """
    return _pick(CUT * X.shape[0] * X.shape[1]).cut_matrix(X, cuts, out, missing)


def cut_column(x: Any, cuts: NDArray, out: NDArray, missing: bool) -> int:
    """Do as :func:`cut_matrix` for one feature; return its flag."""
    return int(cut_matrix(x[:, None], [cuts], out[:, None], [missing])[0])


def histograms(
    cells: NDArray,
    offsets: NDArray,
    n_cells: int,
    labels: NDArray,
    n_classes: int,
    rows: NDArray | None = None,
    starts: NDArray | None = None,
    out: NDArray[np.int64] | None = None,
    weights: NDArray | None = None,
) -> NDArray[np.int64]:
    """Count records per node, cell and class: int64 ``(nodes, n_cells, n_classes)``.

    Cell ``c`` of feature ``f`` is counted at ``offsets[f] + c``. With ``out`` the counts are added to it,
    so that a narrow and a wide block can fill one array. With ``weights``, an integer from 1 to
    ``MOST_WEIGHT`` for each record, a record counts as so many identical copies.

    Costs one pass over the nodes' rows, whatever the number of nodes; with uint8 weights, a few percent more.
    """
    rows, starts = _level(cells, rows, starts)
    if out is None:
        out = np.zeros((len(starts) - 1, n_cells, n_classes), np.int64)
    if weights is not None:
        weights = _bytes(weights, len(cells))
    _pick(int(starts[-1]) * cells.shape[1]).histograms(cells, offsets, labels, weights, rows, starts, out)
    return out


def sums(
    cells: NDArray,
    offsets: NDArray,
    n_cells: int,
    values: NDArray[np.int64],
    rows: NDArray | None = None,
    starts: NDArray | None = None,
    out: NDArray[np.int64] | None = None,
    weights: NDArray | None = None,
) -> NDArray[np.int64]:
    """Sum the columns of ``values``, fixed-point, per node and cell: int64 ``(nodes, n_cells, columns)``.

    Sums wrap around as int64 does: the caller chooses a fixed point in which they cannot. With ``out`` they are
    added to it. ``weights`` are those of :func:`histograms`; they are multiplied with all of ``values`` in each
    call, so whoever sums the same values often multiplies them once and leaves ``weights`` out.
    """
    rows, starts = _level(cells, rows, starts)
    if weights is not None:
        values = values * _bytes(weights, len(cells))[:, None]
    if out is None:
        out = np.zeros((len(starts) - 1, n_cells, values.shape[1]), np.int64)
    _pick(SUM * int(starts[-1]) * cells.shape[1] * values.shape[1]).sums(cells, offsets, values, rows, starts, out)
    return out


def look_up(
    scores: NDArray[np.int64], labels: NDArray, output: int, table: NDArray[np.int32], shift: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The two numbers that ``table[label == output, score]`` holds for each record, as two columns.

    Scores are rounded to whole multiples of 2^``shift``; the middle of the table's second axis, of odd length, is for
    0, and scores beyond its ends have the last entry.
    """
    return _pick(SUM * len(scores)).look_up(scores, labels, output, table, shift)


def part_sums(
    columns: NDArray[np.uint8], tables: Sequence[Factors], values: NDArray[np.int32], rows: NDArray | None = None
) -> NDArray[np.int64]:
    """Sum 32-bit numbers by the parts of several tables: int64 ``(tables, MOST_PARTS)``.

    ``columns`` is ``(features, n)``: a block turned on its side. Costs one pass over the columns that are used, and
    about a third of that more for each table.
    """
    rows, starts = _level(values, rows, None)
    out = np.zeros((len(tables), MOST_PARTS), np.int64)
    _pick(SUM * int(starts[-1]) * len(tables)).part_sums(columns, tables, values, rows, out)
    return out


def add_parts(
    columns: NDArray,
    tables: Sequence[Factors],
    values: NDArray[np.int64],
    scores: NDArray[np.int64],
    rows: NDArray | None = None,
) -> None:
    """Add what ``values``, ``(tables, MOST_PARTS)``, has for a record's parts of all tables to its score.

    ``columns`` are as above, of one or two bytes; no record is listed twice.
    """
    rows, starts = _level(scores, rows, None)
    _pick(SUM * int(starts[-1]) * len(tables)).add_parts(columns, tables, values, rows, scores)


def descend(
    cells: NDArray, features: NDArray[np.int64], starts: NDArray[np.int64], children: NDArray[np.int32]
) -> NDArray[np.int64]:
    """The leaf of a tree that each row falls into.

    Node ``i`` asks for column ``features[i]``, -1 at a leaf, and sends a row in cell ``c`` of it to the node
    ``children[starts[i] + c]``.
    """
    return _pick(ROUTE * len(cells) * 4).descend(cells, features, starts, children)


def partition_level(
    blocks: tuple[NDArray[np.uint8], NDArray[np.uint16]],
    features: Sequence[int],
    tables: Sequence[NDArray[np.uint8]],
    n_parts: Sequence[int],
    rows: NDArray[np.int32] | None = None,
    starts: NDArray | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Send every node's rows to its parts; return the next level's ``(rows, starts)``.

    ``blocks`` is the narrow and the wide block, either of which may have no columns; features are
    numbered through the narrow block, then the wide one. Node ``i`` sends the rows in cell ``c`` of
    ``features[i]`` to part ``tables[i][c]``, below ``n_parts[i]``; a node with ``n_parts[i] == 0`` is
    dropped. Parts come out node by node and part by part, each with its rows increasing.

    Costs one pass over the rows and one byte per row.
    """
    rows, starts = _level(blocks[0], rows, starts)
    _check_parts(tables, n_parts)
    return _pick(ROUTE * int(starts[-1])).partition_level(blocks, features, tables, n_parts, rows, starts)


def _bytes(weights: NDArray, n: int) -> NDArray[np.uint8]:
    """The weights as bytes, checked: otherwise a large one would lose its upper bits in silence."""
    good = weights.shape == (n,) and weights.dtype.kind in "iu"
    if not good or weights.min(initial=1) < 1 or weights.max(initial=1) > MOST_WEIGHT:
        raise ValueError(f"weights are integers from 1 to {MOST_WEIGHT}, one for each record")
    return np.ascontiguousarray(weights, np.uint8)


def _check_parts(tables: Sequence[NDArray[np.uint8]], n_parts: Sequence[int]) -> None:
    for table, n in zip(tables, n_parts):
        if n and len(table) and int(table.max()) >= n:
            raise ValueError(f"a table sends cells to part {int(table.max())} of {n}: raise n_parts")


def _level(cells: NDArray, rows: NDArray | None, starts: NDArray | None) -> tuple[NDArray | None, NDArray]:
    n = len(cells)
    if n >= 2**31:
        raise ValueError("a block holds fewer than 2**31 rows: use the Parquet or the Dask curator")
    if starts is None:
        starts = np.array([0, n if rows is None else len(rows)], np.int64)
    return None if rows is None else np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(starts, np.int64)


def _pick(work: int) -> ModuleType:
    """The engine for the next ``work``, measured in cells counted; may load Numba."""
    global _engine, _done
    if _engine is not None:
        return _engine
    wish = os.environ.get("PRIVET_KERNELS", "")
    if wish not in ("", "numpy", "numba"):
        raise ValueError(f"PRIVET_KERNELS is {wish!r}: set it to numpy or numba, or leave it out")
    _done += work  # two threads may lose an update: only the moment of the switch depends on it
    if wish == "numpy":
        _engine = numpy_engine
    elif wish == "numba":
        _engine = importlib.import_module(".numba_engine", __name__)
    elif _done < PATIENCE:
        return numpy_engine
    else:
        try:
            _engine = importlib.import_module(".numba_engine", __name__)
        except ImportError:
            print(SLOWER, file=sys.stderr)
            _engine = numpy_engine
    return _engine
