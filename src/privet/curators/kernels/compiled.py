# mypy: disallow-untyped-defs=False
"""Single-threaded machine code; :mod:`numba_engine` feeds it from several threads.

Indices are unsigned throughout, or Numba would test each for a negative one. No fastmath: the
answers are exact.
"""

import numpy as np
from numba import int32, int64, njit, types, uint16, uint64

BLOCK = 256
"""Rows that :func:`cut` takes at a time: few enough for the first-level cache."""
UNSURE = 1 << 15
"""Marks a bucket that holds a cut, in a table of fewer cuts than this."""
FLOOR = float(2.0**-30)
"""The share of the range below which :func:`bend` tells no distances apart."""
FLOOR_BITS = int(np.float32(FLOOR).view(np.int32))


def kernel(function):
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable place for a cache
        return njit(nogil=True)(function)


@kernel
def bucket(x, low, scale, top):
    """The bucket of a value: equal stretches of the range of the cuts, numbered from 0 to ``top``.

    Subtracting, scaling and rounding keep order, so buckets do: whatever the rounding, a cut in a lower
    bucket is below the value and a cut in a higher one above it.
    """
    t = (x - low) * scale
    t = t if t > 0.0 else 0.0  # in this order a NaN falls into the first bucket
    return uint16(int32(t if t < top else top))


@kernel
def bend(xs, n, anchor, scale, middle, bits, found):
    """Find buckets that are narrow near ``anchor``: the leading bits of the distance, as a float32, on either side.

    These, too, keep order. The anchor is in bucket ``middle``, half of the number of buckets; ``bits`` is scratch.
    """
    near = bits.view(np.float32)
    for k in range(n):
        t = (xs[k] - anchor) * scale
        u = abs(t)
        u = u if u > FLOOR else FLOOR  # in this order a NaN counts as near
        u = u if u < 1.0 else 1.0
        near[k] = -u if t < 0.0 else u
    octave = middle // 32
    shift = int32(23)
    while octave > 1:
        octave, shift = octave >> 1, int32(shift - 1)
    for k in range(n):
        g = ((bits[k] & int32(0x7FFFFFFF)) - int32(FLOOR_BITS)) >> shift
        found[k] = middle - 1 - g if bits[k] < 0 else middle + g


@kernel
def tabulate(cuts, lengths, lows, scales, bent, firsts):
    """For each feature and bucket, the number of cuts in lower buckets, and the mark ``UNSURE``.

    ``cuts`` is padded at the right. Where many cuts share their bucket with another, because they crowd near zero or
    an end, narrow buckets near there are tried (``bent``); ``lows`` is then the anchor.
    """
    width = cuts.shape[1]
    found, others, bits = np.empty(width, np.uint16), np.empty(width, np.uint16), np.empty(width, np.int32)
    top = firsts.shape[1] - 2
    for f in range(len(lengths)):
        n = lengths[f]
        low, high = 0.0, 1.0
        if n > 0 and np.isfinite(cuts[f, 0]) and np.isfinite(cuts[f, n - 1]):
            low, high = cuts[f, 0], cuts[f, n - 1]
        # Scales are kept away from 0 and infinity, or 0 * inf would make a NaN and NaN has no order.
        lows[f], scales[f], bent[f] = low, top / min(max(high - low, 1e-300), 1e308), 0
        for k in range(n):
            found[k] = bucket(cuts[f, k], low, scales[f], float(top))
        if crowd(found, n) > n // 32:
            anchor = min(max(low, 0.0), high)
            scale = 1.0 / min(max(high - anchor, anchor - low, 1e-300), 1e308)
            bend(cuts[f], n, anchor, scale, (top + 1) >> 1, bits, others)
            if crowd(others, n) < crowd(found, n):
                found[:] = others
                lows[f], scales[f], bent[f] = anchor, scale, 1
        c = 0
        for g in range(top + 1):
            first = c
            while c < n and found[c] == g:
                c += 1
            firsts[f, g] = first | (UNSURE if c > first else 0)
        firsts[f, top + 1] = c


