"""Ledgers that are kept in files, and what is set aside there for a fit."""

import os
from fractions import Fraction as F

import numpy as np
import pytest

from privet import Ledger, Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.errors import BudgetError
from privet.privacy.event import Event
from privet.privacy.ledger_file import LedgerFile
from privet.privacy.unit import Unit

HALF, TENTH = F(1, 2), F(1, 10)
SCHEMA = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
X, Y = np.linspace(0, 1, 200)[:, None], np.repeat(["no", "yes"], 100)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "patients.ledger", 1.0, records="patients of ward 3")


def lines(ledger):
    return LedgerFile(ledger.file.path).lines()


def test_a_fit_sets_its_whole_budget_aside_and_settles_what_it_spent(ledger):
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5, max_depth=2)
    seen = []
    grow = model._grow

    def watched(curtain, start, budget):
        seen.append(lines(ledger)[0])
        return grow(curtain, start, budget)

    model._grow = watched
    with Ledger.open(ledger.file.path):
        model.fit(X, Y)
    assert (seen[0].amount, seen[0].settled) == (HALF, False)
    (line,) = lines(ledger)
    assert line.settled
    assert line.amount == model.privacy_.spent == ledger.spent
    assert line.released == model.privacy_.released
    assert line.what == "PrivateTreeClassifier"


def test_a_fit_that_is_not_left_is_refused_before_it_reads_anything_and_leaves_no_line(ledger):
    with ledger:
        PrivateTreeClassifier(SCHEMA, epsilon=0.7).fit(X, Y)
        with pytest.raises(BudgetError, match=r"left of 1"):
            PrivateTreeClassifier(SCHEMA, epsilon=0.7).fit(X, Y)
    assert len(lines(ledger)) == 1


def test_a_fit_that_fails_pays_for_what_it_was_answered(ledger):
    class Fails(PrivateTreeClassifier):
        def _grow(self, curtain, start, budget):
            super()._grow(curtain, start, budget / 4)
            raise KeyboardInterrupt

    with ledger, pytest.raises(KeyboardInterrupt):
        Fails(SCHEMA, epsilon=0.8).fit(X, Y)
    (line,) = lines(ledger)
    assert (line.settled, line.released) == (True, "")
    assert 0 < line.amount <= F(2, 10)


def test_nested_ledgers_charge_all_files_around_them(ledger, tmp_path):
    inner = Ledger.create(tmp_path / "study.ledger", 0.5, records="one study")
    with ledger, inner:
        PrivateTreeClassifier(SCHEMA, epsilon=0.3).fit(X, Y)
        with pytest.raises(BudgetError, match="the ledger has"):
            PrivateTreeClassifier(SCHEMA, epsilon=0.3).fit(X, Y)
    assert ledger.spent == inner.spent == F(3, 10)
    with ledger:
        PrivateTreeClassifier(SCHEMA, epsilon=0.6).fit(X, Y)
    with inner, pytest.raises(BudgetError, match="a ledger around it has"):  # a part of the other for good
        PrivateTreeClassifier(SCHEMA, epsilon=0.2).fit(X, Y)
    assert (inner.spent, ledger.spent) == (F(3, 10), F(9, 10))


def test_a_ledger_in_memory_inside_one_in_a_file_charges_both(ledger):
    with ledger, Ledger(0.4) as inner:
        PrivateTreeClassifier(SCHEMA, epsilon=0.4).fit(X, Y)
    assert inner.spent == ledger.spent == F(4, 10)


def test_with_a_delta_rho_is_set_aside_once(tmp_path):
    """A fit begins with a root in epsilon that it does not use; only what it may spend is set aside."""
    ledger = Ledger.create(tmp_path / "a.ledger", 1.0, 1e-6, records="r")
    model = PrivateForestClassifier(SCHEMA, epsilon=0.9, delta=1e-6, n_records=50_000)
    with ledger:
        model.fit(X, Y)
    assert 0 < ledger.spent <= F(9, 10) + F(1, 10**8)
    with ledger, pytest.raises(BudgetError, match="left of 1"):
        PrivateForestClassifier(SCHEMA, epsilon=0.9, delta=1e-6).fit(X, Y)


