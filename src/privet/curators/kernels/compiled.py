# mypy: disallow-untyped-defs=False
"""Single-threaded machine code; :mod:`numba_engine` feeds it from several threads.

Indices are unsigned throughout, or Numba would test each for a negative one. No fastmath: the
answers are exact.
"""

import sys

import numpy as np
from numba import float32, int32, njit, types, uint16, uint32, uint64

BLOCK = 256
"""Rows that :func:`cut` takes at a time: enough to vectorise, few enough for the first-level cache."""
TILE = 8
"""Columns that it copies at a time: a cache line of float64."""

# The bucket of a value: see `buckets`.
FLOOR = float(2.0**-24)
_FLOOR_BITS = int(np.float32(FLOOR).view(np.int32))
_HALF_BITS = int(np.float32(0.5).view(np.int32))


def n_buckets(shift):
    """The number of buckets of a feature; each octave has ``2**(23 - shift)``."""
    return 4 * (((_HALF_BITS - _FLOOR_BITS) >> shift) + 1)


def kernel(function):
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable place for a cache
        return njit(nogil=True)(function)


@kernel
def buckets(xs, n, scales, shift, last, signed, bits, found):
    """Put values into buckets, monotonically: a first guess of their cells.

    A stretch of the range is mapped to [0, 1] and a bucket is the leading bits of the distance to the
    nearer end, as a float: fine near both ends, where grids are refined, and linear in between. There
    are two stretches, below and from ``pivot`` on, each with buckets of its own. Subtracting, scaling
    and rounding keep order, so buckets do: whatever the rounding, a cut in a lower bucket is below the
    value and a cut in a higher one above it.

    ``signed`` and ``bits`` are one scratch array, as float32 and as int32.
    """
    pivot, low, scale, low_above, scale_above = scales[0], scales[1], scales[2], scales[3], scales[4]
    for k in range(n):
        x = xs[k]
        t = (x - low_above) * scale_above if x >= pivot else (x - low) * scale
        u = min(t, 1.0 - t)
        u = u if u > FLOOR else FLOOR  # in this order a NaN falls into the first bucket
        signed[k] = float32(-u if t >= 0.5 else u)
    half = int32((last + 1) >> 1)
    for k in range(n):
        b = bits[k]
        g = int32(((b & int32(0x7FFFFFFF)) - int32(_FLOOR_BITS)) >> shift)
        g = int32(half - 1 - g) if b < 0 else g
        found[k] = g + half if xs[k] >= pivot else g


@kernel
def tabulate(cuts, lengths, shift, scales, firsts, crowded):
    """For each feature and bucket, the number of cuts in lower buckets.

    ``cuts`` is padded with infinity. ``crowded`` marks features with a bucket of several cuts; where zero
    is inside the range, it is tried as the pivot first, because grids may be refined there too.
    """
    width = cuts.shape[1]
    signed = np.empty(width, np.float32)
    bits = signed.view(np.int32)
    found = np.empty(width, np.int32)
    last = int32(firsts.shape[1] - 1)
    for f in range(len(lengths)):
        n = lengths[f]
        low, high = 0.0, 1.0
        if n > 0 and np.isfinite(cuts[f, 0]) and np.isfinite(cuts[f, n - 1]):
            low, high = cuts[f, 0], cuts[f, n - 1]
        for pivot in (np.inf, 0.0):
            if pivot == 0.0 and not (crowded[f] and low < 0.0 < high):
                continue
            # Kept away from 0 and infinity, or 0 * inf would make a NaN and NaN has no order.
            scales[f, 0] = pivot
            scales[f, 1] = low
            scales[f, 2] = 1.0 / min(max(min(high, pivot) - low, 1e-300), 1e308)
            scales[f, 3] = 0.0
            scales[f, 4] = 1.0 / min(max(high, 1e-300), 1e308)
            buckets(cuts[f], uint64(n), scales[f], shift, last, signed, bits, found)
            c = 0
            crowded[f] = 0
            for g in range(last + 1):
                firsts[f, g] = c
                before = c
                while c < n and found[c] == g:
                    c += 1
                if c > before + 1:
                    crowded[f] = 1


