"""The exact engine knows the truth: its losses are those of mechanisms whose loss is known."""

import numpy as np
import pytest

from privet.audit.exact import loss, transcripts


def test_probabilities_of_all_transcripts_add_up_to_one():
    def run(mechanisms):
        first = mechanisms.select("permute_and_flip", [np.array([3, 1, 0])], [2.0])[0]
        mechanisms.geometric(np.array([4, first]), 1.5)

    assert np.logaddexp.reduce(list(transcripts(run).values())) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scale", [0.5, 2.0, 10.0])
def test_the_loss_of_geometric_noise_is_the_change_over_the_scale(scale):
    one = transcripts(lambda m: m.geometric(np.array([3]), scale))
    other = transcripts(lambda m: m.geometric(np.array([2]), scale))
    assert loss(one, other) == pytest.approx(1 / scale)


def test_the_loss_of_permute_and_flip_on_monotone_scores_is_at_most_the_change_over_the_scale():
    # One candidate gains a point, the others do not: the extreme of the lemma.
    one = transcripts(lambda m: m.select("permute_and_flip", [np.array([5, 5, 5])], [4.0]))
    other = transcripts(lambda m: m.select("permute_and_flip", [np.array([6, 5, 5])], [4.0]))
    assert 0.15 < loss(one, other) <= 0.25 + 1e-12


def test_half_the_noise_is_caught():
    one = transcripts(lambda m: m.geometric(np.array([3]), 0.5))
    other = transcripts(lambda m: m.geometric(np.array([2]), 0.5))
    assert loss(one, other) > 1.9


def test_an_answer_that_is_possible_on_one_side_only_is_an_infinite_loss():
    assert loss({(0,): 0.0}, {(0,): -1.0, (1,): -0.5}) == np.inf


def test_too_many_transcripts_are_refused():
    with pytest.raises(ValueError, match="smaller"):
        transcripts(lambda m: m.geometric(np.zeros(8, dtype=np.int64), 1.0), most=1000)
