"""A forest: several public trees over one schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import SchemaError
from privet.schema import Schema
from privet.strict_json import as_list, only
from privet.tree.tree import Tree, TreeNode

MOST_TREES = 100_000
"""No forest in a file may have more trees."""


@dataclass(frozen=True)
class Forest:
    """Trees that predict together. Like a tree it is frozen, and holds nothing that was not released."""

    schema: Schema
    trees: tuple[Tree, ...]

    @property
    def nodes(self) -> list[TreeNode]:
        """All trees' nodes, tree by tree."""
        return [node for tree in self.trees for node in tree.nodes]

    @property
    def leaves(self) -> list[TreeNode]:
        return [node for node in self.nodes if node.is_leaf]

    @property
    def depth(self) -> int:
        return max(tree.depth for tree in self.trees)

    def apply(self, columns: Mapping[int, np.ndarray], n_rows: int) -> np.ndarray:
        """For each row, and each tree, the number of the leaf that it falls into."""
        return np.stack([tree.apply(columns, n_rows) for tree in self.trees], axis=1)

    def to_dict(self) -> dict[str, Any]:
        return {"trees": [tree.to_dict() for tree in self.trees]}

    @classmethod
    def from_dict(cls, data: Any, schema: Schema) -> Forest:
        """Read a forest: well-formed trees over the schema, or an error."""
        try:
            only(data, ("trees",))
            trees = as_list(data["trees"])
            if not 0 < len(trees) <= MOST_TREES:
                raise ValueError("too many trees, or none")
        except (KeyError, TypeError, ValueError):
            raise SchemaError("This is not a whole forest: it has no list of trees, or something else.") from None
        return cls(schema, tuple(Tree.from_dict(tree, schema) for tree in trees))
