"""The ledger: a privacy budget as a tree of scopes.

A scope stands for a set of records. Charges on one scope add up. Scopes opened together over disjoint
records (``split``, ``parts``) run in parallel: a group costs what its dearest member costs. Scopes opened
over the same records again (``copy``) add up. So a scope has spent

    its own charges + the sum over its groups of the largest spending in the group,

which by the tree filter (docs/theory.md, L2) bounds the privacy loss of any record, also when later budgets
depend on earlier answers. The ledger refuses a charge before the answer is computed if any bound on the way
to the root would be exceeded. Amounts are exact fractions.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable
from fractions import Fraction
from types import TracebackType

from privet.errors import BudgetError
from privet.privacy.receipt import Event

Amount = Fraction | float  # a float only for infinity


def exact(amount: Fraction | float | int | str, name: str = "epsilon") -> Fraction:
    """The fraction a person means: 0.1 is one tenth, not the nearest binary number.

    >>> exact(0.1) * 3 == exact(0.3)
    True
    """
    if isinstance(amount, bool) or amount is None:
        raise BudgetError(f"{name} must be a positive number, not {amount!r}.")
    try:
        value = amount if isinstance(amount, Fraction) else Fraction(repr(float(amount)))
    except (TypeError, ValueError, OverflowError):
        raise BudgetError(f"{name} must be a positive, finite number; got {amount!r}.") from None
    if value <= 0:
        raise BudgetError(f"{name} must be greater than zero; got {amount!r}. Zero would allow no answer.")
    return value


class Scope:
    """One set of records in the ledger's tree. Only curators and ledgers open scopes."""

    def __init__(self, path: str, parent: Scope | None, group: int, limit: Amount) -> None:
        self.path = path
        self.limit = limit
        self.spent: Amount = Fraction(0)
        self._parent = parent
        self._group = group  # the parent's group that this scope is in
        self._groups: list[Amount] = []  # the largest spending in each group opened below

    def split(self, n: int, kind: str = "split") -> list[Scope]:
        """Open ``n`` scopes over disjoint records: together they cost the largest of them."""
        group = self._open()
        return [Scope(f"{self.path}/{kind}{group}:{i}", self, group, math.inf) for i in range(n)]

    def copy(self, name: str = "copy", limit: Amount = math.inf) -> Scope:
        """Open a scope over the same records: what it spends adds to everything else."""
        group = self._open()
        return Scope(f"{self.path}/{name}{group}:0", self, group, limit)

    @property
    def remaining(self) -> Amount:
        """What can still be charged here without breaking a limit on the way to the root."""
        # A charge may hide behind a dearer sibling, so the limits above bind only through the difference.
        slack, room = Fraction(0), _minus(self.limit, self.spent)
        scope = self
        while scope._parent is not None:
            slack += _minus(scope._parent._groups[scope._group], scope.spent, both_infinite=0)
            scope = scope._parent
            room = min(room, _minus(scope.limit, scope.spent) + slack)
        return room

    def _open(self) -> int:
        self._groups.append(Fraction(0))
        return len(self._groups) - 1

    def _raise_to(self, spent: Amount) -> None:
        """Set this scope's spending, larger than before, and carry the increase to the root."""
        scope: Scope | None = self
        while scope is not None:
            scope.spent = spent
            parent = scope._parent
            if parent is None or spent <= parent._groups[scope._group]:
                return
            spent = parent.spent + (spent - parent._groups[scope._group])
            parent._groups[scope._group] = scope.spent
            scope = parent


class Ledger:
    """A total budget that several fits on the same records share.

    ``total`` is an epsilon (pure differential privacy, add or remove one record). Inside ``with
    Ledger(total):`` every fit in this process charges this ledger, on whatever thread it runs; a fit that
    asks for more than is left is refused before it starts and costs nothing.

    >>> with Ledger(0.3) as ledger:
    ...     for _ in range(3):
    ...         scope = ledger.open("fit", Fraction(1, 10))
    ...         ledger.charge([(scope, Event.example(Fraction(1, 10)))])
    >>> ledger.spent == exact(0.3), ledger.remaining
    (True, Fraction(0, 1))
    """

    _active: list[Ledger] = []  # the ledgers of the enclosing ``with`` statements, innermost last
    _environment = "PRIVET_LEDGER_PROCESS"  # tells worker processes that a ledger is open elsewhere

    def __init__(self, total: Fraction | float) -> None:
        self.total: Amount = math.inf if total == math.inf else exact(total, "the ledger's total")
        self.root = Scope("", None, 0, self.total)
        self.events: list[Event] = []
        self._lock = threading.RLock()
        self._process = os.getpid()

    @property
    def spent(self) -> Amount:
        return self.root.spent

    @property
    def remaining(self) -> Amount:
        return _minus(self.total, self.root.spent)

    def open(self, name: str, limit: Amount) -> Scope:
        """Open a scope over all records that may spend up to ``limit``; refuse if so much is not left."""
        with self._lock:
            self._same_process()
            if limit > self.remaining:
                raise BudgetError(
                    f"This fit may spend epsilon {show(limit)}, but the ledger has {show(self.remaining)} left of "
                    f"{show(self.total)}. Lower the fit's epsilon or open a ledger with a larger total."
                )
            return self.root.copy(name, limit)

    def charge(self, charges: Iterable[tuple[Scope, Event]]) -> None:
        """Charge all of them, or none and raise: called before the answer is computed."""
        charges = list(charges)
        with self._lock:
            self._same_process()
            before = {}
            for scope, event in charges:
                if event.charged < 0:
                    raise BudgetError("A charge cannot be negative.")
                if event.charged > scope.remaining:
                    for touched, state in reversed(before.items()):
                        touched.spent, touched._groups = state
                    raise BudgetError(
                        f"{event.question} would cost {show(event.charged)} where {show(scope.remaining)} is left."
                    )
                above: Scope | None = scope
                while above is not None:
                    before.setdefault(above, (above.spent, list(above._groups)))
                    above = above._parent
                scope._raise_to(scope.spent + event.charged)
            self.events.extend(event for _, event in charges)

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise BudgetError(
                "This ledger was opened in another process, which would not see the charge. "
                "Fit in the ledger's own process (n_jobs=1 or threads)."
            )

    def __enter__(self) -> Ledger:
        if Ledger._active and Ledger._active[-1]._process != os.getpid():
            Ledger._active.clear()
        Ledger._active.append(self)
        os.environ[self._environment] = str(self._process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Ledger._active.remove(self)
        if not Ledger._active:
            os.environ.pop(self._environment, None)

    @classmethod
    def current(cls) -> Ledger | None:
        """The ledger of the innermost ``with`` statement, or None."""
        if cls._active:
            cls._active[-1]._same_process()
            return cls._active[-1]
        if os.environ.get(cls._environment, str(os.getpid())) != str(os.getpid()):
            raise BudgetError(
                "A ledger is open in the parent process and cannot be charged from a worker process. "
                "Fit in the ledger's own process (n_jobs=1 or threads)."
            )
        return None


def _minus(a: Amount, b: Amount, both_infinite: Amount = math.inf) -> Amount:
    return both_infinite if a == b == math.inf else a - b


def show(amount: Amount) -> str:
    """An amount for people: as many digits as matter, infinity as a word.

    >>> show(Fraction(1, 10)), show(math.inf)
    ('0.1', 'infinity')
    """
    return "infinity" if amount == math.inf else f"{float(amount):.10g}"
