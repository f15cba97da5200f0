"""Predictions for many rows: a table is cut into the cells that a model tells apart, and compiled loops look them up.

The answers are those of ``Tree.apply`` and ``Additive.scores``, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from privet.curators import kernels
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.schema import Categorical, Numeric
from privet.tree.additive import Additive, Term
from privet.tree.flat import Cuts, cuts_of, flat_tree
from privet.tree.forest import Forest
from privet.tree.tree import Tree

if TYPE_CHECKING:
    from privet.tables.table import Table

MANY = 20_000
"""From so many rows on it is worth the cutting."""

MOST_CELLS = 2**16
"""Cell numbers are at most two bytes wide."""


def fast_leaves(released: Tree | Forest, table: Table) -> np.ndarray | None:
    """The leaf of each row, of a forest in each tree; None for few rows, and where a table is to be read again."""
    trees = (released,) if isinstance(released, Tree) else released.trees
    cuts = cuts_of(trees)
    cells = _cells(table, cuts) if table.n_rows >= MANY else None
    if cells is None:
        return None
    leaves = [kernels.descend(cells, *flat_tree(tree, cuts)) for tree in trees]
    return leaves[0] if isinstance(released, Tree) else np.stack(leaves, axis=1)


def fast_scores(boosted: Additive, table: Table) -> np.ndarray | None:
    """The scores of each row, in units of one; None as above."""
    cells = _cells(table, boosted.cuts, order="F") if table.n_rows >= MANY else None
    if cells is None:
        return None
    scores = np.zeros((boosted.n_outputs, table.n_rows), dtype=np.int64)
    for own, terms in zip(scores, boosted.small_terms):
        values = np.zeros((len(terms), kernels.MOST_PARTS), dtype=np.int64)
        tables = [_table_of(term, cells.itemsize == 1, mine) for term, mine in zip(terms, values)]
        kernels.add_parts(cells.T, tables, values, own)
    return scores.T / GRADIENT_ONE


def _table_of(term: Term, narrow: bool, values: np.ndarray) -> kernels.Factors:
    """A term as a table; its values, one for each part, are written to ``values``."""
    if narrow and len(term.features) == 1:
        values[: len(term.stretches[0])] = term.values[term.stretches[0], 0]
        return [(term.features[0], kernels.EACH_CELL)]
    values[: term.values.size] = term.values.ravel()
    return kernels.table_of(term.features, [own.astype(np.uint8) for own in term.stretches], term.values.shape[:-1])


def _cells(table: Table, cuts: Cuts, order: Literal["C", "F"] = "C") -> np.ndarray | None:
    """The cell of each value; None where a value is none that the schema allows: whoever reads it again says which."""
    sizes = [_n_cells(feature, own) for feature, own in zip(table.schema.features.values(), cuts)]
    if max(sizes) > MOST_CELLS:
        return None
    cells = np.empty((table.n_rows, len(sizes)), np.uint8 if max(sizes) <= 256 else np.uint16, order)
    arrays = [None if own is None else np.array(own, dtype=np.float64) for own in cuts]
    missing = [isinstance(feature, Numeric) and feature.missing for feature in table.schema.features.values()]
    if table.matrix is not None:
        flags = kernels.cut_matrix(table.matrix, [own for own in arrays if own is not None], cells, missing)
        return None if flags.any() else cells
    for f, name in enumerate(table.schema.names):
        own = arrays[f]
        if own is None:
            cells[:, f] = table.codes(name)
        elif any(
            kernels.cut_column(values, own, cells[rows, f], missing[f]) for rows, values in table.numeric_pieces(name)
        ):
            return None
    return cells


def _n_cells(feature: Numeric | Categorical, cuts: Sequence[float] | None) -> int:
    return feature.n_codes if isinstance(feature, Categorical) else len(cuts or ()) + 1 + feature.missing
