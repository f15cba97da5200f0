"""A first fit without a schema ends in a screenful that says what is missing, and in a draft."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from privet.cli import app


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "people.csv"
    path.write_text("age;ill\n30;no\n40;yes\n")
    return path


def run(people, *more):
    return CliRunner().invoke(app, ["fit", str(people), "--epsilon", "1", "-o", str(people.with_name("m.json")), *more])


def test_it_says_what_must_be_public(people):
    result = run(people)
    assert result.exit_code == 2
    assert "codebook" in result.stderr
    assert "\n  numbers     the range" in result.stderr  # a table stays one
    assert "schema draft" in result.stderr
    assert [own.name for own in people.parent.iterdir()] == ["people.csv"]


def test_with_the_label_it_writes_a_draft(people):
    result = run(people, "--label", "ill")
    assert result.exit_code == 2
    draft = Path("people.schema.toml")
    assert draft.read_text().count("inferred = true  #") == 2
    assert not people.with_name("m.json").exists()
    assert run(people, "--label", "ill").exit_code == 2  # it is not overwritten
    assert f"use --schema {draft}" in run(people, "--label", "ill").stderr


def test_a_label_beside_a_schema_is_wrong_use(people):
    run(people, "--label", "ill")
    result = run(people, "--schema", "people.schema.toml", "--label", "ill")
    assert result.exit_code == 2
    assert "for a draft" in result.stderr
