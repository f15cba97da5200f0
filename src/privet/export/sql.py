"""A model as one SQL statement, conditions on the columns of a table: predictions are made where the records are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.export.program import Input, Program, Where, branches, program_of
from privet.extras import need
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.schema import Numeric
from privet.schema_values import Value
from privet.tree.additive import Additive, Term
from privet.tree.tree import Tree

need("sql", "sqlglot")
from sqlglot import exp  # noqa: E402

DIALECTS = ("duckdb", "postgres", "sqlite", "spark", "snowflake", "bigquery")
"""Tests run what is written for the first four; for the last two it is parsed and not run."""

DEEPEST = 100
"""No tree is nested deeper: databases limit how deep an expression may be."""

_MATERIALIZE = ("duckdb", "postgres", "sqlite")
"""Those that can be told to compute a step of a query once."""

Step = Mapping[str, Any]
"""Columns by name, computed from the table's and those of earlier steps."""


def to_sql(model: Any, table: str, *, dialect: str = "duckdb", keep: Sequence[str] = ()) -> str:
    """A query that reads ``table`` and adds ``prediction``, and ``probability_CLASS`` where these were released.

    Beside them its rows have the columns ``keep``; or without any all of the table's, and the steps of the computation
    as columns that begin with ``privet_``. Where ``predict`` refuses a record the prediction is NULL; an infinite
    number counts as missing.
    """
    if dialect not in DIALECTS:
        raise PrivetError(f"there is no dialect {dialect!r} here: choose one of {', '.join(DIALECTS)}")
    program = program_of(model)
    if any(tree.depth > DEEPEST for tree in program.trees):
        raise PrivetError(f"A tree deeper than {DEEPEST} levels is too deep for nested conditions in SQL.")
    *steps, last = [_clean(program), *(_tree_steps(program) if program.boosted is None else _boosted_steps(program))]
    names = [f"privet_{i}" for i in range(len(steps))]
    sources = [exp.to_table(table, dialect=dialect), *map(exp.to_table, names)]
    shown = [_column(name) for name in (*keep, *_chance_names(program))] if keep else ["*"]
    query = exp.select(*shown, *_named(last)).from_(sources[-1])
    for name, source, step in zip(names, sources, steps):
        # Computed once: SQLite would put a step's expressions wherever their names stand, again and again.
        kept = True if dialect in _MATERIALIZE else None
        query = query.with_(name, as_=exp.select("*", *_named(step)).from_(source), materialized=kept)
    return f"{query.sql(dialect=dialect, pretty=True)};\n"


# -- inputs ----------------------------------------------------------------------------------------------------------


def _clean(program: Program) -> Step:
    """Each input as a column of its own: doubles, NULL where they are missing; and whether all of them are allowed."""
    inputs = {_name(own): _number(own) if own.cuts is not None else _column(own.name) for own in program.inputs}
    allowed = [_allowed(own) for own in program.inputs if not own.open]
    return {**inputs, "privet_fits": exp.and_(*allowed) if allowed else exp.true()}


def _name(own: Input) -> str:
    return f"privet_x{own.feature}"


def _number(own: Input) -> Any:
    """A number that is finite, or NULL: databases order NaN each in their own way."""
    largest = _double(sys.float_info.max)
    columns = [exp.cast(_column(name), "double") for name in own.columns]
    columns = (
        [exp.Div(this=each, expression=_double(len(columns))) for each in columns] if len(columns) > 1 else columns
    )
    number = reduce(lambda a, b: exp.Add(this=a, expression=b), columns)
    finite = exp.Between(this=exp.paren(number), low=exp.Neg(this=largest), high=largest)
    return exp.case().when(finite, number)


def _allowed(own: Input) -> Any:
    """Whether a value is one that ``predict`` takes; not true for NULL."""
    if isinstance(own.field, Numeric):
        return exp.Not(this=exp.Is(this=exp.paren(_number(own)), expression=exp.null()))
    return exp.In(this=_column(own.name), expressions=[_literal(value) for value in own.values])


# -- trees -----------------------------------------------------------------------------------------------------------


def _tree_steps(program: Program) -> list[Step]:
    if program.by_label and not program.chances:
        tree, names = program.trees[0], program.schema.classes or ()
        return [{"prediction": _guarded(_nested(program, tree, 0, lambda i: _literal(names[tree.labels[i]])))}]
    leaves = {
        f"privet_leaf{t}": _guarded(_nested(program, tree, 0, lambda i: _whole(i)))
        for t, tree in enumerate(program.trees)
    }
    n_columns = len(program.classes or (0,))
    means = [_mean([_lookup(program, t, k) for t in range(len(program.trees))]) for k in range(n_columns)]
    if program.classes is None:
        return [leaves, {"prediction": means[0]}]
    chances = dict(zip(_chance_names(program), means))
    if not program.by_label:
        return [leaves, chances, {"prediction": _best(program)}]
    tree, names = program.trees[0], program.schema.classes or ()
    labels = {i: _literal(names[tree.labels[i]]) for i in tree.leaves}
    return [leaves, chances, {"prediction": _by_leaf("privet_leaf0", labels)}]


