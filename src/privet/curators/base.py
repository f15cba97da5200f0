"""What every curator is: it holds records, or knows who does, and opens a desk for each fit."""

from __future__ import annotations

from abc import ABC, abstractmethod

from privet.curators.desk import Desk
from privet.privacy.ledger import Ledger
from privet.schema import Schema


class Curator(ABC):
    """Holds the records behind the curtain. ``open`` begins a fit.

    ``trust`` says in one sentence who has to be trusted with what. ``void`` lists reasons why no guarantee holds.
    ``capabilities`` follow from what the curator's room implements.
    """

    schema: Schema
    ledger: Ledger
    trust: str
    void: tuple[str, ...] = ()
    capabilities: frozenset[str]

    @abstractmethod
    def open(self) -> Desk:
        """A desk for one fit, with structure of its own: fits do not see each other's."""


def trust_of_owners(trust: str, schema: Schema) -> str:
    """Who has to be trusted where several owners hold records, and what that means for persons."""
    if schema.person is None:
        return trust
    return f"{trust} Each owner counts persons by itself: whoever has records at m owners pays m times epsilon."


def reasons_void(schema: Schema, *, reproducible: bool) -> tuple[str, ...]:
    """Why what is learned from these records has no guarantee, if so."""
    reasons = []
    if schema.unconfirmed:
        reasons.append(f"schema inferred from the data: {', '.join(schema.unconfirmed)}")
    if reproducible:
        reasons.append("random_state: the noise can be reproduced")
    return tuple(reasons)