@kernel
def crowd(found, n):
    """How many cuts are in the bucket of the cut before."""
    same = 0
    for k in range(1, n):
        same += found[k] == found[k - 1]
    return same


@kernel
def cut_simply(values, lows, scales, tops, places, firsts, cuts_at, cuts, m, lengths, missing, out, flags):
    """Write the cells of some rows of ``m`` features, where no bucket holds two cuts.

    So the number of cuts in lower buckets and one comparison tell a cell. What is known of a feature (its range of
    buckets, and where they and its cuts begin) is repeated for some rows: long loops are vectorised.
    """
    step = uint64(len(lows))
    found = np.empty(len(lows), np.uint16)
    for start in range(uint64(0), uint64(len(values)), step):
        xs, cells = values[start : uint64(start + step)], out[start : uint64(start + step)]
        size, odd = uint64(len(xs)), False
        for k in range(size):
            odd |= xs[k] - xs[k] != 0.0
            found[k] = places[k] + bucket(xs[k], lows[k], scales[k], tops)
        for k in range(size):
            c = uint64(firsts[uint64(found[k])])
            cells[k] = c + uint64(cuts[uint64(c + uint64(cuts_at[k]))] < xs[k])
        if odd:
            for k in range(size):
                f = uint64(k % uint64(m))
                if xs[k] - xs[k] != 0.0:
                    cells[k] = place_odd(xs[k], f, lengths, missing, flags)


@kernel
def place_odd(x, f, lengths, missing, flags):
    """The cell of what is no finite number, flagged if there is none."""
    flags[f] |= np.uint8(2 if x == x else 0 if missing[f] else 1)
    return lengths[f] + 1 if missing[f] else 0


@kernel
def cut(X, by_columns, start, stop, cuts, lengths, missing, lows, scales, bent, firsts, out, flags):
    """Write the cells of rows ``start`` to ``stop``; ``by_columns``: each row of ``X`` is a feature.

    Most buckets hold no cut, so that a value's bucket tells its cell. The other values are listed without a branch
    that could be mispredicted, and searched for among the cuts of their buckets.
    """
    m = uint64(len(lengths))
    block, one, few = uint64(BLOCK), uint64(1), uint64(64)
    found = np.empty((BLOCK, len(lengths)), np.uint16)
    unsure = np.empty(BLOCK + 1, np.uint32)
    bits = np.empty(BLOCK, np.int32)
    middle = int64((firsts.shape[1] - 1) >> 1)
    top, known = float(firsts.shape[1] - 2), uint16(UNSURE - 1)
    parted = np.flatnonzero(lengths)
    few_parted = 2 * len(parted) <= len(lengths)
    for r in range(uint64(start), uint64(stop), block):
        size = uint64(min(block, uint64(uint64(stop) - r)))
        odd = False
        if by_columns:
            for f in range(m):
                column = X[f]
                low, scale = lows[f], scales[f]
                for k in range(size):
                    x = column[uint64(r + k)]
                    odd |= x - x != 0.0
                    found[k, f] = bucket(x, low, scale, top)
        elif few_parted:  # a tree's features: the others are only looked at for what is no number
            for k in range(size):
                row, own = X[uint64(r + k)], found[k]
                for f in range(m):
                    odd |= row[f] - row[f] != 0.0
                for q in range(uint64(len(parted))):
                    f = uint64(parted[q])
                    own[f] = bucket(row[f], lows[f], scales[f], top)
        else:
            for k in range(size):
                row, own = X[uint64(r + k)], found[k]
                for f in range(m):
                    x = row[f]
                    odd |= x - x != 0.0
                    own[f] = bucket(x, lows[f], scales[f], top)
        for f in range(m):
            if lengths[f] == 0:
                for k in range(size):
                    out[uint64(r + k), f] = 0
                continue
            mine, first = cuts[f], firsts[f]
            if bent[f]:
                if by_columns:
                    bend(X[f, r:], size, lows[f], scales[f], middle, bits, found[:, f])
                else:
                    bend(X[r:, f], size, lows[f], scales[f], middle, bits, found[:, f])
            n_unsure = uint64(0)
            for k in range(size):
                c = first[uint64(found[k, f])]
                out[uint64(r + k), f] = c
                unsure[n_unsure] = k
                n_unsure = uint64(n_unsure + uint64(c >> uint16(15)))
            for u in range(n_unsure):
                k = uint64(unsure[u])
                i = uint64(r + k)
                x = X[f, i] if by_columns else X[i, f]
                g = uint64(found[k, f])
                c = uint64(first[g] & known)
                left = uint64(uint64(first[uint64(g + one)] & known) - c)
                while left > few:
                    half = uint64(left >> one)
                    c = uint64(c + half) if mine[uint64(c + half - one)] < x else c
                    left = uint64(left - half)
                if left == one:
                    out[i, f] = c + uint64(mine[c] < x)
                else:
                    below = uint64(0)
                    for q in range(c, uint64(c + left)):  # vectorised
                        below = uint64(below + uint64(mine[q] < x))
                    out[i, f] = c + below
        if odd:
            mend(X, by_columns, r, uint64(r + size), lengths, missing, out, flags)


