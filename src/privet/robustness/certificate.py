"""A certificate: what is guaranteed against poisoned records, how surely, and what it is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from privet.errors import PrivetError
from privet.strict_json import as_list, as_number, as_text, as_whole, loads_strict

ADDED, CHANGED = "added or removed", "changed"

BY_MEAN = "by the mean alone (estimate)"
"""The one column that nothing guarantees: it follows from a mean that was estimated."""

ABOUT = (
    "Guaranteed accuracy is the average over retrainings on the poisoned records, majority kept the share of test "
    "records that most of many models trained on them still label correctly. Neither says anything about one model "
    "that was released. What is said by the mean alone is Corollary 2 of PrivaTree on the estimated mean: an estimate "
    "without confidence, and no guarantee."
)


@dataclass(frozen=True)
class PoisonLevel:
    """So many units that an attacker adds, removes or changes, as asked for in ``poison`` (``"0.1%"`` or ``"12"``)."""

    poison: str
    units: int
    attack: str

    @property
    def distance(self) -> int:
        """In units added or removed: a changed one is removed, and another added."""
        return 2 * self.units if self.attack == CHANGED else self.units


@dataclass(frozen=True)
class CertificateRow:
    """What is guaranteed at one level.

    ``accuracy`` is the smallest average accuracy over retrainings. ``by_mean`` is what follows from the mean accuracy
    alone (Corollary 2 of PrivaTree, in both directions), which is estimated and has no confidence. ``majority`` is the
    share of test records whose label most of many released models still predict. ``success`` is the largest average
    success of a backdoor, and ``success_by_mean`` what follows from the mean alone (Corollary 3).
    """

    level: PoisonLevel
    accuracy: float
    by_mean: float
    majority: float
    success: float | None = None
    success_by_mean: float | None = None


@dataclass(frozen=True)
class Certificate:
    """What is guaranteed against poisoned records: true of all rows together with a chance of ``confidence``, but for
    what follows by the mean alone.

    ``clean`` is the mean accuracy over ``runs`` retrainings on the records as they are, and ``error`` its standard
    error: an estimate. The chance is that of the retrainings, whatever the records are. ``records`` is how many units,
    records or persons, there were. ``word`` says whose promise the guarantee rests on: our receipts', or the caller's.
    ``advice`` says how to certify more, where there is a way.
    """

    estimator: str
    guarantee: str
    word: str
    unit: str
    records: int
    test_records: int
    runs: int
    confidence: float
    clean: float
    error: float
    rows: tuple[CertificateRow, ...]
    cost: str
    advice: str = ""

    def to_dict(self) -> dict[str, Any]:
        rows = [
            {**{k: v for k, v in asdict(row).items() if k != "level" and v is not None}, **asdict(row.level)}
            for row in self.rows
        ]
        return {**asdict(self), "rows": rows, "about": ABOUT, "kept_confidential": self.warning}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote: whole, or an error."""
        try:
            data = loads_strict(text)
            rows = tuple(_read_row(row) for row in as_list(data["rows"]))
            said: dict[str, Any] = {name: read(data[name]) for name, read in _FIELDS.items()}
            said["advice"] = as_text(data.get("advice", ""))  # older ones have none
        except (KeyError, TypeError, ValueError, RecursionError):
            raise PrivetError("This is not a whole certificate: privet certify --json writes one.") from None
        return cls(**said, rows=rows)

    @property
    def warning(self) -> str:
        """What releasing this would cost."""
        return (
            f"If these records are private, this certificate is itself a release: it was computed from {self.runs} "
            f"models, which cost {self.cost}, and from the test records as they are. Keep it as confidential as the "
            "records, or certify on a public stand-in: other records of the same kind and number."
        )

    @property
    def units(self) -> str:
        """What is poisoned, and what ``records`` counts: records or persons."""
        return "persons" if self.unit.startswith("one person") else "records"

    @property
    def statement(self) -> str:
        """What the numbers mean, in words."""
        more = f" {self.advice}" if self.advice else ""
        return (
            f"{self.estimator}, {self.guarantee} for {self.unit} ({self.word}). Mean accuracy {self.clean:.4f} "
            f"± {self.error:.4f} over {self.runs} retrainings on {self.records} {self.units}, on {self.test_records} "
            f"test records. All guarantees hold together at confidence {self.confidence:g}. {ABOUT}{more}"
        )

    def table(self) -> list[tuple[str, ...]]:
        """Titles, then rows, as text."""
        attacked = any(row.success is not None for row in self.rows)
        titles = ("poisoned", self.units, "attack", "guaranteed accuracy", BY_MEAN, "majority kept")
        lines = [titles + (("attack success at most",) if attacked else ())]
        for row in self.rows:
            cells = [row.level.poison, str(row.level.units), row.level.attack]
            cells += [f"{x:.4f}" for x in (row.accuracy, row.by_mean, row.majority)]
            lines.append((*cells, *([f"{row.success:.4f}"] if row.success is not None else [])))
        return lines

    def __str__(self) -> str:
        lines = self.table()
        widths = [max(map(len, column)) for column in zip(*lines)]
        shown = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        return "\n".join([self.statement, "", *shown, "", self.warning])


_FIELDS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("estimator", "guarantee", "word", "unit", "cost"), as_text),
    **dict.fromkeys(("records", "test_records", "runs"), as_whole),
    **dict.fromkeys(("confidence", "clean", "error"), as_number),
}


def _read_row(plain: Any) -> CertificateRow:
    level = PoisonLevel(as_text(plain["poison"]), as_whole(plain["units"]), as_text(plain["attack"]))
    numbers = {name: float(as_number(plain[name])) for name in ("accuracy", "by_mean", "majority")}
    attacked = {name: float(as_number(plain[name])) for name in ("success", "success_by_mean") if name in plain}
    return CertificateRow(level, **numbers, **attacked)


def levels(poison: Iterable[Any], records: int) -> list[PoisonLevel]:
    """Each amount as units added or removed, and as units changed.

    A text such as ``"0.5%"`` or a float below 1 is a share of the units that there are, rounded down; a whole number is
    one of units. A float of 1 or more might be meant as either, and is refused.

    >>> [(level.poison, level.units, level.distance) for level in levels(["0.5%", 7], 1000)]
    [('0.5%', 5, 5), ('0.5%', 5, 10), ('7', 7, 7), ('7', 7, 14)]
    """
    if isinstance(poison, str | int | float):
        poison = [poison]
    amounts = [(_name(amount), _units(amount, records)) for amount in poison]
    if not amounts:
        raise PrivetError("poison is a list of amounts, such as ['0.1%', '1%'] or [10, 100].")
    return [PoisonLevel(name, units, attack) for name, units in amounts for attack in (ADDED, CHANGED)]


def _name(amount: Any) -> str:
    return f"{100 * amount:g}%" if isinstance(amount, float) and amount < 1 else str(amount).strip()


def _units(amount: Any, records: int) -> int:
    try:
        text = _name(amount)
        share = text.endswith("%")
        value = Fraction(text.removesuffix("%").strip())
        if value < 0 or (not share and value.denominator != 1):
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise _refused(amount) from None
    if share and value > 100:
        raise _refused(amount, "A share is at most 100%.")
    if isinstance(amount, float) and not share:
        n = int(value)
        raise _refused(amount, f"It might be meant either way: write {n} for a number of them, or '{n}%' for a share.")
    return int(value * records / 100) if share else int(value)


def _refused(amount: Any, more: str = "") -> PrivetError:
    words = f"poison takes shares of the records such as '0.5%', or whole numbers of them; got {amount!r}."
    return PrivetError(f"{words} {more}".rstrip())
