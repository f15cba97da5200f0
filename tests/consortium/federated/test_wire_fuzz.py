"""Whatever comes to the coordinator's port, and whatever a coordinator sends: nothing breaks and nothing is charged.

Strangers send bytes, with TLS and without; a party whose certificate is right says what it likes; and a coordinator
whose certificate is right asks whatever comes to its mind. Afterwards the same processes train as if nothing had been.
"""

import math
import os
import random
import socket
import ssl
import threading
from fractions import Fraction
from pathlib import Path

import grpc
import pytest

from consortium.federated.owners import GRID, SCHEMA, TABLES, asking, table
from consortium.federated.wired import line, switchboard
from delayed import Delayed
from held_ports import HERE
from privet import Ledger
from privet.consortium.federated.identity import Identity, certified
from privet.consortium.federated.line import CHECK, METHOD, SERVICE, tag
from privet.consortium.federated.party import CANNOT_ANSWER, Party
from privet.consortium.federated.wire import pack, unpack
from privet.consortium.net.certificates import make_certificate
from privet.questions.tally import Tally

NAMES = ("a", "b", "c")
MOST_GROWTH = 200 * 2**20
"""Bytes of memory that all of it together may take; what comes is many times that."""


def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def noise(rng):
    """Bytes: random, cut off, the beginning of something that is known, or long."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(rng.randrange(200))
    if kind == 1:
        return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(rng.randrange(300))
    if kind == 2:
        return pack({"do": rng.choice(["join", "ask", "sign", "keep", "x"])}, rng.randbytes(9))
    if kind == 3:
        return bytes([0x16, 3, 1]) + rng.randbytes(rng.randrange(400))  # looks like a handshake
    if kind == 4:
        frame = rng.randrange(2**14)
        head = frame.to_bytes(3, "big") + rng.randbytes(1) + rng.randbytes(1) + rng.randbytes(4)
        return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9) + head + rng.randbytes(min(frame, 500))
    return rng.randbytes(2**16)


def stranger(town, rng, context=None):
    """Says something to the port, through TLS if there is a context, and leaves."""
    try:
        with socket.create_connection((HERE, town.port), timeout=5) as plain:
            whole = plain if context is None else context.wrap_socket(plain, server_hostname=HERE)
            with whole as sock:
                sock.settimeout(0.05)
                sock.sendall(noise(rng))
                sock.recv(1000)
    except (OSError, ssl.SSLError):
        pass


def hostile_party(town, rng, n):
    """A party's own certificate, and answers to what nobody asked; returns once ``n`` of them went out."""
    own = (town.folder / "a.key").read_bytes(), (town.folder / "a.crt").read_bytes()
    credentials = grpc.ssl_channel_credentials((town.folder / "coordinator.crt").read_bytes(), *own)
    named = [("grpc.ssl_target_name_override", HERE)]
    with grpc.secure_channel(f"{HERE}:{town.port}", credentials, named) as channel:
        sent = 0

        def says(most):
            nonlocal sent
            for _ in range(most):
                sent += 1
                yield rng.choice([b"", tag(b"x")]) + noise(rng)

        while sent < n:
            others = (f"/{SERVICE}/{CHECK}", f"/{SERVICE}/Other", "/grpc.health.v1.Health/Check")
            for method, most in ((f"/{SERVICE}/{METHOD}", n - sent), *((other, 100) for other in others)):
                squeezed = rng.choice([grpc.Compression.Gzip, grpc.Compression.NoCompression])
                try:
                    list(channel.stream_stream(method)(says(most), timeout=60, compression=squeezed))
                except grpc.RpcError:
                    continue
        return sent


def context_of(folder, name):
    context = ssl.create_default_context(cafile=str(folder / "coordinator.crt"))
    context.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
    context.set_alpn_protocols(["h2"])
    return context


def fuzzed(folder, n):
    """``n`` messages of every kind, in the middle of a run; then the run goes to its end, and costs what it should."""
    rng = random.Random(n)
    parties = {}

    def to(name):
        return lambda message: parties[name].handle(message)

    with switchboard(folder, {name: to(name) for name in NAMES}) as (town, board):
        own = {name: Identity.read(name, folder / f"{name}.key", folder / f"{name}.crt") for name in NAMES}
        known = {name: certified(certificate) for name, certificate in town.parties.items()}
        for i, name in enumerate(NAMES):
            parties[name] = Party(own[name], *table(30, i), SCHEMA, known, limit=Fraction(1), state=folder / name)
        curator = asking(SCHEMA, board, ledger=Ledger(math.inf))
        curator.grid(GRID)
        root = curator.root(Fraction(1, 2))
        curator.tally({root: Tally(TABLES)}, Fraction(1, 4))
        spent = {name: party._spent_elsewhere("") for name, party in parties.items()}

        make_certificate("eve", folder)
        contexts = [None, context_of(folder, "eve"), context_of(folder, "a")]
        before, threads = memory(), threading.active_count()
        for i in range(n // 10):
            stranger(town, rng, contexts[i % len(contexts)])
        said = n // 10 + hostile_party(town, rng, n // 2)
        for _ in range(n // 5):  # and a hostile coordinator: the channel brings whatever it is given
            heard = board.ask({name: noise(rng) for name in NAMES[1:]})
            assert set(heard) == set(NAMES[1:])
            for answer in heard.values():
                assert unpack(answer)[0]["refused"] != CANNOT_ANSWER
            said += len(heard)
        grown, refused = memory() - before, board.status()["refused connections"]
        print(f"{said:,} messages, memory grew by {grown / 2**20:.1f} MB, {refused:,} connections noted as refused")
        assert said >= n
        assert grown < MOST_GROWTH
        assert threading.active_count() <= threads + 20  # gRPC's own, not one for each

        assert {name: party._spent_elsewhere("") for name, party in parties.items()} == spent
        curator.tally({root: Tally(TABLES)}, Fraction(1, 4))
        assert {party._spent_elsewhere("") for party in parties.values()} == {Fraction(1, 2)}
        for party in parties.values():
            party.close()


def test_what_comes_to_the_port_breaks_nothing_and_costs_nothing(tmp_path):
    fuzzed(tmp_path, 300)


@pytest.mark.slow
def test_what_comes_to_the_port_breaks_nothing_and_costs_nothing_however_much(tmp_path):
    fuzzed(tmp_path, 50_000)


def test_bytes_that_are_flipped_on_the_way_end_the_line_and_nothing_else(tmp_path):
    """TLS sees to it; the party dials again, and the answer is the same."""
    rng = random.Random(1)

    class Flipping(Delayed):
        flips = 3

        def changed(self, data):
            if self.flips and len(data) > 100 and b"PRI" not in data:
                self.flips -= 1
                place = rng.randrange(len(data))
                return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
            return data

    with (
        switchboard(tmp_path, {"a": None}, wait=0.1, timeout=60.0) as (town, board),
        Flipping(town.port) as wire,
        line(town.party("a", address=(HERE, wire.port)), lambda message: message),
    ):
        board._config.__dict__["wait"] = 60.0
        board._await_parties()
        wire.flips = 3
        assert board.ask({"a": b"hello" * 1000}) == {"a": b"hello" * 1000}