@kernel
def cut(X, cuts, lengths, missing, shift, scales, firsts, crowded, out, flags):
    n, m = uint64(X.shape[0]), uint64(X.shape[1])
    block, tile, one = uint64(BLOCK), uint64(TILE), uint64(1)
    tiles = np.empty((TILE, BLOCK), np.float64)
    signed = np.empty(BLOCK, np.float32)
    bits = signed.view(np.int32)
    found = np.empty(BLOCK, np.int32)
    last = int32(firsts.shape[1] - 1)
    down = X.strides[0] < X.strides[1]
    for r in range(uint64(0), n, block):
        size = uint64(min(block, uint64(n - r)))
        for f0 in range(uint64(0), m, tile):
            across = uint64(min(tile, uint64(m - f0)))
            if down:
                for j in range(across):
                    for k in range(size):
                        tiles[j, k] = X[uint64(r + k), uint64(f0 + j)]
            else:
                for k in range(size):
                    for j in range(across):
                        tiles[j, k] = X[uint64(r + k), uint64(f0 + j)]
            for j in range(across):
                f = uint64(f0 + j)
                xs, mine, first = tiles[j], cuts[f], firsts[f]
                odd = False
                for k in range(size):
                    odd |= xs[k] - xs[k] != 0.0
                buckets(xs, size, scales[f], shift, last, signed, bits, found)
                if crowded[f]:
                    for k in range(size):
                        g = uint64(uint32(found[k]))
                        c = uint64(first[g])
                        d = uint64(first[uint64(g + one)] if g < uint64(last) else lengths[f])
                        if d <= uint64(c + one):  # few buckets are crowded, so this is mostly so, and foreseen
                            c = uint64(c + uint64(mine[c] < xs[k]))
                        else:
                            while c < d:
                                mid = uint64((c + d) >> one)
                                if mine[mid] < xs[k]:
                                    c = uint64(mid + one)
                                else:
                                    d = mid
                        out[uint64(r + k), f] = c
                else:  # at most one cut is left to compare with, and no branch to mispredict
                    for k in range(size):
                        c = uint64(first[uint64(uint32(found[k]))])
                        out[uint64(r + k), f] = c + uint64(mine[c] < xs[k])
                if odd:
                    empty, infinite = False, False
                    for k in range(size):
                        empty |= xs[k] != xs[k]
                        infinite |= abs(xs[k]) == np.inf
                    if infinite:
                        flags[f] |= np.uint8(2)
                    if empty and not missing[f]:
                        flags[f] |= np.uint8(1)
                    elif empty:
                        cell = uint64(lengths[f] + 1)
                        for k in range(size):
                            c = uint64(out[uint64(r + k), f])
                            out[uint64(r + k), f] = c if xs[k] == xs[k] else cell


@kernel
def count(cells, labels, rows, whole, bounds, offsets, widths, f_start, f_stop, limit, out):
    """Add the counts of features ``f_start`` to ``f_stop`` to ``out``, node by node.

    Features go in groups whose int32 counts fit ``limit``, so that they stay in cache; a node with
    fewer values than counts is counted in place. What is returned means nothing: it keeps the compiler
    from dropping the reads ahead.
    """
    classes = uint64(out.shape[2])
    local = np.empty(len(offsets), np.uint32)
    accumulator = np.empty(0, np.int32)
    batch = uint64(32)
    ahead = np.empty(batch, np.uint32)
    classes_ahead = np.empty(batch, np.uint16)
    touched = uint64(0)
    for node in range(uint64(len(bounds) - 1)):
        a, b = uint64(bounds[node]), uint64(bounds[node + uint64(1)])
        f0 = uint64(f_start)
        while f0 < uint64(f_stop) and a < b:
            width, f1 = uint64(0), f0
            while f1 < uint64(f_stop) and (f1 == f0 or uint64((width + uint64(widths[f1])) * classes) <= uint64(limit)):
                local[f1] = width
                width = uint64(width + uint64(widths[f1]))
                f1 = uint64(f1 + uint64(1))
            if uint64((b - a) * (f1 - f0)) < uint64(width * classes):
                for k in range(a, b):
                    i = k if whole else uint64(rows[k])
                    y = uint64(labels[i])
                    for f in range(f0, f1):
                        out[node, uint64(uint64(offsets[f]) + uint64(cells[i, f])), y] += 1
            else:
                if uint64(len(accumulator)) < uint64(width * classes):
                    accumulator = np.empty(width * classes, np.int32)
                counts = accumulator[: width * classes].reshape((classes, width))
                counts[:] = 0
                for start in range(a, b, batch):
                    size = uint64(min(batch, uint64(b - start)))
                    # Touching the rows first lets their cache misses overlap.
                    for k in range(size):
                        i = uint64(start + k) if whole else uint64(rows[uint64(start + k)])
                        ahead[k] = i
                        classes_ahead[k] = labels[i]
                        touched += cells[i, f0] + cells[i, uint64(f1 - uint64(1))]
                    for k in range(size):
                        i = uint64(ahead[k])
                        mine = counts[uint64(classes_ahead[k])]
                        for f in range(f0, f1):
                            mine[uint64(local[f] + uint64(cells[i, f]))] += int32(1)
                for f in range(f0, f1):
                    for c in range(uint64(widths[f])):
                        for y in range(classes):
                            out[node, uint64(uint64(offsets[f]) + c), y] += counts[y, uint64(local[f] + c)]
            f0 = f1
    return touched


