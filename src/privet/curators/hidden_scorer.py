"""A hidden model as what scores records: its tables on shares, and what rows on shares are asked of them.

A value without behaviour of its own, as ``questions/scorer.py`` is for models that were released: which tables there
are, of which public shape. What they say of a row is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.curators.routing import said_by_most
from privet.curators.shared_rows import SharedRows
from privet.errors import LeakError
from privet.questions.grid import Grid
from privet.questions.shape import Shape
from privet.questions.split import Split
from privet.questions.word import Word, exactly, put
from privet.shares.engine import Engine, Secret

ROWS_AT_ONCE = 2**24
"""So many numbers, rows times nodes, are held at a time for each tree that is asked."""

NO_CLASS = "A hidden model's tables do not say one class of each row. The run has ended; nothing was told."

Tables = tuple[tuple[Secret, ...], Secret]
"""A hidden tree: for each level one 1 among the splits for each node, and for each leaf one 1 among the classes."""


@dataclass(frozen=True, eq=False, slots=True, init=False)
class HiddenScorer(Word):
    """``trees`` of one ``form``, of which the class that most of them say counts; ``by`` sends rows to groups."""

    form: Shape
    trees: tuple[Tables, ...]
    by: Split | None

    def __init__(self, form: Shape, trees: Sequence[Tables], by: Split | None = None) -> None:
        put(self, form=exactly(Shape, form, "A hidden tree's shape"), by=by)
        put(self, trees=tuple((tuple(levels), labels) for levels, labels in trees))
        if by is not None:
            exactly(Split, by, "What records are grouped by").check(form.grid)
        if not self.trees or not all(self._fits(*tree) for tree in self.trees):
            raise LeakError("The tables of a hidden tree have a row for each node and each leaf of its shape.")

    def _fits(self, levels: tuple[Secret, ...], labels: Secret) -> bool:
        sizes = [(self.form.width**i, len(self.form.splits)) for i in range(len(levels))]
        known = all(type(table) is Secret for table in (*levels, labels)) and bool(levels)
        leaves = self.form.width ** len(levels), self.shape[2]
        return known and [table.shape for table in levels] == sizes and labels.shape == leaves

    def check_shares(self, engine: Engine) -> None:
        """Raise LeakError for tables on other shares than this engine's, whose own code would run on rows."""
        if any(table.engine is not engine for levels, labels in self.trees for table in (*levels, labels)):
            raise LeakError("A hidden model is scored on the shares that it was grown on.")

    def check_tables(self, engine: Engine) -> None:
        """End the run unless each node has at most one split, and each leaf one class.

        The tables are looked at, and not what they say of rows: that would end runs in which some row comes to a leaf
        without a class, and no others, and so tell of that row.
        """
        bits, ones = [], []
        for levels, labels in self.trees:
            bits += [table.reshape(math.prod(table.shape)) for table in (*levels, labels)]
            bits += [level.sum(1) for level in levels]
            ones.append(labels.sum(1) - 1)
        every = engine.concatenate(bits)
        engine.must_be_zero(engine.concatenate([every * every - every, *ones]), NO_CLASS)

    @property
    def grid(self) -> Grid:
        return self.form.grid

    @property
    def shape(self) -> tuple[int, int, int]:
        """Groups, predicted and true classes of the table."""
        n = len(self.grid.schema.classes or ())
        return 1 if self.by is None else self.by.n_children, n, n

    @property
    def predicts(self) -> np.ndarray:
        """The class that each bin stands for: there is one for each class."""
        return np.arange(self.shape[1])

    def counted(self, engine: Engine, rows: SharedRows, members: Secret) -> Secret:
        """How many of these rows are in each cell of the table, on shares: (groups * predicted, true classes).

        Sensitivity 1, for rows as they were checked when they came (``row_owners.py``) and tables as ``check_tables``
        wants them: of each row one class is said, so it is in one cell. With persons a row counts for as much as it
        weighs, and all rows of one for no more than a person's weight.
        """
        n = members.shape[1]
        step = max(1, ROWS_AT_ONCE // self.form.width ** len(self.trees[0][0]))
        total = None
        for some in (slice(start, start + step) for start in range(0, n, step)):
            counts = self._said(engine, rows.cells[:, some], members[:, some]) @ rows.classes[:, some].transpose(1, 0)
            total = counts if total is None else total + counts
        assert total is not None
        return total

    def _said(self, engine: Engine, cells: Secret, members: Secret) -> Secret:
        """For each group and class, which of the members it is said of: (groups * classes, rows)."""
        classes = self.grid.schema.classes or ()
        said = said_by_most(engine, self.form, self.trees, classes, cells).transpose(1, 0)
        here = said * members
        if self.by is None:
            return here
        n_groups, n_classes = self.shape[:2]
        start = self.grid.offsets[self.by.feature]
        sends = np.zeros((n_groups, self.grid.n_cells), dtype=np.int64)
        sends[self.by.parts.astype(np.int64), start + np.arange(len(self.by.part))] = 1
        groups = engine.linear(cells, lambda table: sends @ table)
        each = groups.reshape(n_groups, 1, groups.shape[1]) * here.reshape(1, n_classes, here.shape[1])
        return each.reshape(n_groups * n_classes, here.shape[1])
