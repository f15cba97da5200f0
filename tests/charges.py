"""Charges for tests of scopes and ledgers."""

from __future__ import annotations

import math
from fractions import Fraction

from privet.privacy.event import Event


def event(scope, charged):
    """An event on ``scope`` that costs ``charged``."""
    if charged == math.inf:
        return Event(scope.path, "peek", "peek", Fraction(0), 0.0, math.inf, "peek")
    return Event(scope.path, "an example", "geometric", Fraction(1), 1.0, charged, "tally")


def charge(ledger, *pairs):
    ledger.charge([(scope, event(scope, amount)) for scope, amount in pairs])
