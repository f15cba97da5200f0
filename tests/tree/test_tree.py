"""The public tree computes what its rules say, however it was grown, simplified, saved or forged."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema, SchemaError
from privet.explain.text import rule_text, tree_text
from privet.questions.grid import public_grid
from privet.tree.growing import GrowingTree
from privet.tree.public_splits import public_splits
from privet.tree.tree import DEEPEST, Rule, Tree, TreeNode

SCHEMA = Schema(
    {
        "age": Numeric(0, 9, integer=True, missing=True),
        "pay": Numeric(-3, 3),
        "sex": Categorical(["f", "m"]),
        "town": Categorical(["a", "b", "c"], other=False),
    },
    classes=["no", "yes", "maybe"],
)
PAY_CUTS = (-2.0, -0.5, 0.0, 0.25, 1.0)


@st.composite
def rules(draw):
    feature = draw(st.integers(0, 3))
    n_children = draw(st.integers(2, 3))
    cuts = None
    if feature == 0:
        cuts = tuple(float(cut) for cut in sorted(draw(st.sets(st.integers(0, 8), min_size=0, max_size=3))))
        n_segments = len(cuts) + 2
    elif feature == 1:
        cuts = tuple(sorted(draw(st.sets(st.sampled_from(PAY_CUTS), max_size=3))))
        n_segments = len(cuts) + 1
    else:
        n_segments = 3
    part = draw(st.lists(st.integers(0, n_children - 1), min_size=n_segments, max_size=n_segments))
    return Rule(feature, cuts, bytes(part)), n_children


@st.composite
def trees(draw, counts=True):
    """Any tree over the schema: also with branches that nothing reaches and children that nothing is sent to."""
    tree = GrowingTree(SCHEMA)
    for _ in range(draw(st.integers(0, 10))):
        rule, n_children = draw(rules())
        tree.grow(draw(st.sampled_from(tree.leaves)), rule, n_children)
    for leaf in tree.leaves:
        tree.nodes[leaf].label = draw(st.integers(0, 2))
        if counts and draw(st.integers(0, 4)) == 0:
            tree.nodes[leaf].counts = tuple(draw(st.lists(st.integers(-5, 50), min_size=3, max_size=3)))
    return tree.as_grown()


def everything():
    """One record for every way in which rules of these tests can tell records apart."""
    ages = [-1.0, *np.arange(0, 10) + 0.0, 99.0, math.nan]
    pays = sorted([-9.0, *PAY_CUTS, *(cut + 0.01 for cut in PAY_CUTS), 9.0])
    grid = np.meshgrid(ages, pays, range(3), range(3), indexing="ij")
    return {f: axis.ravel() if f < 2 else axis.ravel().astype(np.uint8) for f, axis in enumerate(grid)}


EVERYTHING = everything()
N_EVERYTHING = len(EVERYTHING[0])


def naive_leaf(tree, row):
    i = 0
    while (rule := tree.nodes[i].rule) is not None:
        value = row[rule.feature]
        if rule.cuts is None:
            segment = int(value)
        elif math.isnan(value):
            segment = len(rule.cuts) + 1
        else:
            segment = sum(cut < value for cut in rule.cuts)
        i = tree.nodes[i].children[rule.part[segment]]
    return i


def answers(tree):
    """What the tree says about every record."""
    leaves = tree.apply(EVERYTHING, N_EVERYTHING)
    said = [(node.label, node.counts) for node in tree.nodes]
    return [said[leaf] for leaf in leaves]


@settings(max_examples=60, deadline=None)
@given(trees(), st.integers(0, N_EVERYTHING - 200))
def test_apply_equals_following_the_rules_row_by_row(tree, start):
    rows = slice(start, start + 200)
    columns = {f: column[rows] for f, column in EVERYTHING.items()}
    expected = [naive_leaf(tree, [column[i] for column in columns.values()]) for i in range(200)]
    assert tree.apply(columns, 200).tolist() == expected


@settings(max_examples=150, deadline=None)
@given(trees())
def test_a_simplified_tree_is_the_same_function_and_never_larger(tree):
    before = json.dumps(tree.to_dict())
    simple = tree.simplified()
    assert json.dumps(tree.to_dict()) == before
    assert answers(simple) == answers(tree)
    assert len(simple.nodes) <= len(tree.nodes)
    assert simple.depth <= tree.depth
    assert len(simple.simplified().nodes) == len(simple.nodes)
    Tree.from_dict(json.loads(json.dumps(simple.to_dict())), SCHEMA)
    for node in simple.nodes:
        leaves = [simple.nodes[child] for child in node.children]
        alike = len({(leaf.label, leaf.is_leaf, leaf.counts) for leaf in leaves}) == 1
        assert not leaves or not alike or not leaves[0].is_leaf or leaves[0].counts is not None


def test_branches_that_nothing_reaches_are_dropped():
    tree = GrowingTree(SCHEMA)
    low, high = tree.grow(0, Rule(1, (0.0,), bytes([0, 1])), 2)
    never, below = tree.grow(high, Rule(1, (-2.0,), bytes([0, 1])), 2)
    for leaf, label in ((low, 0), (never, 2), (below, 1)):
        tree.nodes[leaf].label = label
    simple = tree.finish()
    assert len(simple.nodes) == 3
    assert [simple.nodes[leaf].label for leaf in simple.leaves] == [0, 1]


def test_missing_values_keep_a_branch_reachable():
    tree = GrowingTree(SCHEMA)
    known, missing = tree.grow(0, Rule(0, (), bytes([0, 1])), 2)
    a, b = tree.grow(missing, Rule(0, (4.0,), bytes([0, 0, 1])), 2)
    tree.nodes[known].label, tree.nodes[a].label, tree.nodes[b].label = 0, 1, 2
    simple = tree.finish()
    assert [simple.nodes[leaf].label for leaf in simple.leaves] == [0, 2]


def test_leaves_with_counts_are_not_merged():
    tree = GrowingTree(SCHEMA)
    for leaf in tree.grow(0, Rule(1, (0.0,), bytes([0, 1])), 2):
        tree.nodes[leaf].label, tree.nodes[leaf].counts = 0, (leaf, 0, 0)
    assert len(tree.finish().nodes) == 3


def counted(*counts):
    """pay <= 0 or not, and on the right pay <= 1 or not: three leaves with these counts of each class."""
    tree = GrowingTree(SCHEMA)
    left, right = tree.grow(0, Rule(1, (0.0,), bytes([0, 1])), 2)
    for number, (label, own) in zip((left, *tree.grow(right, Rule(1, (1.0,), bytes([0, 1])), 2)), enumerate(counts)):
        tree.nodes[number].label, tree.nodes[number].counts = label, own
    return tree.finish()


@pytest.mark.parametrize(
    ("counts", "labels"),
    [
        (((90, 0, 0), (0, 50, 0), (0, 0, 40)), [0, 1, 2]),  # all large enough
        (((90, 0, 0), (0, 50, 0), (0, 0, 10)), [0, 1]),  # a small leaf's sibling stands for both
        (((4, 5, 0), (0, 50, 0), (0, 0, 40)), [1, 2]),  # a subtree takes the place of the split above it
        (((90, 0, 0), (0, 5, 0), (0, -40, 9)), [0]),  # as does a leaf that of a small subtree
        (((0, 0, 0), (0, 0, 0), (0, 0, 0)), [0, 1, 2]),  # nothing is known to be small
    ],
)
def test_the_larger_side_stands_for_a_side_with_few_counts(counts, labels):
    pruned = counted(*counts).without_small_leaves(0.1)
    assert [pruned.nodes[leaf].label for leaf in pruned.leaves] == labels
    assert Tree.from_dict(pruned.to_dict(), SCHEMA) == pruned


@settings(max_examples=150, deadline=None)
@given(trees())
def test_a_tree_survives_json(tree):
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict())), SCHEMA)
    assert again == tree


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40))
def test_a_rule_sends_values_where_its_split_sends_their_cells(number, max_cells):
    grid = public_grid(SCHEMA, max_cells)
    splits = public_splits(grid)
    split = splits.split(number % len(splits))
    rule = Rule.of(split, grid)
    cells = grid.features[split.feature]
    values = EVERYTHING[split.feature]
    if cells.cuts is None:
        numbers = values
    else:
        values = np.unique(np.concatenate([values, cells.cuts, cells.cuts + 1e-9]))
        if not cells.special:
            values = values[~np.isnan(values)]
        numbers = np.where(np.isnan(values), len(cells.cuts) + 1, np.searchsorted(cells.cuts, values))
        assert len(rule.cuts) <= 2
    assert rule.children(values).tolist() == [split.part[cell] for cell in numbers]


def test_walk_goes_from_parents_to_children_and_left_to_right():
    growing = GrowingTree(SCHEMA)
    left, right = growing.grow(0, Rule(1, (0.0,), bytes([0, 1])), 2)
    a, b = growing.grow(left, Rule(1, (-2.0,), bytes([0, 1])), 2)
    for leaf in growing.leaves:
        growing.nodes[leaf].label = 0
    tree = growing.as_grown()
    assert list(tree.walk()) == [(0, 0), (left, 1), (a, 2), (b, 2), (right, 1)]
    assert (tree.depth, tree.leaves, tree.features) == (2, [right, a, b], {1})


def test_a_leaf_answers_with_its_label_or_else_with_its_largest_count():
    assert TreeNode(label=2).answer == 2
    assert TreeNode(label=0, counts=(1, 5, 2)).answer == 0
    assert TreeNode(counts=(-1, -5, 2)).answer == 2
    assert TreeNode(rule=Rule(1, (), b"\0"), children=(1,)).answer is None


# -- trees from strangers ----------------------------------------------------------------------------------------


def chain(depth):
    """A tree that is one long branch."""
    nodes = []
    for level in range(depth):
        here = 2 * level
        nodes += [
            {"feature": "pay", "cuts": [0.5], "part": [0, 1], "children": [here + 1, here + 2]},
            {"label": level % 2},
        ]
    return {"nodes": [*nodes, {"label": 2}]}


def test_a_deep_tree_is_walked_simplified_and_printed_without_recursion():
    tree = Tree.from_dict(chain(DEEPEST), SCHEMA)
    assert tree.depth == DEEPEST
    assert answers(tree.simplified()) == answers(tree)
    assert len(tree_text(tree).splitlines()) == len(tree.nodes) - 1
    assert Tree.from_dict(tree.to_dict(), SCHEMA) == tree


@pytest.mark.parametrize("depth", [DEEPEST + 1, 10_000])
def test_a_tree_that_is_too_deep_is_refused(depth):
    with pytest.raises(SchemaError, match="deeper than 1000 levels"):
        Tree.from_dict(chain(depth), SCHEMA)


def inner(**changes):
    return {"feature": "pay", "cuts": [0.5], "part": [0, 1], "children": [1, 2]} | changes


FORGED = {
    "no table": [1, 2],
    "nothing": None,
    "text": "nodes",
    "no nodes": {},
    "empty": {"nodes": []},
    "nodes as text": {"nodes": "abc"},
    "nodes as a table": {"nodes": {"0": {"label": 1}}},
    "a node that is text": {"nodes": ["label"]},
    "a node that is a list": {"nodes": [["label"]]},
    "a leaf without anything": {"nodes": [{}]},
    "an orphan": {"nodes": [{"label": 0}, {"label": 1}]},
    "two parents": {"nodes": [inner(children=[1, 1]), {"label": 0}]},
    "a loop": {"nodes": [inner(children=[0, 1]), {"label": 0}]},
    "a parent below": {"nodes": [inner(), inner(children=[0, 3]), {"label": 0}, {"label": 1}]},
    "a child that is missing": {"nodes": [inner(children=[1, 7]), {"label": 0}]},
    "a child that is a fraction": {"nodes": [inner(children=[1.5, 2]), {"label": 0}, {"label": 1}]},
    "a child that is text": {"nodes": [inner(children=["1", "2"]), {"label": 0}, {"label": 1}]},
    "no children": {"nodes": [inner(children=[], part=[])]},
    "a part that is a size": {"nodes": [inner(part=10**12), {"label": 0}, {"label": 1}]},
    "a part beyond a byte": {"nodes": [inner(part=[0, 256]), {"label": 0}, {"label": 1}]},
    "a part without a child": {"nodes": [inner(part=[0, 2]), {"label": 0}, {"label": 1}]},
    "a negative part": {"nodes": [inner(part=[0, -1]), {"label": 0}, {"label": 1}]},
    "too few parts": {"nodes": [inner(part=[0]), {"label": 0}, {"label": 1}]},
    "cuts out of order": {"nodes": [inner(cuts=[1, 0], part=[0, 1, 0]), {"label": 0}, {"label": 1}]},
    "a cut that is no number": {"nodes": [inner(cuts=[math.nan]), {"label": 0}, {"label": 1}]},
    "an infinite cut": {"nodes": [inner(cuts=[math.inf]), {"label": 0}, {"label": 1}]},
    "a cut beyond floats": {"nodes": [inner(cuts=[10**400]), {"label": 0}, {"label": 1}]},
    "a cut that is text": {"nodes": [inner(cuts=["0.5"]), {"label": 0}, {"label": 1}]},
    "no cuts on a number": {"nodes": [inner(cuts=None), {"label": 0}, {"label": 1}]},
    "cuts on a category": {"nodes": [inner(feature="sex", part=[0, 1, 1]), {"label": 0}, {"label": 1}]},
    "an unknown feature": {"nodes": [inner(feature="shoe"), {"label": 0}, {"label": 1}]},
    "a feature that is a list": {"nodes": [inner(feature=[]), {"label": 0}, {"label": 1}]},
    "a feature by number": {"nodes": [inner(feature=1), {"label": 0}, {"label": 1}]},
    "an unknown label": {"nodes": [{"label": 3}]},
    "a negative label": {"nodes": [{"label": -1}]},
    "a label that is true": {"nodes": [{"label": True}]},
    "a label that is text": {"nodes": [{"label": "no"}]},
    "too few counts": {"nodes": [{"counts": [1, 2]}]},
    "a count that is a fraction": {"nodes": [{"counts": [1, 2, 0.5]}]},
    "a count beyond 64 bits": {"nodes": [{"counts": [1, 2, 2**63]}]},
    "counts as text": {"nodes": [{"counts": "123"}]},
    "an inner node with a label": {"nodes": [inner(label=0), {"label": 0}, {"label": 1}]},
    "an inner node with counts": {"nodes": [inner(counts=[1, 2, 3]), {"label": 0}, {"label": 1}]},
    "a leaf with a key that nothing reads": {"nodes": [{"label": 0, "records": 17}]},
    "an inner node with one": {"nodes": [inner(records=17), {"label": 0}, {"label": 1}]},
    "a leaf with half a rule": {"nodes": [{"label": 0, "cuts": [17]}]},
    "a weight of no value": {"nodes": [{"label": 0, "weight": 17}]},
    "a key beside the nodes": {"nodes": [{"label": 0}], "records": 17},
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
def test_a_forged_tree_is_refused(data):
    with pytest.raises(SchemaError) as error:
        Tree.from_dict(data, SCHEMA)
    assert error.value.__cause__ is None


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 5), st.integers(), st.floats(), st.text(max_size=3), st.just("pay")
)
anything = st.recursive(
    scalars,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.sampled_from(["nodes", "a"]), inside, max_size=2),
    max_leaves=8,
)
nodes = st.fixed_dictionaries(
    {},
    optional={
        "feature": st.sampled_from(["age", "pay", "sex", "town"]) | anything,
        "cuts": st.none() | st.lists(st.integers(0, 4), max_size=3) | anything,
        "part": st.lists(st.integers(0, 2), max_size=4) | anything,
        "children": st.lists(st.integers(0, 5), max_size=3) | anything,
        "label": st.integers(0, 2) | anything,
        "counts": st.lists(st.integers(-9, 9), min_size=3, max_size=3) | anything,
    },
)


@settings(max_examples=400, deadline=None)
@given(anything | st.fixed_dictionaries({"nodes": st.lists(nodes | anything, max_size=4)}))
@example({"nodes": [{"label": 0}]})
def test_any_json_is_a_valid_tree_or_a_schema_error(data):
    try:
        tree = Tree.from_dict(data, SCHEMA)
    except SchemaError:
        return
    answers(tree)
    tree_text(tree)
    assert answers(tree.simplified()) == answers(tree)
    assert Tree.from_dict(tree.to_dict(), SCHEMA) == tree


@settings(max_examples=200, deadline=None)
@given(trees(), st.data())
def test_a_tree_with_one_value_changed_is_valid_or_refused(tree, data):
    plain = json.loads(json.dumps(tree.to_dict()))
    node = data.draw(st.sampled_from(plain["nodes"]))
    key = data.draw(st.sampled_from(sorted(node)))
    if isinstance(node[key], list) and node[key] and data.draw(st.booleans()):
        node[key][data.draw(st.integers(0, len(node[key]) - 1))] = data.draw(scalars)
    else:
        node[key] = data.draw(anything)
    try:
        changed = Tree.from_dict(plain, SCHEMA)
    except SchemaError:
        return
    answers(changed)


# -- rules as text -----------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(trees())
def test_text_has_a_line_for_every_branch(tree):
    lines = tree_text(tree).splitlines()
    assert len(lines) == max(1, len(tree.nodes) - 1)
    depths = [depth for _, depth in tree.walk()][1:]
    assert [line.count("|   ") + 1 for line in lines] == depths or not depths


def test_rules_read_as_conditions():
    def both(feature, cuts, part):
        rule = Rule(feature, cuts, bytes(part))
        return [rule_text(rule, side, SCHEMA) for side in range(2)]

    assert both(1, (0.25,), [0, 1]) == ["pay <= 0.25", "pay > 0.25"]
    assert both(1, (-1.0, 2.0), [0, 1, 0]) == ["pay <= -1 or pay > 2", "-1 < pay <= 2"]
    assert both(0, (30.0,), [0, 1, 0]) == ["age <= 30 or age is missing", "age > 30"]
    assert both(0, (), [0, 1]) == ["age is known", "age is missing"]
    assert both(2, None, [0, 1, 1]) == ["sex is f", "sex is one of: m, any other value"]
    assert both(2, None, [1, 1, 0]) == ["sex is any other value", "sex is one of: f, m"]
    assert both(2, None, [0, 0, 0]) == ["sex is anything", "never"]
    assert both(3, None, [0, 1, 0]) == ["town is one of: a, c", "town is b"]
    assert both(1, (), [0]) == ["pay is known", "never"]


def test_large_whole_cuts_are_written_in_full():
    assert rule_text(Rule(1, (1234567.0,), bytes([0, 1])), 0, SCHEMA) == "pay <= 1234567"
