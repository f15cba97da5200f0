"""Hidden trees: one server's shares of the choices and labels of trees whose shape is public, alone or as a forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from privet.curators.routing import said_by, said_by_most
from privet.errors import PrivetError
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
        """Shares of each query's class, (queries, classes). ``cells``: one 1 for each feature, (cells, queries)."""
        return said_by(engine, self.shape, self.levels, self.labels, cells)

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
        """As of one tree: what most trees say, of several classes the first by name."""
        return said_by_most(engine, self.trees[0].shape, tables_of(self), self.schema.classes or (), cells)


def tables_of(model: HiddenTree | HiddenForest) -> list[tuple[tuple[Secret, ...], Secret]]:
    """The levels and the labels of each tree."""
    trees = model.trees if isinstance(model, HiddenForest) else (model,)
    return [(tree.levels, tree.labels) for tree in trees]


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
