import numpy as np
import pytest

from privet.robustness.attacks.removal import TargetedRemoval

X = np.repeat([0.0, 1.0], 50)[:, None]
Y = np.array(["a"] * 30 + ["b"] * 20 + ["b"] * 45 + ["a"] * 5)


@pytest.mark.parametrize("budget", [1, 11, 60])
def test_as_many_are_gone_as_may_go(budget):
    poisoned = TargetedRemoval().poison(X, Y, budget, np.random.default_rng(0))
    assert poisoned.distance == budget
    assert len(poisoned.y) == len(poisoned.X) == 100 - budget


def test_those_that_carry_the_weakest_leaf_go_first():
    poisoned = TargetedRemoval().poison(X, Y, 11, np.random.default_rng(0))
    assert (poisoned.y[poisoned.X[:, 0] == 0] == "a").sum() == 19