def test_a_pure_fit_in_a_ledger_with_a_delta_sets_half_its_square_aside(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", 1.0, 1e-6, records="r")
    with ledger.reserve(F(1, 10), "epsilon", "a tree"):
        assert lines(ledger)[0].amount == F(1, 200)
    assert lines(ledger)[0].amount == 0
    for own in (ledger, Ledger(1, delta=1e-6)):
        assert own.covers(F(2, 10))
        assert not own.covers(F(3, 10))
        with own, pytest.raises(BudgetError, match="half of its square"):  # known before the first answer
            PrivateTreeClassifier(SCHEMA, epsilon=0.9).fit(X, Y)
        assert own.spent == 0
    with Ledger(0.1), Ledger(1) as inner:
        assert not inner.covers(F(2, 10))


def test_what_no_fit_has_set_aside_is_on_the_disk_before_it_is_answered(ledger):
    scope = ledger.begin("fit", F(1))
    for k in (1, 2, 3):
        ledger.charge([(scope, Event.example(TENTH))])
        assert ledger.spent == lines(ledger)[0].amount == k * TENTH
    other = Ledger.open(ledger.file.path)
    with other.reserve(F(6, 10), "epsilon", "another"), pytest.raises(BudgetError, match="left of 1"):
        ledger.charge([(scope, Event.example(F(2, 10)))])
    assert scope.spent == 3 * TENTH  # what could not be set aside was not charged either
    ledger.charge([(scope, Event.example(F(7, 10)))])
    assert other.remaining == 0


def test_a_charge_that_one_file_refuses_is_charged_in_no_memory(ledger, tmp_path):
    inner = Ledger.create(tmp_path / "b.ledger", 5, records="r")
    with ledger, inner:
        scope = inner.begin("fit", F(1))
        Ledger.open(ledger.file.path).reserve(F(8, 10), "epsilon", "another process")
        with pytest.raises(BudgetError):
            inner.charge([(scope, Event.example(HALF))])
    assert scope.spent == inner.root.spent == ledger.root.spent == 0


def test_the_units_of_processes_agree(ledger):
    first, second = Ledger.open(ledger.file.path), Ledger.open(ledger.file.path)
    first.begin("fit", TENTH, unit=Unit("patient_id", 5))
    with pytest.raises(BudgetError, match="one person"):
        second.begin("fit", TENTH)
    assert Ledger.open(ledger.file.path).unit == "one person (column 'patient_id')"


def test_its_repr_says_what_is_left(ledger, tmp_path):
    with ledger:
        PrivateTreeClassifier(SCHEMA, epsilon=0.3).fit(X, Y)
    text = repr(Ledger.open(ledger.file.path))
    assert text == f"<Ledger 'patients of ward 3' in {ledger.file.path}: epsilon 0.7 of 1 left, of one row>"
    assert repr(Ledger(2, 1e-6)) == "<Ledger epsilon 2 of 2 left, delta 1e-06, of no unit yet>"


def test_a_file_that_went_away_is_a_warning_at_the_end_and_counts_in_full(ledger):
    held = ledger.reserve(HALF, "epsilon", "a tree")
    os.rename(ledger.file.path, f"{ledger.file.path}.moved")
    with pytest.warns(UserWarning, match="stays set aside"):
        held.settle()
    assert LedgerFile(f"{ledger.file.path}.moved").tightest().spent == HALF


def test_cohorts_are_named_where_a_ledger_is_opened(ledger):
    ledger.file.add_cohort("2025", 1)
    with Ledger.open(ledger.file.path, cohorts=["2025"]) as new:
        PrivateTreeClassifier(SCHEMA, epsilon=0.8).fit(X, Y)
    assert (new.spent, Ledger.open(ledger.file.path, cohorts=["first"]).spent) == (F(8, 10), 0)
    assert Ledger.open(ledger.file.path).remaining == F(2, 10)
