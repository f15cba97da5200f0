"""Choices and noise inside the computation: the laws, the same as in plain for the same coins, nothing else opened."""

import numpy as np
import pytest
from scipy.stats import chi2, chisquare, nbinom

pytest.importorskip("cryptography")

from cut_mechanisms import CutMechanisms
from in_threads import run_threads
from privet.errors import MpcError
from privet.privacy.joint import JointMechanisms, SeededCoins
from privet.privacy.laws import log_exponential, log_geometric, log_permute_and_flip, log_report_noisy_max
from privet.privacy.truncated_geometric import tries

MECHANISMS = {
    "permute_and_flip": log_permute_and_flip,
    "exponential": log_exponential,
    "report_noisy_max": log_report_noisy_max,
}
FALSE_ALARM = 1e-7

RNG = np.random.default_rng(0)
SCORES = [RNG.integers(-20, 20, n) for n in (7, 12, 1, 2, 30)]
SCALES = [20.0, 9.5, 1.0, 30.0, 14.25]


def choices(engine, mechanism, seed, coins=SeededCoins):
    joint = JointMechanisms(engine, coins(np.random.default_rng(seed)))
    n = len(SCORES)
    return joint.select(mechanism, [engine.constant(s) for s in SCORES], [-20] * n, [40] * n, SCALES)


