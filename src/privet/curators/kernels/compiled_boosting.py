# mypy: disallow-untyped-defs=False
"""Single-threaded machine code for boosting and for predictions; the conventions are those of :mod:`compiled`."""

import numpy as np
from numba import int64, types, uint16, uint64

from .compiled import kernel, read, write


@kernel
def look_up(scores, mine, table, shift, start, stop, first, second):
    """Write what ``table`` has for each of the rows' scores, in units of 2^shift, to the two columns."""
    last, reach = int64(table.shape[1] - 1), int64(table.shape[1] // 2)
    half = int64(1) << int64(shift - 1)
    for i in range(uint64(start), uint64(stop)):
        place = ((scores[i] + half) >> int64(shift)) + reach
        place = place if place > 0 else int64(0)
        own = table[uint64(mine[i]), uint64(place if place < last else last)]
        first[i], second[i] = own[uint64(0)], own[uint64(1)]


@kernel
def add_up(cells, values, rows, whole, start, stop, stretch, offsets, accumulator, out):
    """Add each row's value to ``out`` at its cells, in 32 bits as long as a stretch of rows cannot overflow them."""
    features = uint64(len(offsets))
    for begin in range(uint64(start), uint64(stop), uint64(stretch)):
        accumulator[:] = 0
        for k in range(begin, min(uint64(begin + uint64(stretch)), uint64(stop))):
            i = k if whole else uint64(rows[k])
            value = values[i]
            for f in range(features):
                accumulator[uint64(uint64(offsets[f]) + uint64(cells[i, f]))] += value
        for c in range(uint64(len(out))):
            out[c] += accumulator[c]


@kernel
def add_up_products(cells, values, rows, whole, start, stop, stretch, features, maps, accumulator, out):
    """Add each row's value to ``out`` at its part of each product of four features.

    ``maps[product, factor, cell]`` is the factor's share of the part's number: their sum is the part. Rows go in blocks
    that stay in the first-level cache while one product after the other is summed.
    """
    n_products, block = uint64(len(features)), uint64(512)
    for begin in range(uint64(start), uint64(stop), uint64(stretch)):
        end = min(uint64(begin + uint64(stretch)), uint64(stop))
        accumulator[:] = 0
        for a in range(begin, end, block):
            b = min(uint64(a + block), end)
            for p in range(n_products):
                f0, f1, f2, f3 = features[p, 0], features[p, 1], features[p, 2], features[p, 3]
                m0, m1, m2, m3 = maps[p, 0], maps[p, 1], maps[p, 2], maps[p, 3]
                mine = accumulator[p]
                for k in range(a, b):
                    i = k if whole else uint64(rows[k])
                    part = uint64(
                        uint64(m0[uint64(cells[i, uint64(f0)])])
                        + uint64(m1[uint64(cells[i, uint64(f1)])])
                        + uint64(m2[uint64(cells[i, uint64(f2)])])
                        + uint64(m3[uint64(cells[i, uint64(f3)])])
                    )
                    mine[part] += values[i]
        for p in range(n_products):
            for c in range(uint64(out.shape[1])):
                out[p, c] += accumulator[p, c]


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


@kernel
def add_terms(cells, features, maps, starts, values, start, stop, out):
    """Add what each term has for a row's cells of up to four features to its scores.

    ``maps[term, factor, cell]`` is the factor's share of the row of ``values``, which begin at the term's start. The
    loops are written out for each number of features, which are -1 where a term has fewer.
    """
    n_terms, n_outputs, block, first = uint64(len(features)), uint64(values.shape[1]), uint64(512), uint64(0)
    places = np.empty(512, np.uint32)
    for a in range(uint64(start), uint64(stop), block):
        size = min(block, uint64(uint64(stop) - a))
        for t in range(n_terms):
            f0, f1, f2, f3 = features[t, 0], features[t, 1], features[t, 2], features[t, 3]
            m0, m1, m2, m3 = maps[t, 0], maps[t, 1], maps[t, 2], maps[t, 3]
            mine = values[uint64(starts[t]) :]
            if f1 < 0:
                for k in range(size):
                    places[k] = m0[uint64(cells[uint64(a + k), uint64(f0)])]
            elif f2 < 0:
                for k in range(size):
                    i = uint64(a + k)
                    places[k] = m0[uint64(cells[i, uint64(f0)])] + m1[uint64(cells[i, uint64(f1)])]
            elif f3 < 0:
                for k in range(size):
                    i = uint64(a + k)
                    places[k] = (
                        m0[uint64(cells[i, uint64(f0)])]
                        + m1[uint64(cells[i, uint64(f1)])]
                        + m2[uint64(cells[i, uint64(f2)])]
                    )
            else:
                for k in range(size):
                    i = uint64(a + k)
                    places[k] = (
                        m0[uint64(cells[i, uint64(f0)])]
                        + m1[uint64(cells[i, uint64(f1)])]
                        + m2[uint64(cells[i, uint64(f2)])]
                        + m3[uint64(cells[i, uint64(f3)])]
                    )
            if n_outputs == 1:
                for k in range(size):
                    out[uint64(a + k), first] += mine[uint64(places[k]), first]
            else:
                for k in range(size):
                    for output in range(n_outputs):
                        out[uint64(a + k), output] += mine[uint64(places[k]), output]


def signatures():
    i8, i4, u8 = types.int64, types.int32, types.uint8
    level = (read(i4), types.boolean)
    span = (i8, i8)
    yield look_up, [
        (read(i8, 1, "A"), read(types.boolean), read(i4, 3), i8, *span, write(i4), write(i4))
    ]  # fmt: skip
    summed = (read(i4), *level, *span, i8)
    yield add_up, [(read(c, 2, "A"), *summed, read(i8), write(i4), write(i8)) for c in (u8, uint16)]
    yield add_up_products, [(read(u8, 2, "A"), *summed, read(i8, 2), read(u8, 3), write(i4, 2), write(i8, 2))]
    yield descend, [(read(c, 2, "A"), read(i8), read(i8), read(i4), *span, write(i8)) for c in (u8, uint16)]
    terms = (read(i8, 2), read(i4, 3), read(i8), read(i8, 2))
    yield add_terms, [(read(c, 2, "A"), *terms, *span, write(i8, 2)) for c in (u8, uint16)]
