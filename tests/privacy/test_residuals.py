"""No record moves sums of residuals, or scores of them, by more than their constants, and some move them by as much."""

import itertools
import math

import numpy as np
import pytest

from privet.privacy import residuals as r
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.scores import ResidualNorm
from privet.privacy.sensitivity import proven, residual_tally_sensitivity

CLAMPS = (1, 2, 3, 7, 1000, 40_000, TARGET_ONE - 1, TARGET_ONE)


@pytest.mark.parametrize("clamp", CLAMPS)
def test_no_pair_is_longer_than_the_lemmas_say_and_some_are_as_long(clamp):
    """All residuals of targets inside their range and scores inside or just beyond; and far ones."""
    every = np.concatenate([np.arange(-TARGET_ONE - 3, TARGET_ONE + 4), [-(2**58), 2**58]])
    pairs = r.residual_pairs(every, clamp)
    assert np.abs(pairs).sum(axis=1).max() == r.RESIDUAL_L1 == residual_tally_sensitivity(1)
    assert (pairs**2).sum(axis=1).max() == r.RESIDUAL_L2_SQUARE
    assert (np.sign(pairs[:, 0]) * np.sign(every) >= 0).all()
    assert (pairs[:, 1] * 4 == GRADIENT_ONE).all()


@pytest.mark.parametrize("clamp", CLAMPS)
def test_a_residual_inside_the_clamp_is_its_part_of_it(clamp):
    inside = np.arange(-clamp, clamp + 1)
    parts = r.residual_pairs(inside, clamp)[:, 0] / GRADIENT_ONE
    assert np.abs(parts - inside / clamp).max() < 1 / GRADIENT_ONE


def test_the_lemmas_of_residual_sums_cannot_be_lowered():
    assert proven("residual_tally(3)") == 3 * r.RESIDUAL_L1
    for tables in (1, 2, 50):
        square = proven(f"euclidean_residual_tally({tables})") ** 2
        assert tables * r.RESIDUAL_L2_SQUARE <= square < tables * r.RESIDUAL_L2_SQUARE * (1 + 2**-30)
    assert float(proven("euclidean_residual_tally(1)")) / GRADIENT_ONE == pytest.approx(math.sqrt(17) / 4)


def test_no_record_moves_two_candidates_further_apart_than_the_constant():
    """All residual sums of two cells from -3 to 3 clamps, all records, three splits: the range is reached, no more."""
    score, splits = ResidualNorm(5), np.array([[[1, 1], [0, 0]], [[1, 0], [0, 1]], [[0, 0], [1, 1]]])
    parts = r.residual_pairs(np.array([-9, -5, -1, 0, 2, 5]), 5)[:, 0]
    widest = 0
    for sums in itertools.product(range(-3, 4), repeat=2):
        before = score.of((splits @ (np.array(sums) * GRADIENT_ONE))[..., None])
        for added, place in itertools.product(parts, (0, 1)):
            more = np.array(sums) * GRADIENT_ONE
            more[place] += added
            moves = score.of((splits @ more)[..., None]) - before
            widest = max(widest, int(moves.max() - moves.min()))
    assert widest == score.sensitivity == 2 * GRADIENT_ONE


def test_the_points_of_quantiles_are_public_and_span_the_range():
    points = r.RESIDUAL_POINTS
    assert points[0] == 1
    assert points[-1] == TARGET_ONE
    assert (np.diff(points) > 0).all()
    assert (points[1:] / points[:-1] <= 2).all()
