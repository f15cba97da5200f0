"""``privet mpc``: what is refused before anybody is connected."""

from __future__ import annotations

import importlib.util

import pytest
from typer.testing import CliRunner

pytest.importorskip("cryptography")

from consortium.servers.town import Town
from privet.cli import app


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    result = CliRunner().invoke(app, ["mpc", *map(str, args)], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_help_says_what_has_to_be_trusted():
    assert "not independently reviewed" in " ".join(run("--help").stdout.split())


@pytest.fixture
def town(here):
    town = Town(here)
    yield town
    town.held.close()


def test_a_file_of_another_role_is_refused(town):
    result = run("server", "hospital.toml")
    assert result.exit_code == 2
    assert "not a server's: hospital is there as owner" in result.stderr
    assert "not an owner's: ann is there as user" in run("share", "ann.toml").stderr


def test_training_is_refused_before_anybody_is_connected(town):
    assert "epsilon" in run("train", "trainer.toml", "--epsilon", "-1", "-o", "m.json").stderr
    assert "no parameter" in run("train", "trainer.toml", "--epsilon", "1", "-o", "m.json", "--set", "x=1").stderr
    (town.folder / "m.json").write_text("")
    assert "--force" in run("train", "trainer.toml", "--epsilon", "1", "-o", "m.json").stderr


def test_without_its_packages_the_command_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cryptography" else find(name))
    result = run("fingerprint", "x")
    assert result.exit_code == 2
    assert "privet[mpc]" in result.stderr
