"""The receipt of a fit: everything that was charged at its desk, in one currency."""

from __future__ import annotations

import math
from fractions import Fraction

from privet.curators.desk import Desk
from privet.curators.open_nodes import all_reserved, all_spent
from privet.privacy.event import add_up_slack, converted
from privet.privacy.receipt import Receipt


def receipt_of(desk: Desk, budget: Fraction, delta: Fraction, shortfall: str = "") -> Receipt:
    """All roots that were opened, so that a receipt leaves nothing out. ``delta`` is what the fit was given, or 0.

    ``shortfall`` says why a claim may be less than what was spent.
    """
    if any(root.scope.currency == "rho" for root in desk.roots):
        return _in_rho(desk, budget, delta)
    spent, events = all_spent(desk.roots), tuple(desk.events)
    return Receipt(
        claimed=budget,
        spent=spent,
        # A delta that the fit was given and did not use: that it did not may follow from an answer (``Receipt``).
        delta=add_up_slack(events, desk.unit.weight) + delta,
        void=desk.void + (("exact values were read",) if spent == math.inf else ()),
        trust=desk.trust,
        unit=str(desk.unit),
        weight=desk.unit.weight,
        events=events,
        shortfall=shortfall if spent > budget else "",
    )


def _in_rho(desk: Desk, budget: Fraction, delta: Fraction) -> Receipt:
    """Of a fit with a delta: what was reserved is converted once."""
    pure = tuple(f"{root.path}/" for root in desk.roots if root.scope.currency == "epsilon")
    events = tuple(event.in_rho() if f"{event.scope}/".startswith(pure) else event for event in desk.events)
    # The root in epsilon that every fit begins with reserves nothing if the algorithm opens others in its place.
    opened = all_reserved([root for root in desk.roots if root.scope.currency == "rho" or root.scope.spent])
    # Which roots were opened may follow from answers. What was set aside when the fit began does not.
    reserved = max(opened, desk.rho_within(budget, delta))
    return Receipt(
        claimed=budget,
        spent=converted(reserved, delta, events),
        delta=delta,
        at_delta=delta,
        reserved=reserved,
        void=desk.void,
        trust=desk.trust,
        unit=str(desk.unit),
        weight=desk.unit.weight,
        events=events,
    )
