"""The other end of the pipe, with a stand-in for diffprivlib."""

import io
import json
import sys
from types import SimpleNamespace

import numpy as np

from diffprivlib_env import worker


class StandIn:
    """Predicts the last label that it was shown."""

    def __init__(self, trees=1, **public):
        assert public["bounds"] == (0.0, 1.0)
        self.trees = trees

    def fit(self, X, y):
        votes = np.eye(2)[y[-1]][None]
        self.tree_ = SimpleNamespace(predict=lambda probe: votes[: len(probe)])
        self.estimators_ = [self] * self.trees
        return self


def test_every_line_is_a_fit_and_gives_a_line_of_labels(monkeypatch, capsys):
    models = SimpleNamespace(DecisionTreeClassifier=StandIn, RandomForestClassifier=StandIn)
    monkeypatch.setitem(sys.modules, "diffprivlib", SimpleNamespace(models=models))
    monkeypatch.setitem(sys.modules, "diffprivlib.models", models)
    task = {"X": [[0.0], [0.0]], "y": [0, 1], "epsilon": 1.0, "trees": 3}
    lines = [json.dumps(task | {"model": "tree"}), json.dumps(task | {"model": "forest", "y": [1, 0]})]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    worker.main()
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [{"labels": [1]}, {"labels": [0] * 3}]
