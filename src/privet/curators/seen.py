"""Records that this process has released something of before, outside of any ledger: whoever holds them is told what
adds up. Every fit and every evaluation counts, also a void one, which has no bound.

No record is kept, and nothing that a record could be told from without this process's own key: of each table the few
smallest keyed hashes of its rows (a bottom-k sketch), by which two tables are known to share a good part of their
records, as the folds of a cross-validation do. The word is a Python warning, for whoever runs the fit and holds the
records; it goes nowhere else.
"""

from __future__ import annotations

import secrets
import threading
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.curators.records import HeldRecords

KEPT_HASHES = 64
MOST_TABLES = 100
FEW = 1024
AT_ONCE = 2**16
HASHED_COLUMNS = 8
RANKED_COLUMNS = 3
SHARED = 0.3
"""Tables that have this share of their records in common count as the same records."""

_KEY = secrets.token_bytes(8 * (HASHED_COLUMNS + 1))
_lock = threading.Lock()


class SeenBefore(UserWarning):
    """More was released of these records before; a kind of its own, so that audits can be silent by kind, not words."""


@dataclass(eq=False)
class _Seen:
    hashes: np.ndarray
    whole: int
    spent: Fraction = Fraction(0)
    fits: int = 0
    scores: int = 0
    void: int = 0


_tables: deque[_Seen] = deque(maxlen=MOST_TABLES)


def tell_if_seen(records: HeldRecords, epsilon: Fraction, *, void: bool = False, scored: bool = False) -> None:
    """Count a release of these records, a fit or (``scored``) an evaluation, and say what all of them add up to.

    Nothing is said of void ones alone: none of them promises anything.
    """
    if not records.n:
        return
    smallest, whole = _sketch(records)
    with _lock:
        known = [own for own in _tables if _alike(own, smallest, whole)]
        if not known:
            known = [_Seen(smallest, whole)]
            _tables.append(known[0])
        own = known[0]
        own.fits, own.scores, own.void = own.fits + (not scored), own.scores + scored, own.void + void
        own.spent += 0 if void else epsilon
        fits, scores, n_void = (sum(getattr(k, name) for k in known) for name in ("fits", "scores", "void"))
        spent = sum((k.spent for k in known), Fraction(0))
    if scored and fits:
        _warn(
            "This process has learned a model from much the same records that score a model now. If it is the same "
            "model, the scores flatter it: score it on other records, or fit with holdout=0.2."
        )
    if fits + scores > 1 and n_void < fits + scores:
        _warn(
            f"This process has now released {_counted(fits, scores)} of much the same records, outside of any ledger. "
            f"{_bill(spent, n_void)} Put them into `with privet.Ledger(total):`; fit(..., holdout=0.2) scores a model, "
            "and PrivateSearch chooses settings, for one epsilon (docs/model_selection.md)."
        )


def _warn(words: str) -> None:
    warnings.warn(words, SeenBefore, stacklevel=5)


def _counted(fits: int, scores: int) -> str:
    """How many of what.

    >>> _counted(2, 0), _counted(1, 1)
    ('2 models', '1 model and 1 evaluation')
    """
    kinds = ((fits, "model"), (scores, "evaluation"))
    return " and ".join(f"{n} {kind}{'' if n == 1 else 's'}" for n, kind in kinds if n)


def _bill(spent: Fraction, void: int) -> str:
    if void:
        return (
            f"{void} of them {'is' if void == 1 else 'are'} void: together they have no bound, whatever one promises."
        )
    return f"Together they cost epsilon {float(spent):g}, not what one of them says."


def _sketch(records: HeldRecords) -> tuple[np.ndarray, int]:
    """The smallest different hashes of records; and the sum of all where there are few different ones, else 0.

    A hash begins with the record's rank, a byte that is quickly found. So only records of low rank are hashed, as a
    rule: to hash all of a large table would outlast a fit.
    """
    ranks, columns = np.empty(records.n, dtype=np.uint8), _columns(records)[:RANKED_COLUMNS]
    for start in range(0, records.n, AT_ONCE):
        some = slice(start, start + AT_ONCE)
        ranks[some] = _ranks([column[some] for column in columns])
    for highest in (0, 3, 15, 63):
        low = np.flatnonzero(ranks <= highest)
        few = np.unique(_hashes(records, ranks, low)) if len(low) >= FEW else low[:0]
        if len(few) >= KEPT_HASHES:
            return few[:KEPT_HASHES], 0
    every = _hashes(records, ranks, slice(None))
    return np.unique(every)[:KEPT_HASHES], int(every.sum(dtype=np.uint64))


def _ranks(columns: Sequence[np.ndarray]) -> np.ndarray:
    """A keyed byte of some records, of a few of their cells."""
    ranks = np.zeros(len(columns[0]), dtype=np.uint8)
    for column, factor in zip(columns, _odd(np.uint8)):
        ranks = (ranks ^ column.astype(np.uint8)) * factor
        ranks ^= ranks >> np.uint8(4)
    return ranks


def _hashes(records: HeldRecords, ranks: np.ndarray, some: np.ndarray | slice) -> np.ndarray:
    """A keyed hash of some records: of more of their cells, and of the label, below the rank."""
    labels = records.labels if records.targets is None else records.labels.view(np.uint64)
    total = np.zeros(len(ranks[some]), dtype=np.uint64)
    for column, factor in zip([*_columns(records), labels], _odd(np.uint64)):
        total = (total ^ (column[some].astype(np.uint64) + np.uint64(1))) * factor
        total ^= total >> np.uint64(32)
    return total >> np.uint64(8) | ranks[some].astype(np.uint64) << np.uint64(56)


def _columns(records: HeldRecords) -> list[np.ndarray]:
    """The columns that are looked at: cells of the schema's own grid."""
    narrow, wide = records.own.cells
    return [*wide.T, *narrow.T][:HASHED_COLUMNS]


def _odd(kind: type[np.unsignedinteger[Any]]) -> np.ndarray:
    """Factors that this process alone knows."""
    return np.frombuffer(_KEY, dtype=kind) | kind(1)


def _alike(known: _Seen, hashes: np.ndarray, whole: int) -> bool:
    if min(len(known.hashes), len(hashes)) < KEPT_HASHES:  # few kinds of records: two tables may well have all of them
        return known.whole == whole
    smallest = np.union1d(known.hashes, hashes)[:KEPT_HASHES]
    return bool((np.isin(smallest, known.hashes) & np.isin(smallest, hashes)).mean() >= SHARED)
