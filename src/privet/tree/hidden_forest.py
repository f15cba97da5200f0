"""A hidden forest: hidden trees of one shape that vote, on shares to the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.privacy.joint import JointMechanisms
from privet.schema import Schema
from privet.shares.engine import Engine, Secret
from privet.tree.hidden_tree import HiddenTree


@dataclass(frozen=True, eq=False)
class HiddenForest:
    """``trees`` of one shape and depth. Like a hidden tree it is asked on the servers that hold it."""

    schema: Schema
    trees: tuple[HiddenTree, ...]

    apply = HiddenTree.apply
    to_dict = HiddenTree.apply

    @property
    def depth(self) -> int:
        return self.trees[0].depth

    def predict(self, engine: Engine, cells: Secret) -> Secret:
        """Shares of each query's class, (queries, classes): what most trees say, of several the first by name.

        How many trees said so is told to nobody.
        """
        votes = self.trees[0].predict(engine, cells)
        for tree in self.trees[1:]:
            votes = votes + tree.predict(engine, cells)
        n_classes = votes.shape[1]
        first_by_name = np.argsort(np.argsort(np.array(self.schema.classes)))
        keys = votes * n_classes + (n_classes - 1 - first_by_name)
        bits = ((len(self.trees) + 1) * n_classes).bit_length() + 2
        return JointMechanisms(engine).winners(keys, bits)


def trees_of(grown: HiddenTree, n_trees: int) -> list[HiddenTree]:
    """The trees that were grown together, level by level, from as many roots."""

    def of_tree(table: Secret, t: int) -> Secret:
        each = table.shape[0] // n_trees
        return table[t * each : (t + 1) * each]

    return [
        HiddenTree(
            grown.schema, grown.shape, tuple(of_tree(level, t) for level in grown.levels), of_tree(grown.labels, t)
        )
        for t in range(n_trees)
    ]
