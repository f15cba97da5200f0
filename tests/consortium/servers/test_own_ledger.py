"""An owner's own limit: set aside before anything is shared, and settled by what three servers have signed."""

from dataclasses import replace
from fractions import Fraction

import pytest

from consortium.servers.test_client import RECEIPT
from consortium.servers.test_offers import OFFER
from privet.consortium.servers.own_ledger import OwnerLedger, kept_ledger
from privet.errors import BudgetError, LeakError, MpcError
from privet.privacy.ledger_file import LedgerFile

TENTH = Fraction(1, 10)


def spent(path):
    return LedgerFile(path).tightest().spent


@pytest.fixture
def path(tmp_path):
    return tmp_path / "own.ledger"


def test_all_is_set_aside_and_what_was_not_spent_comes_back(path):
    ledger = OwnerLedger(path, Fraction(1), "one row")
    ledger.reserve(OFFER)
    assert spent(path) == TENTH  # also if this process is killed now
    ledger.end(shared=True, receipt=replace(RECEIPT, spent=TENTH / 2, released="a" * 64))
    assert spent(path) == TENTH / 2
    (line,) = LedgerFile(path).lines()
    assert (line.settled, line.released, line.what) == (True, "a" * 64, "PrivateTreeClassifier 00000000")
    assert ledger.state == "epsilon 0.95 of 1 is left"


@pytest.mark.parametrize(("shared", "counts"), [(False, 0), (True, TENTH)])
def test_without_a_receipt_all_counts_unless_nothing_has_left(path, shared, counts):
    ledger = OwnerLedger(path, Fraction(1), "one row")
    ledger.reserve(OFFER)
    ledger.end(shared=shared)
    assert spent(path) == counts
    ledger.end(shared=True)  # twice is once


def test_a_limit_holds_over_restarts_and_a_lowered_one_too(path):
    for _ in range(2):
        ledger = OwnerLedger(path, TENTH * 2, "one row")
        ledger.reserve(OFFER)
        ledger.end(shared=True)
    with pytest.raises(BudgetError, match=r"has 0 left of 0\.2"):
        OwnerLedger(path, TENTH * 2, "one row").reserve(OFFER)
    with pytest.raises(BudgetError, match=r"left of 0\.1"):
        OwnerLedger(path, TENTH, "one row").reserve(OFFER)
    with pytest.raises(BudgetError, match="was spent on one row"):
        OwnerLedger(path, TENTH, "one person (column 'id')")


def test_one_run_may_cost_at_most_what_the_operator_says_and_only_if_it_agrees(path):
    with pytest.raises(BudgetError, match=r"at most 0.05 \(--at-most\)"):
        OwnerLedger(path, Fraction(1), "one row", at_most=Fraction(1, 20)).reserve(OFFER)
    ledger = OwnerLedger(path, Fraction(1), "one row", agrees=lambda offer: offer.epsilon < TENTH)
    with pytest.raises(MpcError, match="Declined"):
        ledger.reserve(OFFER)
    ledger.end(shared=False)
    assert spent(path) == 0


def test_a_run_whose_noise_the_trainer_knows_needs_this_owners_own_consent(path):
    seeded = replace(OFFER, seeded=True)
    with pytest.raises(LeakError, match="protects nobody"):
        OwnerLedger(path, Fraction(1), "one row").reserve(seeded)
    assert spent(path) == 0
    OwnerLedger(path, Fraction(1), "one row", seeds=True).reserve(seeded)


def test_servers_that_have_spent_more_than_they_offered_are_told_of(path):
    ledger = OwnerLedger(path, Fraction(1), "one row")
    ledger.reserve(OFFER)
    with pytest.raises(MpcError, match=r"have spent epsilon 0\.2 and had offered 0\.1"):
        ledger.end(shared=True, receipt=replace(RECEIPT, spent=TENTH * 2))
    assert spent(path) == TENTH


def test_a_servers_ledger_is_the_same_after_a_restart(path):
    kept_ledger(path, Fraction(1), "all")
    assert kept_ledger(path, Fraction(2), "all").total == 2