@kernel
def mend(X, by_columns, start, stop, lengths, missing, out, flags):
    """Give missing values of these rows their cell, and flag those that no cell is for."""
    for f in range(uint64(len(lengths))):
        for i in range(start, stop):
            x = X[f, i] if by_columns else X[i, f]
            if x - x != 0.0:
                out[i, f] = place_odd(x, f, lengths, missing, flags)


@kernel
def count(cells, labels, weights, rows, whole, bounds, offsets, widths, f_start, f_stop, accumulator, out):
    """Add the counts of features ``f_start`` to ``f_stop`` to ``out``, node by node.

    Features go in groups whose counts fit ``accumulator``, so that they stay in cache; a node with fewer
    values than counts is counted in place. Without ``weights`` (None) every branch on them is compiled
    away. What is returned means nothing: it keeps the compiler from dropping the reads ahead.
    """
    classes = uint64(out.shape[2])
    local = np.empty(len(offsets), np.uint32)
    limit = uint64(len(accumulator))
    batch = uint64(128)
    ahead = np.empty(batch, np.uint32)
    classes_ahead = np.empty(batch, np.uint16)
    touched = uint64(0)
    for node in range(uint64(len(bounds) - 1)):
        a, b = uint64(bounds[node]), uint64(bounds[node + uint64(1)])
        f0 = uint64(f_start)
        while f0 < uint64(f_stop) and a < b:
            width, f1 = uint64(0), f0
            while f1 < uint64(f_stop) and (f1 == f0 or uint64((width + uint64(widths[f1])) * classes) <= limit):
                local[f1] = width
                width = uint64(width + uint64(widths[f1]))
                f1 = uint64(f1 + uint64(1))
            if uint64((b - a) * (f1 - f0)) < uint64(width * classes):
                for k in range(a, b):
                    i = k if whole else uint64(rows[k])
                    y = uint64(labels[i])
                    weight = 1 if weights is None else int64(weights[i])
                    for f in range(f0, f1):
                        out[node, uint64(uint64(offsets[f]) + uint64(cells[i, f])), y] += weight
            else:
                if uint64(len(accumulator)) < uint64(width * classes):
                    accumulator = np.empty(width * classes, accumulator.dtype)
                counts = accumulator[: width * classes].reshape((classes, width))
                counts[:] = 0
                if whole and weights is None:
                    for i in range(a, b):
                        mine = counts[uint64(labels[i])]
                        for f in range(f0, f1):
                            mine[uint64(local[f] + uint64(cells[i, f]))] += int32(1)
                else:
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
                            if weights is None:
                                for f in range(f0, f1):
                                    mine[uint64(local[f] + uint64(cells[i, f]))] += int32(1)
                            else:
                                weight = int64(weights[i])
                                for f in range(f0, f1):
                                    mine[uint64(local[f] + uint64(cells[i, f]))] += weight
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
        cells, two = uint64(len(table)), children[node + 1] - children[node] == 2
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
            second = uint64(0)
            for k in range(size):
                c = uint64(found[k])
                if c < cells:
                    parts[uint64(start + k)] = table[c]
                    second = uint64(second + uint64(table[c]))
                else:
                    parts[uint64(start + k)] = 0
                    good = False
            if two:  # their sum is the number of the second's: no counter has to wait for itself
                mine[0] += size - second
                mine[1] += second
            else:
                for k in range(size):
                    mine[uint64(parts[uint64(start + k)])] += 1
    return good


