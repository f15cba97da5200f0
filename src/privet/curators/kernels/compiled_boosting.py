# mypy: disallow-untyped-defs=False
"""Single-threaded machine code for boosting and for predictions; the conventions are those of :mod:`compiled`."""

import numpy as np
from numba import int64, types, uint8, uint16, uint64

from .compiled import kernel, read, write

STRETCH = 1024
"""Rows that are taken at a time: their parts of four tables, and their values, stay in the first-level cache."""


@kernel
def look_up(scores, labels, output, table, shift, start, stop, first, second):
    """Write what ``table`` has for each of the rows' scores, in units of 2^shift, to the two columns."""
    last, reach = int64(table.shape[1] - 1), int64(table.shape[1] // 2)
    half = int64(1) << int64(shift - 1)
    for i in range(uint64(start), uint64(stop)):
        place = ((scores[i] + half) >> int64(shift)) + reach
        place = place if place > 0 else int64(0)
        own = table[uint64(labels[i] == output), uint64(place if place < last else last)]
        first[i], second[i] = own[uint64(0)], own[uint64(1)]


@kernel
def find_parts(columns, base, size, table, direct, starts, features, cells, sizes, parts):
    """Write the parts of a table that ``size`` rows from ``base`` on are in: bytes that wrap around.

    A part is a sum of jumps, one for each cell at or below the row's where the table's map changes. Bytes are compared
    and added many at once, so a jump takes a small part of the time in which a row's cell is looked up.
    """
    if direct[table] >= 0:
        column = columns[uint64(direct[table])][base:]
        for k in range(size):
            parts[k] = column[k]
        return
    for k in range(size):
        parts[k] = 0
    for jump in range(uint64(starts[table]), uint64(starts[uint64(table + uint64(1))])):
        column, cell, by = columns[uint64(features[jump])][base:], cells[jump], sizes[jump]
        for k in range(size):
            parts[k] = uint8(parts[k] + (by if column[k] >= cell else uint8(0)))


@kernel
def gather(columns, used, rows, start, size, found):
    """Write the cells that listed rows have in the columns that are used."""
    for q in range(uint64(len(used))):
        column, own = columns[uint64(used[q])], found[uint64(used[q])]
        for k in range(size):
            own[k] = column[uint64(rows[uint64(start + k)])]


@kernel
def add_by_four(p0, p1, p2, p3, values, size, sums, t):
    """Add values to the sums of four tables from ``t`` on, by the rows' parts of each.

    Four at once, so that a sum that is read is rarely the one that was just written.
    """
    s0, s1, s2, s3 = sums[t], sums[uint64(t + uint64(1))], sums[uint64(t + uint64(2))], sums[uint64(t + uint64(3))]
    for k in range(size):
        value = values[k]
        s0[uint64(p0[k])] += value
        s1[uint64(p1[k])] += value
        s2[uint64(p2[k])] += value
        s3[uint64(p3[k])] += value


@kernel
def sum_parts(columns, used, direct, starts, features, cells, sizes, values, rows, whole, start, stop, safe, out):
    """Add each row's value to ``out`` at its part of each table, in 32 bits as long as ``safe`` rows fit them."""
    n_tables, stretch, four = uint64(len(direct)), uint64(STRETCH), uint64(4)
    zero, one, two, three = uint64(0), uint64(1), uint64(2), uint64(3)
    sums, parts = np.empty(out.shape, np.int32), np.empty((4, STRETCH), np.uint8)
    found = np.empty((1 if whole else len(columns), STRETCH), columns.dtype)
    own = np.empty(STRETCH, np.int32)
    for begin in range(uint64(start), uint64(stop), uint64(safe)):
        end = min(uint64(begin + uint64(safe)), uint64(stop))
        sums[:] = 0
        for a in range(begin, end, stretch):
            size = min(stretch, uint64(end - a))
            if whole:
                own[:size] = values[a : uint64(a + size)]
            else:
                gather(columns, used, rows, a, size, found)
                for k in range(size):
                    own[k] = values[uint64(rows[uint64(a + k)])]
            for t in range(zero, n_tables, four):
                together = min(four, uint64(n_tables - t))
                if whole and together == four and direct[t : uint64(t + four)].min() >= 0:  # they are there already
                    add_by_four(
                        columns[uint64(direct[t])][a:],
                        columns[uint64(direct[uint64(t + one)])][a:],
                        columns[uint64(direct[uint64(t + two)])][a:],
                        columns[uint64(direct[uint64(t + three)])][a:],
                        own,
                        size,
                        sums,
                        t,
                    )
                    continue
                for r in range(together):
                    table = uint64(t + r)
                    if whole:
                        find_parts(columns, a, size, table, direct, starts, features, cells, sizes, parts[r])
                    else:
                        find_parts(found, zero, size, table, direct, starts, features, cells, sizes, parts[r])
                if together == four:
                    add_by_four(parts[zero], parts[one], parts[two], parts[three], own, size, sums, t)
                else:
                    for r in range(together):
                        mine, its = sums[uint64(t + r)], parts[r]
                        for k in range(size):
                            mine[uint64(its[k])] += own[k]
        for t in range(n_tables):
            for p in range(uint64(out.shape[1])):
                out[t, p] += sums[t, p]


@kernel
def add_parts(columns, used, direct, starts, features, cells, sizes, values, rows, whole, start, stop, out):
    """Add to each row's ``out`` what ``values`` has for its parts of all tables."""
    n_tables, stretch, four = uint64(len(direct)), uint64(STRETCH), uint64(4)
    zero, one, two, three = uint64(0), uint64(1), uint64(2), uint64(3)
    totals, parts = np.empty(STRETCH, np.int64), np.empty((4, STRETCH), np.uint8)
    found = np.empty((1 if whole else len(columns), STRETCH), columns.dtype)
    for a in range(uint64(start), uint64(stop), stretch):
        size = min(stretch, uint64(uint64(stop) - a))
        totals[:] = 0
        if not whole:
            gather(columns, used, rows, a, size, found)
        for t in range(zero, n_tables, four):
            together = min(four, uint64(n_tables - t))
            for r in range(together):
                table = uint64(t + r)
                if whole:
                    find_parts(columns, a, size, table, direct, starts, features, cells, sizes, parts[r])
                else:
                    find_parts(found, zero, size, table, direct, starts, features, cells, sizes, parts[r])
            if together == four:
                p0, p1, p2, p3 = parts[zero], parts[one], parts[two], parts[three]
                v0, v1, v2, v3 = values[t], values[uint64(t + one)], values[uint64(t + two)], values[uint64(t + three)]
                for k in range(size):
                    totals[k] += v0[uint64(p0[k])] + v1[uint64(p1[k])] + v2[uint64(p2[k])] + v3[uint64(p3[k])]
            else:
                for r in range(together):
                    mine, its = values[uint64(t + r)], parts[r]
                    for k in range(size):
                        totals[k] += mine[uint64(its[k])]
        for k in range(size):
            out[uint64(a + k) if whole else uint64(rows[uint64(a + k)])] += totals[k]


@kernel
def descend(cells, features, starts, children, start, stop, out):
    """Write the leaf that each row falls into."""
    for i in range(uint64(start), uint64(stop)):
        node = uint64(0)
        f = features[node]
        while f >= 0:
            node = uint64(children[uint64(uint64(starts[node]) + uint64(cells[i, uint64(f)]))])
            f = features[node]
        out[i] = node


def signatures():
    i8, i4, u8 = types.int64, types.int32, types.uint8
    level = (read(i4), types.boolean)
    span = (i8, i8)
    for c in (u8, uint16):
        tables = (read(c, 2), *(read(i8),) * 4, read(c), read(u8))
        yield add_parts, (c.name,), (*tables, read(i8, 2), *level, *span, write(i8))
        if c is u8:
            yield sum_parts, (), (*tables, read(i4), *level, *span, i8, write(i8, 2))
        yield look_up, (c.name,), (read(i8), read(c), i8, read(i4, 3), i8, *span, write(i4), write(i4))
        yield descend, (c.name,), (read(c, 2), read(i8), read(i8), read(i4), *span, write(i8))
