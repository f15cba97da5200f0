"""What operators of servers see, and those who ask them: from files, and whether servers can be reached."""

import pytest

from consortium.servers.town import OWNERS, Town
from privet.consortium.servers import status as module
from privet.consortium.servers.status import checks, status
from privet.consortium.servers.users import users_of
from privet.privacy.ledger import Ledger


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path)
    yield town
    town.stop()
    town.held.close()


def test_a_server_sees_its_limit_its_runs_its_users_and_its_models(town, tmp_path):
    config = town.config("server1")
    seen = status(config)
    assert (seen["server"], seen["limit"], seen["spent"], seen["left"], seen["runs"]) == (
        "server 1",
        "100",
        "0",
        "100",
        [],
    )
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
    assert all("cannot be reached" in each["problems"][0] for each in checks(town.config("ann")))
    town.start()
    monkeypatch.setattr(module, "TO_CHECK", 20.0)
    assert {each["knows this program as"] for each in checks(town.config("ann"))} == {"user ann"}
    assert {each["knows this program as"] for each in checks(town.config(OWNERS[0]))} == {f"owner {OWNERS[0]}"}
    assert all("does not know eve.crt" in each["problems"][0] for each in checks(town.config("eve")))
    assert len(checks(town.config("server0"))) == 2
