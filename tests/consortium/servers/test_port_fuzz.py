"""Whatever comes to a server's port: nothing breaks, nothing is charged, and memory and threads stay what they were."""

import contextlib
import json
import os
import random
import socket
import ssl
import threading
from pathlib import Path

import pytest

from consortium.servers.town import Town
from privet.consortium.net.channel import connect
from privet.errors import MpcError

MOST_GROWTH = 100 * 2**20


def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def noise(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.randrange(300))
    if kind == 1:
        return bytes([0x16, 3, 1]) + rng.randbytes(rng.randrange(400))  # looks like a handshake
    if kind == 2:
        return rng.randrange(2**64).to_bytes(8, "big") + rng.randbytes(50)  # a length that nobody means
    return rng.randbytes(2**14)


def words(rng):
    """What looks like a request, a dry run or how an owner stands, and is none, or is one that nobody may ask for."""
    odd = rng.choice([None, -1, "1e30000000", "1/0", [], {}, "x" * 3000, 2**70, float("nan"), True, "1/2"])
    names = rng.choice(
        [("check",), ("run", "model", "queries"), ("run", "model", "params", "seed", "hidden"), ("left",)]
    )
    return json.dumps({name: rng.choice([odd, "0" * 32, 7]) for name in names}).encode()


def stranger(address, rng, context):
    """Says something to the port, through TLS if there is a context, and leaves; how many messages went out."""
    said = 0
    with contextlib.suppress(OSError, ssl.SSLError), socket.create_connection(address, timeout=5) as plain:
        whole = plain if context is None else context.wrap_socket(plain)
        with whole as sock:
            for _ in range(rng.randrange(1, 4)):
                sock.sendall(noise(rng))
                said += 1
    return said


def known_one(config, rng, n):
    """Somebody whom the server knows says what it likes, as many messages as the line takes; how many went out."""
    peer, said = config.servers[0], 0
    for _ in range(n):
        with contextlib.suppress(MpcError):
            line = connect(peer.address, config.identity, peer.certificate, peer="server 0", timeout=30)
            with line:
                for _ in range(10):
                    line.send(rng.choice([noise, words])(rng))
                    said += 1
    return said


def fuzzed(folder, n):
    rng, town = random.Random(n), Town(folder, timeout=5)
    try:
        town.start()
        threads = threading.active_count()
        known = town.config("server0").servers[0].certificate
        eve = town.config("eve").identity.context(ssl.PROTOCOL_TLS_CLIENT, [known])
        known_one(town.config("ann"), rng, 2)  # what is made once is there
        before = memory()
        said = 0
        while said < n // 2:
            said += stranger(town.addresses[0], rng, rng.choice([eve, None]))
        while said < n:
            for name in ("bank", "ann", "trainer"):  # an owner, who waits to be asked, and two who ask
                said += known_one(town.config(name), rng, 5)
        grown = memory() - before
        print(
            f"{said:,} messages, memory grew by {grown / 2**20:.1f} MB, {threading.active_count() - threads:+} threads"
        )
        assert grown < MOST_GROWTH
        assert threading.active_count() <= threads + 10
        assert [server.ledger.spent for server in town.running] == [0] * 3
        assert [server.users.left("ann") for server in town.running] == [100] * 3
        public = town.learn()
        assert public["receipt"]
    finally:
        town.stop()
        town.held.close()


def test_what_comes_to_a_servers_port_breaks_nothing_and_costs_nothing(tmp_path):
    fuzzed(tmp_path, 200)


@pytest.mark.slow
def test_what_comes_to_a_servers_port_breaks_nothing_and_costs_nothing_however_much(tmp_path):
    fuzzed(tmp_path, 50_000)
