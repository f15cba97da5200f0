import numpy as np

from privet.robustness.probe import Probe, WithstoodProbe


def test_right_is_the_label_or_anything_but_the_target():
    labels, predicted = np.array(["a", "a"]), np.array(["a", "b"])
    assert Probe(None, labels).right(predicted).tolist() == [True, False]
    assert WithstoodProbe(None, labels).right(predicted).tolist() == [False, True]