@kernel
def fill(children, rows, whole, bounds, parts, places, out):
    """Move each row to its child's next place."""
    for node in range(len(bounds) - 1):
        if children[node + 1] == children[node]:
            continue
        mine = places[children[node] - children[0] :]
        if children[node + 1] - children[node] == 2:  # both places stay in registers
            first, second = uint64(mine[0]), uint64(mine[1])
            for k in range(uint64(bounds[node]), uint64(bounds[node + 1])):
                p = uint64(parts[k])
                out[second if p else first] = int32(k) if whole else rows[k]
                first, second = uint64(first + (uint64(1) - p)), uint64(second + p)
            mine[0], mine[1] = first, second
            continue
        for k in range(uint64(bounds[node]), uint64(bounds[node + 1])):
            p = uint64(parts[k])
            out[uint64(mine[p])] = int32(k) if whole else rows[k]
            mine[p] += 1


def read(kind, dims=1, layout="C"):
    return types.Array(kind, dims, layout, readonly=True)


def write(kind, dims=1, layout="C"):
    return types.Array(kind, dims, layout)


def signatures():
    """Each kernel with the types that it is compiled for: the names of those that vary, and all of them."""
    f8, i8, i4, u8 = types.float64, types.int64, int32, types.uint8
    flag = types.boolean
    level = (read(i4), flag, read(i8))
    yield fill, (), (read(i8), *level, read(u8), write(i8), write(i4))
    yield tabulate, (), (read(f8, 2), read(i8), write(f8), write(f8), write(u8), write(uint16, 2))
    blocks = (read(u8, 2), read(uint16, 2))
    yield route, (), (*blocks, read(i8), read(u8), read(i8), read(i8), *level, write(u8), write(i8))
    known = (read(f8, 2), read(i8), read(u8), read(f8), read(f8), read(u8), read(uint16, 2))
    counted = (*level, read(i8), read(i8), i8, i8)
    for c in (u8, uint16):
        yield cut, (c.name,), (read(f8, 2), flag, i8, i8, *known, write(c, 2, "A"), write(u8))
        each = (read(f8), read(f8), f8, read(uint16), read(u8), read(types.uint32), read(f8))
        yield cut_simply, (c.name,), (read(f8), *each, i8, read(i8), read(u8), write(c, 1, "A"), write(u8))
        yield total, (c.name,), (read(c, 2), read(i8, 2), *level, read(i8), i8, i8, write(i8, 3))
        for y, weights, counter in ((u8, types.none, i4), (uint16, types.none, i4), (uint16, read(u8), i8)):
            own = (read(c, 2), read(y), weights, *counted, write(counter), write(i8, 3))
            yield count, (c.name, y.name, counter.name), own


def load(each, signature):
    """Compile a kernel for some types, or read it from the cache; it is called with no others."""
    each.disable_compile(False)
    each.compile(signature)
    each.disable_compile()
    return bool(each.stats.cache_misses)