def _nested(program: Program, tree: Tree, i: int, leaf: Callable[[int], Any]) -> Any:
    """The rules below a node, as nested conditions that end in what its leaves have."""
    node = tree.nodes[i]
    if node.rule is None:
        return leaf(i)
    own = program.by_feature[node.rule.feature]
    found = branches(own, node.rule.cuts, list(node.rule.part))
    return _cases(own, [(where, _nested(program, tree, node.children[part], leaf)) for part, where in found])


def _lookup(program: Program, t: int, k: int) -> Any:
    """What the leaf of a tree adds to column k."""
    tree = program.trees[t]
    values = program.leaf_values(tree)
    # Cast as a whole: PostgreSQL takes every plain number for a decimal, and decimals add up otherwise.
    return exp.cast(_by_leaf(f"privet_leaf{t}", {i: _double(values[i, k]) for i in tree.leaves}), "double")


def _by_leaf(name: str, values: Mapping[int, Any]) -> Any:
    case = exp.Case(this=_column(name))
    for leaf, value in values.items():
        case = case.when(_whole(leaf), value)
    return case


def _mean(columns: list[Any]) -> Any:
    total = reduce(lambda a, b: exp.Add(this=a, expression=b), columns)
    return total if len(columns) == 1 else exp.Div(this=exp.paren(total), expression=_double(len(columns)))


# -- boosting --------------------------------------------------------------------------------------------------------


def _boosted_steps(program: Program) -> list[Step]:
    boosted = program.boosted
    assert boosted is not None
    scores = {f"privet_score{k}": _guarded(_score(program, boosted, k)) for k in range(boosted.n_outputs)}
    if program.classes is None:
        return [scores, *_target_steps(boosted)]
    shares = {f"privet_share{k}": _share(f"privet_score{k}") for k in range(boosted.n_outputs)}
    linked = {f"privet_chance{k}": _link(f"privet_share{k}") for k in range(boosted.n_outputs)}
    columns = [_column(name) for name in linked]
    if boosted.n_outputs == 1:
        chances = [exp.Sub(this=_double(1), expression=columns[0]), columns[0]]
    else:
        total = exp.paren(reduce(lambda a, b: exp.Add(this=a, expression=b), columns))
        chances = [exp.Div(this=each, expression=total) for each in columns]
    named = dict(zip(_chance_names(program), (chances[k] for k in program.order)))
    return [scores, shares, linked, named, {"prediction": _best(program)}]


def _score(program: Program, boosted: Additive, k: int) -> Any:
    """The sum of what all terms add to score k: whole numbers, so that their order makes no difference."""
    sums = [_term(program, term, (), k) for term in boosted.terms if term.values[..., k].any()]
    return reduce(lambda a, b: exp.Add(this=a, expression=b), sums, _whole(0))


def _term(program: Program, term: Term, place: tuple[int, ...], k: int) -> Any:
    """What a term adds in the stretches ``place`` of its first features: nested conditions on the others."""
    values = term.values[place][..., k]
    if values.ndim == 0 or (values == values.flat[0]).all():
        return _whole(int(values.flat[0]))
    own, stretches = program.by_feature[term.features[len(place)]], term.stretches[len(place)]
    # Stretches that add the same are one branch.
    _, alike = np.unique(values.reshape(len(values), -1), axis=0, return_inverse=True)
    alike = np.ravel(alike)
    found = branches(own, own.cuts, alike[stretches].tolist())
    firsts = {key: int(np.flatnonzero(alike == key)[0]) for key, _ in found}
    return _cases(own, [(where, _term(program, term, (*place, firsts[key]), k)) for key, where in found])


def _share(score: str) -> Any:
    """The logistic function of a score."""
    scaled = exp.Div(this=exp.cast(_column(score), "double"), expression=_double(GRADIENT_ONE))
    far = exp.case().when(exp.LT(this=scaled, expression=_double(-500)), _double(-500))
    far = far.when(exp.GT(this=scaled.copy(), expression=_double(500)), _double(500)).else_(scaled.copy())
    power = exp.Exp(this=exp.Neg(this=exp.paren(far)))
    return exp.Div(this=_double(1), expression=exp.paren(exp.Add(this=_double(1), expression=power)))


