"""What a party may spend in all: what is left, in words, and what a run needs."""

import math
from fractions import Fraction

import pytest

from consortium.federated.owners import SCHEMA, begun, fit, receipt_of, tables
from privet.consortium.federated.allowance import Allowance, Need
from privet.consortium.federated.channel import in_process
from privet.consortium.federated.coordinator import Coordinator
from privet.errors import BudgetError, FederatedError
from privet.questions.codec import schema_digest

HALF = Fraction(1, 2)
PURE, SKELLAM = Allowance("mercy", Fraction(1), None), Allowance("mercy", Fraction(1), Fraction(1, 10**6))


def test_what_is_left_is_said_against_all_runs_and_is_never_below_nothing():
    assert PURE.state(HALF) == "0.5 of 1 in all, 0.5 left"
    assert PURE.state(Fraction(6501)) == "6501 of 1 in all, 0 left"  # the limit was lowered
    assert PURE.left(Fraction(6501)) == 0
    assert Allowance("mercy", math.inf, None).state(HALF) == "0.5 in all, without a limit"
    rho = Fraction(1, 1000)
    assert 0 < SKELLAM.in_epsilon(rho) < 1
    assert 0 < SKELLAM.left(rho) < 1


def test_a_run_that_needs_more_than_is_left_is_refused():
    PURE.check(Need(HALF, None), HALF)
    Allowance("mercy", math.inf, None).check(Need(Fraction(10**9), None), HALF)
    with pytest.raises(BudgetError, match=r"has epsilon 0\.5 left of its limit of 1, and this run needs epsilon 0\.6"):
        PURE.check(Need(Fraction(6, 10), None), HALF)
    with pytest.raises(BudgetError, match=r"mercy has no delta, and this run needs epsilon 0\.5 with delta"):
        PURE.check(Need(HALF, Fraction(1, 10**6)), Fraction(0))
    SKELLAM.check(Need(Fraction(1), Fraction(1, 10**6)), Fraction(0))
    SKELLAM.check(Need(Fraction(1), None), Fraction(0))
    for need in (Need(Fraction(1), Fraction(1, 10**6)), Need(Fraction(1), None)):
        with pytest.raises(BudgetError, match="0 left"):
            SKELLAM.check(need, Fraction(1))


@pytest.mark.parametrize(
    "needs",
    [
        *[7, [], ["1"], ["x", None], ["1/0", None], ["-1", None], ["1", "2"], [None, None], [0.5, None], ["0", None]],
        *[["1e999999999", None], ["1", "1e-999999999"]],  # so many digits would take hours, and all memory
    ],
)
def test_a_need_that_makes_no_sense_is_refused_in_words(needs):
    with pytest.raises(FederatedError, match="needs"):
        Need.of_words({"needs": needs})


def test_a_need_is_what_was_said():
    assert Need.of_words({}) is None
    for need in (Need(HALF, None), Need(HALF, Fraction(1, 10**6))):
        assert Need.of_words({"needs": need.words}) == need


def test_one_partys_small_limit_costs_the_others_nothing():
    channel = in_process(tables(3), SCHEMA, limit=Fraction(1))
    curator, _ = begun(channel, HALF)
    curator.coordinator.sign(receipt_of(curator))
    terms = {"colluders": 1, "dropouts": 0, "noise": "shared"}
    with pytest.raises(FederatedError, match=r"party0 refuses: party0 has epsilon 0\.5 left of its limit of 1,"):
        Coordinator(channel, schema_digest(SCHEMA), need=Need(Fraction(1), None), **terms)
    assert {party._spent_elsewhere("") for party in channel._parties.values()} == {HALF}
    Coordinator(channel, schema_digest(SCHEMA), need=Need(HALF, None), **terms)


def test_the_log_says_what_all_runs_have_spent():
    logs = []
    channel = in_process(tables(3), SCHEMA, limit=Fraction(2), log=logs.append)
    for _ in range(2):
        fit(channel, HALF)
    assert sum("spent epsilon 0.5 in this run, 0.5 of 2 in all, 1.5 left" in said for said in logs) == 3
    assert sum("spent epsilon 0.5 in this run, 1 of 2 in all, 1 left" in said for said in logs) == 3
