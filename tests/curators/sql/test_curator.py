"""Fits inside a database: the model that memory gives, and nothing left behind, whatever happens."""

import math

import numpy as np
import pytest

import databases
import privet
from databases import CLASSES, FEATURES, PERSONS, TARGET, TYPES, memory, some_rows, stored
from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema, SqlCurator
from privet.errors import CapabilityError, DatabaseError, PrivetError, SchemaError
from privet.privacy.mechanisms import mechanisms

ENGINES = ["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)]
BOTH = ["duckdb", "postgres"]


def is_idle(connection, engine):
    """Whether no transaction is open, and no temporary table is left."""
    if engine == "spark":
        return not [table for table in connection.catalog.listTables() if table.name.startswith("privet_")]
    if engine == "postgres":
        status = connection.info.transaction_status
        left = connection.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'privet%'").fetchone()[0]
        connection.rollback()
        return (int(status), left) == (0, 0)
    left = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'privet%'").fetchone()[0]
    connection.begin()  # raises in the middle of another
    connection.rollback()
    return left == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("schema", "estimator"),
    [
        (CLASSES, privet.PrivateTreeClassifier(epsilon=2.0, max_depth=3)),
        (CLASSES, privet.PrivateTreeClassifier(epsilon=2.0, max_depth=3, leaves="counts")),
        (TARGET, privet.PrivateTreeRegressor(epsilon=2.0, max_depth=3)),
        (CLASSES, privet.PrivaTreeClassifier(epsilon=2.0)),
        (CLASSES, privet.TopDownClassifier(epsilon=2.0)),
        (TARGET, privet.HistogramTreeRegressor(epsilon=2.0)),
    ],
)
def test_a_database_gives_the_model_that_memory_gives(engine, schema, estimator):
    connection = stored(engine)
    curator = SqlCurator(connection, "people", schema, mechanisms=mechanisms(1))
    theirs = type(estimator)(**estimator.get_params()).fit_curator(memory(schema))
    ours = estimator.fit_curator(curator)
    assert ours.tree_.to_dict() == theirs.tree_.to_dict()
    assert ours.privacy_.events == theirs.privacy_.events
    assert ours.verify()
    assert is_idle(connection, engine)


@pytest.mark.parametrize("engine", BOTH)
def test_a_receipt_of_a_database_verifies_and_names_whom_to_trust(engine):
    with Ledger(1.0) as ledger:
        curator = SqlCurator(stored(engine), "people", CLASSES)
        model = privet.PrivateTreeClassifier(epsilon=0.5).fit_curator(curator, holdout=0.25, by="town")
    assert model.verify()
    assert not model.privacy_.void
    assert float(ledger.spent) == pytest.approx(0.5)
    assert "database" in model.privacy_.trust
    assert model.evaluation_ is not None


@pytest.mark.parametrize("engine", BOTH)
def test_forests_are_grown_on_parts(engine):
    curator = SqlCurator(stored(engine), "people", CLASSES)
    model = privet.DiPriMeForestClassifier(epsilon=2.0, n_trees=3).fit_curator(curator)
    assert model.verify()


def test_what_a_database_cannot_do_is_refused_before_anything_is_spent():
    connection = stored("postgres")
    ledger = Ledger(9.0)
    boosting = privet.PrivateForestClassifier(epsilon=1.0, method="boosting")
    with pytest.raises(CapabilityError, match="advance"):
        boosting.fit_curator(SqlCurator(connection, "people", CLASSES, ledger=ledger))
    connection.execute("CREATE VIEW few AS SELECT * FROM people")
    connection.commit()
    without_key = SqlCurator(connection, "few", CLASSES, ledger=ledger)
    with pytest.raises(CapabilityError, match="parts"):
        privet.PrivateTreeClassifier(epsilon=1.0).fit_curator(without_key, holdout=0.5)
    with_key = SqlCurator(connection, "few", CLASSES, key="id", ledger=Ledger(9.0))
    privet.PrivateTreeClassifier(epsilon=1.0).fit_curator(with_key, holdout=0.5)
    with pytest.raises(PrivetError, match="key="):
        SqlCurator(connection, "few", PERSONS)
    connection.execute("DROP VIEW few")
    connection.commit()
    assert ledger.spent == 0
    assert is_idle(connection, "postgres")


