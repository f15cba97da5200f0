"""Hidden trees: one server's shares of the choices and labels of trees whose shape is public, alone or as a forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from privet.curators.routing import child_of, members_of_children
from privet.errors import PrivetError
from privet.privacy.joint import JointMechanisms
from privet.questions.shape import Shape
from privet.schema import Schema
from privet.shares.engine import Engine, Secret


@dataclass(frozen=True, eq=False)
class HiddenTree:
    """``levels``: for every level one 1 among the splits for each node, (nodes, splits), all zeros where a node's rows
    go to the last child. ``labels``: one 1 among the classes for each leaf, (leaves, classes).
    """

    schema: Schema
    shape: Shape
    levels: tuple[Secret, ...]
    labels: Secret

    @property
    def depth(self) -> int:
        return len(self.levels)

    def predict(self, engine: Engine, cells: Secret) -> Secret:
        """Shares of each query's class, (queries, classes): Algorithm 4, all queries at once.

        ``cells``: one 1 for each feature, (flat cells, queries). Three multiplications for each level but the last,
        which has four; what they are depends on the shape and the number of queries alone.
        """
        queries, classes = cells.shape[1], self.labels.shape[1]
        members = engine.constant(np.ones((1, queries), dtype=np.int64))
        for choices in self.levels[:-1]:
            members = members_of_children(engine, members, child_of(engine, self.shape, choices, members, cells))
        goes = child_of(engine, self.shape, self.levels[-1], members, cells)
        # The last level's leaves are not built: first what each child of a query's node says, then which child it is.
        ways = self.shape.width
        says = self.labels.reshape(members.shape[0], ways * classes).transpose(1, 0) @ members
        says = says.reshape(ways, classes, queries)
        last = says[ways - 1]
        first = says[: ways - 1] - last.reshape(1, classes, queries)
        return (engine.dot(first, goes.reshape(ways - 1, 1, queries), 0) + last).transpose(1, 0)

    def apply(self, *args: Any) -> NoReturn:
        raise PrivetError("This tree is hidden: it is asked on the servers that hold it (privet mpc predict).")

    to_dict = apply


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
