"""Every answer that a receipt may list has words, and they fit its noise."""

from dataclasses import replace
from fractions import Fraction

import pytest

from privet.privacy.event import Event
from privet.privacy.event_words import in_plain_words, reach, spread
from privet.privacy.scores import SCORES
from privet.privacy.sensitivity import EUCLIDEAN, SUMS

TALLY = Event("/fit0:0", "tally", "geometric", Fraction(1), 10.0, Fraction(1, 10), "tally(1)")
CHOICE = Event("/fit0:0", "choose a split", "permute_and_flip", Fraction(256), 2560.0, Fraction(1, 10), "mixed(256)")
LEMMAS = {
    "gini": "gini", "mixed": "mixed(64)", "entropy": "entropy(1000)", "root_gini": "root_gini(100)",
    "correct_count": "correct_count", "worth": "worth(1)", "squared_error": "squared_error(65536)",
    "quantile": "quantile(1/4)", "clipped_gradient_norm": "clipped_gradient_norm(1)",
    "residual_norm": "residual_norm(9)", "joint_quantiles": "joint_quantiles(1/4)",
}  # fmt: skip


@pytest.mark.parametrize("name", [*SCORES, "joint_quantiles"])
def test_every_score_has_words(name):
    words = in_plain_words(replace(CHOICE, lemma=LEMMAS[name]))
    assert words.how != "Candidates compete by a score."
    assert "compete by" in words.how
    assert "(" not in words.asked


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("currency", ["", EUCLIDEAN])
def test_every_sum_has_words(name, currency):
    words = in_plain_words(
        replace(TALLY, lemma=f"{currency}{name}(3)", mechanism="gaussian" if currency else "geometric")
    )
    assert words.asked.endswith("?")
    assert "in each of 3 tables" in words.noise


def test_noise_is_told_in_records():
    assert spread(TALLY) == pytest.approx(10 * 2**0.5, rel=0.01)
    assert "less than 30 in 95 of 100" in in_plain_words(TALLY).noise
    assert spread(replace(TALLY, scale=120.0), weight=12) == pytest.approx(spread(TALLY), rel=0.01)
    assert reach(CHOICE) == 10


def test_a_mixture_says_its_shares():
    assert (
        "right (75%) and how pure the classes are on each side (25%)"
        in in_plain_words(replace(CHOICE, lemma="mixed(64)")).how
    )
    assert in_plain_words(replace(CHOICE, lemma="mixed(0)")).how.endswith("get right.")


def test_peeking_is_called_by_its_name():
    event = Event("/fit0:0", "peek", "peek", Fraction(0), 0.0, float("inf"), "peek")
    assert "as they are" in str(in_plain_words(event))


def test_secret_runs_are_told_as_what_they_are():
    name = "random_stopping"
    event = Event("/fit0:0", "best of a secret number of runs", name, Fraction(3), 3.0, Fraction(1), name)
    assert "secret number" in in_plain_words(event).asked
    assert "three times" in in_plain_words(event).noise
