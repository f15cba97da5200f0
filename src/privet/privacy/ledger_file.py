"""A ledger's file: what was spent on a set of records, by whom, for which release. SQLite, so that processes share it.

A line is written with all that a fit may spend before the fit asks anything, and lowered to what it did spend at its
end. Whatever happens between, the line is there: one that is never settled counts in full. A change is on the disk
before anything is answered (a rollback journal, which also works where memory is not shared; ``synchronous=EXTRA``, so
that not even a power cut right after a commit undoes it), and one process at a time changes the file.

Cohorts are disjoint sets of the records, such as those who were enrolled in one year. Each has a limit of its own, and
a line says which of them its release was made of. A record is in one cohort, so what it may lose is what the lines of
its own cohort add up to (docs/ledger.md says when that holds).

Amounts are exact fractions, in epsilon or, with a delta, in rho. The file knows no records.
"""

from __future__ import annotations

import getpass
import glob
import math
import os
import secrets
import socket
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from privet.disk import NETWORK, filesystem_of, whole_file
from privet.errors import BudgetError
from privet.privacy.amounts import Amount, checked_delta, exact, minus, show
from privet.privacy.zcdp import epsilon_at, rho_within
from privet.schema_file import nearest

FIRST = "first"
"""The cohort of a ledger that was made without naming one."""
BEFORE = "before this ledger"
"""The line of what a set of records had lost when its ledger was made."""

_APPLICATION = 0x50726976  # "Priv", where SQLite's files say whose they are
_VERSION = 2
_PATIENCE = 60.0  # seconds that another process may take over a change
_LONGEST = 10**40  # denominators of amounts: a larger one is rounded up to this, so that sums stay short

_TABLES = """
CREATE TABLE ledger (records TEXT NOT NULL, unit TEXT NOT NULL, delta TEXT NOT NULL, whole_orders INTEGER NOT NULL,
                     made TEXT NOT NULL);
CREATE TABLE cohort (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL);
CREATE TABLE line (number INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT NOT NULL, amount TEXT NOT NULL,
                   settled INTEGER NOT NULL, released TEXT NOT NULL, who TEXT NOT NULL, host TEXT NOT NULL,
                   began TEXT NOT NULL, ended TEXT NOT NULL, token TEXT NOT NULL UNIQUE);
CREATE TABLE charged (line INTEGER NOT NULL REFERENCES line, cohort TEXT NOT NULL REFERENCES cohort,
                      PRIMARY KEY (line, cohort));
CREATE TABLE changed (cohort TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, who TEXT NOT NULL,
                      host TEXT NOT NULL, at TEXT NOT NULL);
"""


@dataclass(frozen=True)
class LedgerLine:
    """One release: ``amount`` is what it spent in the ledger's currency or, until it is settled, what it may spend."""

    number: int
    what: str
    amount: Amount
    settled: bool
    released: str
    who: str
    host: str
    began: str
    ended: str
    cohorts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cohort:
    """A part of the records. ``limit`` is an epsilon; ``most``, ``spent`` and ``left`` are in the ledger's currency."""

    name: str
    limit: Amount
    most: Amount
    spent: Amount

    @property
    def left(self) -> Amount:
        return minus(self.most, self.spent)


