"""Schemas as files: written whole, read strictly, and errors that say where."""

from __future__ import annotations

import os

import pytest

from privet import Numeric, Schema, SchemaError
from privet.schema_file import nearest

SCHEMA = Schema({"age": Numeric(0, 90)}, classes=["no", "yes"])


@pytest.mark.parametrize("language", ["toml", "json"])
def test_a_file_is_written_whole_and_read_again(tmp_path, language):
    path = tmp_path / f"schema.{language}"
    path.write_text("before")
    text = getattr(SCHEMA, f"to_{language}")(path)
    assert path.read_bytes() == text.encode()
    assert getattr(Schema, f"from_{language}")(path) == SCHEMA
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_that_is_there_twice_is_refused():
    with pytest.raises(SchemaError, match="twice"):
        Schema.from_json(SCHEMA.to_json().replace('"low"', '"low": -5, "low"'))
    with pytest.raises(SchemaError, match="TOML"):
        Schema.from_toml(SCHEMA.to_toml().replace("low", "low = -5\nlow"))


def test_a_number_that_json_does_not_have_is_refused():
    with pytest.raises(SchemaError, match="JSON"):
        Schema.from_json(SCHEMA.to_json().replace("90.0", "Infinity"))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    for name in ("a.toml", "missing.toml"):
        with pytest.raises(SchemaError, match=name):
            Schema.from_toml(tmp_path / name)


def test_a_misspelt_name_gets_a_hint():
    assert nearest("agee", ["age", "sex"]) == "; did you mean 'age'?"
    assert nearest("zzz", ["age", "sex"]) == ""


@pytest.mark.skipif(os.name != "posix", reason="needs a umask")
@pytest.mark.parametrize("language", ["toml", "json"])
def test_a_draft_is_for_its_owner_alone(tmp_path, language):
    """It shows ranges and values of records, until somebody has confirmed them."""
    draft = Schema({"age": Numeric(17, 91, inferred=True)}, classes=["no", "yes"])
    for schema, others in ((draft, 0), (SCHEMA, 0o044)):
        before = os.umask(0o022)
        try:
            getattr(schema, f"to_{language}")(tmp_path / "s")
        finally:
            os.umask(before)
        assert (tmp_path / "s").stat().st_mode & 0o077 == others
