"""The samplers of our own are exact: uniform parts, coins of chance exp(-gap), joint quantiles.

Statistical tests compare counts with exact binomial tails; the false-alarm rate of each is below 1e-7.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from privet.errors import LeakError
from privet.privacy import samplers
from privet.privacy.laws import log_joint_quantiles
from privet.privacy.samplers import (
    draw_parts,
    draw_salt,
    half_negative_binomial,
    joint_quantiles,
    one_sided_geometric,
    survivors,
)
from privet.privacy.scores import JointQuantiles

FALSE_ALARM = 1e-7


def plausible(count, n, p, tests=1):
    """Whether a binomial count is inside all but FALSE_ALARM / tests of its distribution."""
    tail = FALSE_ALARM / (2 * tests)
    return binom.cdf(count, n, p) > tail and binom.sf(count - 1, n, p) > tail


def from_words(monkeypatch, *words):
    """Let the operating system's randomness be these bytes, in this order."""
    left = list(words)

    def urandom(n):
        taken, left[:] = left[: n // len(left[0])], left[n // len(left[0]) :]
        return b"".join(taken)

    monkeypatch.setattr(samplers.os, "urandom", urandom)
    return left


# -- parts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generator", [None, np.random.default_rng(5)], ids=["secure", "seeded"])
@pytest.mark.parametrize("n_parts", [2, 3, 7, 100])
def test_every_part_and_every_pair_of_neighbours_is_equally_likely(n_parts, generator):
    n = 100_000
    drawn = draw_parts(n, n_parts, generator)
    counts = np.bincount(drawn, minlength=n_parts)
    assert len(drawn) == n
    assert len(counts) == n_parts
    assert all(plausible(count, n, 1 / n_parts, n_parts) for count in counts)
    same = int((drawn[::2] == drawn[1::2]).sum())  # independent: a neighbour's part says nothing
    assert plausible(same, n // 2, 1 / n_parts)


@pytest.mark.parametrize("generator", [None, np.random.default_rng(5)], ids=["secure", "seeded"])
def test_a_single_part_takes_all_and_no_records_need_none(generator):
    assert draw_parts(50, 1, generator).tolist() == [0] * 50
    empty = draw_parts(0, 3, generator)
    assert empty.shape == (0,)
    assert empty.dtype == np.int64


def test_a_seed_gives_the_same_parts_again_and_no_seed_others():
    first, again = (draw_parts(1000, 5, np.random.default_rng(1)) for _ in range(2))
    assert (first == again).all()
    assert (draw_parts(1000, 5) != draw_parts(1000, 5)).any()  # equal with a chance of 5^-1000


def test_words_that_would_favour_a_part_are_drawn_again(monkeypatch):
    """2^32 words are one more than a multiple of 3: the last is refused, and every part has the same number."""
    left = from_words(monkeypatch, b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff", b"\x00\x00\x00\x00", b"\x01\x00\x00\x00")
    assert draw_parts(3, 3).tolist() == [2, 0, 1]
    assert not left


def test_no_word_is_refused_where_the_parts_divide_them_all(monkeypatch):
    from_words(monkeypatch, b"\xff\xff\xff\xff", b"\x00\x00\x00\x00")
    assert draw_parts(2, 2**10).tolist() == [2**10 - 1, 0]


# -- coins of chance exp(-gap) -----------------------------------------------------------------------------------


def digits_of_exp(gap, bits):
    """floor(2^bits * exp(-gap)) from bounds on e with integers only."""
    one = 1 << (bits + 300)
    e, term, k = 0, one, 0
    while term:
        e, k = e + term, k + 1
        term //= k
    low, high = Fraction(e, one), Fraction(e + 2 * k, one)
    answers = {math.floor(2**bits / bound**gap) for bound in (low, high)}
    assert len(answers) == 1
    return answers.pop()


@pytest.mark.parametrize("gap", [1, 2, 3, 10, 44, 45, 63, 64, 65, 100, 128, 129, 190, 250])
def test_the_digits_of_the_chance_are_exact(gap):
    places = 20
    digits = 0
    for place in range(places):
        digits = digits << samplers.WORD | samplers._digits_of_exp(gap, place)
    assert digits == digits_of_exp(gap, samplers.WORD * places)


def test_a_coin_comes_up_with_chance_exp_of_minus_its_gap():
    n, gaps = 40_000, np.arange(12)
    up = np.bincount(survivors(np.tile(gaps, n)) % len(gaps), minlength=len(gaps))
    assert up[0] == n
    assert all(plausible(up[gap], n, math.exp(-gap), len(gaps)) for gap in gaps[1:])


def test_coins_are_independent():
    n = 40_000
    up = np.zeros(2 * n, dtype=bool)
    up[survivors(np.ones(2 * n, dtype=np.int64))] = True
    assert plausible(int((up[::2] & up[1::2]).sum()), n, math.exp(-2))


def test_hopeless_coins_never_come_up_and_nobody_may_be_there():
    assert survivors(np.array([10**18, 0, 2**62, 0, 300])).tolist() == [1, 3]
    assert survivors(np.empty(0, dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("gap", [1, 30, 60, 100, 10**15])
@pytest.mark.parametrize(("nudge", "comes_up"), [(-1, True), (0, False), (1, False)])
def test_equal_digits_are_settled_by_the_next_ones(monkeypatch, gap, nudge, comes_up):
    """The uniform number agrees with the chance in as many words as needed, and then is smaller, or is not."""

    def word(place, step=0):
        return (samplers._digits_of_exp(gap, place) + step).to_bytes(samplers.WORD // 8, "little")

    if gap == 10**15:  # all its digits are zero for a long time: only larger words can come
        words = [word(0), word(1), word(2), word(3, 1)]
        comes_up = False
    else:
        agree = [word(place) for place in range(12)]
        words = [*agree, word(12, nudge)] if nudge else [*agree[:2], word(2, 5)]
    left = from_words(monkeypatch, *words)
    assert survivors(np.array([gap]), samplers.os.urandom).tolist() == ([0] if comes_up else [])
    assert not left


# -- one-sided geometric noise ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (3, 1), (1, 2), (7, 3), (1000, 1), (2**40 + 1, 2**38)])
def test_geometric_noise_has_its_law(numerator, denominator):
    n, a = 40_000, math.exp(-denominator / numerator)
    drawn = one_sided_geometric(n, numerator, denominator)
    assert drawn.min() >= 0
    edges = sorted({round(numerator / denominator * x) for x in (0.05, 0.2, 0.5, 1, 1.5, 2, 4)} | {1, 2, 3})
    for edge in edges:
        assert plausible(int((drawn >= edge).sum()), n, a**edge, len(edges))


def test_neighbouring_draws_are_independent():
    drawn = one_sided_geometric(40_000, 1, 1)
    p = math.exp(-1)
    both = (drawn[::2] > 0) & (drawn[1::2] > 0)
    assert plausible(int(both.sum()), 20_000, p * p)


def test_no_noise_is_no_draw_and_any_number_can_be_asked_for():
    for n in (0, 1, 2, 5):
        assert one_sided_geometric(n, 5, 2).shape == (n,)


def test_a_rest_is_kept_with_its_exact_chance(monkeypatch):
    """gap 1 of unit 2: coins of chance 1/2, 1/4, 1/6; the first that fails is an odd one or not."""
    monkeypatch.setattr(samplers, "_uniform", lambda n, below, _: np.array([rolled.pop(0)[below]] * n))
    for rolls, kept in (([{2: 1}], True), ([{2: 0}, {4: 1}], False), ([{2: 0}, {4: 0}, {6: 3}], True)):
        rolled = list(rolls)
        assert samplers._below_one_survives(np.array([1]), 2, samplers.os.urandom).tolist() == [kept]


def test_wide_words_are_even_too():
    n, below = 20_000, 3 * 2**60
    drawn = samplers._uniform(n, below)
    assert all(plausible(int((drawn < below // 3 * k).sum()), n, k / 3, 2) for k in (1, 2))
    assert plausible(int((drawn % 2).sum()), n, 0.5)


# -- joint quantiles ---------------------------------------------------------------------------------------------


class Scripted(samplers._Proposal):
    """Follows a script of picks; notes what could have been picked, and the exact log-chance of what was."""

    script: tuple = ()
    last = None

    def __init__(self, scale, random_bytes):
        super().__init__(scale, random_bytes)
        self.picks, self.options, self.log_chance = [], [], 0.0
        Scripted.last = self

    def pick(self, terms, total):
        shares = [int(share) for share in self._shares(terms, total)]
        assert 0 < sum(shares) <= samplers._UNIT  # what is proposed has a chance of at most 1 in all
        possible = [i for i, share in enumerate(shares) if share]
        step = len(self.picks)
        picked = Scripted.script[step] if step < len(Scripted.script) else possible[0]
        self.picks.append(picked)
        self.options.append(possible)
        self.log_chance += math.log(shares[picked]) - math.log(samplers._UNIT)
        self.weigh(samplers._UNIT, shares[picked])
        return picked

    def accept(self, gap, log):
        exponent = -gap / Fraction(self._scale) - log
        log_coin = float(exponent) + math.log(self.chance[0]) - math.log(self.chance[1])
        assert gap >= 0
        assert log_coin <= 1e-12  # ``_coin`` refuses chances above 1, exactly
        self.log_chance += log_coin
        return True

    @classmethod
    def every_path(cls, sums):
        """All cuts that can be proposed, with the log-chance of being proposed and accepted."""
        cls.script = ()
        while True:
            cuts = sums.propose(os.urandom)
            made = cls.last
            yield tuple(cuts), made.log_chance
            for step in reversed(range(len(made.picks))):
                later = [option for option in made.options[step] if option > made.picks[step]]
                if later:
                    cls.script = (*made.picks[:step], later[0])
                    break
            else:
                return


weights_of_cuts = st.one_of(st.floats(0.01, 10), st.floats(1e-300, 1e300), st.just(5e-324))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 9), st.integers(0, 10**6)), weights_of_cuts), min_size=1, max_size=4),
    st.integers(0, 50),
    st.lists(st.integers(1, 4), min_size=2, max_size=4),
    st.one_of(st.floats(0.5, 100), st.floats(1e-300, 2**52)),
)
@example([(0, 1.0)] * 4, 0, [1, 1, 1], 1.0)
@example([(10**6, 1.0), (0, 5e-324), (10**6, 1e300)], 10**6, [1, 1, 4, 1], 2.0**52)
def test_joint_quantiles_are_drawn_from_their_law_whatever_the_floats_do(cells, end, spacings, scale):
    """Every set of cuts has one path, and its chance is its exact weight times one constant."""
    counts, weights = np.array([*(n for n, _ in cells), end]), np.array([weight for _, weight in cells])
    sets, log_law = log_joint_quantiles(counts, JointQuantiles(tuple(spacings)), weights, scale)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samplers, "_Proposal", Scripted)
        chances = dict(Scripted.every_path(samplers._Sums(counts, spacings, weights, scale)))
    assert sorted(chances) == sorted(sets)
    got = np.array([chances[cuts] for cuts in sets])
    np.testing.assert_allclose(got - np.logaddexp.reduce(got), log_law, rtol=1e-11, atol=1e-9)
    assert np.logaddexp.reduce(got) > -1e-6  # hardly a proposal is rejected


@pytest.mark.parametrize("seed", [None, 3])
def test_joint_quantiles_occur_as_often_as_their_law_says(seed):
    counts, score, weights, n = np.array([3, 0, 5, 1]), JointQuantiles((1, 2, 1)), np.array([1.0, 0.2, 2.0]), 2000
    source = os.urandom if seed is None else np.random.default_rng(seed).bytes
    sums = samplers._Sums(counts, score.spacings, weights, 9.0)
    drawn = Counter(tuple(sums.propose(source) or ()) for _ in range(n))
    assert drawn[()] <= 1  # rejected: fewer than one in a million
    sets, log_law = log_joint_quantiles(counts, score, weights, 9.0)
    assert all(plausible(drawn[cuts], n, math.exp(log_p), len(sets)) for cuts, log_p in zip(sets, log_law))


def test_joint_quantiles_of_a_large_table_are_near_the_truth():
    """A cell that misses its share by a hundred records costs exp(-100): never seen."""
    counts = np.full(256, 4000)
    assert joint_quantiles(counts, [1] * 8, np.ones(255), 8.0) == [31, 63, 95, 127, 159, 191, 223]


def test_without_a_signal_the_base_measure_decides():
    """No records: the points fall as so many independent ones would, by the width of the cells."""
    n, sums = 2000, samplers._Sums(np.zeros(3, dtype=int), [1] * 4, np.array([1.0, 3.0]), 1.0)
    drawn = Counter(sum(sums.propose(os.urandom) or ()) for _ in range(n))
    assert all(plausible(drawn[k], n, binom.pmf(k, 3, 0.75), 4) for k in range(4))


def test_a_bound_that_does_not_hold_stops_the_draw(monkeypatch):
    counts, spacings, weights = np.array([3, 0, 5]), [1, 1, 1], np.ones(2)
    sums = samplers._Sums(counts, spacings, weights, 1.0)
    sums._end = sums._end[0], sums._end[1] - 1e-3  # less than the sum
    with pytest.raises(LeakError, match="did not hold"):
        sums.propose(os.urandom)
    half = np.array([2**61, 2**61])
    monkeypatch.setattr(samplers._Proposal, "_shares", lambda self, terms, total: half[: terms[0].shape[1]])
    zeros = samplers._Sums(np.array([0, 5, 0]), spacings, weights, 1e-3)
    with pytest.raises(LeakError, match="did not hold"):  # proposed more rarely than it must be drawn
        [zeros.propose(os.urandom) for _ in range(1000)]


@pytest.mark.parametrize(
    ("counts", "spacings", "weights"),
    [([2**57, 0], [1, 7], [1.0]), ([1, 1], [1, 1], [0.0]), ([1, 1], [1, 1], [1.0, 1.0]), ([1, 1], [1, 1], [math.nan])],
    ids=["too many records", "a cut without a weight", "a weight too many", "no number"],
)
def test_joint_quantiles_that_would_not_be_exact_are_refused(counts, spacings, weights):
    with pytest.raises(LeakError):
        joint_quantiles(np.array(counts), spacings, np.array(weights), 1.0)


def bytes_of(*words):
    left = list(words)
    return (lambda n: left.pop(0).to_bytes(n, "little")), left


@pytest.mark.parametrize(("nudge", "comes_up"), [(-1, True), (1, False)])
def test_a_coin_whose_first_digits_decide_nothing_is_decided_by_more(nudge, comes_up):
    """exp(-1) * 3/2, agreed with in 64, 128, 192 digits, and then just below or above."""
    with samplers.decimals(200):
        digits = int(Decimal(-1).exp() * 3 / 2 * 2**256)
    words = [(digits >> shift) % 2**64 for shift in (192, 128, 64)]
    source, left = bytes_of(*words, digits % 2**64 + nudge * 10)
    assert samplers._coin(Fraction(-1), 3, 2, source) is comes_up
    assert not left


def test_coins_of_hardly_any_chance_and_of_nearly_one():
    assert not samplers._coin(Fraction(-(10**12)), 2**500, 1, os.urandom)
    assert samplers._coin(Fraction(0), 2**200 - 1, 2**200, os.urandom)
    with pytest.raises(LeakError):
        samplers._coin(Fraction(0), 2**60 + 1, 2**60, os.urandom)


def test_two_halves_of_a_geometric_number_add_up_to_one():
    """Chi-square of 50,000 sums against the geometric law; false alarm 1e-7."""
    scale = 3.25
    sums = half_negative_binomial(50_000, scale, 2**40) + half_negative_binomial(50_000, scale, 2**40)
    expected = np.exp(-np.arange(20) / scale) * -np.expm1(-1 / scale)
    counts = np.bincount(np.minimum(sums, 20), minlength=21)
    assert chisquare(counts, np.append(expected, 1 - expected.sum()) * 50_000).pvalue > 1e-7


def test_halves_are_cut_and_their_chances_are_those_of_central_binomials():
    assert half_negative_binomial(1000, 50.0, 8).max() < 8
    k = np.array([0, 1, 2, 63, 64, 65, 100, 1000, 4096])
    exact = [Fraction(math.comb(2 * n, n), 4**n) for n in k.tolist()]
    np.testing.assert_allclose(samplers._central(k), [float(p) for p in exact], rtol=1e-13)
    assert [samplers._central_exact(n) for n in k.tolist()] == exact
    for n in (4097, 20_000):
        assert abs(samplers._central_exact(n) / Fraction(math.comb(2 * n, n), 4**n) - 1) < Fraction(1, 2**100)


def test_a_half_that_is_too_close_to_call_is_decided_by_more_digits(monkeypatch):
    """Of k = 1, kept with chance 1/2: words of exactly one half are not below it, words just under it are."""
    words = iter([2**63, 2**63 - 1])
    monkeypatch.setattr(samplers, "one_sided_geometric", lambda n, *_: np.ones(n, dtype=np.int64))
    monkeypatch.setattr(
        samplers.os, "urandom", lambda n: next(words).to_bytes(8, "little") * (n // 8) if n > 8 else b"\xff" * 8
    )
    assert half_negative_binomial(1, 1.0, 9).tolist() == [1]
    assert next(words, None) is None


def test_numbers_below_a_limit_are_drawn_evenly():
    """Each of 3 numbers comes up a third of the time: off by 0.04 with a chance below 1e-6 (Hoeffding, 6000 draws)."""
    drawn = samplers.draw_below(np.tile([3, 1], 6000)).reshape(-1, 2)
    assert np.abs(np.bincount(drawn[:, 0]) / 6000 - 1 / 3).max() < 0.04
    assert not drawn[:, 1].any()


def test_words_that_would_favour_small_numbers_are_drawn_again():
    words = iter([b"\xff" * 8, (7).to_bytes(8, "little")])
    assert samplers.draw_below(np.array([3]), None, lambda n: next(words)).tolist() == [1]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 1000])
def test_of_all_words_that_are_taken_each_number_has_as_many(limit):
    def is_taken(word):
        words = iter([word, 0])
        samplers.draw_below(np.array([limit]), None, lambda n: np.array([next(words)], dtype=np.uint64).tobytes())
        return next(words, None) is not None

    end = 2**64 - 2**64 % limit
    assert is_taken(end - 1)
    assert end == 2**64 or not is_taken(end)


def test_salts_are_new_each_time_and_leave_the_noise_as_it_was():
    assert len({draw_salt() for _ in range(1000)}) == 1000
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    assert draw_salt(one) == draw_salt(np.random.default_rng(5)) != draw_salt(one)
    assert one.integers(2**60) == other.integers(2**60)
