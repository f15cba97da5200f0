"""Mechanisms with answers laid down: they follow their script and state the true law of every answer."""

import numpy as np
import pytest

from privet.audit.scripted import ScriptedMechanisms, TooManyTranscripts, WanderingMechanisms, unseeded_generators
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.laws import log_exponential, log_gaussian, log_geometric
from privet.privacy.scores import JointQuantiles

WINDOW = (-2, 3)


def total(law):
    return np.exp(np.logaddexp.reduce(law))


def test_a_script_is_followed_and_then_the_first_answer_is_given():
    mechanisms = ScriptedMechanisms([1, 2], WINDOW)
    assert mechanisms.select("exponential", [np.arange(3)] * 3, [1.0] * 3) == [1, 2, 0]
    assert mechanisms.transcript == (1, 2, 0)


def test_a_choice_has_its_mechanisms_law():
    mechanisms = ScriptedMechanisms([], WINDOW)
    mechanisms.select("exponential", [np.array([3, 1])], [2.0])
    assert mechanisms.laws[0] == pytest.approx(log_exponential(np.array([3, 1]), 2.0))


@pytest.mark.parametrize(("noise", "law"), [("geometric", log_geometric), ("gaussian", log_gaussian)])
def test_a_noisy_number_has_its_law_inside_the_window_and_the_tails_at_its_ends(noise, law):
    mechanisms = ScriptedMechanisms([4], WINDOW)
    (answer,) = getattr(mechanisms, noise)(np.array([1]), 1.0)
    assert answer == 2  # the fifth from -2 on
    (own,) = mechanisms.laws
    assert own[1:-1] == pytest.approx(law(np.arange(-1, 3) - 1, 1.0))
    assert total(own) == pytest.approx(1, abs=1e-12)


def test_wide_noise_is_told_in_whole_records():
    mechanisms = ScriptedMechanisms([3], WINDOW)
    assert mechanisms.geometric(np.array([5 * TARGET_ONE // 4]), 2.0 * TARGET_ONE).tolist() == [TARGET_ONE]
    assert total(mechanisms.laws[0]) == pytest.approx(1, abs=1e-12)


def test_what_is_asked_after_an_answer_at_an_end_of_the_window_is_unsure():
    for first, unsure in ((0, True), (2, False), (5, True)):
        mechanisms = ScriptedMechanisms([first], WINDOW)
        mechanisms.geometric(np.array([0]), 1.0)
        assert mechanisms.cut
        assert not mechanisms.unsure
        mechanisms.select("exponential", [np.zeros(2, int)], [1.0])
        assert mechanisms.unsure is unsure


def test_draws_behind_the_curtain_are_scripted_and_no_answers():
    mechanisms = ScriptedMechanisms([1, 0, 2], WINDOW)
    assert mechanisms.generator.integers(2, size=2).tolist() == [1, 0]
    assert mechanisms.select("exponential", [np.zeros(3, int)], [1.0]) == [2]
    assert mechanisms.transcript == (2,)
    assert [len(law) for law in mechanisms.laws] == [2, 2, 3]


def test_laws_that_are_known_are_not_computed_again():
    def scores():
        raise AssertionError("asked for")
        yield

    known = [np.log([0.25, 0.75])]
    mechanisms = ScriptedMechanisms([1], WINDOW, known=known)
    assert mechanisms.select("exponential", scores(), [1.0]) == [1]
    assert mechanisms.laws == known


def test_too_many_sets_of_quantiles_are_seen_before_they_are_listed():
    with pytest.raises(TooManyTranscripts, match="coarser grid"):
        ScriptedMechanisms([], WINDOW).joint_quantiles(
            np.ones(10**5 + 1, dtype=int), JointQuantiles((1, 1, 1)), np.ones(10**5), 1.0
        )


def test_a_walk_is_the_same_for_the_same_seed_and_sees_all_answers():
    def walk(seed):
        mechanisms = WanderingMechanisms(seed, WINDOW)
        return tuple(mechanisms.select("exponential", [np.array([0, -50])] * 4, [1.0] * 4))

    assert walk(3) == walk(3)
    assert {answer for seed in range(20) for answer in walk(seed)} == {0, 1}  # however unlikely: in all but 2^-79


def test_generators_without_a_seed_are_noted_and_others_are_not():
    with unseeded_generators() as made:
        np.random.default_rng(1)
        assert not made
        np.random.default_rng()
    assert len(made) == 1
    np.random.default_rng()
    assert len(made) == 1
