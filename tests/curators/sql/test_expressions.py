"""Small pieces of SQL: quoted, and built without copies."""

import sqlglot

from privet.curators.sql.expressions import as_type, case, column, named, selected, table_named, text, whole, with_table

NAME = "a\"b'`; --"


def test_names_and_values_are_quoted_in_every_dialect():
    query = selected([named(case([(column(NAME) <= whole(3), text(NAME))], text("x")), "n")], table_named(NAME))
    for dialect in ("duckdb", "postgres", "spark", "snowflake", "bigquery"):
        back = sqlglot.parse_one(query.sql(dialect=dialect), dialect=dialect)
        assert {own.name for own in back.find_all(sqlglot.exp.Column)} == {NAME}
        assert back.find(sqlglot.exp.Table).name == NAME
        assert NAME in {own.this for own in back.find_all(sqlglot.exp.Literal)}


def test_a_query_comes_after_what_it_reads():
    rows = selected([as_type(column("a"), "utinyint")], table_named("t"))
    query = with_table(selected([column("a")], table_named("r")), "r", rows, True)
    assert query.sql(dialect="duckdb") == (
        'WITH "r" AS MATERIALIZED (SELECT CAST("a" AS UTINYINT) FROM "t") SELECT "a" FROM "r"'
    )


def test_a_case_without_ways_is_its_last_answer():
    assert case([], whole(2)).sql() == "2"