@kernel
def total(cells, values, rows, whole, bounds, offsets, f_start, f_stop, out):
    """Add each row's values to ``out`` at its cells of features ``f_start`` to ``f_stop``, node by node."""
    columns = uint64(values.shape[1])
    for node in range(uint64(len(bounds) - 1)):
        mine = out[node]
        for k in range(uint64(bounds[node]), uint64(bounds[node + uint64(1)])):
            i = k if whole else uint64(rows[k])
            own = values[i]
            for f in range(uint64(f_start), uint64(f_stop)):
                here = mine[uint64(uint64(offsets[f]) + uint64(cells[i, f]))]
                for j in range(columns):
                    here[j] += own[j]


@kernel
def route(narrow, wide, features, tables, table_starts, children, rows, whole, bounds, parts, counts):
    """Write each row's part to ``parts`` and count the rows of each child; False on a cell without part."""
    columns = narrow.shape[1]
    batch = uint64(256)
    found = np.empty(batch, np.uint16)
    good = True
    for node in range(len(bounds) - 1):
        if children[node + 1] == children[node]:
            continue
        table = tables[table_starts[node] : table_starts[node + 1]]
        mine = counts[children[node] - children[0] :]
        cells = uint64(len(table))
        f = features[node]
        a, b = uint64(bounds[node]), uint64(bounds[node + 1])
        for start in range(a, b, batch):
            size = uint64(min(batch, uint64(b - start)))
            # The bare gather keeps many cache misses in flight.
            if f < columns:
                for k in range(size):
                    i = uint64(start + k) if whole else uint64(rows[uint64(start + k)])
                    found[k] = narrow[i, uint64(f)]
            else:
                for k in range(size):
                    i = uint64(start + k) if whole else uint64(rows[uint64(start + k)])
                    found[k] = wide[i, uint64(f - columns)]
            for k in range(size):
                c = uint64(found[k])
                if c < cells:
                    parts[uint64(start + k)] = table[c]
                    mine[uint64(table[c])] += 1
                else:
                    good = False
    return good


@kernel
def fill(children, rows, whole, bounds, parts, places, out):
    """Move each row to its child's next place."""
    for node in range(len(bounds) - 1):
        if children[node + 1] == children[node]:
            continue
        mine = places[children[node] - children[0] :]
        for k in range(uint64(bounds[node]), uint64(bounds[node + 1])):
            p = uint64(parts[k])
            out[uint64(mine[p])] = int32(k) if whole else rows[k]
            mine[p] += 1


def _read(kind, dims=1, layout="C"):
    return types.Array(kind, dims, layout, readonly=True)


def _write(kind, dims=1, layout="C"):
    return types.Array(kind, dims, layout)


def _signatures():
    f8, i8, i4, u8 = types.float64, types.int64, int32, types.uint8
    flag = types.boolean
    level = (_read(i4), flag, _read(i8))
    yield fill, [(_read(i8), *level, _read(u8), _write(i8), _write(i4))]
    table = (_write(f8, 2), _write(types.uint16, 2), _write(u8))
    yield tabulate, [(_read(f8, 2), _read(i8), i4, *table)]
    known = (_read(f8, 2), _read(i8), _read(u8), i4, _read(f8, 2), _read(uint16, 2), _read(u8))
    yield cut, [(_read(f8, 2, "A"), *known, _write(o, 2, "A"), _write(u8)) for o in (u8, uint16)]
    features = (_read(i8), i8, i8)
    yield (
        count,
        [
            (_read(c, 2, "A"), _read(y), *level, _read(i8), _read(i8), i8, i8, i8, _write(i8, 3))
            for c in (u8, uint16)
            for y in (u8, uint16)
        ],
    )
    yield total, [(_read(c, 2, "A"), _read(i8, 2), *level, *features, _write(i8, 3)) for c in (u8, uint16)]
    blocks = (_read(u8, 2, "A"), _read(uint16, 2, "A"))
    yield route, [(*blocks, _read(i8), _read(u8), _read(i8), _read(i8), *level, _write(u8), _write(i8))]


def load():
    """Compile every kernel for its few types, or read them from the cache; nothing compiles later."""
    told = False
    for each, signatures in _signatures():
        for signature in signatures:
            each.compile(signature)
        each.disable_compile()
        if each.stats.cache_misses and not told:
            print("privet: compiling kernels, once per machine: about 10 s", file=sys.stderr, flush=True)
            told = True