def counts(engine, seed):
    joint = JointMechanisms(engine, SeededCoins(seed))
    return joint.geometric([engine.constant(s) for s in SCORES[:1]], SCALES[:1])[0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_same_coins_make_the_same_choices_as_in_plain(mechanism):
    seen = set()
    for seed in range(4):
        plain = CutMechanisms(np.random.default_rng(seed)).select(mechanism, SCORES, SCALES)
        assert run_threads(choices, mechanism, seed) == [plain] * 3
        seen.add(tuple(plain))
    assert len(seen) > 1


def test_the_same_coins_make_the_same_noise_as_in_plain():
    for seed in range(3):
        plain = CutMechanisms(np.random.default_rng(seed)).geometric(SCORES[0], SCALES[0])
        assert all(np.array_equal(got, plain) for got in run_threads(counts, seed))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mpyc_chooses_alike(mechanism):
    pytest.importorskip("mpyc")
    from mpyc_engine import MpycEngine

    global SCORES, SCALES
    whole = SCORES, SCALES
    SCORES, SCALES = SCORES[2:4], SCALES[2:4]
    try:
        plain = CutMechanisms(np.random.default_rng(5)).select(mechanism, SCORES, SCALES)
        assert choices(MpycEngine.alone(), mechanism, 5) == plain
    finally:
        SCORES, SCALES = whole


def many_choices(engine, mechanism, scores, scale, n, law):
    joint = JointMechanisms(engine, law=law)
    return joint.select(mechanism, [engine.constant(scores)] * n, [0] * n, [8] * n, [scale] * n)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_choices_with_coins_that_nobody_knows_have_the_exact_law(mechanism):
    """Chi-square of 2,000 or 300 choices; false alarm 1e-7 (of an outcome that is expected 14 times it is more than
    the chi-square law says)."""
    scores, scale, n = np.array([3, 0, 3, 5]), 2.0, 2000 if mechanism != "exponential" else 300
    drawn = run_threads(many_choices, mechanism, scores, scale, n, "cut")[0]
    expected = np.exp(MECHANISMS[mechanism](scores, scale)) * n
    assert chisquare(np.bincount(drawn, minlength=4), expected).pvalue > FALSE_ALARM / 10


def many_counts(engine, n, scale, law):
    return JointMechanisms(engine, law=law).geometric([engine.constant(np.full(n, 7))], [scale])[0] - 7


def fits(noise, log_law, reach):
    values = np.arange(-reach, reach + 1)
    expected = np.exp(log_law(values))
    found = np.array([(noise == v).sum() for v in values])
    found, expected = np.append(found, len(noise) - found.sum()), np.append(expected, 1 - expected.sum()) * len(noise)
    return chisquare(found, expected).pvalue > FALSE_ALARM


def test_noise_of_coins_that_nobody_knows_has_the_exact_law():
    """Chi-square of 20,000 numbers; false alarm 1e-7."""
    noise = run_threads(many_counts, 20_000, 1.5, "cut")[0]
    assert fits(noise, lambda k: log_geometric(k, 1.5), 7)


def test_dealt_noise_is_the_difference_of_negative_binomials_of_shape_three_halves():
    """Chi-square of 20,000 numbers; false alarm 1e-7. Its deviation is sqrt(3/2) times that of geometric noise."""
    noise = run_threads(many_counts, 20_000, 1.5, "dealt")[0]
    one_sided = nbinom.pmf(np.arange(200), 1.5, 1 - np.exp(-1 / 1.5))
    law = np.convolve(one_sided, one_sided[::-1])
    assert fits(noise, lambda k: np.log(law[k + 199]), 8)


def test_dealt_noise_chooses_like_noisy_max_of_shape_three_halves():
    """Against 300,000 draws in plain: chi-square, false alarm 1e-7 (the plain draws' own spread is counted)."""
    scores, scale, n = np.array([3, 0, 3, 5]), 2.0, 3000
    drawn = run_threads(many_choices, "permute_and_flip", scores, scale, n, "dealt")[0]
    rng = np.random.default_rng(0)
    noisy = scores + rng.negative_binomial(1.5, 1 - np.exp(-1 / scale), (300_000, 4)) + rng.random((300_000, 4))
    plain = np.bincount(noisy.argmax(axis=1), minlength=4)
    found = np.bincount(drawn, minlength=4)
    pooled = (found + plain) / (found + plain).sum()
    statistic = sum(((c - c.sum() * pooled) ** 2 / (c.sum() * pooled)).sum() for c in (found, plain))
    assert statistic < chi2.isf(FALSE_ALARM, 3)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_only_a_fresh_seed_and_the_winners_are_opened(mechanism):
    def program(engine):
        opened = []
        open_bits = engine.open_bits
        engine.open_bits = lambda bits: opened.append((bits.planes, bits.columns)) or open_bits(bits)
        engine.open = None  # no integer is opened
        choices(engine, mechanism, 0)
        return opened

    entrants = tries(30) if mechanism == "exponential" else 30
    assert run_threads(program)[0] == [(128, 1), ((entrants - 1).bit_length(), len(SCORES))]


def test_scores_that_would_not_fit_are_refused():
    def program(engine):
        scores = engine.constant(np.arange(3))
        return JointMechanisms(engine).select("permute_and_flip", [scores], [0], [2**62], [1.0])

    with pytest.raises(MpcError, match="bits"):
        run_threads(program)


# -- winners that stay on shares ---------------------------------------------------------------------------------------

TABLE = RNG.integers(-20, 20, (4, 6))


def hidden_choices(engine, mechanism, seed, free=None, law="cut"):
    joint = JointMechanisms(engine, SeededCoins(seed), law=law)
    left = None if free is None else engine.constant(free)
    return engine.open(joint.select_hidden(mechanism, engine.constant(TABLE), -20, 40, 9.5, left))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_hidden_winners_are_those_of_the_same_coins_in_plain(mechanism):
    seen = set()
    for seed in range(3):
        plain = CutMechanisms(np.random.default_rng(seed)).select(mechanism, list(TABLE), [9.5] * len(TABLE))
        for marks in run_threads(hidden_choices, mechanism, seed):
            assert (marks == np.eye(6, dtype=int)[plain]).all()
        seen.add(tuple(plain))
    assert len(seen) > 1


@pytest.mark.parametrize("law", ["cut", "dealt"])
def test_a_hidden_winner_is_a_candidate_that_is_free(law):
    free = np.array([[1, 0, 0, 1, 1, 0], [0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 0, 1]])
    for seed in range(3):
        marks = run_threads(hidden_choices, "permute_and_flip", seed, free, law)[0]
        assert (marks.sum(axis=1) == 1).all()
        assert (marks <= free).all()


def test_an_exact_hidden_winner_is_the_first_of_the_largest():
    scores = np.array([[3, 5, 5, 1], [0, 0, 0, 0], [-4, -9, -2, -3]])

    def program(engine):
        return engine.open(JointMechanisms(engine).select_hidden("exact", engine.constant(scores), -9, 20, 0.0))

    assert (run_threads(program)[0].argmax(axis=1) == [1, 0, 2]).all()


def many_hidden(engine, scores, scale, n, law):
    table = engine.constant(np.tile(scores, (n, 1)))
    joint = JointMechanisms(engine, law=law)
    return engine.open(joint.select_hidden("permute_and_flip", table, 0, 8, scale)).argmax(axis=1)


def test_hidden_choices_with_coins_that_nobody_knows_have_the_exact_law():
    """Chi-square of 2,000 choices; false alarm 1e-7."""
    scores, scale, n = np.array([3, 0, 3, 5]), 2.0, 2000
    drawn = run_threads(many_hidden, scores, scale, n, "cut")[0]
    expected = np.exp(log_permute_and_flip(scores, scale)) * n
    assert chisquare(np.bincount(drawn, minlength=4), expected).pvalue > FALSE_ALARM


def test_what_is_drawn_hidden_is_even_among_the_free_and_new_each_time():
    """Chi-square of 3,000 nodes, of pairs of neighbours and of two drawings; false alarm 5e-7 in all five."""
    nodes, k = 3000, 5
    free = np.tile([1, 0, 1, 1, 0], (nodes, 1))

    def program(engine):
        joint = JointMechanisms(engine)
        tables = [joint.draw_hidden(nodes, k), joint.draw_hidden(nodes, k)]
        return [engine.open(table) for table in (*tables, joint.draw_hidden(nodes, k, engine.constant(free)))]

    first, second, among_free = run_threads(program)[0]
    assert all((marks.sum(axis=1) == 1).all() and (marks >= 0).all() for marks in (first, second, among_free))
    assert (among_free <= free).all()
    one, other, of_three = (marks.argmax(axis=1) for marks in (first, second, among_free))
    for found, cells in (
        (np.bincount(one, minlength=k), k),
        (np.bincount(k * one[::2] + one[1::2], minlength=k**2), k**2),
        (np.bincount(k * one + other, minlength=k**2), k**2),
        (np.bincount(of_three, minlength=k)[[0, 2, 3]], 3),
    ):
        assert len(found) == cells
        assert chisquare(found).pvalue > FALSE_ALARM
    assert JointMechanisms(None).draw_bits(k) >= 20  # so many digits that two are alike by chance only
