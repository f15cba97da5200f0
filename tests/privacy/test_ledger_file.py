"""A ledger that outlives its process."""

import os
import shutil
from fractions import Fraction

import pytest

from privet.errors import BudgetError
from privet.privacy.event import Event
from privet.privacy.ledger_file import KeptLedger

HALF = Fraction(1, 2)


def spend(ledger, amount):
    ledger.charge([(ledger.begin("fit", amount), Event.example(amount))])


def test_what_was_spent_before_a_restart_counts_after_it(tmp_path):
    path = tmp_path / "a.json"
    ledger = KeptLedger(1.0, path)
    spend(ledger, HALF)
    with pytest.raises(BudgetError):
        spend(ledger, Fraction(3, 5))
    ledger.close()
    again = KeptLedger(1.0, path)
    assert again.spent == HALF
    assert again.remaining == HALF
    with pytest.raises(BudgetError, match=r"0\.5 left"):
        spend(again, Fraction(3, 5))
    spend(again, HALF)
    again.close()
    assert KeptLedger(1.0, path).remaining == 0


def test_scopes_below_the_root_pay_as_in_any_ledger(tmp_path):
    path = tmp_path / "a.json"
    first = KeptLedger(2.0, path)
    spend(first, HALF)
    first.close()
    ledger = KeptLedger(2.0, path)
    fit = ledger.begin("fit", Fraction(1))
    ledger.charge([(scope, Event.example(HALF)) for scope in fit.split(2)])
    assert ledger.spent == 1
    assert fit.spent == HALF


def test_a_charge_that_cannot_be_written_is_refused(tmp_path):
    folder = tmp_path / "ledgers"
    folder.mkdir()
    ledger = KeptLedger(1.0, folder / "a.json")
    shutil.rmtree(folder)  # also for root, who may write anywhere
    with pytest.raises(BudgetError, match="nothing is answered"):
        spend(ledger, HALF)


@pytest.mark.parametrize("text", ["", "{}", '{"format": "privet-ledger-1", "spent": "-1"}', "\xff", "[1]"])
def test_a_file_that_makes_no_sense_is_not_taken_for_an_empty_one(tmp_path, text):
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(BudgetError, match="cannot be read"):
        KeptLedger(1.0, tmp_path / "a.json")


@pytest.mark.skipif(os.name != "posix", reason="needs flock")
def test_two_ledgers_cannot_share_a_file(tmp_path):
    held = KeptLedger(1.0, tmp_path / "a.json")
    with pytest.raises(BudgetError, match="Another process"):
        KeptLedger(1.0, tmp_path / "a.json")
    held.close()
    KeptLedger(1.0, tmp_path / "a.json")
