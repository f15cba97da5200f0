"""What is set aside for one fit in the files of all ledgers that it charges, until it is settled."""

from __future__ import annotations

import warnings
from fractions import Fraction

from privet.errors import BudgetError
from privet.privacy.amounts import Amount
from privet.privacy.ledger_file import LedgerFile
from privet.privacy.scope import Scope


class OpenLine:
    """A line of a ledger's file that this process still spends on: never less than what its ``scopes`` have spent."""

    def __init__(self, file: LedgerFile, what: str) -> None:
        self.scopes: list[Scope] = []
        self._file, self._what = file, what
        self._token: str | None = None
        self._kept: Amount = Fraction(0)
        self.settled = False

    @property
    def spent(self) -> Amount:
        return sum((scope.spent for scope in self.scopes), Fraction(0))

    @property
    def unused(self) -> Amount:
        """What is set aside and not spent."""
        return max(self._kept - self.spent, Fraction(0))

    def set_aside(self, amount: Amount) -> None:
        """Have at least this amount on the disk, or raise."""
        if amount <= self._kept:
            return
        if self._token is None:
            self._token = self._file.reserve(amount, self._what)
        else:
            self._file.raise_to(self._token, amount)
        self._kept = amount

    def settle(self, released: str) -> None:
        """Give back what was not used. If that fails the line stays as it is, and counts in full."""
        self.settled = True
        if self._token is None:
            return
        try:
            self._file.settle(self._token, self.spent, released)
        except BudgetError as error:
            warnings.warn(f"What this fit did not use stays set aside: {error}", UserWarning, stacklevel=2)


class Reservation:
    """The open lines of one fit, by the file that they are in."""

    def __init__(self) -> None:
        self._lines: dict[int, OpenLine] = {}

    def set_aside(self, file: LedgerFile, amount: Amount, what: str) -> OpenLine:
        line = self._lines[id(file)] = OpenLine(file, what)
        line.set_aside(amount)
        return line

    def of(self, file: LedgerFile) -> OpenLine | None:
        return self._lines.get(id(file))

    def settle(self, released: str = "") -> None:
        """End the fit in all files: ``released`` is the digest of what was released, if anything was."""
        for line in self._lines.values():
            line.settle(released)
        self._lines.clear()

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()
