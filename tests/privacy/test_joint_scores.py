"""Scores on shares are the scores of the proofs."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("cryptography")

from in_threads import run_threads
from privet.errors import CapabilityError
from privet.privacy.joint_scores import floor_divide, joint_scores, score_range
from privet.privacy.scores import CorrectCount, Entropy, Gini, Mixed, RootGini

SCORES = [CorrectCount(), Gini(), Mixed(0), Mixed(77), Mixed(128), Mixed(256)]


def on_shares(engine, score, children, most):
    return engine.open(joint_scores(engine, score, engine.constant(children), most))


@pytest.mark.parametrize("score", SCORES, ids=lambda s: s.lemma)
def test_all_small_tables_score_alike(score):
    children = np.array(list(product(range(4), repeat=4))).reshape(-1, 2, 2)
    expected = score.of(children)
    low, high = score_range(score, 12)
    assert low <= expected.min()
    assert expected.max() <= high
    assert all(np.array_equal(got, expected) for got in run_threads(on_shares, score, children, 12))


@pytest.mark.parametrize("score", SCORES, ids=lambda s: s.lemma)
@pytest.mark.parametrize(("classes", "n_children"), [(2, 2), (3, 2), (5, 3)])
def test_large_tables_score_alike(score, classes, n_children):
    rng = np.random.default_rng(classes)
    most = 2**27 - 1
    children = rng.multinomial(most, rng.dirichlet(np.full(classes * n_children, 0.3), 40)).reshape(
        -1, n_children, classes
    )
    got = run_threads(on_shares, score, children, most)
    assert np.array_equal(got[0], score.of(children))


def test_mpyc_scores_alike():
    pytest.importorskip("mpyc")
    from mpyc_engine import MpycEngine

    children = np.random.default_rng(0).integers(0, 50, (6, 2, 3))
    for score in SCORES:
        assert np.array_equal(on_shares(MpycEngine.alone(), score, children, 300), score.of(children))


@pytest.mark.parametrize("score", [Entropy(5), RootGini(5)])
def test_other_scores_are_refused_by_name(score):
    with pytest.raises(CapabilityError, match=type(score).__name__):
        joint_scores(None, score, None, 5)


def test_division_is_exact_for_all_small_numbers():
    dividend, divisor = (table.ravel() for table in np.meshgrid(np.arange(40), np.arange(1, 8)))

    def program(engine):
        return engine.open(floor_divide(engine, engine.constant(dividend), engine.constant(divisor), 6, 3))

    assert np.array_equal(run_threads(program)[0], dividend // divisor)