class LedgerFile:
    """A ledger's file, and the cohorts that are charged: by default all that there are when a fit begins."""

    def __init__(self, path: str | os.PathLike[str], cohorts: Sequence[str] | None = None) -> None:
        self.path = Path(path)
        if not self.path.exists():
            like = nearest(self.path.name, [own.name for own in self.path.parent.glob("*.ledger")])
            make = f"privet ledger new {path} --epsilon NUMBER --records TEXT"
            raise BudgetError(f"There is no ledger {path}{like}. For records that have none yet: {make}")
        if filesystem_of(self.path) in NETWORK:
            warnings.warn(
                f"{path} is on a network drive, whose locks may not keep two machines from spending the same budget. "
                "Keep the ledger on a disk of the machine that fits.",
                UserWarning,
                stacklevel=3,
            )
        with self._db() as db:
            kind, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
            if kind != _APPLICATION or version != _VERSION:
                raise BudgetError(f"{path} is no ledger of this version of Privet.")
            if db.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                raise BudgetError(
                    f"{path} is damaged. An older copy would have forgotten what was spent since. If there is no copy "
                    "of its last state, make one that counts all of its limit as spent: privet ledger new --spent."
                )
            self.records, delta, whole_orders = db.execute("SELECT records, delta, whole_orders FROM ledger").fetchone()
        self.delta, self.whole_orders = Fraction(delta), bool(whole_orders)
        self._named = None if cohorts is None else tuple(dict.fromkeys(cohorts))
        self.cohorts()  # raises for one that there is not

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: Amount,
        delta: Fraction | float | None = None,
        *,
        records: str,
        cohort: str = FIRST,
        unit: str = "",
        spent: Amount = Fraction(0),
        whole_orders: bool = False,
    ) -> LedgerFile:
        """Write a new file, whole or not at all. ``spent``: pure epsilon that these records have lost before it.

        In a ledger with a delta it counts as epsilon^2 / 2 of rho. An epsilon at a delta says too little to be counted.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise BudgetError(f"There is no folder {path.parent} for the ledger. Make it first.")
        fixed = Fraction(0) if delta is None else checked_delta(delta)
        limit = _limit(epsilon, fixed, whole_orders)
        for rest in (path.with_name(path.name + ending) for ending in ("-journal", "-wal")):
            if rest.exists():
                raise BudgetError(
                    f"{rest} is left of another ledger {path}, and would be taken for a change of the new one. If that "
                    "ledger is really gone, delete this, too; if it was moved, move this along with it."
                )
        try:
            with whole_file(path, new=True, mode=0o660) as part, closing(_connect(part)) as db:
                db.executescript(f"PRAGMA application_id={_APPLICATION}; PRAGMA user_version={_VERSION};{_TABLES}")
                terms = (_named(records, "The set of records"), unit, str(fixed), whole_orders, _now())
                db.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?)", terms)
                db.execute("INSERT INTO cohort VALUES (?, ?)", (_named(cohort, "A cohort"), _write(limit)))
                _note_change(db, cohort, "", limit)
                if spent:
                    before = exact(spent, "what was spent before") if spent < math.inf else math.inf
                    amount = before**2 / 2 if fixed else before
                    _note_line(db, BEFORE, amount, [cohort], settled=True)
        except FileExistsError:
            raise BudgetError(
                f"{path} exists: a ledger is never written over, since it knows what was spent."
            ) from None
        return cls(path)

    # -- what it says --------------------------------------------------------------------------------------------------

    @property
    def unit(self) -> str:
        with self._db() as db:
            return str(db.execute("SELECT unit FROM ledger").fetchone()[0])

    def cohorts(self, *, every: bool = False) -> list[Cohort]:
        """Those that are charged, or all."""
        with self._db() as db:
            return self._cohorts(db, every=every)

    def tightest(self) -> Cohort:
        """Of those that are charged, the one with least left."""
        return min(self.cohorts(), key=lambda cohort: cohort.left)

    def lines(self) -> list[LedgerLine]:
        """All releases, the oldest first."""
        with self._db() as db:
            found = []
            for number, what, amount, settled, *rest, _ in db.execute("SELECT * FROM line ORDER BY number").fetchall():
                charged = db.execute("SELECT cohort FROM charged WHERE line=? ORDER BY rowid", (number,)).fetchall()
                cohorts = tuple(cohort for (cohort,) in charged)
                found.append(replace(LedgerLine(number, what, _read(amount), bool(settled), *rest), cohorts=cohorts))
            return found

    def changes(self) -> list[tuple[str, str, str, str, str, str]]:
        """Every change of a limit: the cohort, the limit before and after, who changed it, where and when."""
        with self._db() as db:
            return db.execute("SELECT * FROM changed ORDER BY rowid").fetchall()

    def in_currency(self, epsilon: Amount) -> Amount:
        if not self.delta or epsilon == math.inf:
            return epsilon
        return rho_within(Fraction(epsilon), self.delta, self.whole_orders)

    def in_epsilon(self, amount: Amount) -> Amount:
        if not self.delta or amount == math.inf:
            return amount
        return epsilon_at(Fraction(amount), self.delta, self.whole_orders)

    # -- spending ------------------------------------------------------------------------------------------------------

    def reserve(self, amount: Amount, what: str) -> str:
        """Set an amount aside on every cohort that is charged, or raise; its line's token.

        By that the fit finds its line again. A number will not do: in an older copy of the file that was brought back
        meanwhile, another fit may have the same.
        """
        with self._change() as db:
            cohorts = self._cohorts(db)
            self._afford(cohorts, amount)
            return _note_line(db, what, amount, [cohort.name for cohort in cohorts])

    def raise_to(self, token: str, amount: Amount) -> None:
        """Set more aside for a line, or raise and leave it."""
        with self._change() as db:
            kept, cohorts = self._open_line(db, token)
            if amount > kept:
                self._afford(cohorts, minus(amount, kept))
                db.execute("UPDATE line SET amount=? WHERE token=?", (_write(amount), token))

    def settle(self, token: str, spent: Amount | None, released: str = "") -> None:
        """Lower a line to what was spent (None: all of it), and say for which release; it never changes again."""
        with self._change() as db:
            kept, _ = self._open_line(db, token)
            amount = kept if spent is None else min(kept, _read(_write(spent)))
            db.execute(
                "UPDATE line SET amount=?, settled=1, released=?, ended=? WHERE token=?",
                (_write(amount), released, _now(), token),
            )

    def _open_line(self, db: sqlite3.Connection, token: str) -> tuple[Amount, list[Cohort]]:
        found = db.execute("SELECT number, amount FROM line WHERE token=? AND settled=0", (token,)).fetchone()
        if found is None:
            raise BudgetError(
                f"{self.path} does not have this fit's line any more, or has it settled: it is another copy than the "
                "one that this process began with. Bring the newest one back."
            )
        charged = {name for (name,) in db.execute("SELECT cohort FROM charged WHERE line=?", found[:1])}
        return _read(found[1]), [cohort for cohort in self._cohorts(db, every=True) if cohort.name in charged]

    def _afford(self, cohorts: Sequence[Cohort], amount: Amount) -> None:
        amount = _read(_write(amount))
        for cohort in cohorts:
            if amount > cohort.left:
                left = self.in_epsilon(max(cohort.left, Fraction(0)))
                which = "the ledger" if cohort.name == FIRST else f"cohort {cohort.name!r} of the ledger"
                raise BudgetError(
                    f"This fit may spend epsilon {show(self.in_epsilon(amount))}, but {which} has {show(left)} left "
                    f"of {show(cohort.limit)}. Lower the fit's epsilon; what was spent: privet ledger show {self.path}."
                )

    # -- terms ---------------------------------------------------------------------------------------------------------

    def adopt(self, unit: str) -> None:
        """Make this the unit of a ledger that has none; raises if it has another."""
        with self._change() as db:
            own = db.execute("SELECT unit FROM ledger").fetchone()[0]
            if own not in ("", unit):
                raise BudgetError(f"{self.path} adds up what was spent on {own}, and this fit would spend on {unit}.")
            db.execute("UPDATE ledger SET unit=?", (unit,))

    def set_limit(self, epsilon: Amount, cohort: str | None = None) -> None:
        """Change the limit of a cohort, or of those that are charged. What was spent stays spent."""
        limit = _limit(epsilon, self.delta, self.whole_orders)
        with self._change() as db:
            cohorts = self._cohorts(db, every=cohort is not None)
            chosen = [own for own in cohorts if cohort in (None, own.name)]
            if not chosen:
                raise BudgetError(f"{self.path} has no cohort {cohort!r}.")
            for own in chosen:
                if own.limit != limit:
                    db.execute("UPDATE cohort SET epsilon=? WHERE name=?", (_write(limit), own.name))
                    _note_change(db, own.name, _write(own.limit), limit)

    def add_cohort(self, name: str, epsilon: Amount) -> None:
        """Let new records in, with a limit of their own: they are disjoint from those of all other cohorts."""
        limit = _limit(epsilon, self.delta, self.whole_orders)
        with self._change() as db:
            if any(cohort.name == name for cohort in self._cohorts(db, every=True)):
                raise BudgetError(f"{self.path} has a cohort {name!r} already. privet ledger limit changes its limit.")
            db.execute("INSERT INTO cohort VALUES (?, ?)", (_named(name, "A cohort"), _write(limit)))
            _note_change(db, name, "", limit)

    def _cohorts(self, db: sqlite3.Connection, *, every: bool = False) -> list[Cohort]:
        spent: dict[str, Amount] = {}
        for name, amount in db.execute("SELECT cohort, amount FROM charged JOIN line ON line = number"):
            spent[name] = spent.get(name, Fraction(0)) + _read(amount)
        limits = {name: _read(epsilon) for name, epsilon in db.execute("SELECT * FROM cohort ORDER BY rowid")}
        named = list(limits) if every or self._named is None else self._named
        if not named:
            raise BudgetError(f"{self.path} is charged for no cohort at all. Name at least one.")
        if missing := [name for name in named if name not in limits]:
            raise BudgetError(f"{self.path} has no cohort {missing[0]!r}; it has {', '.join(map(repr, limits))}.")
        return [
            Cohort(name, limits[name], self.in_currency(limits[name]), spent.get(name, Fraction(0))) for name in named
        ]

    # -- the file ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _db(self) -> Iterator[sqlite3.Connection]:
        """The file, opened anew each time: nothing is left open that a fork would share."""
        try:
            with closing(_connect(self.path)) as db:
                yield db
        except sqlite3.Error as error:
            busy = "another process has kept it busy for a minute" if "locked" in str(error) else str(error)
            raise BudgetError(f"The ledger {self.path} cannot be used, so nothing is answered: {busy}.") from error

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """A change: whole and on the disk once this ends, or not at all. One process at a time."""
        with self._db() as db:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")  # if it is not reached, closing takes everything back


def _connect(path: Path) -> sqlite3.Connection:
    _check_one_name(path)
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        db.execute("PRAGMA synchronous=EXTRA")
        db.execute("PRAGMA foreign_keys=ON")
        if db.execute("PRAGMA journal_mode=DELETE").fetchone()[0] != "delete":
            raise sqlite3.OperationalError("its journal has another form than Privet's, and is in use")
    except BaseException:
        db.close()
        raise
    return db


def _check_one_name(path: Path) -> None:
    """Raise for a file with two names: what a killed process left half changed is taken back under its own name alone.

    A process that was killed while it made the ledger may have left a second name, which goes.
    """
    if path.exists() and path.stat().st_nlink > 1:
        for part in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
            if part.samefile(path):
                part.unlink(missing_ok=True)
        if path.stat().st_nlink > 1:
            raise BudgetError(
                f"The file {path} has a second name, a hard link. Under two names a ledger may be read half changed: "
                "remove one of them (find -samefile shows them), or use a symbolic link."
            )


def _note_line(
    db: sqlite3.Connection, what: str, amount: Amount, cohorts: Sequence[str], *, settled: bool = False
) -> str:
    ended, token = _now() if settled else "", secrets.token_hex(16)
    line = (what, _write(amount), settled, "", _who(), socket.gethostname(), _now(), ended, token)
    number = db.execute(f"INSERT INTO line VALUES (NULL{', ?' * len(line)})", line).lastrowid
    db.executemany("INSERT INTO charged VALUES (?, ?)", [(number, cohort) for cohort in cohorts])
    return token


def _note_change(db: sqlite3.Connection, cohort: str, before: str, after: Amount) -> None:
    change = (cohort, before, _write(after), _who(), socket.gethostname(), _now())
    db.execute("INSERT INTO changed VALUES (?, ?, ?, ?, ?, ?)", change)


def _limit(epsilon: Amount, delta: Fraction, whole_orders: bool) -> Amount:
    """A limit that this delta can have, as the fraction that a person means."""
    limit: Amount = math.inf if epsilon == math.inf else exact(epsilon, "the ledger's limit")
    if delta and limit < math.inf:
        rho_within(Fraction(limit), delta, whole_orders)
    return limit


def _write(amount: Amount) -> str:
    """An amount as text; one with a very long denominator is rounded up."""
    if amount == math.inf:
        return "infinity"
    exactly = Fraction(amount)
    if exactly.denominator > _LONGEST:
        exactly = Fraction(math.ceil(exactly * _LONGEST), _LONGEST)
    return str(exactly)


def _read(text: str) -> Amount:
    return math.inf if text == "infinity" else Fraction(text)


def _named(text: str, what: str) -> str:
    if not text.strip() or not text.isprintable() or len(text) > 200:
        raise BudgetError(f"{what} needs a name: a line of text, such as 'patients of ward 3' or '2024'.")
    return text


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container whose user has no name
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"
