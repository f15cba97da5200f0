"""The ledger: a privacy budget as a tree of scopes.

A scope stands for a set of records. Charges on one scope add up. Scopes opened together over disjoint
records (``split``, ``parts``) run in parallel: a group costs what its dearest member costs. Scopes opened
over the same records again (``copy``) add up. So a scope has spent

    its own charges + the sum over its groups of the largest spending in the group,

which by the tree filter (docs/theory.md, L2) bounds the privacy loss of any record, also when later budgets
depend on earlier answers. The ledger refuses a charge before the answer is computed if any bound on the way
to the root would be exceeded. Amounts are exact fractions.

A ledger adds up epsilons, or, if it is given a delta, rho: zero-concentrated privacy, along the same paths, converted
once (``privet.privacy.zcdp``). A scope has a currency. Whoever opens one in epsilon in a ledger that adds up rho is
charged twice over: in epsilon against its own limit, and in rho, epsilon^2 / 2 for each answer or less, in the ledger.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from fractions import Fraction
from types import TracebackType
from typing import ClassVar

import numpy as np

from privet.errors import BudgetError, LeakError
from privet.privacy.processes import Sign, open_elsewhere
from privet.privacy.receipt import PARALLEL, SAMPLE, Event, amplified
from privet.privacy.zcdp import DIGITS, WHOLE, epsilon_at, rho_within

Amount = Fraction | float  # a float only for infinity

CURRENCIES = ("epsilon", "rho")


def exact(amount: Fraction | float | int | str, name: str = "epsilon") -> Fraction:
    """The fraction a person means: 0.1 is one tenth, not the nearest binary number.

    >>> exact(0.1) * 3 == exact(0.3)
    True
    """
    if isinstance(amount, bool | np.bool_) or amount is None:
        raise BudgetError(f"{name} must be a positive number, not {amount!r}.")
    try:
        value = amount if isinstance(amount, Fraction) else _as_written(amount)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise BudgetError(f"{name} must be a positive, finite number; got {amount!r}.") from None
    if value <= 0:
        raise BudgetError(f"{name} must be greater than zero; got {amount!r}. Zero would allow no answer.")
    return value


def _as_written(amount: float | int | str) -> Fraction:
    if isinstance(amount, str) and "/" in amount and len(amount) < 1_000:
        return Fraction(amount)
    return Fraction(repr(float(amount)))


class Scope:
    """One set of records in the ledger's tree. Only curators and ledgers open scopes.

    ``mirror`` is the scope of the same records in a ledger of another currency, which is charged along.
    """

    def __init__(
        self,
        path: str,
        parent: Scope | None,
        group: int,
        limit: Amount,
        currency: str = "epsilon",
        mirror: Scope | None = None,
    ) -> None:
        self.path = path
        # Exact, so that a float is infinity.
        self.limit = limit if isinstance(limit, Fraction) or limit == math.inf else _as_written(limit)
        self.currency = currency
        self.mirror = mirror
        self.spent: Amount = Fraction(0)
        self._parent = parent
        self._group = group  # the parent's group that this scope is in
        self._groups: list[Amount] = []  # the largest spending in each group opened below
        self._root: Scope = self if parent is None else parent._root
        self._inverse_rate = 1  # of a sample: each record is in it with one chance in so many
        self._sampled: bool = parent is not None and parent._sampled  # whether this is, or is inside, a sample
        # One lock for the whole tree, and for its mirror: two threads that open groups must not get the same one.
        above = mirror if parent is None else parent
        self._lock: threading.RLock = threading.RLock() if above is None else above._lock

    def split(self, n: int, kind: str = "split") -> list[Scope]:
        """Open ``n`` scopes over disjoint records: together they cost the largest of them."""
        if kind not in PARALLEL:
            raise LeakError(f"Disjoint records come from one of {', '.join(PARALLEL)}, not from {kind!r}.")
        with self._lock:
            mirrors = [None] * n if self.mirror is None else self.mirror.split(n, kind)
            return self._below([f"{kind}{{}}:{i}" for i in range(n)], math.inf, mirrors)

    def copy(self, name: str = "copy", limit: Amount = math.inf) -> Scope:
        """Open a scope over the same records: what it spends adds to everything else."""
        if name in (*PARALLEL, SAMPLE) or not (name.isascii() and name.isalpha() and name.islower()):
            raise LeakError(f"A scope's name is made of small letters and is none of {', '.join(PARALLEL)}.")
        if math.isnan(limit):
            raise BudgetError("A scope's limit must be a number.")
        with self._lock:
            mirror = None if self.mirror is None else self.mirror.copy(name)
            return self._below([f"{name}{{}}:0"], limit, [mirror])[0]

    def sample(self, inverse_rate: int) -> Scope:
        """Open a scope over a sample that each record is in with chance 1 / inverse_rate, independently of all else.

        What it spends adds to everything else at the amplified price (``receipt.amplified``).
        """
        if self.currency != "epsilon" or self.mirror is not None:
            raise BudgetError("Only budgets in epsilon count for less on a sample.")
        if not isinstance(inverse_rate, int) or inverse_rate < 1:
            raise LeakError("A sample's rate is one over a whole number.")
        with self._lock:
            (scope,) = self._below([f"{SAMPLE}{{}}:{inverse_rate}"], math.inf, [None])
        scope._inverse_rate, scope._sampled = inverse_rate, True
        return scope

    @property
    def remaining(self) -> Amount:
        """What can still be charged here without breaking a limit on the way to the root; of a sample, at least."""
        with self._lock:
            if self._sampled:
                return self._left_for_sure()
            # A charge may hide behind a dearer sibling, so the limits above bind only through the difference.
            slack: Amount = Fraction(0)
            room = _minus(self.limit, self.spent)
            scope = self
            while scope._parent is not None:
                group = scope._parent._groups[scope._group]
                if group is not scope.spent:  # the dearest of its group has no slack: most scopes of a long path
                    slack += _minus(group, scope.spent, both_infinite=Fraction(0))
                scope = scope._parent
                if scope.limit is not math.inf:
                    room = min(room, _minus(scope.limit, scope.spent) + slack)
            return room

    def _left_for_sure(self) -> Amount:
        """The least that is left on the way to the root: no charge costs more there than here."""
        scope: Scope | None = self
        room: Amount = math.inf
        while scope is not None:
            room = min(room, _minus(scope.limit, scope.spent))
            scope = scope._parent
        return room

    def _below(self, steps: list[str], limit: Amount, mirrors: Sequence[Scope | None]) -> list[Scope]:
        """Open a group of scopes whose paths end in ``steps``, the group's number filled in; the lock is held."""
        group = len(self._groups)
        self._groups.append(Fraction(0))
        return [
            Scope(f"{self.path}/{step.format(group)}", self, group, limit, self.currency, mirror)
            for step, mirror in zip(steps, mirrors)
        ]

    def _raise_to(self, spent: Amount, undo: list[tuple[Scope, Amount, Amount]]) -> Scope | None:
        """Set this scope's spending, larger than before, and carry the increase up as far as it changes anything.

        ``undo`` collects each scope with what it and its group had spent before. Answers the first scope on the way
        whose limit is exceeded, if there is one.
        """
        scope = self
        while True:
            parent = scope._parent
            group = Fraction(0) if parent is None else parent._groups[scope._group]
            undo.append((scope, scope.spent, group))
            scope.spent = spent
            if scope.limit is not math.inf and spent > scope.limit:
                return scope
            price = amplified(spent, scope._inverse_rate)
            if parent is None or price <= group:  # a sibling has spent as much already: nothing changes above
                return None
            parent._groups[scope._group] = price
            spent = parent.spent + (price - group)
            scope = parent

    def _restore(self, spent: Amount, group: Amount) -> None:
        self.spent = spent
        if self._parent is not None:
            self._parent._groups[self._group] = group


