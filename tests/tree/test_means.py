"""Means of leaves: inside the range, exact without noise, and drawn toward the parent's where records are few."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Numeric, Schema
from privet.privacy.fixed_point import TARGET_ONE
from privet.tree.growing import GrowingTree
from privet.tree.means import SHRINKAGE, set_means
from privet.tree.tree import Rule

LOW, HIGH = -10.0, 30.0
SCHEMA = Schema({"x": Numeric(0, 1)}, target=(LOW, HIGH))
HALVES = Rule(0, (0.5,), bytes([0, 1]))


@st.composite
def measured(draw, least=-3.0):
    """A tree of any shape, and two sums for each of its leaves, in records: how far above the low end, and below."""
    tree = GrowingTree(SCHEMA)
    for _ in range(draw(st.integers(0, 6))):
        tree.grow(draw(st.sampled_from(tree.leaves)), HALVES, 2)
    records = st.tuples(st.floats(least, 50), st.floats(least, 50)).map(np.array)
    return tree, {leaf: draw(records) for leaf in tree.leaves}


def set_from(tree, records, noise):
    set_means(tree, {leaf: pair * TARGET_ONE for leaf, pair in records.items()}, (LOW, HIGH), noise)
    return [tree.nodes[leaf].value for leaf in tree.leaves]


@settings(max_examples=30, deadline=None)
@given(measured(), st.floats(1e-6, 1e6))
def test_every_leaf_and_no_other_node_has_a_value_inside_the_range(case, noise):
    tree, records = case
    assert all(LOW <= value <= HIGH for value in set_from(tree, records, noise))
    assert all((node.value is None) == (node.weight is None) == (node.rule is not None) for node in tree.nodes)


@settings(max_examples=30, deadline=None)
@given(measured())
def test_a_sum_below_zero_counts_as_zero(case):
    tree, records = case
    values = set_from(tree, records, 1)
    weights = [tree.nodes[leaf].weight for leaf in tree.leaves]
    assert weights == pytest.approx([records[leaf].clip(0).sum() for leaf in tree.leaves])
    assert set_from(tree, {leaf: pair.clip(0) for leaf, pair in records.items()}, 1) == values


@settings(max_examples=30, deadline=None)
@given(measured(least=0.1))
def test_without_noise_a_value_is_its_leaf_s_mean(case):
    tree, records = case
    means = [LOW + (HIGH - LOW) * pair[0] / pair.sum() for pair in (records[leaf] for leaf in tree.leaves)]
    assert set_from(tree, records, 1e-12) == pytest.approx(means)


@settings(max_examples=30, deadline=None)
@given(measured(least=0.1))
def test_with_noise_alone_all_values_are_the_mean_of_all(case):
    tree, records = case
    above, below = sum(records.values())
    mean = LOW + (HIGH - LOW) * above / (above + below)
    assert set_from(tree, records, 1e12) == pytest.approx([mean] * len(records))


def test_each_node_is_given_some_records_with_its_parent_s_mean():
    """By hand: a root with a leaf of 30 records, and an inner node with leaves of 9 records and of none."""
    tree = GrowingTree(SCHEMA)
    full, inner = tree.grow(0, HALVES, 2)
    few, none = tree.grow(inner, HALVES, 2)
    records = {full: np.array([24.0, 6.0]), few: np.array([0.0, 9.0]), none: np.array([-2.0, 0.0])}
    set_from(tree, records, noise=0.2)
    given_ = SHRINKAGE * 0.2
    root = 24 / 39
    place = {full: (24 + given_ * root) / (30 + given_)}
    parent = given_ * root / (9 + given_)
    place |= {few: given_ * parent / (9 + given_), none: parent}  # without records of its own: the parent's
    for leaf, expected in place.items():
        assert tree.nodes[leaf].value == pytest.approx(LOW + (HIGH - LOW) * expected)


def test_no_records_at_all_are_the_middle():
    tree = GrowingTree(SCHEMA)
    leaves = tree.grow(0, HALVES, 2)
    assert set_from(tree, dict.fromkeys(leaves, np.array([-1.0, 0.0])), 1) == [10, 10]
