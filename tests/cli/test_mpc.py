"""``privet mpc``: keys, and what is refused before anybody is connected."""

from __future__ import annotations

import importlib.util

import pytest
from typer.testing import CliRunner

from privet.cli import app

pytest.importorskip("cryptography")

CLIENT = """
key = "hospital.key"
certificate = "hospital.crt"
"""
SERVERS = [f'[[servers]]\naddress = "127.0.0.1:1"\ncertificate = "server{i}.crt"\n' for i in range(3)]


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


def test_keygen_writes_a_key_and_a_certificate_once(here):
    from privet.consortium.net.certificates import fingerprint

    result = run("keygen", "hospital", "-d", here / "keys")
    assert result.exit_code == 0
    assert fingerprint((here / "keys" / "hospital.crt").read_bytes()) in result.stdout
    again = run("keygen", "hospital", "-d", here / "keys")
    assert again.exit_code == 1
    assert "exists" in again.stderr


def test_a_file_that_is_not_a_servers_is_refused(here):
    for name in ("hospital", "server0", "server1", "server2"):
        run("keygen", name)
    (here / "c.toml").write_text(CLIENT + "".join(SERVERS))
    result = run("server", "c.toml")
    assert result.exit_code == 2
    assert "not a server's" in result.stderr


def test_training_is_refused_before_anybody_is_connected(here):
    for name in ("hospital", "server0", "server1"):
        run("keygen", name)
    (here / "c.toml").write_text(CLIENT + "".join(SERVERS[:2]))
    assert "3 [[servers]]" in run("train", "c.toml", "--epsilon", "1", "-o", "m.json").stderr
    assert "epsilon" in run("train", "c.toml", "--epsilon", "-1", "-o", "m.json").stderr
    assert "no parameter" in run("train", "c.toml", "--epsilon", "1", "-o", "m.json", "--set", "x=1").stderr
    (here / "m.json").write_text("")
    assert "--force" in run("train", "c.toml", "--epsilon", "1", "-o", "m.json").stderr


def test_without_its_packages_the_command_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cryptography" else find(name))
    result = run("keygen", "hospital")
    assert result.exit_code == 2
    assert "privet[mpc]" in result.stderr
