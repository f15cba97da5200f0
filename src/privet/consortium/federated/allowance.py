"""What a party may spend in all its runs together, what they have spent, and what is left."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.consortium.federated.run_state import Diary, Entry
from privet.consortium.federated.wire import nonsense, word
from privet.errors import BudgetError, FederatedError, LeakError
from privet.privacy.amounts import Amount, checked_delta, exact, show
from privet.privacy.ledger import Ledger
from privet.privacy.receipt import Receipt
from privet.privacy.unit import ROW
from privet.privacy.zcdp import epsilon_at, rho_of, rho_within
from privet.questions.codec import amount_of


@dataclass(frozen=True)
class Need:
    """What a run will spend of every party, as the coordinator says: it asks before anybody pays."""

    epsilon: Fraction
    delta: Fraction | None

    @property
    def words(self) -> list[str | None]:
        return [str(self.epsilon), None if self.delta is None else str(self.delta)]

    @classmethod
    def of_words(cls, words: dict[str, Any]) -> Need | None:
        """What a message says that is needed, if it does."""
        if words.get("needs") is None:
            return None
        try:
            epsilon, delta = word(words, "needs", list)
            return cls(exact(amount_of(epsilon)), None if delta is None else checked_delta(amount_of(delta)))
        except (BudgetError, LeakError, ValueError) as error:
            raise nonsense("needs") from error

    def check_receipt(self, receipt: Receipt) -> None:
        """Raise for the receipt of a run that cost more than the parties had agreed to, or that says another limit."""
        if (receipt.claimed, receipt.delta) != (self.epsilon, self.delta or 0) or receipt.spent > self.epsilon:
            spent = "" if receipt.spent == receipt.claimed else f", of which {show(receipt.spent)} was spent"
            raise FederatedError(
                f"This receipt is of epsilon {show(receipt.claimed)} and delta {show(receipt.delta)}{spent}. This run "
                f"was joined for {self}."
            )

    def __str__(self) -> str:
        return f"epsilon {show(self.epsilon)}" + ("" if self.delta is None else f" with delta {show(self.delta)}")


@dataclass(frozen=True)
class Allowance:
    """``limit`` is an epsilon: pure, or with ``delta`` where the noise may be Skellam's, and rho what is added up.

    It is of one ``unit``, rows or persons: runs of another do not add up with it.
    """

    name: str
    limit: Amount
    delta: Fraction | float | None
    unit: str = ROW.name

    def spent(self, diaries: Iterable[Diary]) -> Fraction:
        """What these runs have spent, in the currency of this limit: of each, what its last entry says."""
        return sum((self._in_currency(last) for diary in diaries if (last := diary.last)), Fraction(0))

    def _in_currency(self, entry: Entry) -> Fraction:
        spent, unit = Fraction(entry.noted["spent"]), entry.noted.get("unit", ROW.name)
        if unit not in ("", self.unit):
            raise BudgetError(
                f"{self.name} has spent on {unit} before, and its schema now covers {self.unit}: these do not add up. "
                "Take the schema of before, or another folder for what is spent."
            )
        if entry.noted["currency"] == "epsilon":
            return spent if self.delta is None else rho_of("geometric", spent)
        if self.delta is None:
            raise BudgetError(f"{self.name} has spent with a delta before: its limit needs one, too.")
        return spent

    def in_epsilon(self, spent: Fraction) -> Amount:
        """What was spent, as an epsilon at the limit's delta."""
        return spent if self.delta is None else epsilon_at(spent, Fraction(self.delta), True)

    def left(self, spent: Fraction) -> Amount:
        """The largest epsilon that may still be spent; none where the limit was lowered below what was spent."""
        if self.limit == math.inf:
            return math.inf
        ledger = Ledger(self.limit, self.delta, whole_orders=True)
        ledger.withhold(spent)
        return max(ledger.remaining, Fraction(0))

    def state(self, spent: Fraction) -> str:
        """In words, for the party's own log and for those who ask for its status."""
        if self.limit == math.inf:
            return f"{show(self.in_epsilon(spent))} in all, without a limit"
        return f"{show(self.in_epsilon(spent))} of {show(self.limit)} in all, {show(self.left(spent))} left"

    def check(self, need: Need, spent: Fraction) -> None:
        """Raise unless so much is left."""
        if self.limit == math.inf:
            return
        if need.delta is not None and self.delta is None:
            raise BudgetError(f"The limit of {self.name} has no delta, and this run needs {need}.")
        if need.delta is not None:
            ledger = Ledger(self.limit, self.delta, whole_orders=True)
            ledger.withhold(spent)
            enough = rho_within(need.epsilon, need.delta, True) <= ledger.root.limit
        elif self.delta is None:
            enough = need.epsilon <= self.left(spent)
        else:
            enough = self.left(spent) > 0  # what a run without a delta costs in rho follows from its questions
        if not enough:
            raise BudgetError(
                f"{self.name} has epsilon {show(self.left(spent))} left of its limit of {show(self.limit)}, and this "
                f"run needs {need}."
            )
