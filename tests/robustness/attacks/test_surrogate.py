import numpy as np

from privet.robustness.attacks.surrogate import weak_leaves


def test_leaves_come_with_the_smallest_lead_first():
    X = np.repeat([0.0, 1.0, 2.0], [30, 20, 40])[:, None]
    y = np.array(["a"] * 25 + ["b"] * 5 + ["b"] * 11 + ["a"] * 9 + ["a"] * 40)
    leaves = weak_leaves(X, y)
    assert [leaf.lead for leaf in leaves] == [2, 20, 40]
    assert (leaves[0].label, leaves[0].rival, len(leaves[0].rows)) == ("b", "a", 20)
    assert leaves[2].rival == "b"  # the other class, although the leaf has none of it


def test_one_class_has_no_rival_but_itself():
    leaf = weak_leaves(np.zeros((4, 1)), np.array(["a"] * 4))[0]
    assert (leaf.label, leaf.rival, leaf.lead) == ("a", "a", 4)
