"""``privet fit --table``: records stay in a database."""

import duckdb
import pytest
from typer.testing import CliRunner

import databases
import privet
from databases import CLASSES, TYPES, some_rows
from privet.cli import app


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.duckdb") as connection:
        databases.store(connection, "duckdb", "people", TYPES, some_rows())
    CLASSES.to_toml("people.toml")
    return tmp_path


FIT = ("--schema", "people.toml", "--epsilon", 1, "-o", "model.json", "--force")


def test_a_table_of_a_duckdb_file_is_learned_from(folder):
    done = run("fit", "clinic.duckdb", "--table", "people", *FIT, "--holdout", 0.2, "--strict")
    assert done.exit_code == 0, done.output
    model = privet.load("model.json")
    assert model.verify()
    assert "database" in model.privacy_.trust
    with_delta = ("--set", "delta=1e-6", "--model", "PrivateForestClassifier")
    assert run("fit", "clinic.duckdb", "--table", "main.people", *FIT, *with_delta).exit_code == 0


def test_the_same_seed_gives_the_model_that_files_give(folder):
    import pyarrow.parquet as pq

    pq.write_table(databases.arrow(TYPES, some_rows()), "people.parquet")
    assert run("fit", "clinic.duckdb", "--table", "people", *FIT, "--seed", 3).exit_code == 0
    one = privet.load("model.json")
    assert one.privacy_.void
    assert run("fit", "people.parquet", *FIT, "--seed", 3).exit_code == 0
    assert one.tree_.to_dict() == privet.load("model.json").tree_.to_dict()


def test_a_ledger_is_charged(folder):
    assert run("ledger", "new", "clinic.ledger", "--records", "people", "--epsilon", 1.5).exit_code == 0
    assert run("fit", "clinic.duckdb", "--table", "people", *FIT, "--ledger", "clinic.ledger").exit_code == 0
    assert run("fit", "clinic.duckdb", "--table", "people", *FIT, "--ledger", "clinic.ledger").exit_code == 1


def test_a_server_is_learned_from(folder):
    connection = databases.stored("postgres")
    address = f"postgresql://owner@/postgres?host={databases.postgres_folder()}"
    done = run("fit", address, "--table", "public.people", *FIT)
    assert done.exit_code == 0, done.output
    connection.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody.duckdb", "--table", "people"), "no such file"),
        (("people.toml", "--table", "people"), "cannot be opened"),
        (("clinic.duckdb", "--table", "nobody"), "nobody"),
        (("clinic.duckdb", "clinic.duckdb", "--table", "people"), "one database"),
        (("postgresql://nobody:secret@127.0.0.1:1/x", "--table", "people"), "cannot be opened"),
        (("clinic.duckdb", "--key", "id"), "--table"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent(folder, words, said):
    done = run("fit", *words, *FIT)
    assert done.exit_code == 2
    assert said in done.output
    assert "secret" not in done.output
    assert not (folder / "model.json").exists()
