"""The frontier: ends that know what reaches them, one question for a level of all trees, nothing paid for nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from listening import Listening
from privet import Categorical, MemoryCurator, Numeric, PrivetError, Schema
from privet.privacy.scores import Gini
from privet.questions.grid import public_grid
from privet.questions.split import Split
from privet.tree.frontier import End, Frontier
from privet.tree.growing import GrowingTree
from privet.tree.public_splits import public_splits

SCHEMA = Schema(
    {"n": Numeric(0, 5, integer=True, missing=True), "c": Categorical(["x", "y", "z"], other=False)}, classes=["a", "b"]
)
GRID = public_grid(SCHEMA)
SPLITS = public_splits(GRID)
CELLS = [np.arange(cells.n_cells) for cells in GRID.features]
VALUES = {0: np.array([0, 1, 2, 3, 4, 5, np.nan]), 1: np.arange(3, dtype=np.uint8)}  # of each cell


@st.composite
def splits(draw):
    f = draw(st.integers(0, 1))
    part = draw(st.lists(st.integers(0, 2), min_size=len(CELLS[f]), max_size=len(CELLS[f])))
    return Split(f, bytes(part))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(splits(), st.integers(0, 100)), max_size=5))
def test_a_cell_reaches_the_branch_that_the_tree_sends_it_to(grown):
    tree = GrowingTree(SCHEMA)
    ends = [End(tree, 0, GRID)]
    for split, which in grown:
        parent = ends.pop(which % len(ends))
        children = parent.children(split)
        assert len(children) == split.n_children
        ends += children
    assert sorted(end.number for end in ends) == tree.leaves
    for end in ends:
        end.leaf.label = 0
    tree = tree.as_grown()
    pairs = np.stack(np.meshgrid(*CELLS, indexing="ij"), axis=-1).reshape(-1, 2)
    leaf = tree.apply({f: VALUES[f][pairs[:, f]] for f in VALUES}, len(pairs))
    for end in ends:
        inside = end.reachable[pairs[:, 0]] & end.reachable[GRID.offsets[1] + pairs[:, 1]]
        assert inside.tolist() == (leaf == end.number).tolist()


@settings(max_examples=30, deadline=None)
@given(splits())
def test_candidates_are_the_splits_that_part_what_reaches_an_end(split):
    _, desk = opened()
    start = Frontier.sprout(desk.curtain, [desk.root()], GRID)
    grown = start.split(dict.fromkeys(start, split))
    assert len(grown) == split.n_children
    for node, options in grown.candidates(SPLITS).items():
        assert options.indices.tolist() == np.flatnonzero(SPLITS.allowed_within(grown[node].reachable)).tolist()
        assert options.n_classes == 2
        assert grown[node].used == {split.feature}
        assert grown[node].is_reached == (grown[node].part in split.part)
    assert [len(labels) for labels in start.candidates(None, labelled=True, stop=True).values()] == [2]


def opened():
    """A curator, with a desk of it, of twelve records of each pair of values, whose class is told by the category."""
    rows = [[n, c] for n in range(6) for c in "xyz"] * 12
    curator = Listening(np.array(rows, dtype=object), ["a" if c == "x" else "b" for _, c in rows], SCHEMA)
    desk = curator.open()
    desk.grid(GRID)
    return curator, desk


def test_the_trees_of_a_level_are_asked_about_at_once():
    """Without a mistake but for a chance below exp(-20): every tree is split by what tells the classes."""
    curator, desk = opened()
    frontier = Frontier.sprout(desk.curtain, desk.copies(desk.root(), 3), GRID)
    for n_nodes in (3, 6):
        frontier = frontier.grow(SPLITS, Gini(), Fraction(100))
        assert len(curator.choices[-1].candidates) == n_nodes
    assert len(curator.choices) == 2
    for own in frontier.by_tree():
        (tree,) = own.trees
        assert tree.nodes[0].rule.feature == 1
        assert sorted(end.number for end in own.values()) == tree.leaves
    assert [node for own in frontier.by_tree() for node in own] == list(frontier)


def test_a_branch_that_nothing_parts_asks_nothing_and_keeps_its_budget():
    """One value, and a feature of two: after one split there is nothing left to part."""
    schema = Schema({"n": Numeric(0, 0), "c": Categorical(["x", "y"], other=False)}, classes=["a", "b"])
    curator = Listening(np.array([[0, "x"], [0, "y"]], dtype=object), ["a", "b"], schema)
    grid, desk = public_grid(schema), curator.open()
    desk.grid(grid)
    frontier = Frontier.sprout(desk.curtain, [desk.root(Fraction(1))], grid)
    frontier = frontier.grow(public_splits(grid), Gini(), Fraction(1))
    assert [end.saved for end in frontier.values()] == [0, 0]
    for saved in (1, 2):  # the root may spend 1: more would be refused
        after = frontier.grow(public_splits(grid), Gini(), Fraction(1))
        assert list(after) == list(frontier)
        assert [end.saved for end in after.values()] == [saved, saved]
        assert set(after.with_saved(Fraction(3)).values()) == {3 + saved}
        frontier = after
    assert len(curator.choices) == 1
    assert len(frontier.trees[0].nodes) == 3


def test_ends_that_are_not_split_stop_and_are_still_ends():
    _, desk = opened()
    frontier = Frontier.sprout(desk.curtain, [desk.root()], GRID)
    frontier = frontier.split(dict.fromkeys(frontier, Split(1, bytes([0, 1, 2]))))
    first, *rest = frontier
    grown = frontier.split({first: Split(0, bytes([0, 0, 0, 1, 1, 1, 1]))})
    assert list(grown.ends) == [*rest, *grown]
    assert [end.depth for end in grown.ends.values()] == [1, 1, 2, 2]


def test_nodes_name_the_scope_that_pays_for_them():
    _, desk = opened()
    frontier = Frontier.sprout(desk.curtain, [desk.root()], GRID)
    frontier = frontier.split(dict.fromkeys(frontier, Split(1, bytes([0, 1, 1]))))
    frontier.label(Fraction(1))
    (tree,) = frontier.finish()
    labelled = {event.scope for event in desk.events}
    assert {tree.nodes[leaf].scope for leaf in tree.leaves} <= labelled | {tree.nodes[0].scope}


def test_splits_of_another_grid_are_refused():
    curtain = MemoryCurator([[0, "x"]], ["a"], SCHEMA).open().curtain
    frontier = Frontier.sprout(curtain, [curtain.root()], GRID)
    with pytest.raises(PrivetError, match="another grid"):
        frontier.candidates(public_splits(public_grid(SCHEMA, 3)))


def test_a_tree_with_a_leaf_that_says_nothing_cannot_be_finished():
    _, desk = opened()
    frontier = Frontier.sprout(desk.curtain, [desk.root()], GRID)
    with pytest.raises(PrivetError, match="not finished"):
        frontier.finish()
