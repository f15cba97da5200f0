"""The kernels on Numba and threads.

The machine code runs on one thread and without the GIL, and ordinary threads share the rows. Numba's
own parallel loops are avoided: their default threading layer kills the process when two Python threads
fit at once, and the OpenMP one when a process forks. Threads live only as long as a call, so there is
nothing to break in a fork and nothing to clean up.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any

import numba
import numpy as np
from numba.np.ufunc import parallel
from numpy.typing import NDArray

from . import compiled, compiled_boosting, compiled_counting, numpy_engine
from .factors import EACH_CELL, Factors

if numba.config.DISABLE_JIT:
    raise ImportError("NUMBA_DISABLE_JIT is set")

_waiting = {
    (kernel, *names): signature
    for module in (compiled, compiled_boosting, compiled_counting)
    for kernel, names, signature in module.signatures()
}
_told = False
_loading = Lock()

# Below this many cells a call takes less time than starting a thread.
ALONE = 1 << 18
# Counts that a feature group may keep: 64 KB of int32, a corner of the second-level cache.
COUNTS = 1 << 14
# Bytes that the tables of buckets of all features may have together to be read at every value.
TABLES = 1 << 14
# Features that are cut at a time: bounds the tables to a few megabytes.
GROUP = 256

_NO_ROWS = np.empty(0, np.int32)


def ready(kernel: Any, *names: str) -> None:
    """Have a kernel compiled for the types of these names: each when it is first needed, as it takes seconds."""
    global _told
    with _loading:
        signature = _waiting.pop((kernel, *names), None)
        if signature is not None and compiled.load(kernel, signature) and not _told:
            print("privet: compiling kernels, once per machine: some seconds", file=sys.stderr, flush=True)
            _told = True


def cut_matrix(X: Any, cuts: Sequence[NDArray], out: NDArray, missing: Sequence[bool]) -> NDArray[np.uint8]:
    m = X.shape[1]
    flags = np.zeros(m, np.uint8)
    for f in range(0, m, GROUP):
        group = slice(f, f + GROUP)
        flags[group] = _cut_group(X[:, group], cuts[group], out[:, group], missing[group])
    return flags


def _cut_group(X: Any, cuts: Sequence[NDArray], out: NDArray, missing: Sequence[bool]) -> NDArray[np.uint8]:
    n, m = X.shape
    lengths = np.array([len(each) for each in cuts], np.int64)
    if lengths.max() >= compiled.UNSURE:
        return numpy_engine.cut_matrix(X, cuts, out, missing)
    padded = np.full((m, int(lengths.max()) + 1), np.inf)
    for f, each in enumerate(cuts):
        padded[f, : len(each)] = each
    empty = np.array(missing, np.uint8)
    plain = X.dtype == np.float64 and X.flags.aligned and X.dtype.isnative
    rows_ready, columns_ready = plain and X.flags.c_contiguous, plain and X.flags.f_contiguous
    flat = m == 1 or out.flags.c_contiguous
    simple = _simple_tables(padded.tobytes(), lengths.tobytes()) if flat and not (columns_ready and m > 1) else None
    general = _tables(padded, lengths, min(int(lengths.max()).bit_length() + 6, 13)) if simple is None else ()
    ready(compiled.cut if simple is None else compiled.cut_simply, out.dtype.name)
    step = max(1, (1 << 16) // m)

    def write(values: NDArray, by_columns: bool, a: int, b: int, part: NDArray, flags: NDArray[np.uint8]) -> None:
        if simple is not None:
            cells = part[a:b, 0] if m == 1 else part[a:b].reshape(-1)
            compiled.cut_simply(values[a:b].reshape(-1), *simple, m, lengths, empty, cells, flags)
        else:
            turned = values.T if by_columns else values
            compiled.cut(turned, by_columns, a, b, padded, lengths, empty, *general, part, flags)

    def work(a: int, b: int) -> NDArray[np.uint8]:
        flags = np.zeros(m, np.uint8)
        if rows_ready or columns_ready:
            write(X, columns_ready, a, b, out, flags)
            return flags
        for i in range(a, b, step):
            part = slice(i, min(i + step, b))
            values = np.ascontiguousarray(X[part], np.float64)
            write(values, False, 0, len(values), out[part], flags)
        return flags

    return np.bitwise_or.reduce(_run(work, _ranges(n, n * m)), axis=0)


@lru_cache(maxsize=256)  # of public cuts alone; batches of a file ask for the same ones again and again
def _simple_tables(padded_bytes: bytes, length_bytes: bytes) -> tuple[Any, ...] | None:
    """What ``compiled.cut_simply`` has to know of features; None where it cannot cut them, or would be slower.

    Features with the same cuts share a table. All tables together must fit the first-level cache.
    """
    lengths = np.frombuffer(length_bytes, np.int64)
    m, n_cuts = len(lengths), int(lengths.max())
    if n_cuts > 255 or 2 * np.count_nonzero(lengths) <= m:
        return None
    padded = np.frombuffer(padded_bytes).reshape(m, -1)
    own, which = np.unique(padded, axis=0, return_inverse=True)
    which = which.reshape(-1)
    kinds = np.zeros(len(own), np.int64)
    kinds[which] = lengths
    for n_bits in range(n_cuts.bit_length() + 1, 14):
        if len(own) << n_bits > TABLES:
            return None
        lows, scales, bent, firsts = _tables(own, kinds, n_bits)
        firsts &= compiled.UNSURE - 1
        if not bent.any() and (np.diff(firsts.astype(np.int64)) <= 1).all():
            which = np.tile(which, max(1, 256 // m // 8 * 8 or 256 // m))
            table = np.ascontiguousarray(firsts[:, :-1], np.uint8).reshape(-1)
            places, at = (which << n_bits).astype(np.uint16), (which * own.shape[1]).astype(np.uint32)
            return lows[which], scales[which], float(2**n_bits - 1), places, table, at, own.reshape(-1)
    return None


def _tables(cuts: NDArray, lengths: NDArray, n_bits: int) -> tuple[NDArray, ...]:
    """Buckets of features, 2^``n_bits`` each, and how many cuts are in lower ones (``compiled.tabulate``)."""
    m = len(lengths)
    lows, scales, bent = np.empty(m), np.empty(m), np.empty(m, np.uint8)
    firsts = np.empty((m, (1 << n_bits) + 1), np.uint16)
    ready(compiled.tabulate)
    compiled.tabulate(cuts, lengths, lows, scales, bent, firsts)
    return lows, scales, bent, firsts


def histograms(
    cells: NDArray,
    offsets: NDArray,
    labels: NDArray,
    weights: NDArray[np.uint8] | None,
    rows: NDArray | None,
    starts: NDArray,
    out: NDArray,
) -> None:
    counter: type[np.signedinteger] = np.int32  # enough for fewer than 2**31 rows
    if weights is not None:
        counter, labels = np.int64, labels.astype(np.uint16, copy=False)  # what weighed counts are compiled for
    cells, offsets = np.ascontiguousarray(cells), np.asarray(offsets, np.int64)
    # The cells up to the next feature's, and no more than the type can name.
    edges = np.append(np.sort(offsets), out.shape[1])
    widths = np.minimum(edges[np.searchsorted(edges, offsets, side="right")] - offsets, np.iinfo(cells.dtype).max + 1)
    n_bits = next((own for own in compiled_counting.NARROW_BITS if widths.max() <= 2**own), 16)
    if weights is None and cells.dtype == np.uint8 and out.shape[2] << n_bits <= COUNTS:
        ready(compiled_counting.count_bytes, labels.dtype.name, str(n_bits))
        _accumulate(
            lambda bounds, f, g, target: compiled_counting.count_bytes(
                cells, labels, *_rows(rows), bounds, offsets, widths, f, g, (0,) * n_bits, COUNTS, target
            ),
            cells.shape[1],
            starts,
            out,
        )
        return
    ready(compiled.count, cells.dtype.name, labels.dtype.name, np.dtype(counter).name)
    _accumulate(
        lambda bounds, f, g, target: compiled.count(
            cells, labels, weights, *_rows(rows), bounds, offsets, widths, f, g, np.empty(COUNTS, counter), target
        ),
        cells.shape[1],
        starts,
        out,
    )


def sums(
    cells: NDArray, offsets: NDArray, values: NDArray, rows: NDArray | None, starts: NDArray, out: NDArray
) -> None:
    cells, offsets = np.ascontiguousarray(cells), np.asarray(offsets, np.int64)
    ready(compiled.total, cells.dtype.name)
    _accumulate(
        lambda bounds, f, g, target: compiled.total(cells, values, *_rows(rows), bounds, offsets, f, g, target),
        cells.shape[1],
        starts,
        out,
    )


def look_up(
    scores: NDArray, labels: NDArray, output: int, table: NDArray, shift: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    ready(compiled_boosting.look_up, labels.dtype.name)
    first, second = np.empty(len(scores), np.int32), np.empty(len(scores), np.int32)
    _run(
        lambda a, b: compiled_boosting.look_up(scores, labels, output, table, shift, a, b, first, second),
        _ranges(len(scores), 4 * len(scores)),
    )
    return first, second


def part_sums(columns: NDArray, tables: Sequence[Factors], values: NDArray, rows: NDArray | None, out: NDArray) -> None:
    ready(compiled_boosting.sum_parts)
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)), 1)
    safe, lock = max(1, (2**31 - 1) // largest), Lock()  # so many values can be added up in 32 bits
    jumps, n = _jumps(tables, columns.dtype), len(values) if rows is None else len(rows)

    def work(a: int, b: int) -> None:
        own = np.zeros_like(out)
        compiled_boosting.sum_parts(columns, *jumps, values, *_rows(rows), a, b, safe, own)
        with lock:
            np.add(out, own, out=out)

    _run(work, _ranges(n, n * len(tables)))


def add_parts(
    columns: NDArray, tables: Sequence[Factors], values: NDArray, rows: NDArray | None, scores: NDArray
) -> None:
    ready(compiled_boosting.add_parts, columns.dtype.name)
    jumps, n = _jumps(tables, columns.dtype), len(scores) if rows is None else len(rows)
    _run(
        lambda a, b: compiled_boosting.add_parts(columns, *jumps, values, *_rows(rows), a, b, scores),
        _ranges(n, n * len(tables)),
    )


def _jumps(tables: Sequence[Factors], kind: np.dtype[Any]) -> tuple[NDArray, ...]:
    """Where tables' maps change and by how much, as ``find_parts`` takes them.

    The columns that are used; for each table the one whose cells are its parts, or -1, and the number of its first
    jump; and the jumps' columns, cells and sizes.
    """
    direct = np.full(len(tables), -1, np.int64)
    factors = []
    for t, table in enumerate(tables):
        if len(table) == 1 and table[0][1] is EACH_CELL:
            direct[t] = table[0][0]
        else:
            factors += [(t, column, own) for column, own in table]
    maps = np.zeros((len(factors), 1 + max((len(own) for _, _, own in factors), default=0)), np.uint8)
    for padded, (_, _, own) in zip(maps, factors):
        padded[1 : 1 + len(own)] = own
        padded[1 + len(own) :] = own[-1]
    steps = np.diff(maps, axis=1)  # modulo 256
    which, cells = np.nonzero(steps)
    owners, columns = (np.array([own[k] for own in factors], np.int64) for k in (0, 1))
    starts = np.searchsorted(owners[which], np.arange(len(tables) + 1)).astype(np.int64)
    used = np.unique(np.concatenate([direct[direct >= 0], columns]))
    return used, direct, starts, columns[which], cells.astype(kind), steps[which, cells]


def descend(cells: NDArray, features: NDArray, starts: NDArray, children: NDArray) -> NDArray[np.int64]:
    ready(compiled_boosting.descend, cells.dtype.name)
    cells, leaves = np.ascontiguousarray(cells), np.empty(len(cells), np.int64)
    _run(
        lambda a, b: compiled_boosting.descend(cells, features, starts, children, a, b, leaves),
        _ranges(len(cells), 4 * len(cells)),
    )
    return leaves


def _accumulate(add: Callable[[NDArray, int, int, NDArray], None], m: int, starts: NDArray, out: NDArray) -> None:
    """Run ``add(bounds, f, g, target)`` over the level and its ``m`` features, on threads.

    Threads share the features where a row has fewer values than a node has counts: they then write to
    disjoint parts of ``out``. Otherwise they share the rows, and a node on a border is summed under a
    lock.
    """
    n = int(starts[-1])
    if not n:
        return
    if out[0].size > n and m >= threads():
        _run(lambda f, g: add(starts, f, g, out), _ranges(m, n * m))
        return
    lock = Lock()

    def work(a: int, b: int) -> None:
        first = int(np.searchsorted(starts, a, side="right")) - 1
        last = int(np.searchsorted(starts, b, side="left")) - 1
        for i, j in ((first, first + 1), (first + 1, last), (max(last, first + 1), last + 1)):
            if i >= j:
                continue
            bounds = np.clip(starts[i : j + 1], a, b)
            if bounds[0] == starts[i] and bounds[-1] == starts[j]:
                add(bounds, 0, m, out[i:j])
            else:
                private = np.zeros_like(out[i:j])
                add(bounds, 0, m, private)
                with lock:
                    out[i:j] += private

    _run(work, _ranges(n, n * m))


def partition_level(
    blocks: tuple[NDArray, NDArray],
    features: Sequence[int],
    tables: Sequence[NDArray],
    n_parts: Sequence[int],
    rows: NDArray | None,
    starts: NDArray,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    n = int(starts[-1])
    ready(compiled.route)
    ready(compiled.fill)
    narrow, wide = np.ascontiguousarray(blocks[0]), np.ascontiguousarray(blocks[1])
    columns = np.asarray(features, np.int64)
    table_starts = _running([len(each) for each in tables])
    flat = np.concatenate([np.empty(0, np.uint8), *tables])
    children = _running(n_parts)
    parts = np.empty(n, np.uint8)

    def piece(a: int, b: int) -> tuple[int, int, NDArray]:
        first = int(np.searchsorted(starts, a, side="right")) - 1
        last = int(np.searchsorted(starts, b, side="left"))
        return first, last, np.clip(starts[first : last + 1], a, b)

    def look(a: int, b: int) -> NDArray[np.int64]:
        i, j, bounds = piece(a, b)
        counts = np.zeros(children[j] - children[i], np.int64)
        mine = (columns[i:j], flat, table_starts[i : j + 1], children[i : j + 1])
        if not compiled.route(narrow, wide, *mine, *_rows(rows), bounds, parts, counts):
            raise IndexError("a cell lies beyond its feature's table: give every cell a part")
        return counts

    def move(a: int, b: int, places: NDArray[np.int64]) -> None:
        i, j, bounds = piece(a, b)
        compiled.fill(children[i : j + 1], *_rows(rows), bounds, parts, places, out)

    ranges = _ranges(n, n * 8) if n else []  # a row costs about as much as eight counted cells
    seen = _run(look, ranges)
    sizes = np.zeros(children[-1], np.int64)
    spans = [slice(children[i], children[j]) for i, j, _ in (piece(a, b) for a, b in ranges)]
    for span, counts in zip(spans, seen):
        sizes[span] += counts
    ends = _running(sizes)
    out = np.empty(ends[-1], np.int32)
    next_place = ends[:-1].copy()
    moves = []
    for (a, b), span, counts in zip(ranges, spans, seen):
        moves.append((a, b, next_place[span].copy()))
        next_place[span] += counts
    _run(move, moves)
    return out, ends


def threads() -> int:
    """The number of threads Numba would use: its settings, or one for each core this process may use."""
    # get_num_threads starts Numba's own threads, which a fork does not survive. Asking first whether
    # they run honours set_num_threads without starting them.
    if getattr(parallel, "_is_initialized", False):
        return int(numba.get_num_threads())
    return int(numba.config.NUMBA_NUM_THREADS)


def _rows(rows: NDArray | None) -> tuple[NDArray, bool]:
    return (_NO_ROWS, True) if rows is None else (rows, False)


def _running(sizes: Sequence[int] | NDArray) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(sizes, np.int64))])


def _ranges(n: int, work: int) -> list[tuple[int, int]]:
    """Ranges for the threads: four each, so that one that is held up does not hold up the others."""
    crew = threads()
    pieces = 1 if crew == 1 or work < ALONE else min(n, 4 * crew)
    edges = [n * k // pieces for k in range(pieces + 1)]
    return list(pairwise(edges))


def _run(work: Callable[..., Any], tasks: Sequence[tuple]) -> list[Any]:
    """Answer every task; the calling thread takes its share, so that two cores need one more thread."""
    answers: list[Any] = [None] * len(tasks)
    waiting = deque(range(len(tasks)))

    def take() -> None:
        while True:
            try:
                i = waiting.popleft()
            except IndexError:
                return
            answers[i] = work(*tasks[i])

    if len(tasks) < 2:
        take()
        return answers
    with ThreadPoolExecutor(threads()) as pool:
        others = [pool.submit(take) for _ in range(min(threads(), len(tasks)) - 1)]
        take()
        for other in others:
            other.result()
    return answers
