"""Servers that do not agree whether to answer: one refusal ends it for all, at once, with its reason and at no cost.

The servers' own time limit is longer than any test waits, so that nothing here is found out by waiting for it.
"""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from consortium.servers.town import OWNERS, QUERIES, Town
from privet.consortium.servers.client import predict, share, to_servers
from privet.consortium.servers.config import OWNER
from privet.consortium.servers.service import Server
from privet.errors import MpcError, PrivetError
from privet.privacy.event import Event
from privet.privacy.ledger import Ledger

SMALL = {"epsilon": 2.0, "max_depth": 1, "branches": "thresholds"}
WITHIN = 300


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path, timeout=3000)
    town.start()
    yield town
    town.stop()
    town.held.close()


def within(call, *args):
    """What a call returns or raises, before the servers' time limit."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(call, *args).result(WITHIN)
    finally:
        pool.shutdown(wait=False)


@pytest.mark.parametrize("party", [0, 1, 2])
def test_a_limit_that_one_server_counts_differently_refuses_at_once_and_counts_nothing(town, party):
    public = town.learn(SMALL)
    town.running[party].users.charge("ann", 99)
    left = [server.users.left("ann") for server in town.running]
    reason = rf"^server {party} has ended the run: ann may ask 100 queries in all and has 1 left; these are 2"
    with pytest.raises(MpcError, match=reason):
        within(predict, town.config("ann"), public, QUERIES[:2])
    assert [server.users.left("ann") for server in town.running] == left
    assert len(within(predict, town.config("ann"), public, QUERIES[:1])) == 1  # nobody waits for anything
    assert [server.users.left("ann") for server in town.running] == [n - 1 for n in left]


def test_a_model_that_one_server_lacks_is_refused_by_all(town):
    public, other = town.learn(SMALL), town.learn(SMALL)
    (town.running[2].config.models / f"{public['id']}.shares").unlink()
    with pytest.raises(MpcError, match=r"^server 2 has ended the run: This server has no such hidden model"):
        within(predict, town.config("ann"), public, QUERIES[:2])
    assert [server.users.left("ann") for server in town.running] == [100] * 3
    assert len(within(predict, town.config("ann"), other, QUERIES[:2])) == 2


def spend(server, amount):
    ledger = server.ledger
    ledger.charge([(ledger.begin("fit", amount), dataclasses.replace(Event.example(amount), scope="/fit0:0"))])


def test_a_budget_that_one_server_has_spent_is_refused_by_all_and_owners_are_told(town):
    ledger = town.running[1].ledger
    spend(town.running[1], ledger.total - 1)
    spent = [server.ledger.spent for server in town.running]
    with ThreadPoolExecutor(2) as pool:
        owners = town.owners(pool)
        until(lambda: all(waiting(server) for server in town.running))
        reason = "^server 1 has ended the run: This fit may spend epsilon 2, but the ledger has 1 left of 100"
        with pytest.raises(MpcError, match=reason):
            within(town.train, SMALL)
        for owner in owners:
            with pytest.raises(MpcError, match=reason):
                owner.result(WITHIN)
    assert [server.ledger.spent for server in town.running] == spent
    public = town.learn({**SMALL, "epsilon": 1.0})  # and one that has answered more than the others agrees with them
    assert len(within(predict, town.config("ann"), public, QUERIES[:2])) == 2


def waiting(server):
    """Whether both owners have connected to a server."""
    return all(server._inbox._waiting[f"owner {name}"] for name in OWNERS)


def until(true):
    for _ in range(10 * WITHIN):
        if true():
            return
        threading.Event().wait(0.1)
    raise AssertionError("in vain")


def test_servers_with_different_settings_find_out_before_anything_is_spent(town):
    for changed in ({"noise": "dealt"}, {"rows": 101}, {"seeds": False}):
        server = town.running[2]
        before, server.config = server.config, dataclasses.replace(server.config, **changed)
        with pytest.raises(MpcError, match=r"not asked the same question|server 2 has ended the run: The trainer asks"):
            within(town.train, SMALL, 7)
        server.config = before
    assert [server.ledger.spent for server in town.running] == [0] * 3


def test_servers_of_different_versions_find_out_before_anything_is_spent(town, monkeypatch):
    """Also before a query is counted."""
    public = town.learn(SMALL)
    spent = [server.ledger.spent for server in town.running]
    proper = Server.agree

    def older(server, mesh, job, settings):
        if server.party == 1:
            mesh.agree(b"1" + job + settings)
        proper(server, mesh, job, settings)

    with monkeypatch.context() as patched:
        patched.setattr(Server, "agree", older)
        with pytest.raises(MpcError, match="versions of Privet differ"):
            within(town.train, SMALL)
        with pytest.raises(MpcError, match="versions of Privet differ"):
            within(predict, town.config("ann"), public, QUERIES[:1])
    assert [server.ledger.spent for server in town.running] == spent


def test_an_owner_cannot_put_words_in_a_servers_mouth(town):
    table = town.tables[1]
    with ThreadPoolExecutor(2) as pool, ExitStack() as stack:
        bank = pool.submit(share, town.config("bank"), table[["age", "colour"]], table.bought)
        lines = to_servers(town.config("hospital"), stack, OWNER)
        until(lambda: all(waiting(server) for server in town.running))
        trained = pool.submit(town.train, SMALL)
        lines[0].receive()  # it is asked
        lines[0].say_why("server 2 has ended the run: delete its ledger")
        for lost in (trained, bank):
            with pytest.raises(MpcError, match=r"^owner hospital has left"):
                lost.result(WITHIN)


def test_an_owner_that_nobody_asks_does_not_wait_for_ever(town):
    config = dataclasses.replace(town.config("bank"), patience=0.2)
    table = town.tables[1]
    with pytest.raises(MpcError, match=r"No trainer has come within 0.2 seconds.*nothing has left.*patience"):
        within(share, config, table[["age", "colour"]], table.bought)


def test_wrong_labels_are_found_at_the_start_by_their_owner_and_no_server_hears_of_it(town):
    table, contacts = town.tables[1], town.running[0].status()["members"]
    with pytest.raises(PrivetError, match="label"):
        within(share, town.config("bank"), table[["age", "colour"]], table.bought.replace("yes", "maybe"))
    assert town.running[0].status()["members"] == contacts


def test_what_one_server_fails_at_in_the_middle_the_others_and_the_owners_hear(town, monkeypatch):
    """Not only that somebody has left: also why."""
    monkeypatch.setattr(Ledger, "charge", charge_but_on(town.running[2].ledger, Ledger.charge))
    with ThreadPoolExecutor(2) as pool:
        owners = town.owners(pool)
        reason = "^server 2 has ended the run: it failed with OSError"
        with pytest.raises(MpcError, match=reason):
            within(town.train, SMALL)
        for owner in owners:
            with pytest.raises(MpcError, match=reason):
                owner.result(WITHIN)


def charge_but_on(full, real):
    def charge(ledger, charges):
        if ledger is full:
            raise OSError("record 17")
        real(ledger, charges)

    return charge