class Ledger:
    """A total budget that several fits on the same records share.

    ``total`` is an epsilon (pure differential privacy, add or remove one record); with ``delta``, it is the epsilon of
    (epsilon, delta)-differential privacy, and zCDP is what is added up. Inside ``with
    Ledger(total):`` every fit in this process charges this ledger, on whatever thread it runs (a thread or task
    that opened a ledger of its own charges that one); a fit that asks for more than is left when it starts is
    refused and costs nothing. (In a ledger with a delta, a fit in pure epsilon has no known price in zCDP when it
    starts: it is refused when an answer would be too much, and what it has asked by then is spent.) ``whole_orders``:
    the conversion to epsilon is that of whole orders, which costs next to nothing and which Skellam noise needs
    (``privet.privacy.zcdp``).

    >>> with Ledger(0.3) as ledger:
    ...     for _ in range(3):
    ...         scope = ledger.open("fit", Fraction(1, 10))
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
        self, total: Fraction | float, delta: Fraction | float | None = None, *, whole_orders: bool = False
    ) -> None:
        self.total: Amount = math.inf if total == math.inf else exact(total, "the ledger's total")
        self.delta = Fraction(0) if delta is None else checked_delta(delta)
        self.whole_orders = whole_orders
        limit = self.total
        if self.delta and self.total < math.inf:
            limit = rho_within(Fraction(self.total), self.delta, whole_orders)
        self.root = Scope("", None, 0, limit, "rho" if self.delta else "epsilon")
        self.events: list[Event] = []
        self._process = os.getpid()

    def withhold(self, spent: Amount) -> None:
        """Leave less, by what other ledgers of the same records have spent in this one's currency."""
        self.root.limit = _minus(self.root.limit, spent)

    @property
    def spent(self) -> Amount:
        """The epsilon spent so far, at the ledger's delta if it has one."""
        return self._in_epsilon(self.root.spent)

    @property
    def remaining(self) -> Amount:
        """The largest epsilon that can still be spent: by a fit of this ledger's delta, if it has one."""
        left = _minus(self.root.limit, self.root.spent)
        if not self.delta or left in (0, math.inf):
            return left
        return max(self._in_epsilon(left) - Fraction(2, 10**DIGITS), Fraction(0))

    def _in_epsilon(self, amount: Amount) -> Amount:
        if not self.delta or amount == math.inf:
            return amount
        return epsilon_at(Fraction(amount), self.delta, self.whole_orders)

    def open(self, name: str, limit: Amount, currency: str = "epsilon") -> Scope:
        """Open a scope over all records that may spend up to ``limit`` of a currency; refuse if that is not left.

        A scope in epsilon in a ledger with a delta is refused when a charge, in rho, is more than is left.
        """
        self._same_process()
        if currency not in CURRENCIES or (currency == "rho" and not self.delta):
            raise BudgetError(
                "This fit spends with a delta, and the ledger has none: open it with one, Ledger(total, delta=...), or "
                "leave the fit's delta out."
            )
        with self.root._lock:
            if currency != self.root.currency:
                mirror = self.root.copy(name)
                return Scope(mirror.path, None, 0, limit, currency, mirror)
            self.afford(limit)
            return self.root.copy(name, limit)

    def afford(self, limit: Amount) -> None:
        """Raise BudgetError unless so much is left, in the ledger's own currency."""
        if limit > _minus(self.root.limit, self.root.spent):
            raise BudgetError(
                f"This fit may spend epsilon {show(self._in_epsilon(limit))}, but the ledger has "
                f"{show(self.remaining)} left of {show(self.total)}. Lower the fit's epsilon or open a ledger with "
                "a larger total."
            )

    def charge(self, charges: Iterable[tuple[Scope, Event]]) -> None:
        """Charge all of them, or none and raise: called before the answer is computed."""
        charges = list(charges)
        self._same_process()
        for scope, event in charges:
            if (scope.mirror or scope)._root is not self.root:
                raise LeakError("A scope of another ledger cannot be charged here: its limits would not see it.")
            if not (event.charged == math.inf or (isinstance(event.charged, Fraction | int) and event.charged >= 0)):
                raise BudgetError("A charge must be an exact fraction, not negative, or infinity.")
            if event.mechanism in WHOLE and not self.whole_orders:
                raise BudgetError(
                    "What Skellam noise costs is known for whole orders: open the ledger with whole_orders=True."
                )
        undo: list[tuple[Scope, Amount, Amount]] = []
        with self.root._lock:
            n_events = len(self.events)
            try:
                for scope, event in charges:
                    _charge(scope, event, undo)
                    if scope.mirror is not None:
                        _charge(scope.mirror, event.in_rho(), undo)
                    self.events.append(event)
            except BaseException:  # an interrupt, too, must not leave half a batch behind
                _take_back(undo, 0)
                del self.events[n_events:]
                raise

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
            Ledger._active.append((threading.get_ident(), self))
            Ledger._own.set((*Ledger._own.get(), self))
            Ledger._sign.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with Ledger._door:
            for i in reversed(range(len(Ledger._active))):
                if Ledger._active[i] == (threading.get_ident(), self):
                    del Ledger._active[i]
                    break
            own = list(Ledger._own.get())
            for i in reversed(range(len(own))):
                if own[i] is self:
                    del own[i]
                    break
            Ledger._own.set(tuple(own))
            if not Ledger._active:
                Ledger._sign.down()

    @classmethod
    def current(cls) -> Ledger | None:
        """The ledger that a fit on this thread charges, or None.

        It is the one that this thread or task opened last; a thread that opened none charges the innermost of
        the only thread that did.
        """
        active = list(cls._active)
        if active:
            own = [ledger for ledger in cls._own.get() if any(ledger is other for _, other in active)]
            if not own and len({thread for thread, _ in active}) > 1:
                raise BudgetError(
                    "Several threads have opened a ledger and this one none: which to charge is not clear. "
                    "Open the ledger in the thread that fits: with ledger: ..."
                )
            ledger = own[-1] if own else active[-1][1]
            ledger._same_process()
            return ledger
        if open_elsewhere():
            raise BudgetError(
                "A ledger is open in the parent process and cannot be charged from a worker process. "
                "Fit in the ledger's own process (n_jobs=1 or threads)."
            )
        return None


