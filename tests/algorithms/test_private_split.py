"""What DP-TopDown asks: shares that add up exactly, scores whose caps are public, nothing for leaves too small."""

from fractions import Fraction

import numpy as np
import pytest

from privet import MemoryCurator, Numeric, PrivetError, Schema, SplittingClass, TopDownClassifier
from privet.algorithms.private_split import SoundSplit, selection_score, shares
from privet.privacy.scores import Entropy, Gini, RootGini
from privet.tree.frontier import End
from privet.tree.growing import GrowingTree

SCHEMA = Schema({"x": Numeric(0, 8)}, classes=["no", "yes"])


def test_shares_are_exact():
    assert shares("uniform", 3) == [Fraction(1, 3)] * 3
    assert shares("decay", 3) == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)]
    assert shares(lambda depth: 0.1 if depth < 3 else 0, 4) == [Fraction(1, 10)] * 2 + [0, 0]


def test_shares_that_are_meant_to_be_one_in_floats_are_one():
    assert sum(shares(lambda depth: (0.7, 0.2, 0.1)[depth - 1], 3)) == 1


@pytest.mark.parametrize("budget", ["even", None, lambda depth: 0.6, lambda depth: -0.1])
def test_shares_that_make_no_sense_are_refused(budget):
    with pytest.raises(PrivetError):
        shares(budget, 3)


def test_scores_are_capped_by_a_public_number():
    assert selection_score("gini", 10**9) == Gini()
    assert selection_score("entropy", 100) == Entropy(100)
    assert selection_score("entropy", 10**9) == Entropy(2**24)
    assert selection_score("root_gini", 10**9) == RootGini(2**22)


def test_a_leaf_that_weighs_too_little_or_has_no_budget_is_not_asked_about():
    model = TopDownClassifier(SCHEMA, epsilon=1, max_nodes=10, error=0.5, n_records=1000, max_depth=2)
    functions = SplittingClass(3).functions(SCHEMA)
    desk = MemoryCurator(np.arange(8.0)[:, None], ["no", "yes"] * 4, SCHEMA).open()
    split = SoundSplit(model, desk.curtain, functions, desk.curtain.root(), Fraction(1))
    tree, grid = GrowingTree(SCHEMA), functions.grid
    asked = {
        (weight, depth): bool(split._worth_asking(End(tree, 0, grid, weight=weight, depth=depth)))
        for weight in (0.04, 0.06)
        for depth in (0, 1, 2)
    }
    assert {case for case, worth in asked.items() if worth} == {(0.06, 0), (0.06, 1)}
    desk.close()
