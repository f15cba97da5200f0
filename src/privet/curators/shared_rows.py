"""Rows on secret shares, and the nodes of a level among them: who is where, and their histograms."""

from __future__ import annotations

from privet.curators.routing import members_of_children
from privet.shares.engine import Engine, Secret

ROWS_AT_ONCE = 2**26
"""So many products of rows are held at a time."""


class SharedRows:
    """All rows: ``cells`` (flat cells, rows) and ``classes`` (classes, rows), 0 or 1.

    Where persons are counted, ``weights`` (1, rows) is what each row counts for: one multiplication more. A row of
    weight w counts as w rows, so what is asked of counts of rows is asked of units of persons (docs/theory.md, L5).
    """

    def __init__(self, engine: Engine, cells: Secret, classes: Secret, weights: Secret | None = None) -> None:
        self.engine = engine
        self.cells = cells
        self.classes = classes if weights is None else classes * weights
        self.by_class = self._by_class() if weights is None else self._weighed_by_class()

    def _weighed_by_class(self) -> Secret:
        """The same as ``_by_class``, each 1 as heavy as its row."""
        n_classes, rows = self.classes.shape
        n_cells = self.cells.shape[0]
        each = self.classes.reshape(n_classes, 1, rows) * self.cells.reshape(1, n_cells, rows)
        return each.reshape(n_classes * n_cells, rows)

    def _by_class(self) -> Secret:
        """The cells of each class's rows, one class after the other, (classes * cells, rows). One multiplication.

        The first class has what is left of the others.
        """
        n_classes, rows = self.classes.shape
        n_cells = self.cells.shape[0]
        others = self.classes[1:].reshape(n_classes - 1, 1, rows) * self.cells.reshape(1, n_cells, rows)
        first = self.cells - others.sum(0)
        return self.engine.concatenate([first.reshape(1, n_cells, rows), others]).reshape(n_classes * n_cells, rows)


class RowLevel:
    """Nodes that were made together; their members are built only when somebody needs them."""

    size = 0

    def __init__(
        self,
        members: Secret | None,
        free: Secret | None = None,
        above: RowLevel | None = None,
        goes: Secret | None = None,
        totals: Secret | None = None,
    ) -> None:
        self._members = members
        self.free = free  # which splits a node may still choose, (nodes, splits); None: all
        self._above = above
        self._goes = goes
        self.totals = totals  # class counts, (nodes, classes), where they follow from the level above
        self._counted: tuple[SharedRows, Secret] | None = None  # histograms, with the rows that they are of

    def members(self, engine: Engine) -> Secret:
        if self._members is None:
            assert self._above is not None
            assert self._goes is not None
            self._members = members_of_children(engine, self._above.members(engine), self._goes)
        return self._members

    def histograms(self, rows: SharedRows) -> Secret:
        """Counts of all cells by class and node, (cells, classes, nodes). Rows of another grid are counted anew."""
        if self._counted is None or self._counted[0] is not rows:
            self._counted = rows, self._count(rows)
        return self._counted[1]

    def _count(self, rows: SharedRows) -> Secret:
        engine, by_class = rows.engine, rows.by_class
        n_classes, n_cells = rows.classes.shape[0], rows.cells.shape[0]
        above = self._above
        if self._members is None and above is not None and self._goes is not None:
            parents = above.members(engine)
            if parents.shape[0] > by_class.shape[0]:
                # More nodes than cells: it is cheaper to route the cells' columns than the nodes' members.
                return self._count_routed(rows, parents, self._goes, above.histograms(rows))
        members = self.members(engine)
        return _by_cell(by_class @ members.transpose(1, 0), n_classes, n_cells)

    def _count_routed(self, rows: SharedRows, parents: Secret, goes: Secret, before: Secret) -> Secret:
        engine, by_class = rows.engine, rows.by_class
        n_classes, n = rows.classes.shape
        n_cells, nodes, ways = rows.cells.shape[0], parents.shape[0], goes.shape[0]
        counts: dict[int, Secret] = {}
        chunk = max(1, ROWS_AT_ONCE // by_class.shape[0])
        for start in range(0, n, chunk):
            here = slice(start, start + chunk)
            own, among = by_class[:, here], parents[:, here].transpose(1, 0)
            for way in range(ways):
                some = (own * goes[way, here].reshape(1, own.shape[1])) @ among
                counts[way] = counts[way] + some if way in counts else some
        tables = [_by_cell(some, n_classes, n_cells) for some in counts.values()]
        last = before
        for table in tables:
            last = last - table
        each = [table.reshape(n_cells, n_classes, nodes, 1) for table in (*tables, last)]
        return engine.concatenate(each, axis=3).reshape(n_cells, n_classes, nodes * (ways + 1))


def _by_cell(counts: Secret, n_classes: int, n_cells: int) -> Secret:
    return counts.reshape(n_classes, n_cells, counts.shape[1]).transpose(1, 0, 2)
