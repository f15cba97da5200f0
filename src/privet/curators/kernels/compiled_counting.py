# mypy: disallow-untyped-defs=False
"""Single-threaded machine code for counts of one-byte cells; the conventions are those of :mod:`compiled`."""

import numpy as np
from numba import types, uint16, uint64

from .compiled import kernel, read, write

NARROW_BITS = (7, 8)
"""The cells of a feature that :func:`count_bytes` has room for, as powers of two."""


@kernel
def count_bytes(cells, labels, rows, whole, bounds, offsets, widths, f_start, f_stop, bits, limit, out):
    """As :func:`compiled.count`, of one-byte cells without weights: in 16 bits, so that more of them stay in cache.

    A feature has room for ``2 ** len(bits)`` cells: the compiler knows how long a tuple is, and so the places of all
    features. ``limit`` is how many counts a group of features may have.
    """
    classes, room = uint64(out.shape[2]), uint64(1 << len(bits))
    group = uint64(max(uint64(1), uint64(uint64(limit) // uint64(classes * room))))
    counts = np.empty((classes, min(group, uint64(len(offsets))) * room), np.uint16)
    batch, most, near = uint64(128), uint64(65535), uint64(6)
    touched = uint64(0)
    for node in range(uint64(len(bounds) - 1)):
        a, b = uint64(bounds[node]), uint64(bounds[node + uint64(1)])
        for f0 in range(uint64(f_start), uint64(f_stop), group):
            f1 = min(uint64(f0 + group), uint64(f_stop))
            if uint64((b - a) * (f1 - f0)) < uint64(classes * (f1 - f0) * room):
                for k in range(a, b):
                    i = k if whole else uint64(rows[k])
                    y = uint64(labels[i])
                    for f in range(f0, f1):
                        out[node, uint64(uint64(offsets[f]) + uint64(cells[i, f])), y] += 1
                continue
            for start in range(a, b, most):
                stop = min(uint64(start + most), b)
                counts[:] = 0
                if whole or uint64(rows[uint64(stop - uint64(1))] - rows[start]) < uint64(near * (stop - start)):
                    add_rows(cells, labels, rows, whole, start, stop, f0, f1, bits, counts)
                else:  # rows that are far apart: touching some first lets their cache misses overlap
                    for first in range(start, stop, batch):
                        last = min(uint64(first + batch), stop)
                        for k in range(first, last):
                            i = uint64(rows[k])
                            touched += cells[i, f0] + cells[i, uint64(f1 - uint64(1))] + labels[i]
                        add_rows(cells, labels, rows, whole, first, last, f0, f1, bits, counts)
                for f in range(f0, f1):
                    mine = counts[:, uint64(uint64(f - f0) * room) :]
                    for c in range(uint64(widths[f])):
                        for y in range(classes):
                            out[node, uint64(uint64(offsets[f]) + c), y] += mine[y, c]
    return touched


@kernel
def add_rows(cells, labels, rows, whole, start, stop, f0, f1, bits, counts):
    """Count the cells of some rows, four features at a time."""
    room, one = uint64(1 << len(bits)), uint16(1)
    fours = uint64(f1 - uint64(uint64(f1 - f0) & uint64(3)))
    for k in range(start, stop):
        i = k if whole else uint64(rows[k])
        mine, own, at = counts[uint64(labels[i])], cells[i], uint64(0)
        for f in range(f0, fours, uint64(4)):
            mine[uint64(at + uint64(own[f]))] += one
            mine[uint64(at + room + uint64(own[uint64(f + uint64(1))]))] += one
            mine[uint64(at + uint64(2) * room + uint64(own[uint64(f + uint64(2))]))] += one
            mine[uint64(at + uint64(3) * room + uint64(own[uint64(f + uint64(3))]))] += one
            at = uint64(at + uint64(4) * room)
        for f in range(fours, f1):
            mine[uint64(at + uint64(own[f]))] += one
            at = uint64(at + room)


def signatures():
    i8, u8 = types.int64, types.uint8
    level = (read(types.int32), types.boolean, read(i8))
    for y in (u8, uint16):
        for n_bits in NARROW_BITS:
            features = (read(i8), read(i8), i8, i8, types.UniTuple(i8, n_bits), i8)
            yield count_bytes, (y.name, str(n_bits)), (read(u8, 2), read(y), *level, *features, write(i8, 3))
