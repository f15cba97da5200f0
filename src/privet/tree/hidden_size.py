"""How large a hidden training or a request may be: by public sizes, and so known before anything is spent."""

from __future__ import annotations

from privet.errors import PrivetError
from privet.questions.shape import Shape

MOST_NUMBERS = 2**27
"""So many numbers on shares, of the largest kind at a time: 1 GiB on each server, modulo 2^64 twice that, and while
they are multiplied a few times as much. Adult's 32,651 rows at depth 5 with 7 values are 78 million."""

MOST_QUERIES = 2**20
"""Of one request, however small the tree; more are asked one request after the other."""

NOISE = 64
"""At most so many digits are drawn for each candidate's noise."""


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
