import numpy as np

from privet.robustness.attacks.attack import Poisoned


def test_poisoned_records_say_how_far_they_are_from_clean_ones():
    assert Poisoned(np.zeros((1, 1)), np.zeros(1), 3).distance == 3
