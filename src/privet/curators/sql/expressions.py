"""Small pieces of SQL, built of sqlglot's nodes. Large ones are handed on and never copied: they have thousands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from sqlglot import exp


def quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def column(name: str) -> exp.Column:
    return exp.column(quoted(name))


@cache
def _type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect="duckdb")


def as_type(expression: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=expression, to=_type(kind).copy())


def text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def whole(value: int) -> exp.Expr:
    return exp.Literal.number(int(value))


def case(ways: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr) -> exp.Expr:
    """The first way whose condition holds."""
    if not ways:
        return otherwise
    return exp.Case(ifs=[exp.If(this=condition, true=answer) for condition, answer in ways], default=otherwise)


def named(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=value, alias=quoted(name))


def concatenated(*pieces: exp.Expr) -> exp.Expr:
    """Pieces of text as one; NULL if one of them is."""
    return exp.Concat(expressions=list(pieces), safe=False, coalesce=False) if len(pieces) > 1 else pieces[0]


def part_of(hashed: exp.Expr, weights: Sequence[int]) -> exp.Expr:
    """The part that a hash, 32 hexadecimal digits, is in: each has its share of all hashes, compared as text."""
    total, ends = sum(weights), list(accumulate(weights))[:-1]
    ways = [(hashed.copy() < text(f"{(end << 128) // total:032x}"), whole(i)) for i, end in enumerate(ends)]
    return case(ways, whole(len(weights) - 1))


def paren(value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=value)


def table_named(name: str) -> exp.Expr:
    return exp.Table(this=quoted(name))


def inside(query: exp.Query, name: str) -> exp.Expr:
    """A query as a table."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=quoted(name)))


def selected(
    columns: Sequence[exp.Expr], source: exp.Expr, *, where: exp.Expr | None = None, by: Sequence[exp.Expr] = ()
) -> exp.Select:
    query = exp.Select(expressions=list(columns)).from_(source, copy=False)
    if where is not None:
        query = query.where(where, copy=False)
    return query.group_by(*by, copy=False) if by else query


def with_table(query: exp.Query, name: str, rows: exp.Query, materialized: bool) -> exp.Query:
    """A query after a common table expression, which is computed once if the engine can be told so."""
    return query.with_(quoted(name), as_=rows, materialized=True if materialized else None, copy=False)