# -- persons ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", BOTH)
def test_persons_whose_records_all_count_alike_give_memorys_model(engine):
    curator = SqlCurator(stored(engine), "people", PERSONS, mechanisms=mechanisms(1))
    ours = privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(curator)
    theirs = privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(memory(PERSONS))
    assert ours.tree_.to_dict() == theirs.tree_.to_dict()
    assert ours.privacy_.unit == "one person, at most 3 records"


# -- tables of all kinds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_table_is_learned_from(engine):
    connection = stored(engine, [])
    for schema, kind in ((CLASSES, privet.PrivateTreeClassifier), (TARGET, privet.PrivateTreeRegressor)):
        curator = SqlCurator(connection, "people", schema, mechanisms=mechanisms(1))
        ours, theirs = kind(epsilon=1.0).fit_curator(curator), kind(epsilon=1.0).fit_curator(memory(schema, []))
        assert ours.tree_.to_dict() == theirs.tree_.to_dict()


HOSTILE = "a\"b'; DROP TABLE victim; --`$1%s{}\\\n${x}"


@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_names_and_values_are_names_and_values(engine):
    table, feature = "people" if engine == "spark" else f"t{HOSTILE}", f"f{HOSTILE}"
    connection = databases.connect(engine)
    values = [HOSTILE, "plain", "it''s", "\\'", "a\\"]
    rows = [(values[i % 5], ["no", HOSTILE][i % 2]) for i in range(200)]
    types = {feature: "text", f"l{HOSTILE}": "text"}
    databases.store(connection, engine, table, types, rows)
    if engine != "spark":
        databases.store(connection, engine, "victim", {"a": "int"}, [])
    schema = Schema({feature: Categorical(values)}, classes=["no", HOSTILE], label=f"l{HOSTILE}")
    arrow = databases.arrow(types, rows)
    theirs = MemoryCurator(arrow, arrow.column(schema.label), schema, mechanisms=mechanisms(1))
    ours = SqlCurator(connection, table, schema, mechanisms=mechanisms(1))
    trees = [privet.PrivateTreeClassifier(epsilon=3.0).fit_curator(own).tree_.to_dict() for own in (ours, theirs)]
    assert trees[0] == trees[1]
    if engine != "spark":
        cursor = connection.cursor() if engine == "postgres" else connection
        assert cursor.execute("SELECT count(*) FROM victim").fetchone() == (0,)


def test_a_table_with_as_many_columns_as_an_engine_allows():
    n = 1599  # and the label: more than a temporary table would hold with weights
    rng = np.random.default_rng(0)
    rows = [(*(int(x) for x in rng.integers(0, 2, size=n)), ["no", "yes"][i % 2]) for i in range(20)]
    types = {f"x{i}": "smallint" for i in range(n)} | {"y": "text"}
    connection = databases.connect("postgres")
    databases.store(connection, "postgres", "wide", types, rows)
    schema = Schema({f"x{i}": Numeric(0, 1, integer=True) for i in range(n)}, classes=["no", "yes"], label="y")
    desk = SqlCurator(connection, "wide", schema).open()
    from privet.questions.grid import public_grid

    try:
        desk.grid(public_grid(schema))
        room = desk._room
        counts = room.histograms([room.everything(None)])[0].reshape(n, 2, 2)
        values, labels = np.array([row[:-1] for row in rows]), np.array([row[-1] == "yes" for row in rows])
        assert room._table is None
        np.testing.assert_array_equal(counts[:, 1, 1], values[labels].sum(axis=0))
        np.testing.assert_array_equal(counts.sum(axis=(1, 2)), 20)
    finally:
        desk.close()


def test_views_and_roles_that_may_only_read_give_the_same_model():
    owner = stored("postgres")
    owner.execute("CREATE OR REPLACE VIEW adults AS SELECT * FROM people")
    owner.execute("DROP ROLE IF EXISTS reader")
    owner.execute("CREATE ROLE reader LOGIN")
    owner.execute("GRANT SELECT ON adults, people TO reader")
    owner.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    owner.commit()
    try:
        import psycopg

        folder = str(databases.postgres_folder())
        reader = psycopg.connect(host=folder, user="reader", dbname="postgres", autocommit=True)
        curator = SqlCurator(reader, ("public", "adults"), CLASSES, mechanisms=mechanisms(1))
        desk = curator.open()
        assert not desk._room._writes
        desk.close()
        ours = privet.PrivateTreeClassifier(epsilon=2.0, max_depth=3).fit_curator(curator)
        theirs = privet.PrivateTreeClassifier(epsilon=2.0, max_depth=3).fit_curator(memory(CLASSES))
        assert ours.tree_.to_dict() == theirs.tree_.to_dict()
        assert int(reader.info.transaction_status) == 0
        with pytest.raises(DatabaseError, match="secret"):
            SqlCurator(reader, "secret", CLASSES)
        reader.close()
    finally:
        owner.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
        owner.execute("DROP OWNED BY reader")
        owner.execute("DROP ROLE reader")
        owner.execute("DROP VIEW adults")
        owner.commit()


