"""The ledger: a privacy budget, spent on a tree of scopes (``scope.py``).

The ledger refuses a charge before the answer is computed if any bound on the way to the root would be exceeded.
Amounts are exact fractions.

A ledger adds up epsilons, or, if it is given a delta, rho: zero-concentrated privacy, along the same paths, converted
once (``privet.privacy.zcdp``). A scope has a currency. Whoever opens one in epsilon in a ledger that adds up rho is
charged twice over: in epsilon against its own limit, and in rho, epsilon^2 / 2 for each answer or less, in the ledger.

A ledger that is opened inside another one is a part of it, for good: what it spends, both are charged, or neither is
and the answer is refused. Between currencies the same holds as above; a scope in rho has no price in a ledger that adds
up epsilons, and is refused there.

A ledger has a unit: rows, or persons by the column that names them (``privet.privacy.unit``). The first fit decides, or
whoever makes the ledger. Epsilons of different units do not add up, so a fit of another unit is refused.

A ledger may be kept in a file (``ledger_file.py``), which several processes share. Then the file has the limit, and
what is charged here is never more than what was set aside there before.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import Any, ClassVar, NamedTuple

from privet.errors import BudgetError, LeakError
from privet.privacy.amounts import Amount, as_limit, checked_delta, exact, is_charge, minus, show
from privet.privacy.event import Event
from privet.privacy.ledger_file import FIRST, LedgerFile
from privet.privacy.processes import Sign, open_elsewhere
from privet.privacy.reservation import OpenLine, Reservation
from privet.privacy.scope import Book, Scope, Undo, take_back
from privet.privacy.unit import ROW, Unit
from privet.privacy.zcdp import DIGITS, WHOLE, epsilon_at, rho_within

CURRENCIES = ("epsilon", "rho")

_NO_DELTA = (
    "This fit spends with a delta, and {which} has none: open it with one, Ledger(total, delta=...), or leave the "
    "fit's delta out."
)


class _Entry(NamedTuple):
    """One charge of one scope; ``listed`` among the events of its ledger."""

    scope: Scope
    event: Event
    listed: bool


class Ledger:
    """A total budget that several fits on the same records share.

    ``total`` is an epsilon (pure differential privacy, add or remove one unit); with ``delta``, it is the epsilon of
    (epsilon, delta)-differential privacy, and zCDP is what is added up. Inside ``with
    Ledger(total):`` every fit in this process charges this ledger, on whatever thread it runs (a thread or task
    that opened a ledger of its own charges that one); a fit that asks for more than is left when it starts is
    refused and costs nothing. (In a ledger with a delta, a fit in pure epsilon has no known price in zCDP when it
    starts: it is refused when an answer would be too much, and what it has asked by then is spent.) ``whole_orders``:
    the conversion to epsilon is that of whole orders, which costs next to nothing and which Skellam noise needs
    (``privet.privacy.zcdp``). Fits inside a nested ``with Ledger(...):`` charge all ledgers around them, too.
    ``unit`` is whom it covers, by default as the first fit says; the attribute is its name, "" until then: "one row"
    or "one person (column 'patient_id')". ``Ledger.create`` and ``Ledger.open`` keep one in a file.

    >>> with Ledger(0.3) as ledger:
    ...     for _ in range(3):
    ...         scope = ledger.begin("fit", Fraction(1, 10))
    ...         ledger.charge([(scope, Event.example(Fraction(1, 10)))])
    >>> ledger.spent == exact(0.3), ledger.remaining
    (True, Fraction(0, 1))
    """

    # The ledgers of the enclosing ``with`` statements of this thread or task, innermost last.
    _own: ClassVar[ContextVar[tuple[Ledger, ...]]] = ContextVar("privet_ledgers", default=())
    # Those of all threads, with the threads that opened them: for threads that opened none.
    _active: ClassVar[list[tuple[int, Ledger]]] = []
    _sign: ClassVar[Sign] = Sign()  # tells worker processes that a ledger is open here
    _door: ClassVar[threading.RLock] = threading.RLock()  # one thread at a time opens or closes a ledger

    def __init__(
        self,
        total: Fraction | float,
        delta: Fraction | float | None = None,
        *,
        whole_orders: bool = False,
        unit: Unit | None = None,
    ) -> None:
        self._total: Amount = math.inf if total == math.inf else exact(total, "the ledger's total")
        self.delta = Fraction(0) if delta is None else checked_delta(delta)
        self.whole_orders = whole_orders
        self.unit = "" if unit is None else unit.name
        self.book = Book(whole_orders)
        limit, currency = self._in_currency(self._total), "rho" if self.delta else "epsilon"
        self.root = Scope("", self.book, limit=limit, currency=currency)
        self._process = os.getpid()
        self._around: tuple[Ledger, ...] = ()  # the ledgers that this one was opened inside of
        self.file: LedgerFile | None = None
        self._lines: list[OpenLine] = []  # of the file, as long as something may be spent on them here

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        total: Fraction | float,
        delta: Fraction | float | None = None,
        *,
        records: str,
        cohort: str = FIRST,
        spent: Fraction | float = 0,
        unit: Unit | None = None,
        whole_orders: bool = False,
    ) -> Ledger:
        """Make a ledger that is kept in a new file, for the set of records that ``records`` names.

        ``total`` is the limit of its first cohort, ``spent`` what was spent on these records before.
        """
        name = "" if unit is None else unit.name
        before = exact(spent, "what was spent before") if spent else Fraction(0)
        LedgerFile.create(
            path, total, delta, records=records, cohort=cohort, unit=name, spent=before, whole_orders=whole_orders
        )
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], cohorts: Sequence[str] | None = None) -> Ledger:
        """The ledger that is kept in a file. Fits charge these cohorts or, if none are named, all of them.

        Name cohorts only for fits that see no other records than theirs (docs/ledger.md).
        """
        file = LedgerFile(path, cohorts)
        ledger = cls(math.inf, file.delta or None, whole_orders=file.whole_orders)
        ledger.file, ledger.unit = file, file.unit
        ledger.book.keep = ledger._keep
        return ledger

    @property
    def total(self) -> Amount:
        """The limit in epsilon; of a file's cohorts, that of the one with least left."""
        return self._total if self.file is None else self.file.tightest().limit

    def withhold(self, spent: Fraction) -> None:
        """Leave less, by what other ledgers of the same records have spent in this one's currency."""
        if not is_charge(spent) or spent == math.inf:
            raise BudgetError("What is withheld is an exact amount, not negative: a limit may fall, never rise.")
        with self.book.lock:
            self.root._limit = minus(self.root._limit, spent)

    def lower(self, total: Fraction | float) -> None:
        """Allow no more than ``total`` in all from now on, what was spent before included: a limit never rises."""
        with self.book.lock:
            self._total = min(self._total, math.inf if total == math.inf else exact(total, "the ledger's total"))
            self.root._limit = min(self.root._limit, self._in_currency(self._total))

    def _in_currency(self, total: Amount) -> Amount:
        if not self.delta or total == math.inf:
            return total
        return rho_within(Fraction(total), self.delta, self.whole_orders)

    @property
    def events(self) -> list[Event]:
        """All answers that were charged here, each in the currency that it was charged in."""
        return self.book.events

    @property
    def spent(self) -> Amount:
        """The epsilon spent so far, at the ledger's delta if it has one; in a file, what is set aside counts, too."""
        return self._in_epsilon(self.root.spent if self.file is None else self.file.tightest().spent)

    @property
    def remaining(self) -> Amount:
        """The largest epsilon that can still be spent: by a fit of this ledger's delta, if it has one."""
        left = self._left()
        if left <= 0:
            return Fraction(0)  # a limit may have been lowered below what was spent
        if not self.delta or left == math.inf:
            return left
        return max(self._in_epsilon(left) - Fraction(2, 10**DIGITS), Fraction(0))

    def _left(self, held: Reservation | None = None) -> Amount:
        """What is left in the ledger's own currency, for a fit that has set this aside already."""
        line = held.of(self.file) if held and self.file else None
        left = minus(self.root.limit, self.root.spent) if self.file is None else self.file.tightest().left
        return left + (line.unused if line else 0)

    def _in_epsilon(self, amount: Amount) -> Amount:
        if not self.delta or amount == math.inf:
            return amount
        return epsilon_at(Fraction(amount), self.delta, self.whole_orders)

    def reserve(self, limit: Amount, currency: str, what: str) -> Reservation:
        """Set aside, in the files of all ledgers that are charged, all that a fit may spend; raise if it is not left.

        A limit in epsilon sets limit^2 / 2 aside in a ledger that adds up rho (``scope.reserved_rho``). A ledger in
        memory ends with its process, so it only looks whether so much is left.
        """
        self._same_process()
        around = self._enclosing()
        self._check(as_limit(limit), currency, around)
        if currency == "epsilon" and limit < math.inf and not self.covers(Fraction(limit)):
            raise BudgetError(
                f"This fit spends up to epsilon {show(limit)}. A ledger with a delta counts half of its square, in "
                "rho, and has less left. Lower the fit's epsilon, or give it a delta if it takes one."
            )
        held = Reservation()
        try:
            for ledger in (self, *around):
                if ledger.file is not None:
                    in_rho = currency == "epsilon" and ledger.delta
                    ledger._add(held.set_aside(ledger.file, limit * limit / 2 if in_rho else limit, what))
        except BaseException:
            held.settle()
            raise
        return held

    def begin(
        self,
        name: str,
        limit: Amount,
        currency: str = "epsilon",
        unit: Unit = ROW,
        within: Scope | None = None,
        held: Reservation | None = None,
    ) -> Scope:
        """Open a scope over all records that may spend up to ``limit`` of a currency; refuse if that is not left.

        ``within``: over the records of a scope that ``gather`` opened, or of a part of it. What disjoint parts have
        spent is then no reason to refuse: it counts once. A scope in epsilon in a ledger with a delta is refused when a
        charge, in rho, is more than is left. A scope of another unit than the ledger's, or than that of a ledger around
        it, is refused. What was ``held`` in files pays first; a charge beyond that is set aside when it comes.
        """
        self._same_process()
        if currency not in CURRENCIES:
            raise BudgetError(f"A scope spends {' or '.join(CURRENCIES)}.")
        if within is not None:
            self._check_within(as_limit(limit), currency, within)
            own = within.copy(name, limit if currency == within.currency else math.inf)
        else:
            self._check(as_limit(limit), currency, self._enclosing(), held)
            own = self._top(name, limit if currency == self.root.currency else math.inf, unit, held)
        if currency == own.currency:
            return own
        return Scope(own.path, self.book, limit=limit, currency=currency, mirrors=[own, *own.mirrors])

    def gather(self, name: str, unit: Unit = ROW, held: Reservation | None = None) -> Scope:
        """Open a scope over all records, to be parted: it has no limit of its own, what is opened within it has."""
        self._same_process()
        return self._top(name, math.inf, unit, held)

    def _top(self, name: str, limit: Amount, unit: Unit, held: Reservation | None) -> Scope:
        """A scope over all records, here and in the ledgers around; what was held in their files pays for it."""
        around = self._enclosing()
        _adopt(unit.name, (self, *around))
        own = self.root.copy(name, limit, [ledger.root.copy(name) for ledger in around])
        for ledger, scope in zip((self, *around), (own, *own.mirrors)):
            if ledger.file is not None:
                line = held.of(ledger.file) if held else None
                (line or ledger._add(OpenLine(ledger.file, "answers"))).scopes.append(scope)
        return own

    def _add(self, line: OpenLine) -> OpenLine:
        with self.book.lock:
            self._lines = [own for own in self._lines if not own.settled] + [line]
        return line

    def _keep(self) -> None:
        """Before anything is answered: what was charged is on the disk."""
        for line in self._lines:
            line.set_aside(line.spent)

    def _check_within(self, limit: Amount, currency: str, within: Scope) -> None:
        if within.book is not self.book:
            raise LeakError("A scope is opened within one of the same ledger.")
        for scope in (within, *within.mirrors):
            which = "the ledger" if scope is within else "a ledger around it"
            if currency == "rho" and scope.currency == "epsilon":
                raise BudgetError(_NO_DELTA.format(which=which))
            if currency == scope.currency and limit > scope.remaining:
                raise BudgetError(f"This part of a fit may spend {show(limit)}, and {which} has less left for it.")

    def afford(self, limit: Amount) -> None:
        """Raise BudgetError unless so much is left, in the ledger's own currency, here and in enclosing ledgers."""
        self._check(limit, self.root.currency, self._enclosing())

    def covers(self, epsilon: Fraction, held: Reservation | None = None) -> bool:
        """Whether a scope in epsilon may spend so much whatever it asks: where rho adds up, half its square is left."""
        all_charged = (self, *self._enclosing())
        return all((epsilon**2 / 2 if own.delta else epsilon) <= own._left(held) for own in all_charged)

    def _check(self, limit: Amount, currency: str, around: list[Ledger], held: Reservation | None = None) -> None:
        for ledger in (self, *around):
            which = "the ledger" if ledger is self else "a ledger around it"
            if currency == "rho" and not ledger.delta:
                raise BudgetError(_NO_DELTA.format(which=which))
            if currency == ledger.root.currency and limit > ledger._left(held):
                raise BudgetError(
                    f"This fit may spend epsilon {show(ledger._in_epsilon(limit))}, but {which} has "
                    f"{show(ledger.remaining)} left of {show(ledger.total)}. Lower the fit's epsilon; a larger "
                    "limit is a weaker promise to the people in the records."
                )

    def charge(self, charges: Iterable[tuple[Scope, Event]]) -> None:
        """Charge all of them, in enclosing ledgers too, or none and raise: called before the answer is computed."""
        self._same_process()
        entries = [entry for scope, event in charges for entry in self._entries(scope, event)]
        books = {id(entry.scope.book): entry.scope.book for entry in entries}
        undo: Undo = []
        with ExitStack() as held:
            for _, book in sorted(books.items()):  # all locks, in one order: no two threads wait for each other
                held.enter_context(book.lock)
            before = [(book, len(book.events)) for book in books.values()]
            try:
                for entry in entries:
                    entry.scope._charge(entry.event, undo)
                    if entry.listed:
                        entry.scope.book.events.append(entry.event)
                for book in books.values():
                    book.keep()
            except BaseException:  # an interrupt, too, must not leave half a batch behind
                take_back(undo, 0)
                for book, n_events in before:
                    del book.events[n_events:]
                raise

    def _entries(self, scope: Scope, event: Event) -> list[_Entry]:
        """What one charge changes: its own scope, and the same records in other trees."""
        if scope.book is not self.book:
            raise LeakError("A scope of another ledger cannot be charged here: its limits would not see it.")
        if not is_charge(event.charged):
            raise BudgetError("A charge must be an exact fraction, not negative, or infinity.")
        entries = [_Entry(scope, event, True)]
        for mirror in scope.mirrors:
            there = event if mirror.currency == scope.currency else event.in_rho()
            entries.append(_Entry(mirror, replace(there, scope=mirror.path), mirror.book is not self.book))
        if event.mechanism in WHOLE and not all(entry.scope.book.whole_orders for entry in entries):
            raise BudgetError(
                "What Skellam noise costs is known for whole orders: open the ledger with whole_orders=True."
            )
        return entries

    def __repr__(self) -> str:
        return f"<Ledger {self}, of {self.unit or 'no unit yet'}>"

    def __str__(self) -> str:
        where = f"{self.file.records!r} in {self.file.path}: " if self.file is not None else ""
        delta = f", delta {show(self.delta)}" if self.delta else ""
        return f"{where}epsilon {float(max(self.remaining, Fraction(0))):.6g} of {show(self.total)} left{delta}"

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise BudgetError(
                "This ledger was opened in another process, which would not see the charge. "
                "Fit in the ledger's own process (n_jobs=1 or threads)."
            )

    def __enter__(self) -> Ledger:
        with Ledger._door:
            if Ledger._active and Ledger._active[-1][1]._process != os.getpid():
                Ledger._active.clear()  # inherited by a fork: those are the parent's
                Ledger._own.set(())
            around = Ledger._opened_here()
            if self not in around:  # one that is opened again inside itself is no part of what it holds
                self._around += tuple(ledger for ledger in around if ledger not in self._around)
            Ledger._active.append((threading.get_ident(), self))
            Ledger._own.set((*Ledger._own.get(), self))
            Ledger._sign.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with Ledger._door:
            own = list(Ledger._own.get())
            _drop_last(Ledger._active, (threading.get_ident(), self))
            _drop_last(own, self)
            Ledger._own.set(tuple(own))
            if not Ledger._active:
                Ledger._sign.down()

    @classmethod
    def current(cls) -> Ledger | None:
        """The ledger that a fit on this thread charges, or None.

        It is the one that this thread or task opened last; a thread that opened none charges the innermost of
        the only thread that did.
        """
        stack = cls._stack()
        if stack:
            stack[-1]._same_process()
            return stack[-1]
        if cls._active:
            raise BudgetError(
                "Several threads have opened a ledger, but not this one: it is not clear which ledger to charge. "
                "Open the ledger in the thread that fits: with ledger: ..."
            )
        if open_elsewhere():
            raise BudgetError(
                "A ledger is open in the parent process and cannot be charged from a worker process. "
                "Fit in the ledger's own process (n_jobs=1 or threads)."
            )
        return None

    @classmethod
    def _opened_here(cls) -> list[Ledger]:
        """The ledgers that this thread or task has opened and not closed, innermost last."""
        active = list(cls._active)
        return [ledger for ledger in cls._own.get() if any(ledger is other for _, other in active)]

    @classmethod
    def _stack(cls) -> list[Ledger]:
        """Those, or for a thread that has opened none, those of the only thread that has."""
        active = list(cls._active)
        one_thread = len({thread for thread, _ in active}) == 1
        return cls._opened_here() or ([ledger for _, ledger in active] if one_thread else [])

    def _enclosing(self) -> list[Ledger]:
        """All other ledgers that are charged along: those that this one was, or is now, opened inside of."""
        stack = Ledger._stack()
        places = [i for i, ledger in enumerate(stack) if ledger is self]
        around = [*self._around, *(stack[: places[-1]] if places else ())]
        around += [further for ledger in around for further in ledger._around]
        return [ledger for ledger in dict.fromkeys(around) if ledger is not self]


def _adopt(unit: str, ledgers: Sequence[Ledger]) -> None:
    """Make this the unit of ledgers that have none, of all or, if one has another, of none, and raise."""
    with Ledger._door:
        for ledger in ledgers:
            if ledger.unit not in ("", unit):
                raise BudgetError(
                    f"This ledger adds up what was spent on {ledger.unit}, and this fit would spend on {unit}: these "
                    "do not add up. Give all fits of a ledger the same person column, or none; or open another ledger."
                )
        for ledger in ledgers:
            if ledger.file is not None and not ledger.unit:
                ledger.file.adopt(unit)
            ledger.unit = unit


def _drop_last(opened: list[Any], this: Any) -> None:
    if this in opened:
        del opened[len(opened) - 1 - opened[::-1].index(this)]
