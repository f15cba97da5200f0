"""A query predicts what the model does, on real databases; what no machine here can run is parsed."""

import sqlite3
from functools import partial

import numpy as np
import pandas as pd
import pytest

import databases
from exported_models import FORMS, QUOTES, exported, records
from privet.errors import PrivetError

sqlglot = pytest.importorskip("sqlglot")
sql = pytest.importorskip("privet.export.sql")


def in_duckdb(query, X):
    connection = pytest.importorskip("duckdb").connect()
    connection.register("people", X)
    return connection.sql(query.rstrip(";\n")).df()


def in_sqlite(query, X):
    connection = sqlite3.connect(":memory:")
    X.to_sql("people", connection, index=False)
    return pd.read_sql(query, connection)


TYPES = {"id": "bigint", "age": "bigint", QUOTES: "double", "left": "double", "right": "double", "select": "text"} | {
    "flag": "boolean", "code": "double"
}  # fmt: skip


def in_database(engine, query, X):
    """On a server of our own; where values are missing, NULL."""
    connection = databases.connect(engine)
    rows = [[None if value != value else value for value in row] for row in X[list(TYPES)].astype(object).to_numpy()]
    databases.store(connection, engine, "people", TYPES, rows)
    if engine == "spark":
        return connection.sql(query.rstrip(";\n")).toPandas()
    cursor = connection.execute(query)
    return pd.DataFrame(cursor.fetchall(), columns=[own.name for own in cursor.description])


ENGINES = [
    ("duckdb", in_duckdb),
    ("sqlite", in_sqlite),
    ("postgres", partial(in_database, "postgres")),
    pytest.param("spark", partial(in_database, "spark"), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("dialect", "run"), ENGINES)
@pytest.mark.parametrize(("form", "n_classes"), FORMS)
def test_it_predicts_what_the_model_does(form, n_classes, dialect, run):
    model, X = exported(form, n_classes), records(500, 2)
    rows = run(sql.to_sql(model, "people", dialect=dialect, keep=["id"]), X.assign(id=np.arange(len(X))))
    rows = rows.sort_values("id")
    np.testing.assert_array_equal(rows["prediction"], model.predict(X))
    if hasattr(model, "predict_proba"):
        names = [f"probability_{name}" for name in model.classes_]
        np.testing.assert_allclose(rows[names], model.predict_proba(X), atol=1e-12)


def test_without_columns_to_keep_all_are_there():
    X = records(5, 2)
    assert set(X.columns) < set(in_duckdb(sql.to_sql(exported("tree"), "people"), X).columns)


@pytest.mark.parametrize(("run", "dialect"), [(in_duckdb, "duckdb"), (in_sqlite, "sqlite")])
def test_what_the_model_refuses_has_no_prediction(run, dialect):
    X = records(4, 2).astype({"age": float, "flag": object})
    X.loc[0, "age"] = np.nan
    X.loc[1, "flag"] = None
    for form in ("tree", "forest", "boosting", "target_boosting"):
        rows = run(sql.to_sql(exported(form), "people", dialect=dialect), X)
        assert rows["prediction"].isna().tolist() == [True, True, False, False]


@pytest.mark.parametrize("dialect", sql.DIALECTS)
def test_it_parses_in_every_dialect(dialect):
    for form in ("counts", "boosting", "target_boosting"):
        tree = sqlglot.parse_one(sql.to_sql(exported(form), "a.people", dialect=dialect), dialect=dialect)
        assert QUOTES in {column.name for column in tree.find_all(sqlglot.exp.Column)}


def test_other_dialects_are_named():
    with pytest.raises(PrivetError, match="choose one of duckdb"):
        sql.to_sql(exported("tree"), "people", dialect="basic")
