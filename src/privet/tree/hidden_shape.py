"""The shapes that schemas give hidden trees."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from privet.questions.grid import Cells, even_grid
from privet.questions.multiway import Multiway
from privet.questions.shape import Shape
from privet.questions.split import Split
from privet.questions.splits import Splits
from privet.schema import Categorical, Numeric, Schema
from privet.tree.public_splits import one_feature_splits

BRANCHES = ("values", "thresholds")


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
