"""What every curator is: it holds records, or knows who does, and opens a desk for each fit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from privet.curators.desk import Desk, capabilities_of
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms, SecureMechanisms
from privet.privacy.unit import ROW
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

    def _begin(self, schema: Schema, ledger: Ledger | None, mechanisms: Mechanisms | None, room: type) -> None:
        """All but the records: the ledger is by default that of the surrounding ``with``, or one without a limit."""
        self.capabilities = capabilities_of(room)
        self.schema = schema
        self._mechanisms = mechanisms or SecureMechanisms()
        self.ledger = ledger or Ledger.current() or Ledger(math.inf)
        self.void = reasons_void(schema, reproducible=self._mechanisms.reproducible)

    def _desk(self, room: Any) -> Desk:
        return Desk(self.schema, self.ledger, room, trust=self.trust, void=self.void)

    @abstractmethod
    def open(self) -> Desk:
        """A desk for one fit, with structure of its own: fits do not see each other's."""


def trust_of_owners(trust: str, unit: str) -> str:
    """Who has to be trusted where several owners hold records, and what that means where ``unit`` is a person."""
    if unit == str(ROW):
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
