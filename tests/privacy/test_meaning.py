"""What an epsilon means for one person."""

import math
import warnings

import numpy as np
import pytest

from privet import Numeric, PrivateTreeClassifier, Schema
from privet.errors import BudgetWarning
from privet.privacy.meaning import (
    guess_rate,
    in_words,
    percent,
    promise_in_words,
    short_at_most,
    too_few,
    warnings_about,
)


def test_the_best_guess_against_a_mechanism_that_loses_all_it_may_is_right_that_often():
    """Randomised response that tells the truth with chance delta, and is else a coin of odds e^epsilon."""
    for epsilon, delta in [(0.1, 0), (1, 0), (1, 0.01), (3, 0.2)]:
        honest = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
        assert guess_rate(epsilon, delta) == pytest.approx(delta + honest)


def test_no_epsilon_is_a_coin_and_a_huge_one_is_certainty():
    assert guess_rate(0) == 0.5
    assert guess_rate(1e300) == 1
    assert guess_rate(1, 1) == 1
    rates = [guess_rate(epsilon) for epsilon in np.geomspace(1e-9, 1e3, 50)]
    assert rates == sorted(rates)


def test_the_words_have_the_number():
    assert "right in at most 73.2% of cases; odds grow at most 2.72 times." in in_words(1)
    assert "one row" in in_words(0.1, 1e-6, "row")
    assert in_words(0.1, 1e-6).endswith("except with probability 1e-06.")
    assert "at most 99.996% of cases" in in_words(10)
    assert "odds grow at most by 0.0101%" in in_words(1e-4)
    assert "practically always be right; odds grow at most about 10^4.35e+299 times" in in_words(1e300)


def test_what_is_said_at_most_is_never_less_than_it_is():
    for epsilon in (*np.geomspace(1e-9, 30, 400), 0.5):
        rate, shown = guess_rate(epsilon), percent(guess_rate(epsilon))
        assert 100 * rate - 1e-9 <= float(shown[:-1])
        assert shown != "100%" or rate > 0.9999999
        assert shown != "50.0%"
    assert [percent(guess_rate(epsilon)) for epsilon in (0, 0.5, 1)] == ["50.0%", "62.3%", "73.2%"]
    for amount in np.geomspace(1e-5, 1e8, 300):
        assert float(short_at_most(amount).replace(",", "")) >= amount * (1 - 1e-9)


def test_a_budget_that_is_too_small_too_large_or_weak_is_told():
    assert warnings_about(1, 1e-6, 10_000) == []
    assert "promises nothing" in warnings_about(1e300)[0]
    assert "weak promise" in warnings_about(3)[0]
    assert warnings_about(2.9) == []
    assert [promise_in_words(epsilon).rpartition("This")[2] for epsilon in (3, 10)] == [
        " is a weak promise.",
        " promises nothing.",
    ]
    assert "too small to learn much from even a million" in warnings_about(1e-9)[0]
    assert "about 900 records: n * epsilon is 90, and below 100" in warnings_about(0.1, 0, 900)[0]
    assert warnings_about(0.1, 0, 1000) == []
    assert "about 900 records (a noisy count): n * epsilon is 45" in too_few(0.05, 900, 500)[0]
    for hidden in (-300, 0, 400):
        assert "so few records that noise hides their number: a model may be" in too_few(0.05, hidden, 500)[0]
    assert "delta 0.001 is too large for 5,000 records" in warnings_about(1, 1e-3, 5_000)[0]


@pytest.mark.parametrize(("epsilon", "words"), [(1e-9, "too small to learn"), (1e300, "promises nothing")])
def test_a_fit_warns_before_it_asks_anything(epsilon, words, monkeypatch):
    def asks(*args):
        raise AssertionError("it was not told before")

    monkeypatch.setattr(PrivateTreeClassifier, "_grow", asks)
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning, match=words):
            PrivateTreeClassifier(schema, epsilon=epsilon).fit(np.zeros((9, 1)), np.zeros(9, dtype=int))
