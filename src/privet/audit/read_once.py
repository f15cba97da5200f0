"""A curator in memory of records that another one has read: thousands of runs are on the same table."""

from __future__ import annotations

from privet.curators.memory import MemoryCurator, MemoryRoom
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms


class OfTheSameRecords(MemoryCurator):
    """Its ledger and mechanisms are its own."""

    def __init__(self, read: MemoryCurator, *, ledger: Ledger, mechanisms: Mechanisms) -> None:
        self._begin(read.schema, ledger, mechanisms, MemoryRoom)
        self.records = read.records
