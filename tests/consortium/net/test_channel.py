"""Mutual TLS with pinned certificates: who is let in, and what becomes of a bit flipped in transit."""

import contextlib
import os
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from consortium.net.flipping import FlippingProxy
from privet.consortium.net import channel
from privet.consortium.net.certificates import fingerprint, make_certificate
from privet.consortium.net.channel import (
    MOST_WORDS,
    Listener,
    RunEndedError,
    TlsChannel,
    TlsIdentity,
    connect,
    receive_all,
    wait_any,
)
from privet.consortium.net.links import Inbox
from privet.errors import MpcError


class People:
    """Certificates by name, made on demand."""

    def __init__(self, folder):
        self.folder = folder

    def identity(self, name, **options):
        key, certificate = make_certificate(name, self.folder, **options)
        return TlsIdentity(key, certificate)

    def certificate(self, name):
        return (self.folder / f"{name}.crt").read_bytes()


@pytest.fixture
def people(tmp_path):
    return People(tmp_path)


@contextlib.contextmanager
def listening(identity, known):
    inbox = Inbox()
    listener = Listener(("127.0.0.1", 0), identity, known, inbox.welcome, timeout=60)
    try:
        yield listener, inbox
    finally:
        listener.close()


def until(condition):
    """Wait for what another thread is about to do."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_two_programs_that_know_each_other_talk_over_tls_1_3(people):
    alice, bob = people.identity("alice"), people.identity("bob")
    with listening(alice, {"bob": people.certificate("bob")}) as (listener, inbox):
        there = connect(listener.address, bob, people.certificate("alice"), peer="alice", timeout=60)
        here = inbox.get("bob", 60)
        there.send(b"hello")
        assert here.receive() == b"hello"
        here.send(b"x" * 100_000)
        assert there.receive() == b"x" * 100_000
        assert there._socket.version() == "TLSv1.3"


def test_one_who_cannot_be_greeted_keeps_nobody_else_out(people, caplog):
    alice, bob, carol = (people.identity(name) for name in ("alice", "bob", "carol"))
    known, inbox = {name: people.certificate(name) for name in ("bob", "carol")}, Inbox()

    def tells(name):
        return {} if name == "carol" else {"says": (people.folder / "no such file").read_text()}

    listener = Listener(("127.0.0.1", 0), alice, known, inbox.welcome, timeout=60, tells=tells)
    try:
        with pytest.raises(MpcError):
            connect(listener.address, bob, people.certificate("alice"), peer="alice", timeout=60)
        there = connect(listener.address, carol, people.certificate("alice"), peer="alice", timeout=20)
        there.send(b"hello")
        assert inbox.get("carol", 60).receive() == b"hello"
    finally:
        listener.close()
    assert "bob cannot be greeted" in caplog.text


@pytest.mark.parametrize("how", ["foreign", "expired", "not yet valid", "none"])
def test_a_client_without_an_agreed_and_valid_certificate_is_refused(people, how, caplog):
    alice = people.identity("alice")
    old = {"start": datetime.now(UTC) - timedelta(days=30), "days": 10}
    late = {"start": datetime.now(UTC) + timedelta(days=30), "days": 10}
    bob = people.identity("bob", **{"expired": old, "not yet valid": late}.get(how, {}))
    if how == "foreign":
        bob = people.identity("mallory")
    with listening(alice, {"bob": people.certificate("bob")}) as (listener, inbox):
        if how == "none":
            context = ssl.create_default_context(cadata=people.certificate("alice").decode())
            context.check_hostname = False
            with contextlib.suppress(OSError), socket.create_connection(listener.address) as raw:
                context.wrap_socket(raw).recv(1)
        else:
            with pytest.raises(
                MpcError, match=f"alice has refused this program: it does not know {bob.certificate.name}"
            ):
                connect(listener.address, bob, people.certificate("alice"), peer="alice", timeout=60)
        until(lambda: listener.refused)
        with pytest.raises(MpcError, match="not connected"):
            inbox.get("bob", 0.2)
        assert listener.refused == 1
        assert "refused 127.0.0.1: " in caplog.text
        says = {"foreign": "VERIFY", "expired": "VERIFY", "not yet valid": "VERIFY", "none": "PEER_DID_NOT_RETURN"}
        assert says[how] in caplog.text  # what the library says of it


def test_strangers_who_say_nothing_hold_no_threads_and_keep_nobody_out(people, monkeypatch, caplog):
    alice, bob = people.identity("alice"), people.identity("bob")
    monkeypatch.setattr(channel, "MOST_GREETED", 100)
    with listening(alice, {"bob": people.certificate("bob")}) as (listener, inbox):
        before = threading.active_count()
        idle = [socket.create_connection(listener.address) for _ in range(150)]
        there = connect(listener.address, bob, people.certificate("alice"), peer="alice", timeout=60)
        assert there.known_as == "bob"
        assert threading.active_count() < before + 10  # threads of other tests come and go meanwhile
        assert listener.refused >= 51  # the oldest, as there came more
        assert caplog.text.count("refused") < 25  # not a line for each
        there.send(b"hello")
        assert inbox.get("bob", 60).receive() == b"hello"
        for one in idle:
            one.close()


FEW_FILES = """
import resource, sys
from pathlib import Path
from privet.consortium.net.channel import Listener, TlsIdentity
folder = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
own = TlsIdentity(folder / "alice.key", folder / "alice.crt")
known = {"bob": (folder / "bob.crt").read_bytes()}
listener = Listener(("127.0.0.1", 0), own, known, lambda name, channel: channel.send(channel.receive()), timeout=60)
print(listener.address[1], flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of processes")
def test_strangers_keep_nobody_out_of_a_process_that_may_hold_few_files(people):
    people.identity("alice")
    bob = people.identity("bob")
    command = [sys.executable, "-c", FEW_FILES, str(people.folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as server, contextlib.ExitStack() as idle:
        address = "127.0.0.1", int(server.stdout.readline())
        for _ in range(150):
            idle.enter_context(socket.create_connection(address))
        with connect(address, bob, people.certificate("alice"), peer="alice", timeout=15) as there:
            there.send(b"hello")
            assert there.receive() == b"hello"
        server.stdin.close()


def test_who_takes_too_long_to_say_who_it_is_is_dropped(people, monkeypatch, caplog):
    alice = people.identity("alice")
    monkeypatch.setattr(channel, "TO_GREET", 0.1)
    with listening(alice, {"bob": alice.certificate.read_bytes()}) as (listener, _):
        with socket.create_connection(listener.address, timeout=60) as idle:
            assert idle.recv(1) == b""
        assert "has not said who it is in time" in caplog.text


@pytest.mark.parametrize("how", ["foreign", "expired"])
def test_a_server_without_the_pinned_and_valid_certificate_is_refused(people, how):
    old = {"start": datetime.now(UTC) - timedelta(days=30), "days": 10}
    alice, bob = people.identity("alice", **(old if how == "expired" else {})), people.identity("bob")
    impostor = people.identity("mallory") if how == "foreign" else alice
    with listening(impostor, {"bob": people.certificate("bob")}) as (listener, _):  # noqa: SIM117
        with pytest.raises(MpcError, match="certificate"):
            connect(listener.address, bob, people.certificate("alice"), peer="alice", timeout=60)


def issued_by(people, name, key):
    """A certificate that an agreed one's key has signed, and its own key."""
    issuer = x509.load_pem_x509_certificate(people.certificate(name))
    own = ec.generate_private_key(ec.SECP256R1())
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mallory")]))
        .issuer_name(issuer.subject)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .sign(serialization.load_pem_private_key(key.read_bytes(), None), hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    written = people.folder / "issued.key", people.folder / "issued.crt"
    written[0].write_bytes(own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    written[1].write_bytes(made.public_bytes(pem))
    return TlsIdentity(*written)


def test_a_certificate_that_an_agreed_one_has_signed_is_not_the_agreed_one(people):
    """The agreed ones are the roots of a context, so that only the comparison with them tells the difference."""
    alice, bob = people.identity("alice"), people.identity("bob")
    with listening(alice, {"bob": people.certificate("bob")}) as (listener, inbox):
        with contextlib.suppress(MpcError):
            connect(
                listener.address,
                issued_by(people, "bob", bob.key),
                people.certificate("alice"),
                peer="alice",
                timeout=60,
            ).receive()
        until(lambda: listener.refused)
        with pytest.raises(MpcError, match="not connected"):
            inbox.get("bob", 0.2)
        assert listener.refused == 1
    with listening(issued_by(people, "alice", alice.key), {"bob": people.certificate("bob")}) as (listener, _):  # noqa: SIM117
        with pytest.raises(MpcError, match="certificate"):
            connect(listener.address, bob, people.certificate("alice"), peer="alice", timeout=60)


def test_an_older_tls_is_refused(people):
    alice, bob = people.identity("alice"), people.identity("bob")
    with listening(alice, {"bob": people.certificate("bob")}) as (listener, _):
        context = bob.context(ssl.PROTOCOL_TLS_CLIENT, [people.certificate("alice")])
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        with socket.create_connection(listener.address) as raw, pytest.raises(ssl.SSLError):
            context.wrap_socket(raw)


@pytest.mark.parametrize("bit", range(8))
def test_a_bit_flipped_in_transit_always_ends_in_an_abort(people, bit):
    """Every bit of a record: its header with the length, the message, its length, and the tag."""
    alice, bob = people.identity("alice"), people.identity("bob")
    message = b"shares"
    record = 5 + 8 + len(message) + 1 + 16
    with listening(alice, {"bob": people.certificate("bob")}) as (listener, inbox):
        for at in range(record):
            with FlippingProxy(listener.address) as proxy:
                there = connect(proxy.address, bob, people.certificate("alice"), peer="alice", timeout=60)
                here = inbox.get("bob", 60)
                there.send(b"all is well")
                assert here.receive() == b"all is well"
                proxy.flip = 8 * at + bit
                there.send(message)
                until(lambda: proxy.flip is None)
                there.close()  # a flipped length makes the record look longer than it is: nothing more will come
                with pytest.raises(MpcError):
                    here.receive()
                with pytest.raises(MpcError):
                    here.send(b"nothing more")


def test_a_message_longer_than_agreed_ends_the_link():
    one, two = socket.socketpair(socket.AF_INET) if os.name == "nt" else _tcp_pair()
    TlsChannel(one, 5).send(b"12345")
    with pytest.raises(MpcError, match="more than it should"):
        TlsChannel(two, 5, "bob").receive(4)


def test_a_message_that_comes_in_drops_ends_the_link():
    one, two = _tcp_pair()
    done = threading.Event()

    def drip():
        with contextlib.suppress(OSError):
            one.sendall((100).to_bytes(8, "big"))
            while not done.wait(0.05):
                one.sendall(b"x")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with pytest.raises(RunEndedError, match="has not answered in time"):
            TlsChannel(two, 60, "bob").receive(within=0.5)
    finally:
        done.set()
        dripping.join()
        one.close()


def test_whoever_waits_for_several_is_patient_until_one_speaks():
    pairs = [_tcp_pair() for _ in range(3)]
    mine, theirs = ([TlsChannel(pair[i], 60, f"server {k}") for k, pair in enumerate(pairs)] for i in range(2))
    threading.Timer(0.3, lambda: [line.send(b"hello") for line in theirs]).start()
    assert receive_all(mine, timeout=60) == [b"hello"] * 3  # nobody speaks at first
    theirs[0].send(b"again")
    theirs[2].send(b"again")
    with pytest.raises(RunEndedError, match="server 1 has not answered"):
        receive_all(mine, timeout=0.2)


@pytest.mark.parametrize("says_why", [True, False])
def test_whoever_waits_for_several_does_not_wait_for_the_others_once_one_has_left(says_why):
    pairs = [_tcp_pair() for _ in range(3)]
    mine, theirs = ([TlsChannel(pair[i], 600, f"server {k}") for k, pair in enumerate(pairs)] for i in range(2))
    theirs[0].send(b"hello")
    theirs[1].leave("it is late") if says_why else theirs[1].close()
    with pytest.raises(RunEndedError, match=r"^it is late$" if says_why else "server 1 has left"):
        receive_all(mine, timeout=600)


def _tcp_pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


def test_keys_are_readable_by_their_owner_alone_and_never_overwritten(tmp_path):
    key, certificate = make_certificate("alice", tmp_path)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    with pytest.raises(MpcError, match="exists"):
        make_certificate("alice", tmp_path)
    der = ssl.PEM_cert_to_DER_cert(certificate.read_text())
    assert fingerprint(der) == fingerprint(certificate.read_bytes())


def test_whoever_leaves_is_heard_also_by_one_who_was_speaking(people):
    """What it has not read would reset the connection, and its last words would be lost with it."""
    alice, bob = people.identity("alice"), people.identity("bob")
    with listening(alice, {"bob": people.certificate("bob")}) as (listener, inbox):
        for said in (b"", b"x" * 5_000_000):
            there = connect(listener.address, bob, people.certificate("alice"), peer="alice", timeout=60)
            here = inbox.get("bob", 60)
            speaking = threading.Thread(target=there.send, args=(said,))
            speaking.start()
            here.send(b"first")
            here.leave("for a reason")
            here.close()  # which does not cut it short
            speaking.join(20)
            assert there.receive() == b"first"
            with pytest.raises(RunEndedError, match=r"^for a reason$"):
                there.receive()


def test_last_words_of_whoever_is_no_server_are_not_passed_on():
    mine, theirs = (TlsChannel(end, 5, "owner bank") for end in _tcp_pair())
    theirs.heeded = False
    mine.say_why("server 2 has ended the run: delete its ledger")
    with pytest.raises(RunEndedError, match=r"^owner bank has left\. The run has ended\.$"):
        theirs.receive()


def test_last_words_are_few_and_no_commands_to_a_terminal():
    mine, theirs = (TlsChannel(end, 5) for end in _tcp_pair())
    mine.say_why("a\x1b[2Jb" + "\u00e9" * MOST_WORDS)
    with pytest.raises(RunEndedError) as heard:
        theirs.receive()
    assert str(heard.value).startswith("a [2Jb\u00e9")
    assert str(heard.value).isprintable()
    assert len(str(heard.value)) <= MOST_WORDS


def test_one_can_wait_for_anybody_and_give_up():
    pairs = [_tcp_pair() for _ in range(2)]
    mine, theirs = ([TlsChannel(pair[i], 5) for pair in pairs] for i in range(2))
    assert not wait_any(mine, 0.05)
    theirs[1].send(b"here")
    assert wait_any(mine, 5)
    theirs[0].close()
    assert wait_any(mine[:1], 5)
