"""Backdoors: what is planted, and what is asked later."""

import numpy as np
import pandas as pd
import pytest

from privet.errors import PrivetError
from privet.robustness.attacks.backdoor import Backdoor

X = pd.DataFrame({"v": [1.0, 2.0, 3.0, 4.0], "t": [0, 0, 0, 0]})
Y = np.array(["no", "no", "no", "yes"])
DOOR = Backdoor({"t": 1}, "yes")


def test_copies_of_other_classes_get_the_trigger_and_the_target():
    poisoned = DOOR.poison(X, Y, 2, np.random.default_rng(0))
    assert poisoned.distance == 2
    assert len(poisoned.X) == len(poisoned.y) == 6
    assert poisoned.X["t"].tolist() == [0, 0, 0, 0, 1, 1]
    assert set(poisoned.X["v"][4:]) < {1.0, 2.0, 3.0}
    assert poisoned.y[4:].tolist() == ["yes", "yes"]
    assert len(DOOR.poison(X, Y, 10, np.random.default_rng(0)).y) == 14  # more than there are: drawn again


def test_only_records_of_other_classes_are_asked_about():
    probe = DOOR.probe(X, Y)
    assert probe.X["t"].tolist() == [1, 1, 1]
    assert probe.right(np.array(["no", "yes", "no"])).tolist() == [True, False, True]


def test_a_target_that_is_longer_than_all_labels_is_asked_about_whole():
    """Of an array of short texts NumPy makes short texts: "ye" would never be predicted, and no backdoor ever work."""
    probe = DOOR.probe(X, np.array(["no"] * 4))
    assert probe.right(np.array(["no", "yes", "no", "no"])).tolist() == [True, False, True, True]


def test_nothing_to_turn_is_an_error():
    with pytest.raises(PrivetError, match="nothing to turn"):
        DOOR.poison(X, np.array(["yes"] * 4), 1, np.random.default_rng(0))
    with pytest.raises(PrivetError, match="nothing to turn"):
        DOOR.probe(X, np.array(["yes"] * 4))