def _charge(scope: Scope, event: Event, undo: list[tuple[Scope, Amount, Amount]]) -> None:
    n_steps = len(undo)
    exceeded = scope._raise_to(scope.spent + event.charged, undo)
    if exceeded is None:
        return
    _take_back(undo, n_steps)
    if scope._sampled:
        raise BudgetError(f"{event.question} on a sample would cost more than {show(exceeded.limit)} allows.")
    in_rho = " in rho" if scope.currency == "rho" else ""
    left = show(scope.remaining)
    raise BudgetError(f"{event.question} would cost {show(event.charged)}{in_rho} where {left} is left.")


def _take_back(undo: list[tuple[Scope, Amount, Amount]], n_steps: int) -> None:
    """Undo all but the first steps."""
    while len(undo) > n_steps:
        scope, spent, group = undo[-1]
        scope._restore(spent, group)
        undo.pop()


def checked_delta(delta: Fraction | float | str) -> Fraction:
    """A delta as the fraction that a person means, between 0 and 1."""
    value = exact(delta, "delta")
    if value >= 1:
        raise BudgetError(f"delta is a small probability, far below one over the number of records; got {delta!r}.")
    return value


def _minus(a: Amount, b: Amount, both_infinite: Amount = math.inf) -> Amount:
    if isinstance(a, float):  # infinity: asked first, because fractions take long to compare with it
        return both_infinite if b == math.inf else a
    return a - b


def show(amount: Amount) -> str:
    """An amount for people: as many digits as matter, infinity as a word.

    >>> show(Fraction(1, 10)), show(math.inf)
    ('0.1', 'infinity')
    """
    return "infinity" if amount == math.inf else f"{float(amount):.10g}"
