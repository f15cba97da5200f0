"""A search that improves, keeps its budget, and never beats a certificate."""

import numpy as np

from exact_learners import KINDS, POINTS, SCHEMA, ExactLearner
from privet import PrivateTreeClassifier
from privet.robustness.attacks.search import SearchedAttack, _Moves
from privet.robustness.attacks.surrogate import weak_leaves
from privet.robustness.attacks.tilt import Tilt
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


def test_every_change_spends_the_budget():
    tilt = Tilt(PrivateTreeClassifier(SCHEMA, epsilon=1.5, max_depth=1), Probe(POINTS, TRUTH), runs=2)
    moves = _Moves(X, Y, weak_leaves(X, Y), 8, tilt, np.random.default_rng(0))
    plan = moves.first()[0]
    for _ in range(200):
        plan = moves.changed(plan)
        assert sum(block.n for block in plan) == 8
        assert all(block.n > 0 for block in plan)
