"""A search that improves, keeps its budget, and never beats a certificate."""

import numpy as np

from exact_learners import KINDS, POINTS, SCHEMA, ExactLearner
from privet import PrivateTreeClassifier
from privet.robustness.attacks.search import PoisonBlock, SearchedAttack, applied
from privet.robustness.attacks.surrogate import weak_leaves
from privet.robustness.probe import Probe

COUNTS = (6, 1, 5, 2, 2, 5, 1, 6)
X = np.array([POINTS[i] for (i, _), n in zip(KINDS, COUNTS) for _ in range(n)], dtype=object)
Y = np.array([label for (_, label), n in zip(KINDS, COUNTS) for _ in range(n)])
TRUTH = np.array(["n", "n", "y", "y"])


def counted(poisoned):
    rows = [tuple(row) for row in poisoned.X]
    return tuple(
        sum(row == tuple(POINTS[i]) and label == own for row, label in zip(rows, poisoned.y)) for i, own in KINDS
    )


def test_a_search_finds_an_attack_and_stays_within_its_budget():
    tree = PrivateTreeClassifier(SCHEMA, epsilon=1.5, max_depth=1)
    attack = SearchedAttack(tree, Probe(POINTS, TRUTH), minutes=1 / 120, runs=10)
    found = attack.poison(X, Y, 8, np.random.default_rng(0))
    assert found.distance <= 8
    exact = ExactLearner(PrivateTreeClassifier(epsilon=1.5, max_depth=1))
    assert exact.accuracy(counted(found), TRUTH) < exact.accuracy(COUNTS, TRUTH) - 0.03


def test_blocks_are_added_and_removed():
    leaves = weak_leaves(X, Y)
    rows = leaves[0].rows
    label = leaves[0].label
    there = int((Y[rows] == label).sum())
    plan = (PoisonBlock(label, 10**6, leaf=0), PoisonBlock("y", 3, row=0), PoisonBlock("n", 2, row=5))
    found = applied(X, Y, plan, leaves)
    assert found.distance == there + 5
    assert len(found.y) == len(Y) - there + 5
    assert found.y[-5:].tolist() == ["y", "y", "y", "n", "n"]
    assert applied(X, Y, (PoisonBlock("y", 0, row=0),), leaves).distance == 0
