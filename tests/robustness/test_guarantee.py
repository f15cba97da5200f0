"""How far a guarantee lets a probability fall: tight for the mechanisms that attain it, and never too little."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, HistogramTreeClassifier, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.errors import PrivetError
from privet.privacy.laws import log_gaussian
from privet.privacy.zcdp import epsilon_at, rho_within
from privet.robustness import Approximate, Concentrated, Pure, guarantee_of
from privet.robustness.guarantee import stated

KINDS = [Pure(Fraction(1, 4)), Approximate(Fraction(1, 4), Fraction(1, 1000)), Concentrated(Fraction(1, 50))]
SCHEMA = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
TABLE = np.array([["a"], ["b"]] * 20, dtype=object), np.array(["n", "y"] * 20)


@pytest.mark.parametrize("guarantee", KINDS, ids=str)
def test_worst_is_convex_grows_with_p_and_falls_with_the_distance(guarantee):
    p = np.linspace(0, 1, 201)
    for k in (0, 1, 3, 10):
        worst = guarantee.worst(p, k)
        assert (worst >= 0).all()
        assert (worst <= p).all()
        assert (np.diff(worst) >= -1e-9).all()
        assert (np.diff(worst, 2) >= -1e-6).all()
        assert (guarantee.worst(p, k + 1) <= worst + 1e-9).all()
        assert (guarantee.most(p, k) >= p - 1e-12).all()


@pytest.mark.parametrize("guarantee", KINDS, ids=str)
def test_what_was_rounded_up_to_certain_is_not_taken_for_certain(guarantee):
    """Noise of ten standard deviations has a chance of 1 in floats, and can be shifted to one half."""
    assert guarantee.worst(1.0, 1) > 0.99
    assert guarantee.worst(1.0, 10**4) < 1e-9


def test_nothing_changes_without_poison():
    for guarantee in KINDS:
        assert guarantee.worst([0.0, 0.3, 1.0], 0).tolist() == [0.0, 0.3, 1.0]


def test_both_directions_of_the_ratio_count():
    few, many = Pure(Fraction(1, 10)).worst([0.1, 0.95], 5)
    assert few == pytest.approx(math.exp(-0.5) * 0.1)
    assert many == pytest.approx(1 - math.exp(0.5) * 0.05)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_count_with_geometric_noise_falls_exactly_as_far(k):
    """P(x + noise >= t) for two-sided geometric noise: the mechanism for which pure privacy is tight."""
    a = math.exp(-0.3)
    chances = {t: a**t / (1 + a) if t >= 1 else 1 - a ** (1 - t) / (1 + a) for t in range(-30, 31)}
    worst = [Pure(Fraction(3, 10)).worst(chances[t], k) for t in range(-20, 20)]
    after = [chances[t + k] for t in range(-20, 20)]
    assert (np.array(worst) <= after).all()
    assert max(np.array(after) - worst) < 0.2  # between the two directions it is not attained
    assert worst[-1] == pytest.approx(after[-1], rel=1e-6, abs=1e-11)
    assert worst[0] == pytest.approx(after[0], abs=1e-11)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_count_with_gaussian_noise_falls_no_further_than_its_rho_says(scale):
    x = np.arange(-400, 401)
    tail = np.cumsum(np.exp(log_gaussian(x, scale))[::-1])[::-1]
    guarantee = Concentrated(Fraction(1) / (2 * Fraction(scale) ** 2))
    for k in range(1, 8):
        near = (tail > 1e-12) & (tail < 1 - 1e-9)
        worst, after = guarantee.worst(tail[near], k), np.roll(tail, -k)[near]
        assert (worst <= after + 1e-12).all()
        assert k > 2 or scale == 1 or (worst >= after - 0.2).all()


def test_a_majority_of_nine_tenths_holds_against_four_records_by_zcdp_and_against_one_by_epsilon():
    rho = rho_within(Fraction(1), Fraction(1, 10**6))
    assert float(rho) == pytest.approx(0.0244, abs=1e-4)
    holds = {k: (Concentrated(rho).worst(0.9, k) > 0.5, Pure(Fraction(1)).worst(0.9, k) > 0.5) for k in range(1, 6)}
    assert [both[0] for both in holds.values()] == [True, True, True, True, False]
    assert [both[1] for both in holds.values()] == [True, False, False, False, False]


def test_more_orders_than_the_grid_change_little():
    """The smallest q that is near p at all orders, by a fine search of its own in one dimension."""
    p, cost = 0.8, 0.1
    orders = 1 + np.geomspace(1e-4, 1e3, 20_000)

    def near(q):
        there = np.logaddexp(
            orders * np.log(p) + (1 - orders) * np.log(q), orders * np.log(1 - p) + (1 - orders) * np.log(1 - q)
        )
        back = np.logaddexp(
            orders * np.log(q) + (1 - orders) * np.log(p), orders * np.log(1 - q) + (1 - orders) * np.log(1 - p)
        )
        return (np.maximum(there, back) <= orders * (orders - 1) * cost).all()

    low, high = 0.0, p
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if near(middle) else (middle, high)
    found = float(Concentrated(Fraction(1, 10)).worst(p, 1))
    assert found <= low + 1e-12
    assert found == pytest.approx(low, abs=1e-4)


def test_an_approximate_guarantee_follows_from_a_concentrated_one():
    """(epsilon, delta) of rho: what it certifies for one record must be weaker, for the whole curve knows more."""
    rho, delta = Fraction(1, 50), Fraction(1, 10**4)
    p = np.linspace(0.01, 0.99, 99)
    assert (Approximate(epsilon_at(rho, delta), delta).worst(p, 1) <= Concentrated(rho).worst(p, 1) + 1e-9).all()


# -- what a receipt says -----------------------------------------------------------------------------------------------


def test_a_pure_receipt_gives_the_epsilon_that_was_claimed():
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5).fit(*TABLE)
    assert guarantee_of(model) == Pure(Fraction(1, 2))


def test_boosting_with_a_delta_gives_its_rho():
    model = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, method="boosting").fit(*TABLE)
    assert guarantee_of(model) == Concentrated(rho_within(Fraction(1), Fraction(1, 10**6)))
    model = HistogramTreeClassifier(SCHEMA, epsilon=1, delta=1e-6, max_depth=1).fit(*TABLE)
    assert isinstance(guarantee_of(model), Concentrated)


def test_trees_that_a_public_size_chose_are_pure_and_those_that_a_measured_size_chose_are_not():
    public = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6, n_records=40).fit(*TABLE)
    assert guarantee_of(public) == Pure(Fraction(1))
    measured = PrivateForestClassifier(SCHEMA, epsilon=1, delta=1e-6).fit(*TABLE)
    assert guarantee_of(measured) == Approximate(Fraction(1), Fraction(1, 10**6))


def test_a_seed_does_no_harm_but_an_inferred_schema_and_published_variants_have_no_guarantee():
    assert guarantee_of(PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=0).fit(*TABLE)) == Pure(Fraction(1))
    with pytest.warns(UserWarning, match="infer"):
        inferred = PrivateTreeClassifier("infer", epsilon=1).fit(*TABLE)
    with pytest.raises(PrivetError, match="schema inferred"):
        guarantee_of(inferred)
    with pytest.raises(PrivetError, match="sound"):
        guarantee_of(HistogramTreeClassifier(SCHEMA, epsilon=1, variant="published").fit(*TABLE))


def test_what_others_promise_is_taken_at_their_word():
    assert stated(0.1) == Pure(Fraction(1, 10))
    assert stated(0.1, 1e-6) == Approximate(Fraction(1, 10), Fraction(1, 10**6))