def test_a_connection_of_adbc_gives_the_same_model_and_has_a_snapshot():
    import adbc_driver_postgresql.dbapi as adbc

    stored("postgres").close()
    address = f"postgresql://owner@/postgres?host={databases.postgres_folder()}"
    with adbc.connect(address) as connection:
        curator = SqlCurator(connection, "people", CLASSES, mechanisms=mechanisms(1))
        ours = privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(curator)
    theirs = privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(memory(CLASSES))
    assert ours.tree_.to_dict() == theirs.tree_.to_dict()
    with adbc.connect(address, autocommit=True) as connection, pytest.raises(PrivetError, match="no snapshot"):
        SqlCurator(connection, "people", CLASSES).open()


def test_duckdb_reads_a_parquet_file_and_a_read_only_database_with_its_views(tmp_path):
    import duckdb
    import pyarrow.parquet as pq

    pq.write_table(databases.arrow(TYPES, some_rows()), tmp_path / "people.parquet")
    theirs = privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(memory(CLASSES)).tree_.to_dict()
    file = SqlCurator(duckdb.connect(), str(tmp_path / "people.parquet"), CLASSES, mechanisms=mechanisms(1))
    assert privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(file).tree_.to_dict() == theirs
    assert "parts" in file.capabilities
    with duckdb.connect(str(tmp_path / "clinic.db")) as connection:
        databases.store(connection, "duckdb", "people", TYPES, some_rows())
        connection.execute("CREATE VIEW adults AS SELECT * FROM people WHERE age > 0")
    with duckdb.connect(str(tmp_path / "clinic.db"), read_only=True) as connection:
        for name in ("people", "adults"):
            curator = SqlCurator(connection, name, CLASSES, mechanisms=mechanisms(1))
            assert privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(curator).tree_.to_dict() == theirs
            assert ("parts" in curator.capabilities) == (name == "people")
            assert is_idle(connection, "duckdb")


# -- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, None, "column 'age' contains NaN or missing"),
        (1, math.inf, 'column "in\'come" contains infinity'),
        (4, None, "the label has missing values"),
        (4, "perhaps", "the label has values that the schema does not list"),
    ],
)
def test_records_that_the_schema_does_not_allow_are_refused_before_anything_is_spent(engine, place, value, words):
    row = list(some_rows(1)[0])
    row[place] = value
    connection, ledger = stored(engine, [*some_rows(5), row]), Ledger(1.0)
    curator = SqlCurator(connection, "people", CLASSES, ledger=ledger)
    with pytest.raises(SchemaError, match=words) as caught:
        privet.PrivateTreeClassifier(epsilon=0.5).fit_curator(curator)
    assert "perhaps" not in str(caught.value)
    assert ledger.spent == 0
    assert is_idle(connection, engine)


@pytest.mark.parametrize("engine", BOTH)
def test_columns_that_do_not_fit_are_named_when_the_curator_is_made(engine):
    connection = stored(engine)
    with pytest.raises(SchemaError, match="column 'town' must hold numbers only"):
        SqlCurator(connection, "people", Schema({"town": Numeric(0, 1)}, classes=["no", "yes"], label="ill"))
    with pytest.raises(SchemaError, match="column 'age' holds numbers, but the schema lists text"):
        SqlCurator(connection, "people", Schema({"age": Categorical(["a"])}, classes=["no", "yes"], label="ill"))
    with pytest.raises(SchemaError, match="'agee'"):
        SqlCurator(connection, "people", Schema({**FEATURES, "agee": Numeric(0, 1)}, target=(0, 1), label="cost"))
    with pytest.raises(SchemaError, match="label"):
        SqlCurator(connection, "people", Schema({"age": Numeric(0, 1)}, target=(0, 1)))
    with pytest.raises(DatabaseError, match="nobody"):
        SqlCurator(connection, "nobody", CLASSES)
    assert is_idle(connection, engine)


