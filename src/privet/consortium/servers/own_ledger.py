"""What a server, or an owner of records, may spend in all runs together, in a file that outlives a restart."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from privet.consortium.servers.offers import TrainingOffer
from privet.consortium.servers.standing import Standing
from privet.errors import BudgetError, LeakError, MpcError
from privet.privacy.amounts import show
from privet.privacy.ledger import Ledger
from privet.privacy.ledger_file import LedgerFile
from privet.privacy.receipt import Receipt


def kept_ledger(path: Path, epsilon: Fraction, records: str) -> Ledger:
    """The ledger in a file, made where there is none; its member's own settings say how much it may spend."""
    ledger = Ledger.open(path) if path.exists() else Ledger.create(path, epsilon, records=records)
    assert ledger.file is not None
    ledger.file.set_limit(epsilon)
    return ledger


class OwnerLedger:
    """An owner's. All that a run may spend is set aside before the first share leaves.

    What it did spend, the receipt says that three servers have signed; without one, all of it counts as spent, unless
    nothing was shared. ``at_most`` is for one run; ``seeds`` allows those whose noise the trainer knows; ``agrees`` is
    asked about each offer that is within the limits.
    """

    def __init__(
        self,
        path: Path,
        limit: Fraction,
        unit: str,
        *,
        at_most: Fraction | None = None,
        seeds: bool = False,
        agrees: Callable[[TrainingOffer], bool] = lambda offer: True,
    ) -> None:
        file = kept_ledger(path, limit, "this owner's records").file
        assert file is not None
        file.adopt(unit)
        self._file: LedgerFile = file
        self._at_most, self._seeds, self._agrees = at_most, seeds, agrees
        self._line: str | None = None
        self._kept = Fraction(0)

    @property
    def state(self) -> str:
        cohort = self._file.tightest()
        return f"epsilon {show(max(cohort.left, Fraction(0)))} of {show(cohort.limit)} is left"

    def standing(self, needs: Fraction | None) -> Standing:
        """How this owner stands, and whether a training for ``needs`` has room; nothing is set aside."""
        cohort = self._file.tightest()
        left = max(cohort.left, Fraction(0))
        most = left if self._at_most is None else min(left, self._at_most)
        return Standing.of(cohort.limit, left, needs is None or needs <= most)

    def reserve(self, offer: TrainingOffer) -> None:
        """Set aside what a run may spend; BudgetError if there is not so much, MpcError if the operator declines, and
        LeakError if its noise is none."""
        if offer.seeded and not self._seeds:
            raise LeakError(
                f"The servers offer {offer}. Nothing was shared. For research on records that need no protection: "
                "seeds = true in this owner's file."
            )
        if self._at_most is not None and offer.epsilon > self._at_most:
            raise BudgetError(
                f"The servers offer {offer}, and this owner takes part for at most {show(self._at_most)} (--at-most)."
            )
        self._line, self._kept = self._file.reserve(offer.epsilon, f"{offer.model} {offer.run[:8]}"), offer.epsilon
        if not self._agrees(offer):
            raise MpcError("Declined: nothing was shared.")

    def end(self, *, shared: bool, receipt: Receipt | None = None) -> None:
        """The run is over: what it has spent, as the receipt says; all of it without one; nothing if nothing left."""
        if self._line is None:
            return
        spent = Fraction(0) if not shared else None if receipt is None else receipt.spent
        self._file.settle(self._line, spent, "" if receipt is None else receipt.released)
        self._line = None
        if receipt is not None and receipt.spent > self._kept:
            raise MpcError(
                f"The three servers have spent epsilon {show(receipt.spent)} and had offered {show(self._kept)}. Count "
                "the difference as spent, lower this owner's limit by it, and ask who runs the servers."
            )
