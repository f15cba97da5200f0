"""The record that tilts a law most, compared with all records where the law is known."""

from fractions import Fraction

import numpy as np
import pandas as pd

from exact_learners import KINDS, POINTS, SCHEMA, ExactLearner, guaranteed
from privet import PrivateTreeClassifier
from privet.robustness import Pure
from privet.robustness.attacks.tilt import Tilt
from privet.robustness.probe import Probe

COUNTS = (6, 1, 5, 2, 2, 5, 1, 6)
TRUTH = np.array(["n", "n", "y", "y"])
POINT = np.array([POINTS[i] for (i, _), n in zip(KINDS, COUNTS) for _ in range(n)], dtype=object)
LABEL = np.array([label for (_, label), n in zip(KINDS, COUNTS) for _ in range(n)])
EPSILON, BUDGET = 0.3, 8


def added(poisoned):
    """How many records of each kind are new."""
    new = [(*row, label) for row, label in zip(poisoned.X[len(LABEL) :], poisoned.y[len(LABEL) :])]
    return tuple(sum(own == (*POINTS[i], label) for own in new) for i, label in KINDS)


def test_of_one_split_no_record_lowers_the_exact_accuracy_more():
    exact = ExactLearner(PrivateTreeClassifier(epsilon=EPSILON, max_depth=1))
    each = [exact.accuracy((*COUNTS[:i], COUNTS[i] + BUDGET, *COUNTS[i + 1 :]), TRUTH) for i in range(len(COUNTS))]
    tree = PrivateTreeClassifier(SCHEMA, epsilon=EPSILON, max_depth=1)
    found = Tilt(tree, Probe(POINTS, TRUTH), runs=400, steps=1).poison(POINT, LABEL, BUDGET, np.random.default_rng(0))
    left = exact.accuracy(tuple(np.add(COUNTS, added(found))), TRUTH)
    assert found.distance == sum(added(found)) == BUDGET
    assert left < exact.accuracy(COUNTS, TRUTH) - 0.1
    assert left < min(each) + 0.005
    assert left >= guaranteed(*exact.accuracies(COUNTS, TRUTH), Pure(Fraction(3, 10)), BUDGET)


def test_the_record_is_made_of_several_rows():
    """Each of two features alone gives a good split away: the record that spoils both is none of the rows."""
    x = np.repeat([[0, 0], [1, 1]], 20, axis=0)
    frame, y = pd.DataFrame(x, columns=["s", "t"]), np.repeat(["n", "y"], 20)
    frame = frame.replace({0: "a", 1: "b"})
    tree = PrivateTreeClassifier(SCHEMA, epsilon=0.2, max_depth=1)
    found = Tilt(tree, Probe(POINTS, TRUTH), runs=200, steps=1).poison(frame, y, 5, np.random.default_rng(0))
    made = found.X.iloc[len(y) :].drop_duplicates().to_numpy().tolist()
    assert len(made) == 1
    assert made[0] in (["a", "b"], ["b", "a"])


def test_every_step_is_spent():
    tree = PrivateTreeClassifier(SCHEMA, epsilon=EPSILON, max_depth=1)
    found = Tilt(tree, Probe(POINTS, TRUTH), runs=5, steps=3).poison(POINT, LABEL, 7, np.random.default_rng(0))
    assert found.distance == sum(added(found)) == 7
