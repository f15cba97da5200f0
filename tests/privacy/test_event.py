"""Events add up along paths, and the worst path is what they add up to."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import ReceiptError
from privet.privacy.event import Event, add_up, amplified, converted, spending, worst_path
from privet.privacy.zcdp import epsilon_at

F = Fraction
DELTA = F(1, 10**6)

steps = st.builds(
    "{}{}:{}".format, st.sampled_from(["split", "parts", "copy", "fit", "sample"]), st.integers(0, 1), st.integers(1, 3)
)
paths = st.lists(steps, max_size=4).map(lambda steps: "".join(f"/{step}" for step in steps))
events = st.lists(st.builds(lambda path, charged: at(path, charged), paths, st.fractions(F(1, 100), 1)), max_size=12)


def at(scope, charged, **fields):
    return replace(Event.example(F(1)), scope=scope, charged=charged, **fields)


@given(events)
def test_the_worst_path_adds_up_to_the_whole(events):
    assert sum(worst_path(events), F(0)) == add_up(events)


@given(events, events)
def test_one_answer_more_never_costs_less(some, more):
    assert add_up(some) <= add_up([*some, *more]) <= add_up(some) + sum((event.charged for event in more), F(0))


def test_an_answer_without_noise_is_all_there_is_to_say():
    peek = at("/split0:1", math.inf)
    assert worst_path([at("", F(1)), peek]) == [math.inf]
    assert add_up([at("", F(1)), peek]) == math.inf


@pytest.mark.parametrize(
    "scope",
    ["split0:0", "/split", "/split0", "/Split0:0", "/split00:0", "/split0:0/", "//", "/sample0:1" + "0" * 5_000],
)
def test_a_scope_that_is_no_path_is_refused(scope):
    for summed in (add_up, worst_path):
        with pytest.raises(ReceiptError, match="path"):
            summed([at(scope, F(1))])


@given(st.fractions(F(1, 1000), 5), st.integers(1, 50))
def test_a_sample_costs_less_and_at_least_its_share(epsilon, inverse_rate):
    cost = amplified(epsilon, inverse_rate)
    exact = math.log1p(math.expm1(float(epsilon)) / inverse_rate)
    assert cost <= epsilon
    assert 0 <= float(cost) - exact + 1e-12 < 1e-11


def test_rho_is_converted_at_whole_orders_only_where_that_is_all_that_is_proven():
    plain, skellam = at("", F(1, 10)), at("", F(1, 10), mechanism="skellam_shares")
    assert spending([plain], DELTA) == converted(F(1, 10), DELTA, [plain]) == epsilon_at(F(1, 10), DELTA)
    assert spending([plain, skellam], DELTA) == epsilon_at(F(1, 5), DELTA, True)
    for delta in (F(1), F(2)):
        with pytest.raises(ReceiptError, match="zCDP"):
            spending([plain], delta)
