"""Splits and products of splits together: what a round of boosting chooses from.

Unlike the children of one-feature splits, those of a product do not follow from a histogram of the features' cells, so
they are counted where records and their gradients are: in the same pass for the whole list. A record is in one child of
every candidate, so the proof of the gradients' score (``GradientNorm``) covers products unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from privet.errors import LeakError
from privet.questions.grid import MOST_CELLS_IN_ALL, Grid
from privet.questions.split import Table, check_tables
from privet.questions.splits import prior_of
from privet.questions.word import Word, exactly, frozen, put


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Products(Word):
    """A list of splits and products; ``log_prior`` is a public log-weight for each, by default the same."""

    grid: Grid
    tables: tuple[Table, ...]
    log_prior: np.ndarray
    n_children: np.ndarray = field(repr=False)  # of each table

    def __init__(self, grid: Grid, tables: Iterable[Table], log_prior: np.ndarray | None = None) -> None:
        own = check_tables(tables, exactly(Grid, grid, "The products' grid"))
        prior = prior_of(np.zeros(len(own)) if log_prior is None else log_prior)
        if len(prior) != len(own):
            raise LeakError("Every split and product has a prior.")
        n_children = np.array([table.n_children for table in own], dtype=np.int64)
        if len(own) * int(n_children.max(initial=1)) > MOST_CELLS_IN_ALL:  # as ``rows`` holds them
            raise LeakError(f"Products of a list have at most {MOST_CELLS_IN_ALL:,} children in all.")
        put(self, grid=grid, tables=own, log_prior=prior, n_children=frozen(n_children))

    def __len__(self) -> int:
        return len(self.tables)

    def split(self, index: int) -> Table:
        return self.tables[index]

    def rows(self, parts: np.ndarray) -> np.ndarray:
        """Statistics of all tables' parts, one table below the other, as one row for each table, filled up with 0."""
        wide = np.zeros((len(self), int(self.n_children.max(initial=1)), parts.shape[1]), dtype=np.int64)
        wide[np.arange(wide.shape[1]) < self.n_children[:, None]] = parts
        return wide
