"""The mechanisms draw from the laws they are charged for.

Statistical tests compare the count of every outcome with exact binomial tails, shared out over the outcomes: the
false-alarm rate of each test is below 1e-7.
"""

from __future__ import annotations

import itertools
import math
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import privet
from opendp_cost import opendp_cost
from privet.errors import BudgetError, LeakError
from privet.privacy.amounts import exact
from privet.privacy.laws import (
    log_exponential,
    log_geometric,
    log_geometric_tail,
    log_permute_and_flip,
    log_report_noisy_max,
)
from privet.privacy.mechanisms import (
    MAX_SCALE,
    SecureMechanisms,
    SeededMechanisms,
    mechanisms,
    party_mechanisms,
    scale_for,
    selection_scale,
)

F = Fraction
FALSE_ALARM = 1e-7
LAWS = {
    "permute_and_flip": log_permute_and_flip,
    "exponential": log_exponential,
    "report_noisy_max": log_report_noisy_max,
}


def seeded(seed=1):
    return SeededMechanisms(seed)


def assert_plausible(counts, chances):
    n = int(np.sum(counts))
    tail = FALSE_ALARM / (2 * len(counts))
    for count, p in zip(counts, np.minimum(chances, 1)):
        assert binom.cdf(count, n, p) > tail
        assert binom.sf(count - 1, n, p) > tail


def assert_selects_by_law(source, mechanism, scores, scale, n):
    scores = np.array(scores)
    winners = source.select(mechanism, [scores] * n, [scale] * n)
    assert_plausible(np.bincount(winners, minlength=len(scores)), np.exp(LAWS[mechanism](scores, scale)))


# -- laws ---------------------------------------------------------------------------------------------------------

SELECTIONS = [
    ([0, 0, 0, 0], 1.0),  # ties
    ([0, 1], 1.0),
    ([3, -2, 0, 3, 1], 2.5),
    ([-1000, -998, -999, -1003], 1.75),  # whole scales and a rest
    ([0, 700, 710, 705, -(10**15)], 3.0),  # large gaps
    ([2**61, 2**61 + 1, 2**61 - 1], 1.0),
    ([0, 1, 2], 0.30000001192092896),  # a scale with many digits
    ([0, 2**50, 2**51], 2.0**51),
]


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize(("scores", "scale"), SELECTIONS, ids=str)
def test_secure_selection_has_its_law(mechanism, scores, scale):
    assert_selects_by_law(SecureMechanisms(), mechanism, scores, scale, 2_000)


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize(("scores", "scale"), SELECTIONS, ids=str)
def test_seeded_selection_has_its_law(mechanism, scores, scale):
    assert_selects_by_law(seeded(), mechanism, scores, scale, 50_000)


@pytest.mark.parametrize("mechanism", LAWS)
def test_permute_and_flip_where_a_gap_does_not_fit_in_small_units(mechanism):
    """A scale with 53 digits and a large gap beside small ones: OpenDP then tosses all coins itself."""
    scale = math.nextafter(1.1, 2)
    assert_selects_by_law(SecureMechanisms(), mechanism, [0, 1, 2, -(2**40)], scale, 2_000)


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("source", [SecureMechanisms(), seeded()], ids=["secure", "seeded"])
def test_a_single_candidate_wins(source, mechanism):
    for scale in (5e-324, 1.0, MAX_SCALE):
        assert source.select(mechanism, [np.array([-7])] * 3, [scale] * 3) == [0, 0, 0]


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("source", [SecureMechanisms(), seeded()], ids=["secure", "seeded"])
def test_each_vector_is_drawn_with_its_own_scale(source, mechanism):
    sharp, flat = np.array([0, 50, 0]), np.array([0, 50])
    winners = source.select(mechanism, [sharp, flat] * 500, [0.5, 1e6] * 500)
    assert set(winners[::2]) == {1}  # another winner has a chance of exp(-100)
    assert_plausible(np.bincount(winners[1::2]), np.exp(LAWS[mechanism](flat, 1e6)))


def test_no_vectors_need_no_draws():
    assert SecureMechanisms().select("permute_and_flip", [], []) == []


def test_selection_from_many_threads_at_once_keeps_its_law():
    scores, scale = np.array([0, 2, 3]), 2.0
    source = SecureMechanisms()
    with ThreadPoolExecutor(4) as pool:
        drawn = pool.map(lambda _: source.select("permute_and_flip", [scores] * 100, [scale] * 100), range(20))
        winners = [winner for some in drawn for winner in some]
    assert_plausible(np.bincount(winners, minlength=3), np.exp(log_permute_and_flip(scores, scale)))


