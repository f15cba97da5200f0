"""The shape of a hidden tree: all that is public about it, and so all that its transcripts may depend on.

Every inner node has the same number of children and chooses among the same list of splits, so that a tree of some depth
always looks alike from outside (paper 003, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privet.questions.candidates import Split, Splits
from privet.questions.grid import Cells, Grid, even_grid
from privet.questions.multiway import Multiway
from privet.schema import Categorical, Numeric, Schema
from privet.tree.public_splits import one_feature_splits

BRANCHES = ("values", "thresholds")


@dataclass(frozen=True, eq=False)
class Shape:
    """The cells, the list of splits, and how many children each of them has.

    ``Multiway`` splits are attributes, one for each feature, and no attribute is chosen twice on a path. ``Splits`` are
    binary and may be.
    """

    grid: Grid
    splits: Multiway | Splits
    width: int

    @property
    def once(self) -> bool:
        """Whether what was chosen is no candidate any more further down."""
        return isinstance(self.splits, Multiway)

    def unused(self, used: frozenset[int]) -> np.ndarray:
        """Which splits a node may choose: of attributes those that were not, of binary splits all. That one cannot part
        a node is no reason to leave it out, because on shares nobody knows which node that is."""
        if isinstance(self.splits, Multiway):
            return np.array([split.feature not in used for split in self.splits.splits])
        return np.ones(len(self.splits), dtype=bool)


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
    return Shape(grid, splits, width)


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
