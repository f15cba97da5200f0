"""A plan of an attack: blocks of records that are added or removed, and what they make of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.robustness.attacks.attack import Poisoned
from privet.robustness.attacks.surrogate import WeakLeaf
from privet.robustness.attacks.table_edits import joined, mosaic, rows_of


@dataclass(frozen=True, eq=False)
class PoisonBlock:
    """``n`` copies of one record with a label, added; or ``n`` records of a ``leaf`` with a label, removed.

    ``made_of`` names, for each column of an added record, the row that its value is taken from.
    """

    label: Any
    n: int
    made_of: tuple[int, ...] = ()
    leaf: WeakLeaf | None = None


Plan = tuple[PoisonBlock, ...]


def copies(X: Any, row: int, label: Any, n: int) -> PoisonBlock:
    """A block of copies of one row."""
    return PoisonBlock(label, n, made_of=(row,) * np.shape(X)[1])


def applied(X: Any, y: np.ndarray, plan: Plan) -> Poisoned:
    """The records once a plan was carried out; blocks that ask for more than there is take what there is."""
    gone = np.zeros(len(y), dtype=bool)
    for block in plan:
        if block.leaf is not None:
            rows = block.leaf.rows
            gone[rows[(y[rows] == block.label) & ~gone[rows]][: block.n]] = True
    added = [block for block in plan if block.leaf is None]
    sizes = [block.n for block in added]
    made_of = np.array([block.made_of for block in added], dtype=np.int64).reshape(-1, np.shape(X)[1])
    labels = np.array([block.label for block in added], dtype=y.dtype)
    kept = np.flatnonzero(~gone)
    poisoned = joined(rows_of(X, kept), mosaic(X, np.repeat(made_of, sizes, axis=0)))
    return Poisoned(poisoned, np.concatenate([y[kept], np.repeat(labels, sizes)]), int(gone.sum()) + sum(sizes))
