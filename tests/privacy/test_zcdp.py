"""Costs in rho add up along the ledger's paths, and one conversion, always upward, turns their sum into an epsilon."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm, skellam

from opendp_cost import opendp_cost
from privet.errors import BudgetError, ReceiptError
from privet.privacy.event import Event, add_up, spending
from privet.privacy.laws import log_gaussian, log_skellam
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import SecureMechanisms, SeededMechanisms, scale_for
from privet.privacy.receipt import Receipt
from privet.privacy.scope import reserved_rho
from privet.privacy.zcdp import epsilon_at, ratio_for, rho_of, rho_within

F = Fraction
DELTA = F(1, 10**6)
rhos = st.fractions(min_value=F(1, 10**6), max_value=20)
deltas = st.sampled_from([F(1, 100), F(1, 10**6), F(1, 10**12)])


def float_bound(rho, delta, alpha):
    """Corollary 13 of Canonne, Kamath and Steinke, as its proof writes it: solved for epsilon."""
    return alpha * rho - (np.log(delta) + np.log(alpha - 1) - alpha * np.log1p(-1 / alpha)) / (alpha - 1)


# -- the conversion -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(rhos, deltas)
def test_the_conversion_is_the_corollary_at_its_best_order_rounded_up(rho, delta):
    orders = 1 + np.exp(np.linspace(-8, 14, 20_000))
    best = max(0.0, float_bound(float(rho), float(delta), orders).min())
    assert float(epsilon_at(rho, delta)) == pytest.approx(best, rel=1e-5, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(rhos, deltas)
def test_gaussian_noise_of_that_rho_has_at_most_that_delta(rho, delta):
    # The exact curve of Gaussian noise with sensitivity 1 and this rho (Balle and Wang 2018).
    sigma, epsilon = 1 / math.sqrt(2 * rho), float(epsilon_at(rho, delta))
    log_second = epsilon + norm.logcdf(-1 / (2 * sigma) - epsilon * sigma)
    assert norm.cdf(1 / (2 * sigma) - epsilon * sigma) - math.exp(log_second) <= float(delta)


@pytest.mark.parametrize("rho", [F(1, 3000), F(1, 50), F(1, 2), F(3)])
def test_dp_accounting_agrees(rho):
    dp_accounting = pytest.importorskip("dp_accounting")
    accountant = dp_accounting.rdp.RdpAccountant([1 + math.exp(x) for x in np.linspace(-3, 9, 2_000)])
    accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
    theirs = accountant.get_epsilon(float(DELTA))
    assert float(epsilon_at(rho, DELTA)) == pytest.approx(theirs, rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.fractions(min_value=F(1, 1000), max_value=20), deltas)
def test_a_budget_in_rho_converts_back_to_no_more_and_hardly_less(epsilon, delta):
    back = epsilon_at(rho_within(epsilon, delta), delta)
    assert epsilon * (1 - F(1, 10**4)) <= back <= epsilon


def test_nothing_costs_nothing():
    assert epsilon_at(F(0), DELTA) == 0


@pytest.mark.parametrize("delta", [F(0), F(1), F(2)])
def test_a_delta_is_a_probability(delta):
    with pytest.raises(BudgetError, match="delta"):
        epsilon_at(F(1), delta)


@given(
    st.fractions(min_value=F(1, 10**12), max_value=10**6),
    st.sampled_from(["gaussian", "exponential", "geometric", "skellam_shares"]),
)
def test_a_ratio_costs_at_most_its_rho_and_nearly_all_of_it(rho, mechanism):
    cost = rho_of(mechanism, ratio_for(mechanism, rho))
    assert rho * (1 - F(1, 2**40)) <= cost <= rho


# -- Gaussian noise -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [SecureMechanisms(), SeededMechanisms(np.random.default_rng(3))])
def test_gaussian_noise_has_the_discrete_law(source):
    """Every value against its binomial tails: a false-alarm rate below 1e-7."""
    n, scale = 20_000, 1.5
    noise = source.gaussian(np.full(n, 7), scale) - 7
    support = np.arange(-6, 7)
    for k, p in zip(support, np.exp(log_gaussian(support, scale))):
        count = int((noise == k).sum())
        assert binom.cdf(count, n, p) > 1e-9
        assert binom.sf(count - 1, n, p) > 1e-9


def test_the_law_sums_to_one():
    assert np.exp(log_gaussian(np.arange(-500, 501), 9.25)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("rho", [F(1, 3), F(1, 1000), F(1, 10**7)])
@pytest.mark.parametrize("sensitivity", [1, 2**16])
def test_opendp_says_no_more_than_we_charge(rho, sensitivity):
    scale = scale_for(sensitivity, ratio_for("gaussian", rho))
    assert opendp_cost("gaussian", sensitivity, scale) ** 2 / 2 <= rho * (1 + F(1, 10**9))


# -- Skellam noise ------------------------------------------------------------------------------------------------


def renyi(orders, shift, scale):
    """The divergences of these orders between Skellam noise and the same moved by a whole number."""
    reach = math.ceil(14 * scale + 4 * max(orders) * shift) + 40
    law = log_skellam(np.arange(reach + shift + 1), scale)  # of either sign
    k = np.arange(-reach, reach + 1)
    log_p, log_q = law[np.abs(k - shift)], law[np.abs(k)]
    return [float(np.logaddexp.reduce(order * log_p + (1 - order) * log_q)) / (order - 1) for order in orders]


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0, 5.0, 13.0])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_no_whole_order_shows_more_than_the_rho_of_skellam_noise(scale, shift):
    """Coordinates add up, so vectors follow: their squared lengths do, too, and the second term grows with those."""
    rho = rho_of("skellam_shares", F(shift) / F(scale))
    orders = (2, 3, 4, 8, 20)
    for order, exact in zip(orders, renyi(orders, shift, scale)):
        m, square = scale**2, shift**2
        printed = order * square / (2 * m) + ((2 * order - 1) * square + 6 * shift) / (4 * m * m)
        assert exact <= printed * (1 + 1e-9)
        assert exact <= order * float(rho) * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.fractions(min_value=F(1, 200), max_value=F(1, 2)), deltas)
def test_skellam_noise_of_that_rho_has_at_most_that_delta(rho, delta):
    scale = scale_for(1, ratio_for("skellam_shares", rho))
    epsilon = float(epsilon_at(rho, delta, whole=True))
    k = np.arange(-math.ceil(14 * scale) - 40, math.ceil(14 * scale) + 41)
    p, q = np.exp(log_skellam(k - 1, scale)), np.exp(log_skellam(k, scale))
    assert np.maximum(p - math.exp(epsilon) * q, 0).sum() <= float(delta)


def test_the_law_of_skellam_noise():
    k = np.arange(-40, 41)
    for scale, shape in ((0.7, 1.0), (6.0, 1.0), (6.0, 0.25)):
        mean = shape * scale**2 / 2
        np.testing.assert_allclose(log_skellam(k, scale, shape)[20:61], skellam.logpmf(k, mean, mean)[20:61], rtol=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.fractions(min_value=F(1, 10**6), max_value=F(1, 4)), deltas)
def test_whole_orders_cost_next_to_nothing(rho, delta):
    every, whole = epsilon_at(rho, delta), epsilon_at(rho, delta, whole=True)
    assert every <= whole <= every * F(103, 100)
    back = epsilon_at(rho_within(whole, delta, whole=True), delta, whole=True)
    assert whole * (1 - F(1, 10**3)) <= back <= whole


@settings(max_examples=40, deadline=None)
@given(rhos, deltas)
def test_a_whole_order_is_the_best_of_the_whole_ones(rho, delta):
    orders = np.arange(2, 200_000)
    best = max(0.0, float_bound(float(rho), float(delta), orders).min())
    assert float(epsilon_at(rho, delta, whole=True)) == pytest.approx(best, rel=1e-5, abs=1e-8)


def test_a_ledger_takes_skellam_noise_at_whole_orders_only():
    ledger = Ledger(1, DELTA)
    scope = ledger.begin("fit", ledger.root.limit, "rho")
    with pytest.raises(BudgetError, match="whole_orders"):
        ledger.charge([ask(scope, "skellam_shares", ledger.root.limit)])
    ledger = Ledger(1, DELTA, whole_orders=True)
    scope = ledger.begin("fit", ledger.root.limit, "rho")
    ledger.charge([ask(scope, "skellam_shares", ledger.root.limit)])
    assert ledger.spent <= 1
    reserved = add_up(ledger.events)
    receipt = Receipt(F(1), ledger.spent, DELTA, (), "", tuple(ledger.events), at_delta=DELTA, reserved=reserved)
    assert receipt.verify()
    assert receipt.spent == epsilon_at(ledger.root.spent, DELTA, whole=True)
    with pytest.raises(ReceiptError):
        replace(receipt, spent=epsilon_at(ledger.root.spent, DELTA)).verify()


# -- the ledger ---------------------------------------------------------------------------------------------------


def ask(scope, mechanism, charged, sensitivity=1, lemma="tally"):
    ratio = charged if scope.currency == "epsilon" else ratio_for(mechanism, charged)
    return scope, Event(
        scope.path, "a question", mechanism, F(sensitivity), scale_for(sensitivity, ratio), charged, lemma
    )


def test_rho_adds_along_paths_and_disjoint_parts_share_it():
    ledger = Ledger(1, delta=1e-6)
    fit = ledger.begin("fit", ledger.root.limit, "rho")
    ledger.charge([ask(fit, "gaussian", F(1, 1000))])
    for part in fit.split(3, "parts"):
        ledger.charge([ask(part, "gaussian", F(1, 100))])
    assert fit.spent == F(11, 1000)
    assert ledger.spent == epsilon_at(F(11, 1000), DELTA)
    with pytest.raises(BudgetError, match="in rho"):
        ledger.charge([ask(fit, "gaussian", F(1, 50))])


def test_a_total_with_a_delta_is_never_exceeded_and_nearly_used_up():
    ledger = Ledger(1, delta=1e-6)
    fit = ledger.begin("fit", ledger.root.limit, "rho")
    ledger.charge([ask(fit, "gaussian", ledger.root.limit)])
    assert F(999, 1000) < ledger.spent <= 1
    assert ledger.remaining == 0


def test_what_remains_can_be_spent():
    ledger = Ledger(1, delta=1e-6)
    fit = ledger.begin("fit", F(1, 100), "rho")
    ledger.charge([ask(fit, "gaussian", F(1, 100))])
    limit = rho_within(F(ledger.remaining), DELTA)
    ledger.charge([ask(ledger.begin("fit", limit, "rho"), "gaussian", limit)])
    assert ledger.spent <= 1


def test_epsilon_spent_in_a_ledger_with_a_delta_is_charged_in_rho_and_against_its_own_limit():
    ledger = Ledger(1, delta=1e-6)
    fit = ledger.begin("fit", F(1, 5))
    left, right = fit.split(2)
    ledger.charge([ask(left, "geometric", F(1, 10)), ask(right, "exponential", F(1, 10), 2, "quantile(1/2)")])
    ledger.charge([ask(fit, "geometric", F(1, 10))])
    assert fit.spent == F(1, 5)
    assert ledger.root.spent == F(1, 200) + F(1, 200)
    with pytest.raises(BudgetError):
        ledger.charge([ask(right, "geometric", F(1, 1000))])
    assert (fit.spent, ledger.root.spent, len(ledger.events)) == (F(1, 5), F(1, 100), 3)


def test_a_charge_that_only_the_ledger_cannot_pay_leaves_no_trace():
    ledger = Ledger(1, delta=1e-6)
    fit = ledger.begin("fit", F(10))
    with pytest.raises(BudgetError, match="in rho"):
        ledger.charge([ask(fit, "geometric", F(1, 100)), ask(fit, "geometric", F(1))])
    assert (fit.spent, ledger.root.spent, ledger.events) == (0, 0, [])


def test_a_ledger_without_a_delta_has_no_place_for_rho():
    with pytest.raises(BudgetError, match="delta"):
        Ledger(1).begin("fit", F(1, 100), "rho")


@pytest.mark.parametrize("delta", [0, 1, 2, -1e-6, math.nan, math.inf, "many", True])
def test_a_ledgers_delta_is_a_small_probability(delta):
    with pytest.raises(BudgetError, match="delta"):
        Ledger(1, delta=delta)


# -- the receipt --------------------------------------------------------------------------------------------------


def honest():
    ledger = Ledger(1, delta=1e-6)
    size = ledger.begin("fit", F(1, 50))
    ledger.charge([ask(size, "geometric", F(1, 50))])
    fit = ledger.begin("fit", F(2, 100), "rho")
    ledger.charge([ask(fit, "exponential", F(1, 400), 2**16, "clipped_gradient_norm(1)")])
    ledger.charge([ask(part, "gaussian", F(1, 100), 2**16, "clipped_gradient_tally") for part in fit.split(2)])
    events = (ledger.events[0].in_rho(), *ledger.events[1:])
    reserved = reserved_rho([size, fit])
    spent = epsilon_at(reserved, DELTA)
    return Receipt(F(1), spent, DELTA, (), "The machine.", events, at_delta=DELTA, reserved=reserved)


def test_a_receipt_with_a_delta_verifies_and_survives_json():
    receipt = honest()
    assert receipt.verify()
    assert add_up(receipt.events) == F(1, 5000) + F(1, 400) + F(1, 100)
    assert receipt.reserved == F(1, 5000) + F(2, 100) > add_up(receipt.events)
    assert receipt.spent == epsilon_at(receipt.reserved, DELTA)
    again = Receipt.from_json(receipt.to_json())
    assert again == receipt
    assert again.verify()


@pytest.mark.parametrize(
    "fields",
    [
        {"delta": F(1, 10**7)},
        {"delta": F(1, 10**5), "at_delta": F(1, 10**5)},  # a larger delta would be a smaller epsilon
        {"delta": F(0), "at_delta": F(0)},  # rho is no epsilon, and Gaussian noise has none
        {"delta": F(1), "at_delta": F(1)},
        {"delta": F(2), "at_delta": F(2)},
        {"spent": honest().spent - F(1, 10**9)},
        {"spent": spending(honest().events, DELTA)},  # what was used, which follows from the answers
        {"reserved": F(1, 1000), "spent": epsilon_at(F(1, 1000), DELTA)},  # less than was used
        {"reserved": F(0), "spent": F(0)},
        {"claimed": F(1, 10)},
    ],
)
def test_a_receipt_with_a_delta_that_flatters_is_found(fields):
    with pytest.raises(ReceiptError):
        replace(honest(), **fields).verify()


@pytest.mark.parametrize("i", range(4))
@pytest.mark.parametrize("change", [{"charged": F(1, 10**5)}, {"scale": 0.001}, {"sensitivity": F(0)}])
def test_an_event_in_rho_that_flatters_is_found(i, change):
    events = list(honest().events)
    events[i] = replace(events[i], **change)
    with pytest.raises(ReceiptError):
        replace(honest(), events=tuple(events)).verify()


def test_a_pure_receipt_reserves_nothing_and_may_state_a_delta_that_was_not_used():
    pure = Receipt(F(1), F(1), F(0), (), "", (Event.example(F(1)),))
    assert replace(pure, delta=DELTA).verify()
    with pytest.raises(ReceiptError, match="reserves"):
        replace(pure, reserved=F(1, 2)).verify()


def test_a_root_in_epsilon_reserves_half_the_square_of_its_limit():
    ledger = Ledger(math.inf, delta=1e-6)
    pure, rho = ledger.begin("fit", F(1, 5)), ledger.begin("fit", F(1, 7), "rho")
    assert reserved_rho([pure, rho]) == F(1, 50) + F(1, 7)
    with pytest.raises(BudgetError, match="without a limit"):
        reserved_rho([ledger.begin("fit", math.inf)])


@given(st.lists(st.fractions(F(1, 1000), 1), min_size=1, max_size=20))
def test_no_transcript_uses_more_than_a_root_in_epsilon_reserves(amounts):
    ledger = Ledger(math.inf, delta=1e-6)
    fit = ledger.begin("fit", sum(amounts, F(0)))
    ledger.charge([ask(fit, "geometric", amount) for amount in amounts])
    assert ledger.root.spent <= reserved_rho([fit])


def test_gaussian_noise_has_no_place_in_a_pure_receipt():
    event = replace(Event.example(F(1)), mechanism="gaussian")
    with pytest.raises(ReceiptError, match="costs more"):
        Receipt(F(1), F(1), F(0), (), "", (event,)).verify()
