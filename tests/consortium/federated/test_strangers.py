"""Who called the coordinator's port and was no party: counted, and named where the kernel knows them."""

import socket
import sys

import pytest

from privet.consortium.federated import strangers as module
from privet.consortium.federated.strangers import MOST_NAMED, SETTLED, Strangers, connected, peer_of


@pytest.fixture
def world(monkeypatch):
    """A clock that is set, and a table of who is connected."""

    class World:
        now, here = 1000.0, frozenset()

    monkeypatch.setattr(module.time, "monotonic", lambda: World.now)
    monkeypatch.setattr(module, "connected", lambda port: set(World.here))
    return World


def test_who_has_not_called_in_time_was_refused_and_is_named(world, caplog):
    strangers = Strangers(9443)
    world.here = {("10.0.0.7", 41000), ("10.0.0.8", 41000)}
    strangers.began()
    world.now += 1
    strangers.began()
    strangers.recognized("ipv4:10.0.0.8:41000")
    strangers.recognized("ipv4:10.0.0.8:41000")  # a second call on the same line
    strangers.look()
    assert strangers.refused == 0
    world.now += SETTLED + 1
    strangers.look()
    strangers.look()
    assert strangers.refused == 1
    (record,) = caplog.records
    assert record.getMessage() == (
        "refused 1 connections from 10.0.0.7: they have not shown a party's certificate; 1 refused so far"
    )


def test_many_strangers_are_one_line_a_look_and_nothing_is_kept_of_them(world, caplog):
    strangers = Strangers(9443)
    for i in range(5000):
        world.now += 0.001
        world.here = {(f"10.0.{i // 250}.{i % 250}", 1), ("10.1.1.1", 2)}
        strangers.began()
    strangers.recognized("ipv6:%5B::ffff:10.1.1.1%5D:2")
    world.now += SETTLED + 1
    strangers.look()
    (record,) = caplog.records
    assert "refused 4999 connections from 10.0.0.0, " in record.getMessage()
    assert record.getMessage().count("10.0.") == MOST_NAMED
    assert ", and others:" in record.getMessage()
    assert (len(strangers._begun), len(strangers._seen)) == (0, 0)
    world.here = {("10.2.2.2", 3)}
    strangers.look()
    assert strangers._recognized == set()  # a line that has ended


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's table is Linux's")
@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_kernel_says_who_is_connected(family, host):
    if family == socket.AF_INET6 and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        assert connected(port) == set()
        with socket.create_connection((host, port)) as one, server.accept()[0]:
            assert connected(port) == {(host, one.getsockname()[1])}


@pytest.mark.parametrize(
    ("said", "peer"),
    [
        ("ipv4:10.0.0.7:41234", ("10.0.0.7", 41234)),
        ("ipv6:%5B2001:db8::7%5D:41234", ("2001:db8::7", 41234)),
        ("ipv6:[::ffff:10.0.0.7]:41234", ("10.0.0.7", 41234)),
        ("unix:", ("", 0)),
    ],
)
def test_what_grpc_calls_a_peer_is_read(said, peer):
    assert peer_of(said) == peer
