import numpy as np
import pandas as pd
import pytest

from privet.robustness.attacks.label_flips import LabelFlips

X = pd.DataFrame({"v": np.repeat([0.0, 1.0], 50), "c": ["x", "y"] * 50})
Y = np.array(["a"] * 30 + ["b"] * 20 + ["b"] * 45 + ["a"] * 5)


@pytest.mark.parametrize("budget", [1, 2, 13, 60, 199])
def test_a_flip_counts_twice_and_the_budget_is_kept(budget):
    poisoned = LabelFlips().poison(X, Y, budget, np.random.default_rng(0))
    flips = (poisoned.y != Y).sum()
    assert poisoned.distance == 2 * flips == 2 * (budget // 2)
    assert poisoned.X is X


def test_the_weakest_leaf_is_turned_first():
    flipped = LabelFlips().poison(X, Y, 12, np.random.default_rng(0)).y
    assert (flipped[:50] == "b").sum() > (flipped[:50] == "a").sum() - 1
    assert (flipped[50:] == Y[50:]).all()
