"""What a peer is asked for, with a stand-in for its library."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from peers_env import worker


@pytest.mark.parametrize("target", [None, [0.0, 10.0]])
@pytest.mark.parametrize("n", [100, 10_000])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 40.0])
def test_dp_xgboosts_trees_cost_epsilon_together_and_each_can_split(monkeypatch, epsilon, n, target):
    asked = {}
    stand_in = SimpleNamespace(
        DMatrix=lambda *cells, **ranges: cells, train=lambda options, records, rounds: asked.update(options, n=rounds)
    )
    monkeypatch.setitem(sys.modules, "dp_xgboost", stand_in)
    monkeypatch.setattr(worker.time, "sleep", lambda seconds: None)
    task = {"epsilon": epsilon, "seed": 0, "target": target, "categories": [None], "ranges": [[0, 1]]}
    worker.dp_xgboost(task, np.zeros((n, 1)), np.zeros(n))
    charged = np.log1p(asked["subsample"] * np.expm1(asked["dp_epsilon_per_tree"]))
    assert asked["n"] * charged == pytest.approx(epsilon)
    assert 1 <= asked["n"] <= 50
    weight = asked["subsample"] * n * (0.25 if target is None else 1.0)
    assert 2 * asked["min_child_weight"] <= weight
