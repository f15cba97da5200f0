"""What a released model says of a record, as expressions of its cells: whole numbers, as in ``questions/scorer.py``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from sqlglot import exp

from privet.curators.sql.database import Database
from privet.curators.sql.expressions import as_type, case, paren, whole
from privet.curators.sql.ways import among
from privet.errors import LeakError
from privet.questions.scorer import LARGEST_SCORE, Branches, Scorer, Summand
from privet.questions.split import Split, factors_of

Cells = Callable[[int], exp.Expr]
"""The expression of a feature's cell."""


def outputs(scorer: Scorer, cell: Cells) -> list[exp.Expr]:
    """A record's score of each output."""
    found = []
    for k in range(len(scorer.order)):
        each = [_term(term, k, cell) for term in scorer.terms]
        if scorer.branches is not None:
            each += [_tree(scorer.branches, int(root), k, cell) for root in scorer.branches.roots]
        found.append(_sum([as_type(own, "bigint") for own in each]))
    return found


def group(scorer: Scorer, cell: Cells) -> exp.Expr:
    """The group that a record is scored in."""
    return whole(0) if scorer.by is None else _parts(scorer.by, cell, [whole(i) for i in range(scorer.by.n_children)])


def check_computable(scorer: Scorer) -> None:
    """Raise LeakError for errors of a target that some engine might not compute: before anything is charged."""
    if scorer.grid.schema.target is None:
        return
    furthest = scorer.unit * LARGEST_SCORE + abs(scorer.base) + max(map(abs, scorer.grid.schema.target))
    if not math.isfinite(furthest) or scorer.unit < 2.0**-500:  # some engines call an overflow an error: of a record
        raise LeakError("A scorer's unit or base is too large or too small for a database's arithmetic.")


def error_bin(scorer: Scorer, database: Database, score: exp.Expr, target: exp.Expr) -> exp.Expr:
    """The bin of how far a prediction is off: the same operations on doubles as in memory, in their order."""
    assert scorer.grid.schema.target is not None
    ways = [(score.copy() <= whole(int(level)), whole(int(lift))) for level, lift in zip(scorer.levels, scorer.lifts)]
    lift = as_type(case(ways, whole(int(scorer.lifts[-1]))), "bigint")
    lifted = as_type(exp.Add(this=score, expression=lift), "double")
    scaled = paren(exp.Mul(this=database.number(scorer.unit), expression=lifted))
    predicted: exp.Expr = paren(exp.Add(this=database.number(scorer.base), expression=scaled))
    if len(scorer.levels):
        low, high = (database.number(end) for end in scorer.grid.schema.target)
        predicted = case([(predicted <= low, low), (predicted.copy() >= high, high)], predicted.copy())
    off = paren(exp.Sub(this=predicted, expression=target))
    return as_type(database.bucket(off, [float(cut) for cut in scorer.cuts]), "int")  # 0 alone would name a column


def _term(term: Summand, k: int, cell: Cells) -> exp.Expr:
    """What a term has for a record: told by the parts of one factor after the other."""

    def within(factors: Sequence[Split], values: np.ndarray) -> exp.Expr:
        if not factors:
            return whole(int(values[0]))
        each = np.split(values, factors[0].n_children)
        return _parts(factors[0], cell, [within(factors[1:], own) for own in each])

    return within(factors_of(term.table), term.values[:, k])


def _tree(trees: Branches, node: int, k: int, cell: Cells) -> exp.Expr:
    if trees.split[node] < 0:
        return whole(int(trees.values[node, k]))
    split, first = trees.splits[trees.split[node]], int(trees.first[node])
    return _parts(split, cell, [_tree(trees, first + part, k, cell) for part in range(split.n_children)])


def _parts(split: Split, cell: Cells, answers: Sequence[exp.Expr]) -> exp.Expr:
    """The answer of the part that a record's cell is sent to."""
    used = [(part, split.parts == part) for part in range(split.n_children) if (split.parts == part).any()]
    ways = [(among(cell(split.feature), cells), answers[part]) for part, cells in used[:-1]]
    return case(ways, answers[used[-1][0]])


def _sum(terms: Sequence[exp.Expr]) -> exp.Expr:
    """Added up by halves: engines do not like long chains."""
    if len(terms) < 2:
        return terms[0] if terms else as_type(whole(0), "bigint")
    half = len(terms) // 2
    return paren(exp.Add(this=_sum(terms[:half]), expression=_sum(terms[half:])))
