"""What operators of servers see, and those who ask them: from files, and whether servers can be reached."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction

import pytest

from consortium.servers.town import OWNERS, SCHEMA, Town
from privet import Schema
from privet.consortium.servers import status as module
from privet.consortium.servers.client import to_servers, train
from privet.consortium.servers.config import OWNER
from privet.consortium.servers.jobs import PROTOCOL
from privet.consortium.servers.status import checks, problems, status
from privet.consortium.servers.users import users_of
from privet.errors import MpcError
from privet.privacy.ledger import Ledger
from privet.privacy.ledger_file import LedgerFile
from privet.questions.codec import schema_digest


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path)
    yield town
    town.stop()
    town.held.close()


def test_a_server_sees_its_limit_its_runs_its_users_and_its_models(town, tmp_path):
    config = town.config("server1")
    seen = status(config)
    assert [seen[name] for name in ("name", "role", "limit", "spent", "left", "runs", "members")] == [
        "server1", "server", "100", "0", "100", [], []
    ]  # fmt: skip
    assert not config.ledger.exists()  # to look makes nothing
    ledger = Ledger.create(config.ledger, 100, records="all")
    with ledger.reserve(30, "epsilon", "a training"):
        assert [run["state"] for run in status(config)["runs"]] == ["open"]
    users_of(config).charge("bob", 3)
    config.models.mkdir()
    (config.models / f"{'a' * 32}.shares").write_bytes(b"")
    seen = status(config)
    assert seen["users"] == [{"user": "ann", "queries left": 100}, {"user": "bob", "queries left": 2}]
    assert [each["model"] for each in seen["hidden models"]] == ["a" * 32]
    names = [each["name"] for each in seen["certificates"]]
    assert names == ["server1 (own)", "server 0", "server 2", *OWNERS, "trainer", "ann", "bob"]
    assert status(town.config("ann"))["certificates"][0]["name"] == "ann (own)"


def test_who_asks_sees_which_servers_are_there_and_as_what_it_is_known(town, monkeypatch):
    monkeypatch.setattr(module, "TO_CHECK", 0.3)
    monkeypatch.setattr(module, "TO_COME", 0.0)
    assert all("cannot be reached" in each["problems"][0] for each in checks(town.config("ann")))
    town.start()
    monkeypatch.setattr(module, "TO_CHECK", 20.0)
    assert {each["knows this program as"] for each in checks(town.config("ann"))} == {"user ann"}
    assert {each["knows this program as"] for each in checks(town.config(OWNERS[0]))} == {f"owner {OWNERS[0]}"}
    assert all("does not know eve.crt" in each["problems"][0] for each in checks(town.config("eve")))
    assert {each["queries left"] for each in checks(town.config("bob"))} == {5}
    assert len(checks(town.config("server0"))) == 2
    for each in checks(town.config("trainer"), Fraction(100))[:3]:
        assert (each["left"], each["problems"], each["owners waiting"]) == ("100", [], [])
    assert all(
        "left, and this model needs 101" in each["problems"][0] for each in checks(town.config("ann"), Fraction(101))
    )
    other = replace(town.config("ann"), schema=Schema(SCHEMA.features, classes=["a", "b"]))
    assert all(each["problems"] == ["it has another schema: accept the same consortium file"] for each in checks(other))
    with pytest.raises(MpcError, match=r"another schema: accept the same consortium file\. Nothing was asked"):
        train(replace(other, identity=town.config("trainer").identity), "PrivateTreeClassifier", {"epsilon": 1.0})
    names = {each["name"] for each in status(town.config("server1"))["members"]}
    assert {"user ann", "trainer", f"owner {OWNERS[0]}"} <= names


def test_whatever_a_server_greets_with_is_looked_at(town):
    config = town.config("ann")
    good = {"protocol": PROTOCOL, "schema": schema_digest(SCHEMA), "now": time.time(), "left": "1"}
    assert problems(good, config) == []
    assert "another version" in problems({**good, "protocol": 4}, config)[0]
    assert "differ by 3,600 seconds" in problems({**good, "now": good["now"] - 3600}, config)[0]
    assert "needs 1" in problems({**good, "left": "unknown"}, config, Fraction(1))[0]
    assert len(problems({}, config)) == 2


def test_a_running_server_knows_who_waits_and_how_many_were_refused(town, monkeypatch):
    town.start()
    server = town.running[0]
    with ExitStack() as stack:
        to_servers(town.config("bank"), stack, OWNER)
        names = {each["name"]: each["connected"] for each in server.status()["members"]}
        assert names == {"owner bank": True}
        (told,) = {tuple(each["owners waiting"]) for each in checks(town.config("ann"))}
        assert told == ("bank",)
    assert all("does not know" in each["problems"][0] for each in checks(town.config("eve")))
    assert server.status()["refused connections"] == 1
    assert not server.status()["members"][0]["connected"]


def test_a_trainers_dry_run_shows_what_all_owners_have_left_and_costs_nothing(town, monkeypatch):
    town.start()
    trainer = town.config("trainer")
    monkeypatch.setattr(module, "TO_COME", 0.0)
    monkeypatch.setattr(module, "TO_CHECK", 60.0)
    assert [each["problems"] for each in checks(trainer)[3:]] == [
        ["it does not wait at server 0, server 1, server 2: is it running (privet mpc share)?"]
    ] * 2
    bank = with_limit(town, "bank", 0.25)
    with ThreadPoolExecutor(2) as pool:
        owners = town.owners(pool)
        monkeypatch.setattr(module, "TO_COME", 60.0)
        monkeypatch.setattr(module, "BETWEEN_CHECKS", 0.1)
        found = checks(trainer, Fraction(1, 2))  # waits for them
        assert [each["problems"] for each in found[:3]] == [[], [], []]
        assert {each["owner"]: (each["left"], each["limit"]) for each in found[3:]} == {
            "hospital": ("100", "100"), "bank": ("0.25", "0.25")
        }  # fmt: skip
        told = {each["owner"]: each["problems"] for each in found[3:]}
        assert told["hospital"] == []
        assert told["bank"] == ["it has epsilon 0.25 of 0.25 left, and this model needs 0.5"]
        assert checks(trainer, Fraction(1, 5))[4]["problems"] == []
        assert [server.ledger.spent for server in town.running] == [0] * 3
        assert LedgerFile(bank.ledger).lines() == []
        # Whoever was asked how it stands still waits, and takes part.
        model = train(trainer, "PrivateTreeClassifier", {"epsilon": 0.25, "max_depth": 1}).model
        assert model is not None
        assert all(owner.result() for owner in owners)
    (line,) = LedgerFile(bank.ledger).lines()
    assert line.amount <= Fraction(1, 4)


def with_limit(town, name, epsilon):
    path = town.folder / f"{name}.toml"
    path.write_text(re.sub(r"epsilon = .*", f"epsilon = {epsilon}", path.read_text()))
    return town.config(name)
