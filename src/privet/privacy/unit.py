"""Whom a guarantee covers: one row of the table, or one person with all their rows.

A person counts for ``weight`` units in all, spread over their records, and every sensitivity is multiplied by it. So
prices, ledgers and receipts are in the persons' epsilon or rho (docs/theory.md, L5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from privet.errors import BudgetError
from privet.schema import MOST_RECORDS_PER_PERSON, Schema
from privet.values import exact_int, exact_str, final

LEAST_WEIGHT = 12
"""With a weight of 12 a person's 1, 2, 3, 4, 6 or 12 records count exactly the same."""

MOST_WEIGHT = max(LEAST_WEIGHT, MOST_RECORDS_PER_PERSON)

_PERSON = re.compile(r"one person, at most ([1-9][0-9]?) records?")


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """What neighbouring tables differ by. ``person`` is the column of the persons' ids, "" where rows are the unit.

    ``records`` is the public cap: of a person with more records, so many that are drawn for that person alone count.

    >>> print(ROW, "/", Unit("patient_id", 20))
    one row / one person, at most 20 records
    """

    person: str = ""
    records: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "person", exact_str(self.person))
        object.__setattr__(self, "records", exact_int(self.records))
        if not 1 <= self.records <= (MOST_RECORDS_PER_PERSON if self.person else 1):
            raise BudgetError(f"A person has between 1 and {MOST_RECORDS_PER_PERSON} records that count.")

    @classmethod
    def of(cls, schema: Schema) -> Unit:
        """Persons where the schema says whose record is whose, else rows."""
        return ROW if schema.person is None else cls(schema.person, schema.records_per_person or 1)

    @property
    def weight(self) -> int:
        """W: the units that a person counts for, never fewer than records, so that every record has one."""
        return 1 if self.records == 1 else max(LEAST_WEIGHT, self.records)

    @property
    def weight_bits(self) -> int:
        """How many binary digits a record's weight has where it is shared digit by digit."""
        return self.weight.bit_length()

    @property
    def name(self) -> str:
        """What a ledger adds up budgets of: the cap may differ from fit to fit, as each covers whole persons."""
        return f"one person (column {self.person!r})" if self.person else str(ROW)

    def whole(self, units: np.ndarray) -> np.ndarray:
        """Sums of units as sums of persons, to the nearest whole number: of noisy ones, post-processing."""
        return units if self.weight == 1 else (2 * units + self.weight) // (2 * self.weight)

    def __str__(self) -> str:
        if not self.person:
            return "one row"
        return f"one person, at most {self.records} record{'s' if self.records > 1 else ''}"


ROW = Unit()


def cap_of(text: str) -> int | None:
    """The most records of one person that a receipt's unit speaks of: 1 of "one row"; None if it is no unit."""
    if text == str(ROW):
        return 1
    match = _PERSON.fullmatch(text)
    return int(match[1]) if match and int(match[1]) <= MOST_RECORDS_PER_PERSON else None