@pytest.mark.parametrize(("source", "n"), [(SecureMechanisms(), 10_000), (seeded(), 200_000)], ids=["secure", "seeded"])
@pytest.mark.parametrize("scale", [0.2, 1.0, 3.7, 1000.0])
def test_geometric_noise_has_its_law(source, scale, n):
    """Bins of the scale's width around 0, and both tails."""
    values = np.arange(n) % 11 - 5
    noise = source.geometric(values, scale) - values
    width, half = max(1, round(scale)), 6
    edges = np.arange(-half, half + 1) * width  # bins [edge, next edge)
    place = np.searchsorted(edges, noise, side="right")
    inner = [np.exp(log_geometric(np.arange(a, b), scale)).sum() for a, b in itertools.pairwise(edges)]
    low, high = (math.exp(log_geometric_tail(k, scale)) for k in (half * width + 1, half * width))
    assert_plausible(np.bincount(place, minlength=len(edges) + 1), [low, *inner, high])
    assert noise.dtype == np.int64


@pytest.mark.parametrize("source", [SecureMechanisms(), seeded()], ids=["secure", "seeded"])
def test_noise_keeps_the_shape_of_its_values(source):
    for shape in ((0,), (3,), (2, 3), (2, 0, 3)):
        assert source.geometric(np.zeros(shape, dtype=np.int64), 2.0).shape == shape
    strided = np.arange(20)[::2]
    assert source.geometric(strided, 1e-3).tolist() == strided.tolist()  # noise has a chance of exp(-1000)


def test_a_seed_gives_the_same_draws_again():
    scores = [np.arange(30)] * 20
    for mechanism in LAWS:
        first, again, other = (seeded(s).select(mechanism, scores, [9.0] * 20) for s in (4, 4, 5))
        assert first == again != other
    first, again, other = (seeded(s).geometric(np.zeros(50, dtype=np.int64), 9.0).tolist() for s in (4, 4, 5))
    assert first == again != other


def test_noise_is_secure_unless_a_seed_is_given():
    assert not mechanisms(None).reproducible
    for seed in (0, np.random.default_rng(0), np.random.RandomState(0)):
        assert mechanisms(seed).reproducible


@pytest.mark.parametrize("of", [None, 4])
def test_a_party_s_noise_is_secure_unless_a_seed_is_given(of):
    assert not party_mechanisms(of, None).reproducible
    assert party_mechanisms(of, [5, 6]).reproducible


def test_a_party_s_seed_gives_the_numbers_of_its_generator():
    """Those that runs with this seed have always had."""
    zeros, generator = np.zeros(50, dtype=np.int64), np.random.default_rng([5, 6])
    one, other = generator.negative_binomial(1 / 4, -math.expm1(-1 / 9), (2, 50))
    shares = party_mechanisms(4, [5, 6])
    assert shares.geometric_shares(zeros, 9.0).tolist() == (one - other).tolist()
    one, other = generator.poisson(81 / 8, (2, 50))
    assert shares.skellam_shares(zeros, 9.0).tolist() == (one - other).tolist()
    whole = party_mechanisms(None, [5, 6]).geometric(zeros, 9.0)
    assert whole.tolist() == seeded(np.random.default_rng([5, 6])).geometric(zeros, 9.0).tolist()


