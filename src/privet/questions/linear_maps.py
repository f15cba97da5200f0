"""Public linear maps of a histogram: what candidates' children and tables hold; and priors as points of a score.

They can be taken of exact counts, of counts that stream past, of masked sums and of secret shares alike.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import LeakError
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid
from privet.questions.multiway import Multiway
from privet.questions.split import Product, Split, Table
from privet.questions.splits import LARGEST_LOG_PRIOR, Splits
from privet.questions.word import frozen


def grouped(counts: np.ndarray, split: Split) -> np.ndarray:
    """Counts of a feature's cells, (..., cells, numbers), added up by part."""
    if split.keeps_cells:
        return counts
    grouped = np.zeros((*counts.shape[:-2], split.n_children, counts.shape[-1]), dtype=np.int64)
    np.add.at(np.moveaxis(grouped, -2, 0), split.parts, np.moveaxis(counts, -2, 0))
    return grouped


def children_of(options: Candidates, histogram: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The statistics of the children of every candidate split, empty ones where a split has fewer than others."""
    if isinstance(options.splits, Multiway):
        return options.splits.children(histogram)[options.indices]
    children = np.empty((len(options.indices), 2, len(totals)), dtype=np.int64)
    if isinstance(options.splits, Splits):
        np.take(left_counts(options.splits, histogram), options.indices, axis=0, out=children[:, 0])
        np.subtract(totals, children[:, 0], out=children[:, 1])
    return children


def tabled(histograms: np.ndarray, grid: Grid, tables: Sequence[Table]) -> np.ndarray:
    """The cells of tables, one table below the other, of histograms of (..., cells, numbers)."""
    offsets = grid.offsets
    splits = [own for own in tables if isinstance(own, Split)]
    if len(splits) < len(tables):
        raise LeakError("A product of features is no linear map of their histograms.")
    each = [grouped(histograms[..., offsets[own.feature] : offsets[own.feature + 1], :], own) for own in splits]
    return np.concatenate(each, axis=-2)


def parts_within(block: Product, table: Product) -> np.ndarray | None:
    """The part of a table that each part of a block lies in; None where a part lies in several."""
    of_feature = {split.feature: split for split in table.factors}
    if not of_feature.keys() <= {fine.feature for fine in block.factors}:  # most, where there are many
        return None
    maps = []
    for fine in block.factors:
        coarse = of_feature.pop(fine.feature, None)
        into = bytes(fine.n_children) if coarse is None else _merging(fine, coarse)
        if into is None:
            return None
        maps.append((into, 1 if coarse is None else coarse.n_children))
    return _numbered(tuple(maps))


def _merging(fine: Split, coarse: Split) -> bytes | None:
    """Which part of ``coarse`` each part of ``fine``, of the same feature, lies in; None where one lies in several."""
    if fine is coarse:
        return bytes(range(fine.n_children))
    into = np.zeros(fine.n_children, dtype=np.uint8)
    into[fine.parts] = coarse.parts
    return into.tobytes() if into[fine.parts].tobytes() == coarse.part else None


@lru_cache(maxsize=4096)
def _numbered(maps: tuple[tuple[bytes, int], ...]) -> np.ndarray:
    """The parts of a product, whose factors have so many, by the parts of a finer one that each factor is made of."""
    into = np.zeros(1, dtype=np.uint8)
    for own, n in maps:
        into = np.add.outer(
            into * np.uint8(n % 256), np.frombuffer(own, dtype=np.uint8)
        ).ravel()  # below 256 in the end
    return frozen(into)


def correct_counts(options: Candidates, children: Any) -> Iterator[Any]:
    """The correct counts of all labellings of every candidate split, neighbours of as many children together.

    ``children`` are (splits, children, classes, ...), the answers (splits, labellings, ...): of arrays or of shares.
    """
    n = len(options.indices)
    edges = [0, *(np.flatnonzero(np.diff(options.n_children)) + 1), n] if n else []
    for a, b in pairwise(edges):
        labels = options.labellings(int(options.n_children[a]))
        yield reduce(operator.add, (children[a:b, k][:, row] for k, row in enumerate(labels)))


def left_counts(splits: Splits, histogram: np.ndarray) -> np.ndarray:
    """The statistics of every split's left child: a public linear map of the node's histogram."""
    begin, end = splits.span  # all cells, or those of the one feature that the splits are of
    up_to = np.zeros((end - begin + 1, histogram.shape[1]), np.int64)
    np.cumsum(histogram[begin:end], axis=0, out=up_to[1:])
    runs = np.take(up_to, splits.last + 1 - begin, axis=0)
    runs -= np.take(up_to, splits.first - begin, axis=0)
    extra = splits.extra >= 0
    if extra.any():
        runs[extra] += histogram[splits.extra[extra]]
    offsets = splits.grid.offsets
    subsets = [masks.astype(np.int64) @ histogram[offsets[f] : offsets[f + 1]] for f, masks in splits.subsets]
    return np.concatenate([runs, *subsets]) if subsets else runs


def prior_points(log_prior: np.ndarray, scale: float) -> np.ndarray:
    """A public log-weight as points of a score whose noise has this scale; cut where it would not fit in 63 bits."""
    return np.rint(np.clip(log_prior, -LARGEST_LOG_PRIOR, LARGEST_LOG_PRIOR) * scale).astype(np.int64)
