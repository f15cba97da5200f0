"""No record's clipped gradient and Hessian are longer than the lemmas say, some are as long, and the link is theirs."""

import itertools
import math

import numpy as np
import pytest

from privet.privacy import gradients as g
from privet.privacy.fixed_point import GRADIENT_BITS, GRADIENT_ONE
from privet.privacy.scores import GradientNorm
from privet.privacy.sensitivity import gradient_tally_sensitivity, proven

CHANCES = np.arange(GRADIENT_ONE + 1)


@pytest.mark.parametrize("of_class", [True, False])
def test_no_pair_is_longer_than_the_lemmas_say_and_some_are_as_long(of_class):
    """All chances that there are: whole numbers from 0 to ONE."""
    pairs = g.gradient_pairs(CHANCES, of_class)
    assert np.abs(pairs).sum(axis=1).max() == g.GRADIENT_L1 == gradient_tally_sensitivity(1)
    assert (pairs**2).sum(axis=1).max() == g.GRADIENT_L2_SQUARE
    assert np.abs(pairs[:, 0]).max() == g.GRADIENT_HALF
    assert (pairs[:, 1] >= 0).all()
    assert (pairs[:, 0] <= 0).all() if of_class else (pairs[:, 0] >= 0).all()
    # Before they are clipped they are twice as long: the search would have caught it.
    assert np.abs(CHANCES - of_class * GRADIENT_ONE).max() == 2 * g.GRADIENT_HALF


def test_every_pair_that_records_are_given_is_in_the_table_which_is_within_the_lemmas():
    table = g.GRADIENT_PAIRS.astype(np.int64)
    assert table.shape == (2, 2 * g.REACH + 1, 2)
    assert np.abs(table).sum(axis=-1).max() == g.GRADIENT_L1
    assert (table**2).sum(axis=-1).max() == g.GRADIENT_L2_SQUARE
    assert not g.GRADIENT_PAIRS.flags.writeable


@pytest.mark.parametrize("of_class", [True, False])
def test_the_table_has_the_gradients_of_the_logistic_loss_clipped(of_class):
    scores = np.arange(-g.REACH, g.REACH + 1) / (1 << GRADIENT_BITS - g.SCORE_BITS)
    assert (scores[0], scores[-1]) == (-12, 12)
    pairs = g.GRADIENT_PAIRS[int(of_class)] / GRADIENT_ONE
    p = 1 / (1 + np.exp(-scores))
    assert np.abs(pairs[:, 0] - np.clip(p - of_class, -0.5, 0.5)).max() < 1e-5
    assert np.abs(4 * pairs[:, 1] - p * (1 - p)).max() < 1e-4
    assert (np.diff(pairs[:, 0]) >= 0).all()  # of a convex loss


def test_the_lemmas_of_gradient_sums_cannot_be_lowered():
    assert proven("clipped_gradient_tally(3)") == 3 * g.GRADIENT_L1 == 3 * 9 * GRADIENT_ONE // 16
    for tables in (1, 2, 50):
        square = proven(f"euclidean_clipped_gradient_tally({tables})") ** 2
        assert tables * g.GRADIENT_L2_SQUARE <= square < tables * g.GRADIENT_L2_SQUARE * (1 + 2**-30)
    assert float(proven("euclidean_clipped_gradient_tally(1)")) / GRADIENT_ONE == pytest.approx(math.sqrt(65) / 16)


def widest_range(score, added):
    """How far apart two candidates move: all gradient sums of two cells from -3 to 3 halves, three splits."""
    splits = np.array([[[1, 1], [0, 0]], [[1, 0], [0, 1]], [[0, 0], [1, 1]]])
    widest = 0
    for sums in itertools.product(range(-3, 4), repeat=2):
        before = score.of((splits @ (np.array(sums) * g.GRADIENT_HALF))[..., None])
        for gradient, place in itertools.product(added, (0, 1)):
            more = np.array(sums) * g.GRADIENT_HALF
            more[place] += gradient
            moves = score.of((splits @ more)[..., None]) - before
            widest = max(widest, int(moves.max() - moves.min()))
    return widest


def test_no_record_moves_two_candidates_further_apart_than_the_constant():
    chances = np.array([0, 1, 20_000, GRADIENT_ONE // 2, GRADIENT_ONE])
    added = [g.gradient_pairs(chances, own)[:, 0] for own in (True, False)]
    assert widest_range(GradientNorm(0), np.concatenate(added)) == GradientNorm(0).sensitivity == GRADIENT_ONE
    # What is not clipped would move them twice as far: the search would have caught it.
    assert widest_range(GradientNorm(0), [-GRADIENT_ONE, GRADIENT_ONE]) == 2 * GRADIENT_ONE


def test_the_link_is_where_clipped_gradients_balance():
    scores = np.linspace(-9, 9, 61)
    eta = g.linked_chances(scores)
    p = 1 / (1 + np.exp(-scores))
    pull = eta * np.maximum(p - 1, -0.5) + (1 - eta) * np.minimum(p, 0.5)
    assert np.abs(pull).max() < 1e-12
    assert (np.diff(eta) > 0).all()
    assert g.linked_chances(np.array([-1e9, 0, 1e9])).tolist() == pytest.approx([0, 0.5, 1])


def test_softmax_gradients_clipped_are_of_no_loss():
    """The derivative of class j's gradient by class k's score is not that of k's by j's."""

    def clipped(scores, of_class, k):
        p = np.exp(scores) / np.exp(scores).sum()
        return float(np.clip(p[k] - (k == of_class), -0.5, 0.5))

    scores, step = np.array([2.0, 0.3, -0.5]), 1e-6
    slopes = [(clipped(scores + step * np.eye(3)[k], 2, j) - clipped(scores, 2, j)) / step for j, k in ((0, 1), (1, 0))]
    assert abs(slopes[0] - slopes[1]) > 0.01