def test_a_connection_that_is_no_database_or_has_work_open_is_refused():
    with pytest.raises(PrivetError, match="SqlCurator takes a connection"):
        SqlCurator(object(), "people", CLASSES)
    connection = stored("postgres")
    connection.execute("SELECT 1")
    with pytest.raises(PrivetError, match="transaction open"):
        SqlCurator(connection, "people", CLASSES)
    duck = stored("duckdb")
    curator = SqlCurator(duck, "people", CLASSES)
    duck.begin()
    with pytest.raises(DatabaseError, match="Commit what is open"):
        curator.open()
    duck.rollback()
    desk = curator.open()
    with pytest.raises(PrivetError, match="busy"):
        curator.open()
    desk.close()
    curator.open().close()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_connection_that_is_lost_in_the_middle_ends_clearly_and_pays_for_what_was_asked(engine, monkeypatch):
    connection, ledger = stored(engine), Ledger(5.0)
    curator = SqlCurator(connection, "people", CLASSES, ledger=ledger)
    room, asked = curator._room, []
    count = room._count

    def lose_it(self, nodes):
        asked.append(len(nodes))
        if len(asked) == 2:
            if engine == "postgres":
                with databases.connect(engine) as other:
                    other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
            elif engine == "spark":
                connection.stop()
            else:
                connection.close()
        return count(self, nodes)

    monkeypatch.setattr(room, "_count", lose_it)
    with pytest.raises(DatabaseError, match="did not answer"):
        privet.PrivateTreeClassifier(epsilon=2.0, max_depth=3).fit_curator(curator)
    assert 0 < ledger.spent <= 2
    if engine == "spark":
        databases.spark_session.cache_clear()
    if engine != "duckdb":  # whose database was in memory, and is gone with its connection
        assert is_idle(databases.connect(engine), engine)
    monkeypatch.undo()
    spent = ledger.spent
    again = SqlCurator(stored(engine), "people", CLASSES, ledger=ledger)
    privet.PrivateTreeClassifier(epsilon=1.0).fit_curator(again)
    assert float(ledger.spent) == pytest.approx(float(spent) + 1)


@pytest.mark.parametrize("engine", BOTH)
def test_an_error_in_the_middle_leaves_nothing_behind(engine, monkeypatch):
    connection = stored(engine)
    curator = SqlCurator(connection, "people", CLASSES)

    def interrupt(self, nodes):
        raise KeyboardInterrupt

    monkeypatch.setattr(curator._room, "totals", interrupt)
    monkeypatch.setattr(curator._room, "_count", interrupt)
    with pytest.raises(KeyboardInterrupt):
        privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(curator)
    assert is_idle(connection, engine)


def test_one_fit_reads_one_snapshot():
    connection = stored("postgres")
    curator = SqlCurator(connection, "people", CLASSES)
    desk = curator.open()
    other = databases.connect("postgres")
    other.execute("DELETE FROM people")
    other.commit()
    assert desk._room.totals([desk._room.everything(None)]).sum() == 400
    desk.close()
    desk = curator.open()
    assert desk._room.totals([desk._room.everything(None)]).sum() == 0
    desk.close()


def test_the_query_log_holds_no_writes_and_nothing_of_records():
    rows = [(33, 1.25, "a", 7771, "no", 1.0) for _ in range(50)] + some_rows(50)
    connection = stored("postgres", rows)
    before = len(databases.postgres_log())
    privet.PrivateTreeClassifier(epsilon=2.0).fit_curator(SqlCurator(connection, "people", CLASSES))
    logged = [line.partition("statement: ")[2] for line in databases.postgres_log()[before:].splitlines()]
    words = {line.split()[0] for line in logged if line}
    assert words <= {"BEGIN", "SET", "SELECT", "WITH", "SAVEPOINT", "ROLLBACK", "CREATE"}
    assert all("TEMPORARY TABLE" in line for line in logged if line.startswith("CREATE"))
    assert not any("7771" in line for line in logged)


def test_a_value_that_an_engine_cannot_read_is_found_before_anything_is_paid():
    """Of columns that allow any value, too: an error after a question would tell of a record without noise."""
    connection = stored("duckdb")
    connection.execute("CREATE VIEW cast_later AS SELECT CAST(ill AS INT) AS number, ill FROM people")
    schema = Schema({"number": Categorical([0, 1], other=True)}, classes=["no", "yes"], label="ill")
    ledger = Ledger(1.0)
    curator = SqlCurator(connection, "cast_later", schema, ledger=ledger)
    with pytest.raises(DatabaseError):
        privet.PrivateTreeClassifier(epsilon=1.0, max_depth=2).fit_curator(curator)
    assert ledger.spent == 0
    assert is_idle(connection, "duckdb")
