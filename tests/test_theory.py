"""docs/theory.md: its numbers, and its lemmas on all data small enough to enumerate."""

from __future__ import annotations

import importlib.util
import itertools
import math
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import kv

ROOT = Path(__file__).parents[1]


def _load():
    spec = importlib.util.spec_from_file_location("theory_witnesses", ROOT / "benchmarks" / "witnesses.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


w = _load()
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def numbers():
    return {x.mark: x for x in w.witnesses()}


# -- the page and its script ---------------------------------------------------------------------------


def test_the_page_prints_the_table_that_the_script_computes(numbers):
    rows = [line for line in PAGE.splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    assert rows == [x.row for x in numbers.values()]


def test_the_text_cites_every_number_as_it_is_computed(numbers):
    body = PAGE[: PAGE.index("| mark | what | value |")]
    cited = re.findall(r"(\S+?)ε?\s+\[([A-Z]\d+)\]", body)
    assert {mark: value for value, mark in cited} == {m: x.printed for m, x in numbers.items()}


@pytest.mark.parametrize(
    ("mark", "value", "tolerance"),
    [
        ("W3", 1.8, 1e-12),
        ("P1", 2.263, 5e-4),
        ("P2", 7.151, 5e-4),
        ("P3", 26.8, 0.05),
        ("T1", 5.0, 1e-12),
        ("T2", 9.0, 1e-12),
        ("T3", 20 / 101, 1e-12),
        ("T4", 10 / 101, 1e-12),
        ("F1", 0.27, 5e-4),
        ("F3", math.inf, 0),
        ("F6", 0.1, 1e-9),
        ("F8", 10.75, 1e-12),
        ("H1", 1.36e-4, 5e-7),
        ("H2", 0.9999, 5e-5),
        ("H3", 8.9, 0.01),
        ("H4", math.log(1 + 0.2 * (math.e - 1)), 1e-12),
        ("H6", 1.0, 0),
        ("H9", 0.0, 0),
    ],
)
def test_known_values(numbers, mark, value, tolerance):
    assert numbers[mark].value == pytest.approx(value, abs=tolerance)


# -- L1: selection -------------------------------------------------------------------------------------

SCORES = [(0, 0), (0, -1), (3, 1, 1), (0, -2, -2, -5), (1.5, 0.25, 1.5, -1, 0)]


@pytest.mark.parametrize("scores", SCORES)
def test_permute_and_flip_is_the_integral_over_arrival_times(scores):
    law = w.permute_and_flip(scores, 0.7)
    assert law.sum() == pytest.approx(1)
    np.testing.assert_allclose(law, w.permute_and_flip_by_orders(scores, 0.7), rtol=1e-12)


@pytest.mark.parametrize("scores", [(0, 0), (0, -1), (3, 1, 1), (2, 0, 1)])
def test_permute_and_flip_is_noisy_max_with_geometric_noise_and_a_random_order(scores):
    """Integer scores, P(Z >= k) = a^k; among k tied candidates each wins with probability 1/k."""
    a = math.exp(-0.7)
    law = np.zeros(len(scores))

    def below(s, v):
        return 1 - a ** max(0, v - s)

    for v in range(max(scores), max(scores) + 80):
        at = [(1 - a) * a ** (v - s) for s in scores]
        for tied in itertools.product((False, True), repeat=len(scores)):
            if any(tied):
                p = math.prod(x if t else below(s, v) for x, t, s in zip(at, tied, scores, strict=True))
                law += np.array(tied) * p / sum(tied)
    np.testing.assert_allclose(law, w.permute_and_flip(scores, 0.7), rtol=1e-9)


@pytest.mark.parametrize("law", [w.permute_and_flip, w.exponential_mechanism])
def test_selection_costs_the_range_of_the_changes_not_twice_the_largest(law):
    for scores in itertools.product((0, 2, 7), repeat=3):
        before = np.log(law(scores, 1.0))
        for moves in itertools.product((-1, 0, 1), repeat=3):
            loss = np.abs(np.log(law(np.add(scores, moves), 1.0)) - before).max()
            assert loss <= max(moves) - min(moves) + 1e-9


def test_public_offsets_and_base_measures_are_free_and_common_offsets_cancel():
    scores, moves, offsets = np.array([4, 1, 0]), np.array([1, 0, 1]), np.array([-2.5, 3.25, 0.5])
    for law in (w.permute_and_flip, w.exponential_mechanism):
        loss = np.log(law(scores + moves + offsets, 0.8)) - np.log(law(scores + offsets, 0.8))
        assert np.abs(loss).max() <= 0.8 + 1e-12
        np.testing.assert_allclose(law(scores + 17, 0.8), law(scores, 0.8), rtol=1e-12)
    base = [0.2, 3.0, 1.0]
    shifted = w.exponential_mechanism(scores + np.log(base) / 0.8, 0.8)
    np.testing.assert_allclose(w.exponential_mechanism(scores, 0.8, base), shifted, rtol=1e-12)


@pytest.mark.parametrize(
    "survival",
    [
        lambda t: min(1.0, math.exp(-t)),
        lambda t: math.exp(-t) / 2 if t > 0 else 1 - math.exp(t) / 2,
        lambda t: -math.expm1(-math.exp(-t)),
    ],
    ids=["exponential", "laplace", "gumbel"],
)
def test_the_three_noises_have_a_hazard_of_at_most_one(survival):
    for t in np.linspace(-6, 20, 261):
        for shift in (0.1, 1.0, 3.0):
            assert survival(t + shift) >= math.exp(-shift) * survival(t) * (1 - 1e-9)


def test_the_exponential_mechanism_is_concentrated_to_an_eighth_of_its_range_squared():
    for scores in itertools.product((0, 1, 4), repeat=3):
        for moves in itertools.product((0, 1), repeat=3):
            p = w.exponential_mechanism(np.add(scores, moves), 0.9)
            q = w.exponential_mechanism(scores, 0.9)
            for order in (1.01, 2.0, 8.0, 60.0):
                for a, b in ((p, q), (q, p)):
                    divergence = math.log((a**order * b ** (1 - order)).sum()) / (order - 1)
                    assert divergence <= order * 0.9**2 / 8 + 1e-9


# -- L3 and the table of sensitivities -----------------------------------------------------------------


@pytest.mark.parametrize(("classes", "up_to"), [(2, 14), (3, 9), (4, 6)])
def test_gini_is_monotone_and_moves_by_less_than_two(classes, up_to):
    moves = w.changes(w.gini, classes, up_to)
    assert min(moves) == 0
    assert max(moves) == Fraction(2 * up_to, up_to + 1)


@pytest.mark.parametrize("bits", [0, 1, 5, 20])
def test_integer_gini_is_exactly_monotone_and_bounded(bits):
    for classes, up_to in ((2, 30), (3, 10)):
        moves = w.changes(lambda c: w.gini_integer(c, bits), classes, up_to)
        assert min(moves) == 0
        assert max(moves) <= 2 << bits


def test_two_class_forms_are_multiples_of_gini():
    for a, b in w.all_counts(2, 12):
        if a + b:
            q = Fraction(a, a + b)
            assert (a + b) * 4 * q * (1 - q) == 2 * w.gini((a, b))
            assert (a + b) * q * (1 - q) == w.gini((a, b)) / 2


@pytest.mark.parametrize("impurity", [w.gini, w.entropy], ids=["gini", "entropy"])
def test_scaled_impurities_are_superadditive(impurity):
    for a in w.all_counts(3, 4):
        for b in w.all_counts(3, 4):
            both = impurity([x + y for x, y in zip(a, b, strict=True)])
            assert both >= impurity(a) + impurity(b) - 1e-12


def test_entropy_with_its_tangent_is_monotone_and_moves_by_at_most_the_slope():
    cap = 5
    moves = w.changes(lambda c: w.entropy(c, cap), 3, 12)
    assert min(moves) >= -1e-12
    assert max(moves) == pytest.approx(w.entropy_slope(cap))


def test_on_counts_the_last_chord_is_the_least_monotone_slope():
    cap = 5
    chord = cap * math.log(cap) - (cap - 1) * math.log(cap - 1)
    moves = w.changes(lambda c: w.entropy(c, cap, chord), 3, 12)
    assert min(moves) >= -1e-12
    assert max(moves) == pytest.approx(chord)
    for slope in (chord - 1e-3, 1.0, 0.0):
        assert min(w.changes(lambda c, s=slope: w.entropy(c, cap, s), 2, 12)) < -1e-4


def test_root_gini_needs_its_clip():
    assert max(w.changes(w.root_gini, 2, 20)) == pytest.approx(2 * math.sqrt(20))
    moves = w.changes(lambda c: w.root_gini(c, 4), 2, 14)
    assert min(moves) >= 0
    assert max(moves) == pytest.approx(2 * math.sqrt(4))


def test_correct_counts_rise_by_zero_or_one():
    assert set(w.changes(max, 3, 8)) == {0, 1}
    for label in range(3):
        assert set(w.changes(lambda c, k=label: c[k], 3, 8)) == {0, 1}


def test_squared_error_rises_by_at_most_the_range_squared():
    def sse(values):
        return sum(v * v for v in values) - Fraction(sum(values) ** 2, len(values)) if values else Fraction(0)

    for n in range(6):
        for values in itertools.combinations_with_replacement(range(5), n):
            for y in range(5):
                move = sse([*values, y]) - sse(values)
                assert 0 <= move <= Fraction(16 * n, n + 1)
                if n:
                    assert move == Fraction(n, n + 1) * (y - Fraction(sum(values), n)) ** 2


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
def test_quantile_scores_have_a_range_of_twice_the_larger_side(level):
    found = w.quantile_range(level, values=3, up_to=10)
    assert found == 2 * max(level, 1 - level)


def test_joint_quantile_scores_move_both_ways_by_their_bound():
    spacings = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    bound = 2 * (1 - min(spacings))
    widest = Fraction(0)
    for data in w.all_counts(4, 6):
        for v in range(4):
            more = [c + (j == v) for j, c in enumerate(data)]
            moves = []
            for i, j in itertools.combinations_with_replacement(range(5), 2):
                before, after = ([sum(d[:i]), sum(d[i:j]), sum(d[j:])] for d in (data, more))
                score = w.joint_quantile_score
                moves.append(score(after, spacings) - score(before, spacings))
            assert max(map(abs, moves)) <= bound
            widest = max(widest, max(moves) - min(moves))
    assert widest == 2 * bound


def test_two_sums_of_one_record_add_to_the_scale_exactly():
    scale = 1 << 10
    for i in range(1001):
        a = round(scale * Fraction(i, 1000))
        assert 0 <= a <= scale
        assert abs(a) + abs(scale - a) == scale


def test_rounding_one_number_keeps_the_sensitivity_rounded_up():
    def fixed(v, bits):
        return math.floor(v * 2**bits + Fraction(1, 2))

    for bits, delta in itertools.product((0, 2), (Fraction(1, 3), Fraction(1), Fraction(7, 5))):
        for i in range(60):
            v = Fraction(i, 13)
            assert abs(fixed(v + delta, bits) - fixed(v, bits)) <= math.ceil(2**bits * delta)


# -- trees and parts -----------------------------------------------------------------------------------


def test_our_tree_keeps_its_budget_on_all_small_data(numbers):
    assert numbers["W4"].value <= 1
    assert 0.9 < numbers["W5"].value <= 1
    assert w.joint_tree_loss(0.3, 0.9, 3) <= 1.2


def test_parts_drawn_per_record_cost_one_part_only():
    """Three records at most, two parts, a label per part: the exact mixture over assignments."""

    def law(records):
        out = np.zeros((2, 2))
        for parts in itertools.product((0, 1), repeat=len(records)):
            counts = np.zeros((2, 2))
            for part, label in zip(parts, records, strict=True):
                counts[part, label] += 1
            out += np.outer(w.permute_and_flip(counts[0], 1.0), w.permute_and_flip(counts[1], 1.0))
        return np.log(out / 2 ** len(records))

    for n in range(4):
        for records in itertools.combinations_with_replacement((0, 1), n):
            for label in (0, 1):
                assert np.abs(law([*records, label]) - law(records)).max() <= 1.0 + 1e-12


def test_poisson_sampling_of_randomised_response_costs_the_logarithm():
    rate, epsilon = 0.2, 1.0
    low = 1 / (1 + math.exp(epsilon))
    mixed = (1 - rate) * low + rate * low * math.exp(epsilon)
    assert math.log(mixed / low) == pytest.approx(w.poisson_amplified(rate, epsilon))
    assert math.log(mixed / low) > rate * epsilon


# -- published claims ----------------------------------------------------------------------------------


def test_privatree_exceeds_any_budget_that_ignores_the_number_of_features(numbers):
    assert 1 < numbers["P1"].value <= 5
    assert 1 < numbers["P2"].value <= 14
    assert 1 < numbers["P3"].value <= 50


def test_equation_7_is_twice_what_two_classes_need(numbers):
    assert numbers["P7"].value == pytest.approx(2 * numbers["P8"].value, rel=1e-6)
    gaps = range(1, 200)
    worst = max(g * float(w.permute_and_flip([g, 0], 0.05)[1]) for g in gaps)
    assert worst == pytest.approx(1 / (2 * math.e * 0.05), rel=1e-3)


def test_the_noisy_size_repair_grows_with_the_noise():
    assert w.noisy_size_loss(100, 1.0) == pytest.approx(2 * w.noisy_size_loss(50, 1.0))


def test_the_constants_for_gini_and_entropy_gains_hold_anyway(numbers):
    assert numbers["T5"].value <= 5 / 20
    assert numbers["T6"].value <= 1


@pytest.mark.parametrize("shape", [0.6, 0.8])
def test_the_density_of_gamma_differences_is_the_bessel_function(shape):
    order = shape - 0.5

    def density(x):  # times Gamma(shape)^2, rate 1; u = t^shape removes the pole at t = 0
        def f(u):
            t = u ** (1 / shape)
            return (t + x) ** (shape - 1) * math.exp(-2 * t - x) / shape

        return quad(f, 0, 40**shape, limit=200)[0]

    ratio = density(0.5) / density(2.0)
    assert ratio == pytest.approx(0.5**order * kv(order, 0.5) / (2.0**order * kv(order, 2.0)), rel=1e-6)


@pytest.mark.parametrize("shape", [0.6, 0.8, 1.0])
def test_the_largest_ratio_of_gamma_differences_is_at_zero(shape):
    epsilon, order = 0.1, shape - 0.5
    x = np.linspace(1e-6, 200, 20001)

    def log_density(t):
        t = np.abs(t)
        return order * np.log(t) + np.log(kv(order, epsilon * t))

    ratios = np.abs(log_density(x) - log_density(x + 1))
    inside = np.linspace(1e-6, 1 - 1e-6, 1001)
    ratios = np.append(ratios, np.abs(log_density(inside) - log_density(1 - inside)))
    assert ratios.max() <= w.gamma_shares_loss(shape, epsilon) + 1e-9


def test_integer_shares_sum_exactly_to_one_geometric_variable():
    """Formal power series, exact: the coefficients of (1 - x)^(-1/4), to the fourth, are all one."""
    order, r = 12, Fraction(1, 4)
    share = [Fraction(1)]
    for k in range(order):
        share.append(share[-1] * (r + k) / (k + 1))
    total = [Fraction(1)] + [Fraction(0)] * order
    for _ in range(4):
        total = [sum(total[i] * share[k - i] for i in range(k + 1)) for k in range(order + 1)]
    assert total == [1] * (order + 1)
    assert w.discrete_shares_error(4, 0.5) < 1e-12


def test_rejection_from_a_geometric_variable_gives_the_negative_binomial():
    r, alpha = 0.25, 0.6
    kept = [(1 - alpha) * alpha**k * math.prod((r + j) / (j + 1) for j in range(k)) for k in range(60)]
    assert sum(kept) == pytest.approx((1 - alpha) ** (1 - r))
    np.testing.assert_allclose(np.divide(kept, sum(kept)), w.negative_binomial(r, alpha, 59), rtol=1e-9)


def test_hidden_structure_is_no_protection():
    before, after = w.hidden_tree(200, 0.1)
    assert math.log(after / before) > 2 * 0.1 * 80
    assert w.best_attribute([(0, 1, 0), (1, 0, 1)]) == 0
    assert w.best_attribute([(0, 1, 0), (1, 0, 1), (1, 1, 0)]) == 1


def test_candidate_medians_stay_within_the_repaired_price(numbers):
    assert 1.1 < numbers["D1"].value <= 5 * 1 + 0.1
    assert 1.1 < numbers["D2"].value <= 10 * 1 + 0.1


def test_votes_of_disjoint_trees_have_a_range_of_two():
    for votes in itertools.product(range(4), repeat=3):
        for a, b in itertools.permutations(range(3), 2):
            if votes[a]:
                moved = [v - (k == a) + (k == b) for k, v in enumerate(votes)]
                loss = np.log(w.permute_and_flip(moved, 0.5)) - np.log(w.permute_and_flip(votes, 0.5))
                assert np.abs(loss).max() <= 1.0 + 1e-12
