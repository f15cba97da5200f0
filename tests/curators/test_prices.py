"""Every question is priced by a lemma, and what has no proof has no price."""

from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, LeakError, Numeric, Schema
from privet.curators.prices import (
    MEASURES,
    MOST_JOINT_CELLS,
    check_score,
    check_statistic,
    only_number,
    quantile_score,
    score_named,
)
from privet.privacy.fixed_point import GRADIENT_ONE, ONE, TARGET_ONE
from privet.privacy.scores import (
    MEDIAN,
    CorrectCount,
    Entropy,
    Gini,
    GradientNorm,
    JointQuantiles,
    Mixed,
    Quantile,
    RootGini,
    SquaredError,
)
from privet.privacy.sensitivity import SUMS
from privet.privacy.unit import ROW, Unit
from privet.questions import tally
from privet.questions.candidates import Candidates
from privet.questions.curtain import Node
from privet.questions.grid import public_grid
from privet.questions.multiway import Multiway
from privet.questions.products import Products
from privet.questions.split import Split, each_cell
from privet.tree.public_splits import public_splits

FEATURES = {"x": Numeric(0, 1), "c": Categorical(["a", "b"])}
TWO, THREE = Schema(FEATURES, classes=["n", "y"]), Schema(FEATURES, classes=["n", "y", "m"])
TARGET = Schema(FEATURES, target=(0, 1))


def options(schema, **more):
    return Candidates(public_splits(public_grid(schema)), len(schema.classes or ()), **more)


def test_a_statistic_costs_one_for_each_table_and_others_have_no_proof():
    check_statistic("least_impurity")
    assert [SUMS["least_impurity"](n) for n in (1, 50)] == [ONE, 50 * ONE]
    with pytest.raises(LeakError, match="is one of least_impurity, not 'mean'"):
        check_statistic("mean")


def test_every_measure_has_a_lemma_and_a_constant_for_each_table():
    assert set(MEASURES) == set(tally.MEASURES)
    for name, one in {"records": 1, "target": TARGET_ONE, "gradient": 9 * GRADIENT_ONE // 16}.items():
        assert [SUMS[MEASURES[name]](n) for n in (1, 7)] == [one, 7 * one]


def test_a_score_is_made_anew_from_its_name():
    class Mine:
        lemma, sensitivity = "mixed(128)", 0

    assert score_named(Mine()) == Mixed(128)
    assert type(score_named(Mine())) is Mixed
    for wrong in (None, object(), "gini", Split):
        with pytest.raises(LeakError, match="no such score"):
            score_named(wrong)


@pytest.mark.parametrize("score", [CorrectCount(), Gini(), Mixed(3), Entropy(5)])
def test_scores_of_class_counts_have_a_proof_for_any_number_of_classes(score):
    check_score(score, options(TWO, stop=True), TWO)
    check_score(score, options(THREE, stop=True), THREE)


@pytest.mark.parametrize(
    ("score", "schema", "more"),
    [
        (Gini(), TWO, {"labelled": True}),
        (MEDIAN, TWO, {"labelled": True}),
        (MEDIAN, TWO, {"stop": True}),
        (GradientNorm(1), TWO, {"stop": True}),
        (SquaredError(TARGET_ONE), TWO, {}),
        (JointQuantiles((1, 1, 2)), TWO, {}),
        (RootGini(5), THREE, {}),
        (Gini(), TARGET, {}),
        (CorrectCount(), TARGET, {}),
        (SquaredError(TARGET_ONE + 1), TARGET, {}),
        (SquaredError(1), TARGET, {}),
    ],
)
def test_what_has_no_proof_is_refused(score, schema, more):
    with pytest.raises(LeakError):
        check_score(score, options(schema, **more), schema)


def test_a_quantile_has_two_sides():
    for n_children in (1, 3):
        grid = public_grid(TWO)
        split = Split(1, bytes(3), n_children)
        with pytest.raises(LeakError, match="in two"):
            check_score(MEDIAN, Candidates(Multiway.of(grid, [split]), 2), TWO)


def test_quantiles_are_chosen_among_splits_and_gradients_among_products():
    products = Candidates(Products(public_grid(TWO), [each_cell(public_grid(TWO), 1)]), 2)
    for score, right, wrong in ((MEDIAN, options(TWO), products), (GradientNorm(1), products, options(TWO))):
        check_score(score, right, TWO)
        for other in (wrong, Candidates(None, 2, stop=True)):
            with pytest.raises(LeakError):
                check_score(score, other, TWO)


def test_numeric_targets_have_squared_errors_and_quantiles():
    check_score(SquaredError(TARGET_ONE), options(TARGET, stop=True), TARGET)
    check_score(Quantile(1, 4), options(TARGET), TARGET)
    check_score(RootGini(5), options(TWO), TWO)


def test_several_quantiles_have_one_score_of_their_spacings():
    assert quantile_score([Fraction(1, 4)], 8) == Quantile(1, 4)
    assert quantile_score([Fraction(1, 2), Fraction(1, 4)], 8) == JointQuantiles((1, 1, 2))
    for wrong in ([Fraction(1, 2)] * 2, [Fraction(1, 2), Fraction(1)], [Fraction(0), Fraction(1, 2)]):
        with pytest.raises(LeakError, match="must differ"):
            quantile_score(wrong, 8)
    with pytest.raises(LeakError, match="grid of at most"):
        quantile_score([Fraction(1, 4), Fraction(1, 2)], MOST_JOINT_CELLS + 1)


def test_only_one_number_of_one_node_is_a_number_of_records():
    one, two = {Node(): np.array([[60]])}, {Node(): np.array([7, 8])}
    assert only_number(one, ROW) == 60
    assert only_number(one, Unit("who", 20)) == 3  # persons, who weigh 20 each
    assert all(only_number(answers, ROW) is None for answers in (two, {**one, Node(): np.array([7])}, {}))
