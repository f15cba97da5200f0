"""Events for Google's ``dp_accounting``, so that a library that is not ours can add them up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from privet.errors import PrivetError
from privet.privacy.amounts import Amount
from privet.privacy.event import Event, worst_path
from privet.privacy.zcdp import WHOLE


def dp_events(events: Sequence[Event], *, in_rho: bool, reserved: Fraction) -> Any:
    """A ``ComposedDpEvent`` that costs a record no less than all these answers together.

    Each answer is a ``ZCDpEvent(rho, xi)``, whose divergence of every order a > 1 is at most xi + rho a:

    - *In epsilon* it is (0, epsilon): a divergence of at most epsilon at every order is what epsilon-DP says.
    - *In rho* it is (rho, 0), by the definition of zCDP; what was reserved and not used is one event more, so that the
      sum does not depend on the answers (docs/theory.md, L4).
    - *In rho, at whole orders alone* (Skellam noise) it is (rho, rho): divergences do not fall when the order grows,
      so that of order a is at most that of the next whole order, rho ceil(a) <= rho a + rho.

    The events are those of the *worst path*: of disjoint parts only the one that has spent most. This is no less
    than any record pays. Answers about parts without the record have the same law for both neighbours, so it pays for
    those on one path, and all of our events are multiples of one of the three forms above: two lists of them differ
    for an accountant by the sum of their charges alone, and the worst path has the largest. A sample counts as one
    answer at its amplified price.

    Give it to an ``RdpAccountant``, in either direction of neighbours, and read it at the receipt's own delta (a pure
    receipt: at any; its orders must be large, since epsilon-DP is the limit of large orders).
    """
    library = _library()
    charges = worst_path(events)
    if in_rho:
        charges.append(reserved - sum(charges, Fraction(0)))
    whole = any(event.mechanism in WHOLE for event in events)
    return library.ComposedDpEvent([_event(library, charge, in_rho, whole) for charge in charges if charge])


def _event(library: Any, charge: Amount, in_rho: bool, whole: bool) -> Any:
    if charge == math.inf:
        return library.NonPrivateDpEvent()
    price = _rounded_up(Fraction(charge))
    if in_rho:
        return library.ZCDpEvent(rho=price, xi=price if whole else 0.0)
    return library.ZCDpEvent(rho=0.0, xi=price)


def non_private() -> Any:
    """The event of a release without any guarantee."""
    return _library().NonPrivateDpEvent()


def _library() -> Any:
    try:
        import dp_accounting  # type: ignore[import-untyped]
    except ImportError:
        raise PrivetError("This needs Google's dp_accounting: pip install dp-accounting.") from None
    return dp_accounting


def _rounded_up(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)
