"""Options that several commands take."""

import math

import pytest
import typer

from privet.cli.options import checked_epsilon


def test_an_epsilon_is_a_finite_number_above_zero():
    assert checked_epsilon(0.1) == 0.1
    for wrong in (0, -1, math.inf, math.nan):
        with pytest.raises(typer.BadParameter, match="greater than zero"):
            checked_epsilon(wrong)
