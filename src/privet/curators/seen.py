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
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_128

import numpy as np

from privet.curators.records import HeldRecords

KEPT_HASHES = 64
MOST_TABLES = 100
FEW = 1024
HASHED_COLUMNS = 8
SHARED = 0.3
"""Tables that have this share of their records in common count as the same records."""

_KEY = secrets.token_bytes(16)
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
    hashes = _hashes(records)
    if not len(hashes):
        return
    smallest, whole = _smallest(hashes), int(hashes.sum(dtype=np.uint64))
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


def _hashes(records: HeldRecords) -> np.ndarray:
    """A keyed hash of each record: a few of its cells of the schema's own grid, and its label."""
    narrow, wide = records.own.cells
    columns = [*[*wide.T, *narrow.T][:HASHED_COLUMNS], records.labels]
    odd = np.frombuffer(shake_128(_KEY).digest(8 * len(columns)), dtype=np.uint64) | np.uint64(1)
    total = np.zeros(records.n, dtype=np.uint64)
    for column, factor in zip(columns, odd):
        whole = column if column.dtype != np.float64 else column.view(np.uint64)
        total = (total ^ (whole.astype(np.uint64) + np.uint64(1))) * factor
        total ^= total >> np.uint64(32)
    return total


def _smallest(hashes: np.ndarray) -> np.ndarray:
    """The smallest different ones, found among few as a rule: to sort all of a large table would outlast a fit."""
    few = np.unique(np.partition(hashes, FEW)[:FEW] if len(hashes) > FEW else hashes)
    return (few if len(few) >= KEPT_HASHES else np.unique(hashes))[:KEPT_HASHES]


def _alike(known: _Seen, hashes: np.ndarray, whole: int) -> bool:
    if min(len(known.hashes), len(hashes)) < KEPT_HASHES:  # few kinds of records: two tables may well have all of them
        return known.whole == whole
    smallest = np.union1d(known.hashes, hashes)[:KEPT_HASHES]
    return bool((np.isin(smallest, known.hashes) & np.isin(smallest, hashes)).mean() >= SHARED)
