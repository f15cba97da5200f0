"""How a consortium's file goes round, as its members type it."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

pytest.importorskip("cryptography")
pytest.importorskip("grpc")

from consortium.federated.owners import SCHEMA
from privet.cli import app
from privet.cli.members import with_address, with_queries
from privet.consortium.consortium_file import Consortium
from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.consortium.servers.config import Config
from privet.errors import PrivetError

NAMES = ("general", "mercy", "north")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SCHEMA.to_toml(tmp_path / "schema.toml")
    (tmp_path / "d.csv").write_text("")
    return tmp_path


def run(*args, code=0, **options):
    result = CliRunner().invoke(app, [*map(str, args)], env={"NO_COLOR": "1", "TERM": "dumb"}, **options)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def found(*options, **more):
    parties = [word for name in NAMES for word in ("--party", name)]
    init = ("federated", "init", "consortium.toml", "--schema", "schema.toml", "--address", "127.0.0.1:9443")
    return run(*init, *parties, *options, **more)


def read_aloud(file):
    """The fingerprint, as the others read it."""
    said = run("federated", "fingerprint", file)
    return re.search(r"Fingerprint ([0-9a-f ]+)", said)[1].strip()


def gathered():
    """A whole federated consortium; the copy that everybody is to accept."""
    found()
    run("federated", "join", "consortium.toml", "coordinator")
    for name in NAMES:
        run("federated", "join", "consortium.toml", name, "--data", "d.csv", "--epsilon", "0.5")
    said = run("federated", "gather", "coordinator.toml", *(f"{name}.consortium.toml" for name in NAMES))
    assert "Everybody is in. Send coordinator.consortium.toml to all" in said
    return "coordinator.consortium.toml"


def test_three_commands_lead_from_a_name_to_a_party_that_can_start(here):
    copy = gathered()
    assert "has not joined yet" in run("federated", "party", "mercy.toml", code=2)
    spoken = read_aloud(copy)
    for name in NAMES:
        run("federated", "accept", f"{name}.toml", copy, "--fingerprint", spoken.upper())
    config = PartyConfig.read(here / "mercy.toml")
    assert (config.epsilon, config.data) == (0.5, here / "d.csv")
    assert CoordinatorConfig.read(here / "coordinator.toml").address == ("127.0.0.1", 9443)
    assert "days" in run("federated", "status", "mercy.toml")
    assert "mercy.crt: of mercy; until" in run("federated", "fingerprint", "mercy.crt")


def test_nobody_accepts_what_was_not_compared(here):
    copy = gathered()
    assert "not the fingerprint" in run("federated", "accept", "mercy.toml", copy, "--fingerprint", "00" * 32, code=2)
    run("federated", "accept", "mercy.toml", copy, input="n\n", code=1)
    assert Consortium.read(here / "mercy.consortium.toml").missing == ["coordinator", "general", "north"]
    run("federated", "accept", "mercy.toml", copy, input="y\n")
    assert not Consortium.read(here / "mercy.consortium.toml").missing


def test_members_come_later_renew_and_leave(here):
    copy = gathered()
    run("federated", "invite", "coordinator.toml", "east", "--role", "party")
    assert "one of coordinator, party" in run(
        "federated", "invite", "coordinator.toml", "west", "--role", "user", code=2
    )
    run("federated", "join", copy, "east", "--data", "d.csv")
    assert "New in coordinator.consortium.toml: east" in run(
        "federated", "gather", "coordinator.toml", "east.consortium.toml"
    )
    run("federated", "accept", "mercy.toml", copy, "--fingerprint", read_aloud(copy))
    said = run("federated", "renew", "mercy.toml", "--days", "30")
    assert "--renewed mercy" in said
    assert "--renewed mercy" in run("federated", "gather", "coordinator.toml", "mercy.consortium.toml", code=2)
    run("federated", "gather", "coordinator.toml", "mercy.consortium.toml", "--renewed", "mercy")
    run("federated", "remove", "coordinator.toml", "north")
    said = run("federated", "accept", "east.toml", copy, "--fingerprint", read_aloud(copy))
    assert "Changed: north has left." in said
    assert "it has left" in run("federated", "accept", "north.toml", copy, input="y\n", code=2)


def test_terms_that_cannot_be_kept_are_refused_before_a_file_is_there(here):
    assert "3 parties cannot tolerate" in found("--dropouts", "1", "--colluders", "2", code=1)
    assert "shared, own" in found("--noise", "none", code=1)
    assert not (here / "consortium.toml").exists()
    found()
    assert "exists" in found(code=2)


def test_a_joint_computation_is_founded_and_joined(here):
    servers = [word for i, name in enumerate("xyz") for word in ("--server", f"{name}=10.0.0.{i}:7100")]
    init = ("mpc", "init", "m.toml", "--schema", "schema.toml", "--owner", "hospital", "--user", "ann=7", *servers)
    assert "Send it to x, y, z, hospital, trainer, ann" in run(*init)
    run("mpc", "join", "m.toml", "x", "--listen", "127.0.0.1:7100")
    for name in ("y", "z", "trainer", "ann"):
        run("mpc", "join", "m.toml", name)
    assert "--data FILE" in run("mpc", "join", "m.toml", "hospital", code=2)
    run("mpc", "join", "m.toml", "hospital", "--data", "d.csv")
    said = run("mpc", "gather", "trainer.toml", "x.consortium.toml", "y.consortium.toml")
    assert "Still missing: z, hospital, ann" in said
    run("mpc", "gather", "trainer.toml", *(f"{name}.consortium.toml" for name in ("z", "hospital", "ann")))
    copy = "trainer.consortium.toml"
    run("mpc", "accept", "x.toml", copy, "--fingerprint", read_aloud(copy))
    config = Config.read(here / "x.toml")
    assert (config.listen, config.servers[0].address) == (("127.0.0.1", 7100), ("10.0.0.0", 7100))


@pytest.mark.parametrize("text", ["alpha", "alpha=", "alpha=host", "alpha=host:port"])
def test_an_address_has_a_name(text):
    with pytest.raises(PrivetError, match="NAME=HOST:PORT"):
        with_address(text)


@pytest.mark.parametrize("text", ["ann", "ann=", "ann=-1", "ann=many"])
def test_a_user_has_a_number_of_queries(text):
    assert with_queries("ann=7") == ("ann", 7)
    with pytest.raises(PrivetError, match="NAME=QUERIES"):
        with_queries(text)
