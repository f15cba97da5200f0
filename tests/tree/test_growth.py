"""Growing: branches that know what reaches them, one question for a level of all trees, nothing paid for nothing."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from listening import Listening
from privet import Categorical, Numeric, Schema
from privet.privacy.scores import Gini
from privet.questions.candidates import Split
from privet.questions.grid import public_grid
from privet.tree.growth import branches, candidates_of, grow_level, grow_together, sprout
from privet.tree.planning import Level
from privet.tree.public_splits import public_splits
from privet.tree.tree import Tree

SCHEMA = Schema(
    {"n": Numeric(0, 5, integer=True, missing=True), "c": Categorical(["x", "y", "z"], other=False)}, classes=["a", "b"]
)
GRID = public_grid(SCHEMA)
SPLITS = public_splits(GRID)
CELLS = [np.arange(cells.n_cells) for cells in GRID.features]
VALUES = {0: np.array([0, 1, 2, 3, 4, 5, np.nan]), 1: np.arange(3, dtype=np.uint8)}  # of each cell
LEVEL = Level(Fraction(1), Gini())


@st.composite
def splits(draw):
    f = draw(st.integers(0, 1))
    part = draw(st.lists(st.integers(0, 2), min_size=len(CELLS[f]), max_size=len(CELLS[f])))
    return Split(f, bytes(part))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(splits(), st.integers(0, 100)), max_size=5))
def test_a_cell_reaches_the_branch_that_the_tree_sends_it_to(grown):
    tree = Tree(SCHEMA)
    ends = list(sprout(tree, None, GRID).values())
    for split, which in grown:
        parent = ends.pop(which % len(ends))
        children = branches(tree, parent, split, GRID)
        assert len(children) == split.n_children
        ends += children
    assert sorted(end.number for end in ends) == tree.leaves
    pairs = np.stack(np.meshgrid(*CELLS, indexing="ij"), axis=-1).reshape(-1, 2)
    leaf = tree.apply({f: VALUES[f][pairs[:, f]] for f in VALUES}, len(pairs))
    for end in ends:
        inside = end.reachable[pairs[:, 0]] & end.reachable[GRID.offsets[1] + pairs[:, 1]]
        assert inside.tolist() == (leaf == end.number).tolist()


@settings(max_examples=30, deadline=None)
@given(splits())
def test_candidates_are_the_splits_that_part_what_reaches_a_branch(split):
    tree = Tree(SCHEMA)
    (start,) = sprout(tree, None, GRID).values()
    for end in branches(tree, start, split, GRID):
        (options,) = candidates_of(tree, {None: end}, SPLITS).values()
        assert options.indices.tolist() == np.flatnonzero(SPLITS.allowed_within(end.reachable)).tolist()
        assert options.n_classes == 2
    assert len(candidates_of(tree, {None: start}, None, labelled=True, stop=True)[None]) == 2


def curator_of():
    """Twelve records of each pair of values, whose class is told by the category."""
    rows = [[n, c] for n in range(6) for c in "xyz"] * 12
    curator = Listening(np.array(rows, dtype=object), ["a" if c == "x" else "b" for _, c in rows], SCHEMA)
    curator.grid(GRID)
    return curator


def test_the_trees_of_a_level_are_asked_about_at_once():
    """Without a mistake but for a chance below exp(-20): every tree is split by what tells the classes."""
    curator = curator_of()
    trees = [Tree(SCHEMA) for _ in range(3)]
    starts = curator.copies(curator.root(), 3)
    level = Level(Fraction(100), Gini())
    frontiers = [sprout(tree, start, GRID) for tree, start in zip(trees, starts)]
    for n_nodes in (3, 6):
        frontiers = grow_together(curator, trees, frontiers, SPLITS, level)
        assert len(curator.choices[-1].candidates) == n_nodes
    assert len(curator.choices) == 2
    for tree, frontier in zip(trees, frontiers):
        assert tree.nodes[0].rule.feature == 1
        assert sorted(branch.number for branch in frontier.values()) == tree.leaves
    assert not {*frontiers[0]} & {*frontiers[1]}


def test_a_branch_that_nothing_parts_asks_nothing_and_keeps_its_budget():
    """One value, and a feature of two: after one split there is nothing left to part."""
    schema = Schema({"n": Numeric(0, 0), "c": Categorical(["x", "y"], other=False)}, classes=["a", "b"])
    curator = Listening(np.array([[0, "x"], [0, "y"]], dtype=object), ["a", "b"], schema)
    grid = public_grid(schema)
    curator.grid(grid)
    tree, root = Tree(schema), curator.root(Fraction(1))
    frontier = grow_level(curator, tree, sprout(tree, root, grid), public_splits(grid), LEVEL)
    assert [branch.saved for branch in frontier.values()] == [0, 0]
    for saved in (1, 2):  # the root may spend 1: more would be refused
        after = grow_level(curator, tree, frontier, public_splits(grid), LEVEL)
        assert list(after) == list(frontier)
        assert [branch.saved for branch in after.values()] == [saved, saved]
        frontier = after
    assert len(curator.choices) == 1
    assert len(tree.nodes) == 3
