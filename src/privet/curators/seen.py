"""Records that this process has learned from before, outside of any ledger: whoever holds them is told what adds up.

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


@dataclass(eq=False)
class _Seen:
    hashes: np.ndarray
    whole: int
    spent: Fraction
    fits: int = 1


_tables: deque[_Seen] = deque(maxlen=MOST_TABLES)


def tell_if_seen(records: HeldRecords, epsilon: Fraction) -> None:
    """Warn if most of these records were learned from before; at the second, fourth, eighth time and so on."""
    if not records.n:
        return
    smallest, whole = _sketch(records)
    with _lock:
        known = [own for own in _tables if _alike(own, smallest, whole)]
        spent, fits = sum((own.spent for own in known), epsilon), 1 + sum(own.fits for own in known)
        if known:
            known[0].spent, known[0].fits = known[0].spent + epsilon, known[0].fits + 1
        else:
            _tables.append(_Seen(smallest, whole, epsilon))
    if fits > 1 and fits & (fits - 1) == 0:
        warnings.warn(
            f"This process has now fitted {fits} models on much the same records, outside of any ledger. Together they "
            f"cost epsilon {float(spent):g}, not what one of them says. Put them into `with privet.Ledger(total):`, or "
            "choose settings by PrivateSearch, which costs epsilon once (docs/model_selection.md).",
            UserWarning,
            stacklevel=4,
        )


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
