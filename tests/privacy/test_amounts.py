"""Amounts are the exact fractions that a person means."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import BudgetError
from privet.privacy.amounts import as_limit, exact, is_charge, show

F = Fraction


@pytest.mark.parametrize(
    ("amount", "fraction"),
    [
        (0.1, F(1, 10)),
        (0.3, F(3, 10)),
        (1, F(1)),
        (F(1, 3), F(1, 3)),
        ("0.1", F(1, 10)),
        (" 2.5 ", F(5, 2)),
        (Decimal("0.7"), F(7, 10)),
        (np.float64(0.1), F(1, 10)),
        (np.int32(2), F(2)),
        (1e-300, F(1, 10**300)),
        (5e-324, F(5, 10**324)),
        (1e300, F(10**300)),
    ],
)
def test_an_amount_is_the_fraction_that_a_person_means(amount, fraction):
    assert exact(amount) == fraction


@pytest.mark.parametrize(
    "amount",
    [
        *(0, 0.0, -0.0, -1, -0.1, F(0), F(-1, 2), math.nan, math.inf, -math.inf, True, False, None),
        *("", "a tenth", "nan", "inf", "-1", [], {}, 1j, len, np.nan, np.inf, np.bool_(True)),
        *(10**400, np.array([0.1, 0.2]), np.float64(0), np.int64(-3)),
    ],
    ids=repr,
)
def test_what_is_no_positive_finite_number_is_a_budget_error(amount):
    with pytest.raises(BudgetError):
        exact(amount)


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_an_exact_amount_is_the_same_float_again(x):
    assert float(exact(x)) == x


def test_amounts_are_shown_with_the_digits_that_matter():
    assert [show(F(1, 3)), show(F(2)), show(math.inf)] == ["0.3333333333", "2", "infinity"]
    assert show(F(10) ** 400) == "more than 1e308"


class Shifty(Fraction):
    """A fraction that is another one each time it is asked."""

    asked = 0

    @property
    def numerator(self):
        Shifty.asked += 1
        return Shifty.asked


def test_a_fraction_of_another_kind_is_read_once():
    amount = exact(Shifty(1, 7))
    assert type(amount) is Fraction
    assert amount == amount.limit_denominator(10**9) == F(amount.numerator, 7)
    assert type(as_limit(Shifty(1, 7))) is Fraction
    assert not is_charge(Shifty(1, 7))


@pytest.mark.parametrize("amount", [F(0), F(1, 3), 0, 5, math.inf])
def test_a_charge_is_exact_and_not_negative(amount):
    assert is_charge(amount)


@pytest.mark.parametrize("amount", [F(-1, 3), -1, True, 0.5, -math.inf, math.nan, "1", None, np.int64(1)])
def test_another_number_is_no_charge(amount):
    assert not is_charge(amount)
