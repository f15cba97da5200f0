"""Blocks are added and removed, and counted."""

import numpy as np

from privet.robustness.attacks.plan import PoisonBlock, applied, copies
from privet.robustness.attacks.surrogate import weak_leaves

X = np.array([[0.0, 10.0], [1.0, 11.0], [2.0, 12.0], [3.0, 13.0]])
Y = np.array(["n", "n", "n", "y"])


def test_blocks_are_added_and_removed():
    leaf = weak_leaves(X, Y)[0]
    there = int((Y[leaf.rows] == leaf.label).sum())
    plan = (PoisonBlock(leaf.label, 10**6, leaf=leaf), copies(X, 0, "y", 3), PoisonBlock("n", 2, made_of=(1, 3)))
    found = applied(X, Y, plan)
    assert found.distance == there + 5
    assert len(found.y) == len(Y) - there + 5
    assert found.y[-5:].tolist() == ["y", "y", "y", "n", "n"]
    assert found.X[-5:].tolist() == [[0, 10]] * 3 + [[1, 13]] * 2


def test_a_plan_without_records_changes_nothing():
    for plan in ((), (copies(X, 0, "y", 0),)):
        found = applied(X, Y, plan)
        assert (found.X.tolist(), found.y.tolist(), found.distance) == (X.tolist(), Y.tolist(), 0)