@pytest.mark.parametrize("room", ["curators", "federated", "mpc", "hidden"])
def test_generators_of_noise_are_made_in_privacy_alone(room):
    for file in (Path(privet.__file__).parent / room).rglob("*.py"):
        assert not re.search(r"\brandom\.(default_rng|RandomState|seed)\b", file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("source", [SecureMechanisms(), seeded()], ids=["secure", "seeded"])
def test_an_unknown_mechanism_is_an_error(source):
    with pytest.raises(LeakError, match="argmax"):
        source.select("argmax", [np.array([1, 2])], [1.0])


# -- scales and prices ---------------------------------------------------------------------------------------------

sensitivities = st.one_of(st.integers(1, 2000), st.integers(1, 2**40), st.sampled_from([1, 256, 512]))
budgets = st.one_of(
    st.floats(1e-6, 1e6).map(exact),
    st.fractions(min_value=F(1, 10**6), max_value=100),
    st.floats(1e-300, 1e300).map(exact),
)


@settings(max_examples=300, deadline=None)
@given(sensitivities, budgets)
def test_a_scale_costs_at_most_its_budget_and_nearly_all_of_it(sensitivity, budget):
    quotient = sensitivity / budget
    if quotient > F(MAX_SCALE) * (1 - F(1, 2**40)):
        return
    scale = scale_for(sensitivity, budget)
    assert sensitivity / F(scale) <= budget
    if scale > 1e-290:  # below, floats are too coarse
        assert F(scale) / quotient - 1 < 1e-14
    coarse = selection_scale(sensitivity, budget)
    assert scale <= coarse <= scale * (1 + 2**-23)
    mantissa, _ = math.frexp(coarse)
    assert (mantissa * 2**24).is_integer()


@pytest.mark.parametrize("mechanism", ["geometric", "permute_and_flip", "exponential"])
def test_opendp_never_charges_more_than_the_budget(mechanism):
    """OpenDP rounds its prices up; the scales leave room for that. Random prices of every size."""
    rng = np.random.default_rng(20)
    for _ in range(400):
        sensitivity = int(2 ** rng.uniform(0, 40)) if rng.random() < 0.5 else int(rng.integers(1, 2000))
        budget = exact(10 ** rng.uniform(-2.5, 100)) if rng.random() < 0.2 else exact(10 ** rng.uniform(-2.5, 2))
        if rng.random() < 0.5:
            budget *= F(int(rng.integers(1, 100)), int(rng.integers(1, 100)))
        for make in (scale_for, selection_scale):
            assert F(opendp_cost(mechanism, sensitivity, make(sensitivity, budget))) <= budget


@pytest.mark.parametrize("mechanism", ["geometric", "permute_and_flip", "exponential"])
def test_opendp_charges_nearly_the_whole_budget(mechanism):
    for epsilon in (1e-6, 0.01, 0.1, 1.0, 10.0):
        assert opendp_cost(mechanism, 512, scale_for(512, exact(epsilon))) == pytest.approx(epsilon, rel=1e-14)


def test_opendp_reads_gumbel_selection_in_zcdp():
    """Its map gives rho = (sensitivity/scale)^2 / 8; read back as an epsilon it is the price of lemma L1."""
    from privet.privacy.mechanisms import _noisy_max

    assert _noisy_max("exponential", 4.0).map(2) == 0.5**2 / 8
    assert opendp_cost("exponential", 2, 4.0) == pytest.approx(0.5, rel=1e-15)
    assert opendp_cost("permute_and_flip", 2, 4.0) == 0.5


# -- extremes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-30, 1e-15])
@pytest.mark.parametrize("make", [scale_for, selection_scale])
def test_a_budget_too_small_for_integers_is_refused_with_advice(make, epsilon):
    with pytest.raises(BudgetError, match="Raise epsilon"):
        make(512, exact(epsilon))


def test_the_largest_scale_is_just_allowed():
    assert scale_for(1, 1 / F(MAX_SCALE) * (1 + F(1, 2**49))) <= MAX_SCALE
    assert selection_scale(1, 1 / F(MAX_SCALE) * (1 + F(1, 2**49))) <= MAX_SCALE
    with pytest.raises(BudgetError):
        scale_for(1, 1 / F(MAX_SCALE))


@pytest.mark.parametrize("epsilon", [1e6, 1e300, 1.7e308, F(10) ** 400], ids=["1e6", "1e300", "1.7e308", "1e400"])
@pytest.mark.parametrize("source", [SecureMechanisms(), seeded()], ids=["secure", "seeded"])
def test_a_huge_budget_gives_the_best_and_the_exact_values(source, epsilon):
    budget = exact(epsilon)
    scale = scale_for(1, budget)
    assert scale > 0
    assert 1 / F(scale) <= budget
    values = np.array([-(2**61), -1, 0, 7, 2**61])
    assert (source.geometric(values, scale) == values).all()
    for mechanism in LAWS:
        for each in (scale, selection_scale(1, budget)):
            assert source.select(mechanism, [values, values[::-1]], [each, each]) == [4, 0]
            tie = source.select(mechanism, [np.array([3, 0, 3])] * 60, [each] * 60)
            assert set(tie) == {0, 2}  # only one of them with a chance of 2^-59


@pytest.mark.parametrize("source", [SecureMechanisms(), seeded()], ids=["secure", "seeded"])
def test_the_largest_scale_does_not_overflow(source):
    values = np.array([-(2**61), 0, 2**61] * 200)
    noise = source.geometric(values, MAX_SCALE) - values
    assert np.abs(noise).max() < 100 * MAX_SCALE  # beyond with a chance of exp(-93)
    assert_plausible(np.bincount(noise >= 0), [0.5, 0.5])
    for mechanism in LAWS:
        winners = source.select(mechanism, [np.array([-(2**61), 2**61])] * 10, [MAX_SCALE] * 10)
        assert set(winners) == {1}  # the gap is 1024 scales


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, -math.inf, 2 * MAX_SCALE])
@pytest.mark.parametrize("source", [SecureMechanisms(), seeded()], ids=["secure", "seeded"])
def test_a_scale_that_makes_no_sense_is_refused(source, scale):
    """OpenDP would take 0 for no noise at all."""
    with pytest.raises(BudgetError):
        source.geometric(np.array([1]), scale)
    for mechanism in LAWS:
        with pytest.raises(BudgetError):
            source.select(mechanism, [np.array([1, 2])], [scale])
