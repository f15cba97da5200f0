"""``privet playground`` plays on what is public, and refuses what may not be."""

import pytest
from typer.testing import CliRunner

from privet import Numeric, Schema
from privet.cli import app
from privet.cli.playground import _draws
from privet.report.playground import Playground

SCHEMA = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"], label="it")


@pytest.fixture
def files(tmp_path):
    SCHEMA.to_toml(tmp_path / "s.toml")
    rows = "".join(f"{i / 200},{'yes' if i > 90 else 'no'}\n" for i in range(200))
    (tmp_path / "d.csv").write_text(f"a,it\n{rows}")
    return tmp_path / "d.csv", tmp_path / "s.toml"


def run(*args):
    return CliRunner().invoke(app, ["playground", "--no-browser", *map(str, args)])


def test_private_records_are_never_played_on(files):
    data, schema = files
    said = run(data, "--schema", schema)
    assert said.exit_code == 2
    assert "these records may be private" in " ".join(said.output.split())
    assert run(data).exit_code == 2
    assert run("--public").exit_code == 2


def test_public_records_and_schemas_are(files):
    data, schema = files
    assert "d.csv, which you said are public" in _draws(data, schema, True).source
    assert "Made-up records" in _draws(None, schema, False).source
    assert "one made-up table, and another would look different" in _draws(None, schema, False).source
    assert "census" in _draws(None, None, False).source


def test_it_says_where_it_is_and_ends_quietly(files, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Playground, "run", interrupted)
    said = run("--schema", files[1])
    assert said.exit_code == 0
    assert said.output.startswith("Starting: loading Privet, drawing records that nobody is in and preparing the page.")
    assert "http://127.0.0.1:" in said.output
    assert "Closed." in said.output


def test_it_opens_at_the_number_of_people_that_is_asked_for(files):
    data, schema = files
    for n in (900, 30_000):
        draws = _draws(None, schema, False, n)
        assert draws.sizes[-1] == n
        assert len(draws._test) >= 5_000
    assert _draws(None, schema, False).sizes[-1] == 20_000
    assert _draws(data, schema, True, 100).sizes == [100]
    assert f'<span id="people">{900:,}</span> records' in Playground(_draws(None, schema, False, 900)).page[0].decode()
    said = run(data, "--schema", schema, "--public", "--n-records", 5_000)
    assert said.exit_code == 2
    assert "there are 160 records to learn from" in said.output
