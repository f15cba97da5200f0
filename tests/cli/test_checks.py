"""What ``privet verify`` says of an event: an inequality that is true, in the currency of its receipt."""

import re
from fractions import Fraction

import numpy as np
import pytest

from privet import Numeric, PrivateForestClassifier, Schema
from privet.cli.checks import check_event

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=[0, 1])


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_every_line_is_an_inequality_that_holds(delta):
    x = np.random.default_rng(0).random((500, 1))
    model = PrivateForestClassifier(SCHEMA, epsilon=2, delta=delta, method="boosting").fit(
        x, (x[:, 0] > 0.5).astype(int)
    )
    receipt = model.privacy_
    for i, event in enumerate(receipt.events):
        passed, line = check_event(i, event, receipt)
        assert passed
        cost, charged = re.search(r"= (\S+) <= (\S+)", line).groups()
        assert 0 < float(cost) <= float(charged) * (1 + 1e-5)  # as many digits as are shown
        assert ("rho" in line) == (delta is not None)
    assert receipt.at_delta == Fraction(str(delta or 0))
