"""A ledger that a restart does not forget: what was spent is on the disk before anything is answered."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

from privet.disk import lock_file, write_whole
from privet.errors import BudgetError
from privet.privacy.ledger import Ledger

FORMAT = "privet-ledger-1"


class KeptLedger(Ledger):
    """A ledger for a process that answers for as long as there are records, and may be stopped and started meanwhile.

    A charge is in the file before its answer is computed; if it cannot be written, nothing is answered. One process
    at a time has the file. To delete it is to forget what was spent, which is right for new records alone.
    """

    def __init__(self, total: Fraction | float, path: Path) -> None:
        super().__init__(total)
        self._path = path
        self._lock_file = lock(path)
        self.root._spent = _read(path)
        self.book.keep = self._write

    def _write(self) -> None:
        """All or nothing, and on the disk: a file that was half written would be a budget forgotten."""
        try:
            write_whole(self._path, json.dumps({"format": FORMAT, "spent": str(self.root.spent)}).encode())
        except OSError as error:
            raise BudgetError(
                f"What was spent cannot be written to {self._path} ({error.strerror}), so nothing is answered."
            ) from None

    def close(self) -> None:
        """Let another process have the file."""
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None


def _read(path: Path) -> Fraction:
    if not path.exists():
        return Fraction(0)
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        spent = Fraction(kept["spent"])
        if kept["format"] != FORMAT or spent < 0:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        raise BudgetError(
            f"{path} should say what was spent so far and cannot be read. Bring it back from a copy; delete it only if "
            "all records are new."
        ) from None
    return spent


def lock(path: Path) -> int | None:
    """Keep other processes from ``path`` until the file that is returned is closed; raises if another has it."""
    try:
        return lock_file(path.with_name(f"{path.name}.lock"))
    except BlockingIOError:
        raise BudgetError(f"Another process charges {path}. Stop it, or give this one its own place.") from None
    except OSError as error:
        raise BudgetError(f"What is spent cannot be kept in {path.parent} ({error.strerror}).") from None
