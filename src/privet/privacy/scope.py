"""Scopes: a ledger's tree of sets of records, with what was spent on each.

A scope stands for a set of records. Charges on one scope add up. Scopes opened together over disjoint
records (``split``, ``parts``) run in parallel: a group costs what its dearest member costs. Scopes opened
over the same records again (``copy``) add up. So a scope has spent

    its own charges + the sum over its groups of the largest spending in the group,

which by the tree filter (docs/theory.md, L2) bounds the privacy loss of any record, also when later budgets
depend on earlier answers.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from privet.errors import BudgetError, LeakError
from privet.privacy.amounts import Amount, as_limit, minus, show
from privet.privacy.event import PARALLEL, SAMPLE, Event, amplified

Undo = list[tuple["Scope", Amount, Amount]]
"""Each scope that was raised, with what it and its group had spent before."""


class Book:
    """What all scopes of one ledger share: a lock, and the events that were charged.

    ``keep`` is called once charges are entered and before anything is answered; if it raises, they are taken back.
    """

    def __init__(self, whole_orders: bool = False) -> None:
        # One lock for all: two threads that open groups must not get the same one.
        self.lock = threading.RLock()
        self.events: list[Event] = []
        self.whole_orders = whole_orders
        self.keep: Callable[[], None] = lambda: None


class Scope:
    """One set of records in the ledger's tree. Only curators and ledgers open scopes.

    ``mirrors`` are scopes of the same records in other trees, which are charged along: those of enclosing ledgers,
    and that of this scope's own ledger if it adds up another currency.
    """

    def __init__(
        self,
        path: str,
        book: Book,
        parent: Scope | None = None,
        group: int = 0,
        limit: Amount = math.inf,
        currency: str = "epsilon",
        mirrors: Sequence[Scope] = (),
    ) -> None:
        self.path = path
        self.book = book
        self.currency = currency
        self.mirrors = tuple(mirrors)
        self._limit = as_limit(limit)
        self._spent: Amount = Fraction(0)
        self._parent = parent
        self._group = group  # the parent's group that this scope is in
        self._groups: list[Amount] = []  # the largest spending in each group opened below
        self._inverse_rate = 1  # of a sample: each record is in it with one chance in so many
        self._sampled: bool = parent is not None and parent._sampled  # whether this is, or is inside, a sample

    @property
    def limit(self) -> Amount:
        """The most that may be spent here."""
        return self._limit

    @property
    def spent(self) -> Amount:
        """What was spent here and below."""
        return self._spent

    def split(self, n: int, kind: str = "split") -> list[Scope]:
        """Open ``n`` scopes over disjoint records: together they cost the largest of them."""
        if kind not in PARALLEL:
            raise LeakError(f"Disjoint records come from one of {', '.join(PARALLEL)}, not from {kind!r}.")
        mirrors = [mirror.split(n, kind) for mirror in self.mirrors]
        return self._below([f"{kind}{{}}:{i}" for i in range(n)], math.inf, mirrors)

    def copy(self, name: str = "copy", limit: Amount = math.inf, mirrors: Sequence[Scope] = ()) -> Scope:
        """Open a scope over the same records: what it spends adds to everything else."""
        if name in (*PARALLEL, SAMPLE) or not (name.isascii() and name.isalpha() and name.islower()):
            raise LeakError(f"A scope's name is made of small letters and is none of {', '.join(PARALLEL)}.")
        limit = as_limit(limit)
        mirrors = [*mirrors, *(mirror.copy(name) for mirror in self.mirrors)]
        return self._below([f"{name}{{}}:0"], limit, [[mirror] for mirror in mirrors])[0]

    def sample(self, inverse_rate: int) -> Scope:
        """Open a scope over a sample that each record is in with chance 1 / inverse_rate, independently of all else.

        What it spends adds to everything else at the amplified price (``event.amplified``).
        """
        if any(scope.currency != "epsilon" for scope in (self, *self.mirrors)):
            raise BudgetError("Only budgets in epsilon count for less on a sample.")
        if not isinstance(inverse_rate, int) or inverse_rate < 1:
            raise LeakError("A sample's rate is one over a whole number.")
        mirrors = [[mirror.sample(inverse_rate)] for mirror in self.mirrors]
        (scope,) = self._below([f"{SAMPLE}{{}}:{inverse_rate}"], math.inf, mirrors)
        scope._inverse_rate, scope._sampled = inverse_rate, True
        return scope

    @property
    def remaining(self) -> Amount:
        """What can still be charged here without breaking a limit on the way to the root; of a sample, at least.

        Mirrors in the same currency count, too.
        """
        return min([self._room(), *(scope._room() for scope in self.mirrors if scope.currency == self.currency)])

    def _room(self) -> Amount:
        with self.book.lock:
            if self._sampled:
                return self._left_for_sure()
            # A charge may hide behind a dearer sibling, so the limits above bind only through the difference.
            slack: Amount = Fraction(0)
            room = minus(self._limit, self._spent)
            scope = self
            while scope._parent is not None:
                group = scope._parent._groups[scope._group]
                if group is not scope._spent:  # the dearest of its group has no slack: most scopes of a long path
                    slack += minus(group, scope._spent, both_infinite=Fraction(0))
                scope = scope._parent
                if scope._limit is not math.inf:
                    room = min(room, minus(scope._limit, scope._spent) + slack)
            return room

    def _left_for_sure(self) -> Amount:
        """The least that is left on the way to the root: no charge costs more there than here."""
        scope: Scope | None = self
        room: Amount = math.inf
        while scope is not None:
            room = min(room, minus(scope._limit, scope._spent))
            scope = scope._parent
        return room

    def _below(self, steps: list[str], limit: Amount, mirrors: Sequence[Sequence[Scope]]) -> list[Scope]:
        """Open a group of scopes whose paths end in ``steps``, the group's number filled in.

        ``mirrors`` has, for each tree that is charged along, the mirror of every one of them.
        """
        with self.book.lock:
            group = len(self._groups)
            self._groups.append(Fraction(0))
        return [
            Scope(f"{self.path}/{step.format(group)}", self.book, self, group, limit, self.currency, also)
            for step, *also in zip(steps, *mirrors)
        ]

    def _charge(self, event: Event, undo: Undo) -> None:
        """Charge this scope alone, or raise and leave it as it was; the lock is held."""
        n_steps = len(undo)
        exceeded = self._raise_to(self._spent + event.charged, undo)
        if exceeded is None:
            return
        take_back(undo, n_steps)
        if self._sampled:
            raise BudgetError(f"{event.question} on a sample would cost more than {show(exceeded._limit)} allows.")
        in_rho = " in rho" if self.currency == "rho" else ""
        left = show(self._room())
        raise BudgetError(f"{event.question} would cost {show(event.charged)}{in_rho} where {left} is left.")

    def _raise_to(self, spent: Amount, undo: Undo) -> Scope | None:
        """Set this scope's spending, larger than before, and carry the increase up as far as it changes anything.

        Answers the first scope on the way whose limit is exceeded, if there is one.
        """
        scope = self
        while True:
            parent = scope._parent
            group = Fraction(0) if parent is None else parent._groups[scope._group]
            undo.append((scope, scope._spent, group))
            scope._spent = spent
            if scope._limit is not math.inf and spent > scope._limit:
                return scope
            price = amplified(spent, scope._inverse_rate)
            if parent is None or price <= group:  # a sibling has spent as much already: nothing changes above
                return None
            parent._groups[scope._group] = price
            spent = parent._spent + (price - group)
            scope = parent

    def _restore(self, spent: Amount, group: Amount) -> None:
        self._spent = spent
        if self._parent is not None:
            self._parent._groups[self._group] = group


def take_back(undo: Undo, n_steps: int) -> None:
    """Undo all but the first steps."""
    while len(undo) > n_steps:
        scope, spent, group = undo[-1]
        scope._restore(spent, group)
        undo.pop()


def reserved_rho(roots: Iterable[Scope]) -> Fraction:
    """The most that these roots may cost together in rho, whatever is answered: what a receipt with a delta states.

    A root in rho reserves its limit. A root in epsilon with limit l reserves l^2 / 2: the epsilons e_i on a path add up
    to at most l, and each answer costs at most e_i^2 / 2 in rho, so all of them together cost at most
    sum(e_i^2) / 2 <= sum(e_i)^2 / 2 <= l^2 / 2. This is so for every transcript, so the answers of all roots are a
    chain that the sum of the reserves bounds (docs/theory.md, L4).
    """
    total = Fraction(0)
    for root in roots:
        if root.limit == math.inf:
            raise BudgetError("A scope without a limit reserves no amount: give it one.")
        limit = Fraction(root.limit)
        total += limit if root.currency == "rho" else limit * limit / 2
    return total
