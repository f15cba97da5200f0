"""What is said to hold at most or at least holds as it is shown."""

import math

import numpy as np
import pytest

from privet.rounding import at_least, at_most, digits_for, rounded_down, rounded_up

VALUES = [*np.random.default_rng(0).normal(0, 1, 200), *np.geomspace(1e-12, 1e12, 200), 0.0, 0.5, 100.0, 1e-310]


@pytest.mark.parametrize("digits", [0, 1, 3])
def test_what_is_rounded_up_is_never_less_and_by_less_than_a_unit(digits):
    for value in VALUES:
        tiny = 1e-9 * 10.0**-digits + 1e-12 * abs(value)
        assert value - tiny <= rounded_up(value, digits) < value + 10.0**-digits + tiny
        assert value - 10.0**-digits - tiny < rounded_down(value, digits) <= value + tiny


def test_figures_are_rounded_outward_too():
    for value in VALUES:
        assert float(at_least(value, 3)) <= value + 1e-9 * abs(value)
        assert float(at_most(value, 3)) >= value - 1e-9 * abs(value)
        assert float(at_most(value, 3)) <= max(value * 1.011, value * 0.989)
    assert (at_most(math.inf, 3), at_least(-math.inf, 3)) == ("inf", "-inf")


def test_a_number_that_was_written_so_stays_as_it_is():
    """0.881 in binary is a little less: times 1000 it must not become 880."""
    for thousandth in range(1001):
        assert rounded_up(thousandth / 1000, 3) == rounded_down(thousandth / 1000, 3) == thousandth / 1000
    assert digits_for(0.000123, 3) == 6