def _link(share: str) -> Any:
    """What clipped gradients take a share for: see ``linked_chances``."""
    p = _column(share)
    twice = exp.Mul(this=_double(2), expression=p)
    high = exp.Div(this=_double(1), expression=exp.paren(exp.Sub(this=_double(3), expression=twice)))
    low = exp.Div(this=twice.copy(), expression=exp.paren(exp.Add(this=_double(1), expression=twice.copy())))
    case = exp.case().when(exp.GTE(this=p.copy(), expression=_double(0.5)), high)
    return case.when(exp.LT(this=p.copy(), expression=_double(0.5)), low)


def _target_steps(boosted: Additive) -> list[Step]:
    calibration, target = boosted.calibration, boosted.schema.target
    assert calibration is not None
    assert target is not None
    low, high = map(float, target)
    begun = exp.Add(this=_column("privet_score0"), expression=_whole(calibration.start))
    level = exp.case()
    for cut, value in zip(calibration.cuts, calibration.values):
        level = level.when(exp.LTE(this=_column("privet_begun"), expression=_whole(cut)), _whole(value))
    level = level.else_(_whole(calibration.values[-1])) if calibration.cuts else _whole(calibration.values[-1])
    lifted = exp.Add(this=_column("privet_begun"), expression=level)
    share = exp.Div(this=exp.cast(exp.paren(lifted), "double"), expression=_double(TARGET_ONE))
    value = exp.Add(
        this=_double(low), expression=exp.Mul(this=_between("privet_part", 0, 1), expression=_double(high - low))
    )
    return [
        {"privet_begun": begun},
        {"privet_part": share},
        {"privet_value": value},
        {"prediction": _between("privet_value", low, high)},
    ]


def _between(name: str, low: float, high: float) -> Any:
    """A column with what lies outside moved to the ends; NULL stays."""
    case = exp.case().when(exp.LT(this=_column(name), expression=_double(low)), _double(low))
    return exp.paren(
        case.when(exp.GT(this=_column(name), expression=_double(high)), _double(high)).else_(_column(name))
    )


# -- pieces ----------------------------------------------------------------------------------------------------------


def _chance_names(program: Program) -> list[str]:
    return [f"probability_{name}" for name in program.classes or ()] if program.chances else []


def _best(program: Program) -> Any:
    """The class with the largest chance, the first of several; NULL where there are none."""
    names = [_column(name) for name in _chance_names(program)]
    case = exp.case()
    for k, label in enumerate(program.classes or ()):
        above = [exp.GTE(this=names[k], expression=other) for j, other in enumerate(names) if j != k]
        case = case.when(exp.and_(*above) if above else exp.true(), _literal(label))
    return case


def _guarded(value: Any) -> Any:
    return exp.case().when(_column("privet_fits"), value)


def _cases(own: Input, found: list[tuple[Where, Any]]) -> Any:
    """One branch for each condition; the last takes what is left, NULL with it."""
    if len(found) == 1:
        return found[0][1]
    case = exp.case()
    for where, value in found[:-1]:
        case = case.when(_condition(own, where), value)
    return case.else_(found[-1][1])


def _condition(own: Input, where: Where) -> Any:
    x = _column(_name(own))
    if own.cuts is None:
        return exp.In(this=x, expressions=[_literal(value) for value in where.listed])
    return exp.or_(*(_range(x, low, high) for low, high in where.ranges))


def _range(x: Any, low: float | None, high: float | None) -> Any:
    above = None if low is None else exp.GT(this=x.copy(), expression=_double(low))
    below = None if high is None else exp.LTE(this=x.copy(), expression=_double(high))
    ends = [end for end in (above, below) if end is not None]
    return exp.and_(*ends) if ends else exp.Not(this=exp.Is(this=x.copy(), expression=exp.null()))


def _named(step: Step) -> list[Any]:
    return [exp.alias_(value, name, quoted=True) for name, value in step.items()]


def _column(name: str) -> Any:
    return exp.column(exp.to_identifier(name, quoted=True))


def _literal(value: Value) -> Any:
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, str):
        return exp.Literal.string(value)
    return _whole(value) if isinstance(value, int) else _double(value)


def _double(value: float) -> Any:
    """With an exponent, which makes it a double where a plain number would be a decimal."""
    text = repr(abs(float(value)))
    literal = exp.Literal.number(text if "e" in text else f"{text}e0")
    return exp.Neg(this=literal) if value < 0 else literal


def _whole(value: int) -> Any:
    return exp.Neg(this=exp.Literal.number(str(-value))) if value < 0 else exp.Literal.number(str(value))
