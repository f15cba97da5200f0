"""The shapes that schemas give hidden trees, and how large a training or a request may be: public, so known before."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from privet.errors import PrivetError
from privet.questions.grid import Cells, even_grid
from privet.questions.multiway import Multiway
from privet.questions.shape import Shape
from privet.questions.split import Split
from privet.questions.splits import Splits
from privet.schema import Categorical, Numeric, Schema
from privet.tree.public_splits import one_feature_splits

BRANCHES = ("values", "thresholds")

MOST_NUMBERS = 2**27
"""So many numbers on shares, of the largest kind at a time: 1 GiB on each server, modulo 2^64 twice that, and while
they are multiplied a few times as much. Adult's 32,651 rows at depth 5 with 7 values are 78 million."""

MOST_QUERIES = 2**20
"""Of one request, however small the tree; more are asked one request after the other."""

NOISE = 64
"""At most so many digits are drawn for each candidate's noise."""


@lru_cache(maxsize=16)
def shape_of(schema: Schema, branches: str, n_values: int) -> Shape:
    """The shape that a schema gives.

    Numeric ranges are cut into at most ``n_values`` bins of one width. ``branches="values"``: an attribute has a child
    for each bin or category, and every one has as many children as the largest has; where categories are more than
    ``n_values``, the schema's groups have a child each or, where it lists none, neighbours in its order share one.
    ``"thresholds"``: two children, by a threshold between bins or one category against the rest.
    """
    grid = even_grid(schema, n_values)
    if branches == "thresholds":
        splits: Multiway | Splits = one_feature_splits(grid)
        width = 2
    else:
        parts = {
            f: groups(cells, n_values, schema.features[cells.name])
            for f, cells in enumerate(grid.features)
            if cells.n_cells > 1
        }
        width = max((max(part) + 1 for part in parts.values()), default=1)
        splits = Multiway.of(grid, (Split(f, part, width) for f, part in parts.items()))
    return Shape(splits, width)


def groups(cells: Cells, n_values: int, feature: Numeric | Categorical) -> bytes:
    """The child of each cell: its own or, of more categories than ``n_values``, that of its group.

    Missing and unlisted values keep a child of their own.
    """
    own = cells.n_cells - cells.special
    listed = np.arange(own)
    if own > n_values and isinstance(feature, Categorical) and feature.groups:
        group_of = {value: g for g, group in enumerate(feature.groups) for value in group}
        listed = np.array([group_of[value] for value in feature.values])
    n = int(listed.max()) + 1
    if n > n_values:
        listed = listed * n_values // n
    return np.append(listed, [listed.max() + 1] * cells.special).astype(np.uint8).tobytes()


def numbers(shape: Shape, depth: int, candidates: int, trees: int, rows: int) -> int:
    """How many numbers the last level of a training holds: for every node its rows, and the noise of its candidates."""
    return _nodes(shape, depth, trees) * (rows + NOISE * candidates)


def check_training(shape: Shape, depth: int, candidates: int, trees: int, rows: int) -> None:
    """Refuse a training of ``trees`` that grow together whose last level does not fit."""
    needed = numbers(shape, depth, candidates, trees, rows)
    if needed <= MOST_NUMBERS:
        return
    fits = max((d for d in range(1, depth) if numbers(shape, d, candidates, trees, rows) <= MOST_NUMBERS), default=0)
    shallower = f"max_depth={fits} fits" if fits else "no depth fits"
    raise PrivetError(
        f"A hidden model of depth {depth} is too large: {_nodes(shape, depth, trees):,} nodes on its last level by "
        f"{rows:,} rows. With as many rows {shallower}; branches='thresholds', fewer n_values or trees and fewer rows "
        "in the servers' files take less. Nothing was spent."
    )


def most_queries(shape: Shape, depth: int) -> int:
    """How many queries a model of this shape answers in one request."""
    return max(1, min(MOST_QUERIES, MOST_NUMBERS // (_nodes(shape, depth, 1) + shape.grid.n_cells)))


def check_queries_fit(queries: int, shape: Shape, depth: int) -> None:
    """Refuse a request that does not fit; one that is refused is not counted."""
    most = most_queries(shape, depth)
    if not 1 <= queries <= most:
        raise PrivetError(
            f"A request to this model has 1 to {most:,} queries, and these are {queries:,}. Ask in several requests."
        )


def _nodes(shape: Shape, depth: int, trees: int) -> int:
    """Nodes of the last level whose rows are routed; its children, the leaves, are never built."""
    return int(trees) * shape.width ** max(0, depth - 1)
