"""A growing tree can be written to; a finished one says something at every leaf and cannot be changed."""

from dataclasses import FrozenInstanceError

import pytest

from privet import Numeric, PrivetError, Schema
from privet.tree.growing import GrowingTree
from privet.tree.tree import Rule, Tree

SCHEMA = Schema({"x": Numeric(0, 9)}, classes=["n", "y"])
HALVES = Rule(0, (4.0,), bytes([0, 1]))


def grown(*labels, **said):
    tree = GrowingTree(SCHEMA)
    tree.nodes[0].scope = "/fit0:0"
    for leaf, label in zip(tree.grow(0, HALVES, 2, **said), labels):
        tree.nodes[leaf].label = label
    return tree


def test_a_leaf_that_says_nothing_cannot_be_finished():
    for tree in (GrowingTree(SCHEMA), grown(), grown(0)):
        with pytest.raises(PrivetError, match="not finished"):
            tree.finish()


@pytest.mark.parametrize("said", [{"label": 0}, {"counts": (3, -1)}, {"value": 0.5, "weight": 2.0}])
def test_a_label_counts_or_a_value_is_enough(said):
    tree = GrowingTree(SCHEMA)
    for name, own in said.items():
        setattr(tree.nodes[0], name, own)
    (leaf,) = tree.finish().nodes
    assert {name: getattr(leaf, name) for name in said} == said


def test_what_is_finished_cannot_be_changed():
    tree = grown(0, 1).finish()
    with pytest.raises(FrozenInstanceError):
        tree.nodes[1].label = 1
    with pytest.raises(FrozenInstanceError):
        tree.nodes = ()
    with pytest.raises(TypeError):
        tree.nodes[0] = tree.nodes[1]


def test_what_inner_nodes_were_told_is_left_out():
    tree = grown(0, 1)
    tree.nodes[0].counts = (5, 5)
    assert tree.finish().nodes[0].counts is None


def test_children_have_their_own_scopes_or_their_parent_s():
    assert [node.scope for node in grown(0, 1).as_grown().nodes] == ["/fit0:0"] * 3
    own = grown(0, 1, scopes=["/fit0:0/split0:0", "/fit0:0/split0:1"]).finish()
    assert [node.scope for node in own.nodes] == ["/fit0:0", "/fit0:0/split0:0", "/fit0:0/split0:1"]


def test_merged_leaves_keep_the_scope_of_their_parent():
    merged = grown(1, 1, scopes=["/fit0:0/split0:0", "/fit0:0/split0:1"]).finish()
    assert [(node.label, node.scope) for node in merged.nodes] == [(1, "/fit0:0")]


def test_rules_that_were_drawn_stay_marked():
    tree = grown(0, 1, asked=False).finish()
    assert [node.asked for node in tree.nodes] == [False, True, True]
    assert Tree.from_dict(tree.to_dict(), SCHEMA) == tree
