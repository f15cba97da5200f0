"""Cut geometric noise: its law, and deltas that hold on every small case and hardly more."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from cut_mechanisms import CutMechanisms, _winner
from privet.cli.checks import check_event
from privet.errors import LeakError, ReceiptError
from privet.privacy.event import Event, add_up_slack
from privet.privacy.laws import log_exponential, log_geometric, log_permute_and_flip, log_report_noisy_max
from privet.privacy.receipt import Receipt
from privet.privacy.truncated_geometric import (
    DIGITS,
    Drawn,
    check_law,
    cut_bits,
    cut_choice,
    cut_tally,
    thresholds,
    tries,
)

FALSE_ALARM = 1e-7


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5])
def test_the_digits_make_a_cut_geometric_number(scale):
    chances = [t / 2**DIGITS for t in thresholds(scale, 5)]
    law = np.array(
        [math.prod(p if z >> i & 1 else 1 - p for i, p in enumerate(chances)) for z in range(32)], dtype=float
    )
    geometric = np.exp(-np.arange(32) / scale)
    np.testing.assert_allclose(law, geometric / geometric.sum(), rtol=1e-12, atol=2.0**-DIGITS)


@pytest.mark.parametrize("scale", [0.01, 1.0, 123.4, 2.0**40])
def test_what_is_cut_off_is_as_rare_as_promised(scale):
    for draws in (1, 1000, 10**6):
        bits = cut_bits(scale, draws)
        assert draws * math.exp(-(2**bits) / scale) <= 2**-64
        assert bits == 1 or draws * math.exp(-(2 ** (bits - 1)) / scale) > 2**-64
    assert (1 - 1 / 12) ** tries(12) <= 2**-64
    assert tries(1) == 1


def geometric_law(scale, bits):
    law = np.exp(-np.arange(2**bits) / scale)
    return law / law.sum()


def worst(one, other, epsilon):
    """The smallest delta for two laws, both ways round."""
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((one, other), (other, one)))


@pytest.mark.parametrize(("scale", "bits"), [(1.0, 2), (1.0, 3), (2.5, 4), (0.7, 1)])
def test_the_delta_of_a_noisy_count_is_exactly_what_the_cut_costs(scale, bits):
    one_sided = geometric_law(scale, bits)
    noise = np.convolve(one_sided, one_sided[::-1])
    here, there = np.append(noise, 0), np.append(0, noise)
    stated = Drawn("cut", bits, 2, 1).delta("geometric", Fraction(1), scale)
    assert float(stated) == pytest.approx(worst(here, there, 1 / scale), rel=1e-9)
    two = np.multiply.outer(here, here).ravel(), np.multiply.outer(there, there).ravel()
    both = Drawn("cut", bits, 4, 1).delta("geometric", Fraction(2), scale)
    assert 0.3 * float(both) < worst(*two, 2 / scale) <= float(both)


def winner_law(scores, noises, order):
    """Of the largest score plus noise, ties to the first in ``order``: over all values of the noise."""
    law = np.zeros(len(scores))
    for values in product(*(range(len(noise)) for noise in noises)):
        chance = math.prod(noise[v] for noise, v in zip(noises, values))
        law[max(order, key=lambda r: (scores[r] + values[r], -order.index(r)))] += chance
    return law


@pytest.mark.parametrize(("scale", "bits"), [(1.0, 1), (1.5, 2)])
def test_the_delta_of_a_choice_holds_for_every_gap_and_order(scale, bits):
    noise = [geometric_law(scale, bits)] * 3
    stated = float(Drawn("cut", bits, 3, 3).delta("permute_and_flip", Fraction(1), scale))
    found = 0.0
    for gaps, changes in product(product(range(2**bits + 1), repeat=2), product((0, 1), repeat=3)):
        here = np.array([0, *gaps])
        for order in ([0, 1, 2], [2, 1, 0]):
            laws = winner_law(here, noise, order), winner_law(here + changes, noise, order)
            found = max(found, worst(*laws, 1 / scale))
    assert stated / 3.1 <= found <= stated  # a third: rarely are all candidates at their worst at once


class Tried:
    """A public generator that draws this list of candidates."""

    def __init__(self, tried):
        self.tried = np.array(tried)

    def integers(self, k, size):
        return self.tried


@pytest.mark.parametrize(("scale", "bits"), [(0.5, 1), (1.0, 2)])
def test_the_delta_of_the_exponential_mechanism_holds_for_whoever_knows_which_candidates_were_tried(scale, bits):
    """For every public list of three tries, every gap and every change by one record."""
    noise = geometric_law(scale, bits)
    c = math.exp(-(2**bits) / scale)
    stated = float(Drawn("cut", bits, 3, 2).delta("exponential", Fraction(1), scale))
    assert stated == pytest.approx(3 * (math.exp(1 / scale) - 1) * c / (1 - c))

    def law(scores, tried):
        found = np.zeros(2)
        for values in product(range(2**bits), repeat=3):
            winner = _winner("exponential", np.array(scores), np.array(values), Tried(tried))
            found[winner] += noise[list(values)].prod()
        return found

    for tried, gap, (one, other) in product(product((0, 1), repeat=3), range(4), product((0, 1), repeat=2)):
        assert worst(law([0, gap], tried), law([one, gap + other], tried), 1 / scale) <= stated


def test_stated_deltas_are_negligible_for_real_questions():
    for mechanism in ("permute_and_flip", "exponential", "report_noisy_max"):
        drawn = cut_choice(mechanism, 2500, 5000.0)
        assert drawn.delta(mechanism, Fraction(256), 5000.0) < Fraction(1, 2**60)
    assert cut_tally(100, 50.0).delta("geometric", Fraction(1), 50.0) < Fraction(1, 2**60)
    # A budget so large that there is hardly any noise left has no small delta, and says so.
    assert Drawn("cut", 1, 1, 1).delta("geometric", Fraction(1000), 1.0) == 1


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        ("permute_and_flip", log_permute_and_flip),
        ("exponential", log_exponential),
        ("report_noisy_max", log_report_noisy_max),
    ],
)
def test_plain_choices_have_the_exact_law(mechanism, law):
    """Chi-square of 10,000 or 1,000 choices; false alarm 1e-7."""
    scores, scale, n = np.array([3, 0, 3, 5]), 2.0, 1000 if mechanism == "exponential" else 10_000
    drawn = CutMechanisms(np.random.default_rng(0)).select(mechanism, [scores] * n, [scale] * n)
    assert chisquare(np.bincount(drawn, minlength=4), np.exp(law(scores, scale)) * n).pvalue > FALSE_ALARM


def test_tallies_that_are_drawn_together_are_drawn_as_each_receipt_says():
    for scale in (0.7, 3.0, 50.0, 12345.6):
        alone, together = cut_tally(1, scale), cut_tally(10**6, scale)
        assert alone.bits == together.bits
        assert together.draws == 10**6 * alone.draws


def test_plain_noise_has_the_exact_law():
    """Chi-square of 20,000 numbers; false alarm 1e-7."""
    noise = CutMechanisms(np.random.default_rng(1)).geometric(np.zeros(20_000, dtype=np.int64), 1.5)
    values = np.arange(-8, 9)
    expected = np.exp(log_geometric(values, 1.5))
    counts = np.array([(noise == v).sum() for v in values])
    counts, expected = np.append(counts, 20_000 - counts.sum()), np.append(expected, 1 - expected.sum()) * 20_000
    assert chisquare(counts, expected).pvalue > FALSE_ALARM


def event(scope="", **changes):
    drawn = cut_choice("permute_and_flip", 100, 20.0)
    fields = {
        "delta": drawn.delta("permute_and_flip", Fraction(1), 20.0),
        "drawn": str(drawn),
    } | changes
    return Event(scope, "choose", "permute_and_flip", Fraction(1), 20.0, Fraction(1, 20), "correct_count", **fields)


def receipt(*events, **changes):
    fields = {"spent": Fraction(len({e.scope for e in events}), 20), "delta": add_up_slack(events)} | changes
    return Receipt(claimed=Fraction(1), void=(), trust="", events=events, **fields)


def test_deltas_add_up_along_paths_and_receipts_check_them():
    one = event()
    delta = one.delta
    assert receipt(one).verify()
    assert receipt(one).delta == delta
    both = (event("/fit0:0"), event("/fit0:0/split0:0"), event("/fit0:0/split0:1"))
    assert add_up_slack(both) == 2 * delta
    again = Receipt.from_json(receipt(one).to_json())
    assert again == receipt(one)
    for wrong in (
        receipt(event(delta=delta / 2)),
        receipt(event(drawn="cut(3,100,100)")),
        receipt(one, delta=Fraction(0)),
        receipt(event(drawn="guessed(9,100,100)")),
        receipt(event(drawn="cut(9,100)")),
        receipt(event(drawn="cut(9, 100,100)")),
    ):
        with pytest.raises(ReceiptError):
            wrong.verify()


def test_a_person_pays_the_delta_of_every_path_that_their_records_may_be_on():
    one = event()
    assert add_up_slack([one], 12) == 12 * one.delta
    assert add_up_slack([replace(one, scope="/split0:0"), replace(one, scope="/split0:1")], 12) == 12 * one.delta


def test_privet_verify_recomputes_how_noise_was_drawn():
    passed, line = check_event(0, event(), receipt(event()))
    assert passed
    assert f"drawn as {event().drawn}" in line
    passed, line = check_event(3, event(delta=Fraction(0)), receipt(event()))
    assert not passed
    assert "Event 3" in line


def test_only_two_ways_to_draw_are_known():
    check_law("cut")
    with pytest.raises(LeakError):
        check_law("guessed")
