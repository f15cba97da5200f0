"""The number of records: by a hint for nothing, or by a small part of the budget."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import Ledger, MemoryCurator, Numeric, Schema
from privet.algorithms.size import Size

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=[0, 1])


def curator():
    return MemoryCurator(np.full((500, 1), 0.5), np.zeros(500, dtype=int), SCHEMA, ledger=Ledger(math.inf)).open()


def test_a_hint_is_free():
    owner = curator()
    assert Size.of(owner, owner.root(), Fraction(1), 70) == Size(70, Fraction(1), 0.0)
    assert owner.ledger.spent == 0


@pytest.mark.parametrize(("budget", "share"), [(Fraction(10), Fraction(1, 5)), (Fraction(1000), Fraction(1))])
def test_measuring_costs_two_percent_and_at_most_one(budget, share):
    """The number misses by more than 35 / share with a chance below exp(-35): below 1e-15."""
    owner = curator()
    size = Size.of(owner, owner.root(), budget, None)
    assert (owner.ledger.spent, size.left) == (share, budget - share)
    assert abs(size.n - 500) <= 35 / share
    assert size.margin == pytest.approx(2 * float(budget / share))  # two scales of 1 / share records, times epsilon
