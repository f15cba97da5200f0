"""Cells found by a join, for an engine that looks numbers up faster than it compares them with a hundred cuts.

The range of a feature's cuts is parted into equal stretches, so short that none has two cuts. Clamping, subtracting,
scaling and rounding down keep order, so a cut in a lower stretch than a number's is below it, and one in a higher
stretch above it, whatever was rounded. A table has for each stretch how many cuts are in lower ones, and the cut inside
of it. So each number has exactly the cell that comparisons give it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlglot import exp

from privet.curators.sql.database import Database
from privet.curators.sql.expressions import as_type, case, named, quoted, table_named, text, whole

FEWEST, MOST = 2**10, 2**14
"""So many stretches a feature has: up to here a processor's cache holds them."""
MOST_FEATURES = 64
"""So many features at most are looked up in one statement: each is a join."""


Feature = Any
"""What tells one feature of one grid from another."""

BEYOND = repr(float(np.finfo(np.float64).max))
"""Stands for a cut where there is none: no number is above it."""


class Stretches:
    """The stretches of some features' cuts, in a table for each; features with the same cuts share it."""

    def __init__(self, database: Database, cuts: Mapping[Feature, np.ndarray]) -> None:
        self._database = database
        sizes = {own: _enough(points) for own, points in cuts.items()}
        fit = {own: size for own, size in sizes.items() if size is not None}
        self._sizes = dict(list(fit.items())[:MOST_FEATURES])
        self._aliases = {own: f"l{i}" for i, own in enumerate(self._sizes)}
        self._cuts = cuts
        self._tables: dict[bytes, str] = {}

    def __contains__(self, own: Feature) -> bool:
        return own in self._sizes

    def keep(self) -> None:
        """Make the tables, temporary ones."""
        for own, size in self._sizes.items():
            cuts = self._cuts[own]
            if cuts.tobytes() not in self._tables:
                self._tables[cuts.tobytes()] = self._database.keep(_listed(cuts, size))

    def drop(self) -> None:
        for table in self._tables.values():
            self._database.drop(table)

    def joined(self, query: exp.Select, values: Mapping[Feature, exp.Expr]) -> exp.Select:
        """The query with the stretch of each of these numbers."""
        for own, value in values.items():
            table = exp.alias_(
                table_named(self._tables[self._cuts[own].tobytes()]), self._aliases[own], quoted=True, table=True
            )
            on = exp.EQ(this=self._of(own, "s"), expression=self._stretch_of(own, value))
            query = query.join(table, on=on, copy=False)
        return query

    def cell(self, own: Feature, value: exp.Expr) -> exp.Expr:
        """The cell of a number whose stretch is joined."""
        above = as_type(value.copy() > self._of(own, "cut"), self._database.small(2))
        return exp.Add(this=self._of(own, "below"), expression=above)

    def _stretch_of(self, own: Feature, value: exp.Expr) -> exp.Expr:
        """The number of the stretch; that of nothing, NULL, does not matter, but there is one: no record is lost."""
        cuts, size = self._cuts[own], self._sizes[own]
        low, high, scale = (self._database.number(float(end)) for end in (cuts[0], cuts[-1], _scale(cuts, size)))
        above = exp.Paren(this=exp.Sub(this=value.copy(), expression=low.copy()))
        between = exp.Floor(this=exp.Mul(this=above, expression=scale))
        # Of the ways to clamp, DuckDB is fastest at this one: LEAST and GREATEST take longer than all the rest.
        # The last cut itself is not clamped: rounding may put it into the stretch before the last.
        first, last = self._database.number(0), self._database.number(size - 1)
        clamped = case([(value.copy() <= low, first), (value.copy() > high, last)], between)
        return exp.Coalesce(this=as_type(clamped, "bigint"), expressions=[whole(0)])

    def _of(self, own: Feature, name: str) -> exp.Expr:
        return exp.column(quoted(name), table=quoted(self._aliases[own]))


def _listed(cuts: np.ndarray, size: int) -> exp.Query:
    """The table of these cuts: ``s`` numbers the stretches."""
    of_cuts = _stretch(cuts, cuts, size)
    inside = [BEYOND] * size
    for at, cut in zip(of_cuts.tolist(), cuts.tolist()):
        inside[at] = repr(cut)
    below = np.searchsorted(of_cuts, np.arange(size)).tolist()
    kind = "utinyint" if len(cuts) < 256 else "usmallint"
    columns = {
        "s": exp.Anonymous(this="RANGE", expressions=[whole(size)]),
        "below": as_type(text(f"[{','.join(map(str, below))}]"), f"{kind}[]"),
        "cut": as_type(text(f"[{','.join(inside)}]"), "double[]"),
    }
    lists = [named(exp.Anonymous(this="UNNEST", expressions=[own]), name) for name, own in columns.items()]
    return exp.Select(expressions=lists)


def _enough(cuts: np.ndarray) -> int | None:
    """How many stretches tell all cuts apart; None if that takes too many, or there are few cuts to compare with."""
    if len(cuts) < 2 or not 0 < _scale(cuts, MOST) < np.inf:
        return None
    sizes = (2**power for power in range(FEWEST.bit_length() - 1, MOST.bit_length()))
    return next((size for size in sizes if (np.diff(_stretch(cuts, cuts, size)) > 0).all()), None)


def _stretch(values: np.ndarray, cuts: np.ndarray, size: int) -> np.ndarray:
    return np.floor((values - cuts[0]) * _scale(cuts, size)).astype(np.int64)


def _scale(cuts: np.ndarray, size: int) -> float:
    """From a distance to the number of stretches, of which the last has the last cut; infinite if that is too much."""
    with np.errstate(over="ignore", divide="ignore"):
        span = cuts[-1] - cuts[0]
        return float((size - 1) / span) if np.isfinite(span) else np.inf
