"""A forest is its trees: rows in their leaves, one size for all questions, whole or refused when read."""

import numpy as np
import pytest

from privet import Numeric, Schema, SchemaError
from privet.tree import forest
from privet.tree.forest import Forest
from privet.tree.growing import GrowingTree
from privet.tree.tree import Rule, Tree, TreeNode

SCHEMA = Schema({"x": Numeric(0, 9), "z": Numeric(0, 9)}, classes=["n", "y"])


def tree_of(*cuts):
    """A tree that parts x at each of these cuts, in turn: what is above the last one is its last leaf."""
    tree, end = GrowingTree(SCHEMA), 0
    for cut in cuts:
        left, end = tree.grow(end, Rule(0, (cut,), bytes([0, 1])), 2)
        tree.nodes[left].label = 0
    tree.nodes[end].label = 1
    return tree.as_grown()


TREES = (tree_of(), tree_of(2.0, 5.0), tree_of(7.0))
FOREST = Forest(SCHEMA, TREES)


def test_every_row_has_a_leaf_in_each_tree():
    columns = {0: np.array([1.0, 4.0, 6.0, 8.0])}
    assert FOREST.apply(columns, 4).tolist() == [[0, 1, 1], [0, 3, 1], [0, 4, 1], [0, 4, 2]]
    assert FOREST.apply(columns, 0).shape == (0, 3)


def test_its_nodes_are_those_of_all_trees_and_its_depth_that_of_the_deepest():
    assert FOREST.depth == 2
    assert [id(node) for node in FOREST.nodes] == [id(node) for tree in TREES for node in tree.nodes]
    assert [id(leaf) for leaf in FOREST.leaves] == [id(tree.nodes[i]) for tree in TREES for i in tree.leaves]


def test_a_forest_that_is_written_and_read_is_the_same():
    assert Forest.from_dict(FOREST.to_dict(), SCHEMA) == FOREST


@pytest.mark.parametrize(
    "data",
    [None, [], "trees", {}, {"trees": None}, {"trees": []}, {"trees": {"0": {}}}, FOREST.to_dict() | {"more": 1}],
)
def test_what_has_no_trees_is_refused(data):
    with pytest.raises(SchemaError, match="no list of trees"):
        Forest.from_dict(data, SCHEMA)


def test_a_forest_with_one_broken_tree_is_refused():
    broken = Forest(SCHEMA, (*TREES, Tree(SCHEMA, (TreeNode(label=2),)))).to_dict()
    with pytest.raises(SchemaError, match="not a whole tree"):
        Forest.from_dict(broken, SCHEMA)


def test_more_trees_than_are_sensible_are_refused(monkeypatch):
    monkeypatch.setattr(forest, "MOST_TREES", 2)
    with pytest.raises(SchemaError):
        Forest.from_dict(FOREST.to_dict(), SCHEMA)
