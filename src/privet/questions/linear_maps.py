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


@lru_cache(maxsize=4096)
def merging(fine: Split, coarse: Split) -> np.ndarray | None:
    """Which part of ``coarse`` each part of ``fine`` lies in, of the same feature; None where one lies in several."""
    if fine.feature != coarse.feature:
        return None
    into = np.zeros(fine.n_children, dtype=np.int64)
    into[fine.parts] = coarse.parts
    return into if (into[fine.parts] == coarse.parts).all() else None


def refines(block: Product, table: Product) -> bool:
    """Whether each part of a block lies in one part of a table."""
    of_feature = {split.feature: split for split in block.factors}
    return all(
        split.feature in of_feature and merging(of_feature[split.feature], split) is not None for split in table.factors
    )


def merged(sums: np.ndarray, block: Product, table: Product) -> np.ndarray:
    """Sums over a table's parts, of (parts, numbers), from those over the parts of a block that refines it."""
    of_feature = {split.feature: split for split in block.factors}
    into = {split.feature: merging(of_feature[split.feature], split) for split in table.factors}
    shape = tuple(split.n_children for split in block.factors)
    left_out = tuple(k for k, split in enumerate(block.factors) if split.feature not in into)
    found = sums.reshape(*shape, sums.shape[1]).sum(axis=left_out)
    for k, split in enumerate(table.factors):
        if split is not of_feature[split.feature]:
            coarser = np.zeros((*found.shape[:k], split.n_children, *found.shape[k + 1 :]), dtype=np.int64)
            np.add.at(np.moveaxis(coarser, k, 0), into[split.feature], np.moveaxis(found, k, 0))  # type: ignore[arg-type]
            found = coarser
    return found.reshape(table.n_children, sums.shape[1])


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
