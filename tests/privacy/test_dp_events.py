"""Google's dp_accounting adds up what a receipt lists, and finds no more than the receipt states."""

from __future__ import annotations

import builtins
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privet import HistogramTreeClassifier, Ledger, Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.errors import PrivetError, ReceiptError
from privet.privacy.event import Event
from privet.privacy.receipt import Receipt
from privet.privacy.zcdp import epsilon_at

dp_accounting = pytest.importorskip("dp_accounting")

F = Fraction
SCHEMA = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"])
X = np.random.default_rng(0).random((3_000, 2))
Y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0.6, "yes", "no")
DELTA = 1e-6


def theirs(receipt, orders, delta=DELTA):
    accountant = dp_accounting.rdp.RdpAccountant(orders)
    accountant.compose(receipt.to_dp_events())
    return accountant.get_epsilon(delta)


def around_the_best(receipt):
    """Orders so dense around the best one that the best of them is as good to nine digits."""
    middle = math.sqrt(-math.log(DELTA) / float(receipt.reserved))
    return 1 + middle * np.exp(np.linspace(-2, 1, 100_000))


@pytest.mark.parametrize(
    "model",
    [
        PrivateTreeClassifier(SCHEMA, epsilon=0.7),
        PrivateForestClassifier(SCHEMA, epsilon=2, method="boosting"),
        PrivateForestClassifier(SCHEMA, epsilon=1, method="trees", n_trees=3),
    ],
)
def test_a_pure_receipt_is_added_up_to_its_epsilon(model):
    receipt = model.fit(X, Y).privacy_
    found = theirs(receipt, [1e9, 1e12])
    assert float(receipt.epsilon) * (1 - 1e-6) < found <= float(receipt.epsilon)


@pytest.mark.parametrize(
    "model",
    [
        PrivateForestClassifier(SCHEMA, epsilon=2, delta=DELTA, method="boosting"),
        HistogramTreeClassifier(SCHEMA, epsilon=1, delta=DELTA, max_depth=2),
    ],
)
def test_a_receipt_with_a_delta_is_added_up_to_its_epsilon(model):
    receipt = model.fit(X, Y).privacy_
    assert receipt.verify()
    found = theirs(receipt, around_the_best(receipt))
    assert float(receipt.epsilon) * (1 - 1e-6) < found <= float(receipt.epsilon)


def some(charged, scope="", mechanism="geometric"):
    return replace(Event.example(charged), scope=scope, mechanism=mechanism)


def pure(*events, **fields):
    return Receipt(F(9), F(1), F(0), (), "", events, **fields)


def charges(receipt):
    return [(event.rho, event.xi) for event in receipt.to_dp_events().events]


def test_disjoint_parts_count_once_by_the_dearest():
    events = [some(F(1, 8))]
    events += [some(F(1, 4), "/split0:0"), some(F(1, 2), "/split0:1"), some(F(1, 4), "/split0:0/split0:1")]
    events += [some(F(1, 16), "/split0:1/copy0:0"), some(F(1, 2), "/copy1:0")]
    assert sorted(charges(pure(*events))) == [(0, 1 / 16), (0, 1 / 8), (0, 1 / 2), (0, 1 / 2)]


def test_a_sample_counts_by_its_amplified_price():
    ((rho, xi),) = charges(pure(some(F(1), "/sample0:5")))
    assert rho == 0
    assert 0 <= xi - math.log(1 + (math.e - 1) / 5) < 1e-12


def test_what_was_reserved_and_not_used_is_counted():
    receipt = Receipt(F(9), F(1), F(1, 10**6), (), "", (some(F(1, 8)),), at_delta=F(1, 10**6), reserved=F(1, 2))
    assert charges(receipt) == [(1 / 8, 0), (3 / 8, 0)]


def test_what_is_proven_for_whole_orders_holds_for_all():
    event = some(F(1, 8), mechanism="skellam_shares")
    receipt = Receipt(F(9), F(1), F(1, 10**6), (), "", (event,), at_delta=F(1, 10**6), reserved=F(1, 8))
    assert charges(receipt) == [(1 / 8, 1 / 8)]
    assert theirs(receipt, range(2, 200)) >= epsilon_at(F(1, 8), F(1, 10**6), True)


def test_amounts_are_rounded_up():
    ((_, xi),) = charges(pure(some(F(1, 3))))
    assert 0 <= F(xi) - F(1, 3) < F(1, 2**50)


@pytest.mark.parametrize(
    "receipt",
    [
        pure(replace(some(F(1)), mechanism="peek", charged=math.inf), some(F(1))),
        replace(pure(some(F(1))), void=("random_state",)),
    ],
)
def test_what_has_no_guarantee_has_none_there(receipt):
    assert theirs(receipt, [2.0, 10.0]) == math.inf


def test_a_delta_that_no_event_stands_for_is_refused():
    for receipt in (replace(pure(some(F(1))), delta=F(1, 10**9)), pure(replace(some(F(1)), delta=F(1, 10**9)))):
        with pytest.raises(ReceiptError, match="delta"):
            replace(receipt, delta=F(1, 10**9)).to_dp_events()


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **options):
        if name == "dp_accounting":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(PrivetError, match="pip install dp-accounting"):
        pure(some(F(1))).to_dp_events()


def test_a_ledgers_events_are_added_up_the_same():
    with Ledger(3) as ledger:
        for _ in range(2):
            PrivateTreeClassifier(SCHEMA, epsilon=0.5).fit(X, Y)
    both = Receipt(F(3), ledger.spent, F(0), (), "", tuple(ledger.events))
    assert both.verify()
    assert 0.999 < theirs(both, [1e9, 1e12]) <= 1
