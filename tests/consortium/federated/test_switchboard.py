"""The coordinator's end of the wire: who gets in, whose answers count, and what a broken line costs."""

import logging
import socket
import ssl
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from consortium.federated.wired import line, switchboard
from delayed import Delayed
from held_ports import HERE
from privet.consortium.federated import strangers
from privet.consortium.federated import switchboard as module
from privet.consortium.federated.line import METHOD, SERVICE, PartyLine, tag
from privet.consortium.federated.switchboard import Switchboard
from privet.consortium.net.certificates import make_certificate
from privet.errors import FederatedError


def backwards(message):
    return message[::-1]


def calls(town, key, certificate, messages=(), timeout=60, **options):
    """What whoever shows this certificate hears: the code of the end, or what comes."""
    credentials = grpc.ssl_channel_credentials((town.folder / "coordinator.crt").read_bytes(), key, certificate)
    named = [("grpc.ssl_target_name_override", HERE)]
    with grpc.secure_channel(f"{HERE}:{town.port}", credentials, named) as channel:
        call = channel.stream_stream(f"/{SERVICE}/{METHOD}")(iter(messages), timeout=timeout, **options)
        try:
            return list(call)
        except grpc.RpcError as error:
            return error.code()


def own(town, name):
    return (town.folder / f"{name}.key").read_bytes(), (town.folder / f"{name}.crt").read_bytes()


def test_answers_come_by_party_to_the_byte_and_who_never_came_is_not_waited_for(tmp_path):
    said = []
    with switchboard(tmp_path, {"a": backwards, "b": backwards, "c": None}, said, wait=0.1) as (_, board):
        assert board.parties == ("a", "b", "c")
        board._await_parties()
        assert said[-1] == "waiting for c"
        long = bytes(range(256)) * 20_000
        assert board.ask({"a": b"xyz", "b": long, "c": b"?"}) == {"a": b"zyx", "b": long[::-1]}
        assert board.ask({}) == {}


def test_who_is_too_slow_has_not_answered_and_its_late_answer_counts_for_the_same_bytes_alone(tmp_path):
    go = threading.Event()

    def slow(message):
        go.wait(60)
        return message

    with switchboard(tmp_path, {"a": slow}, timeout=0.5) as (_, board):
        assert board.ask({"a": b"one"}) == {}
        assert board.ask({"a": b"two"}) == {}
        board._config.__dict__["timeout"] = 60.0  # from here on it answers, and the machine may be busy
        threading.Timer(0.1, go.set).start()
        assert board.ask({"a": b"one"}) == {"a": b"one"}
        assert board.ask({"a": b"three"}) == {"a": b"three"}


def test_a_line_that_breaks_while_a_party_is_asked_costs_nothing_but_time(tmp_path):
    asked = []

    def answer(message):
        asked.append(message)
        if len(asked) == 1:
            wire.cut()
        return message

    with (
        switchboard(tmp_path, {"a": None}, wait=0.1) as (town, board),
        Delayed(town.port) as wire,
        line(town.party("a", address=(HERE, wire.port)), answer),
    ):
        board._config.__dict__["wait"] = 60.0
        board._await_parties()
        assert board.ask({"a": b"hello"}) == {"a": b"hello"}
    assert asked == [b"hello", b"hello"]


@pytest.mark.slow
def test_a_party_that_nobody_asks_for_long_keeps_its_line(tmp_path):
    """It pings as the options say, and the coordinator allows it: gRPC would end it after 100 seconds."""
    said = []
    with (
        switchboard(tmp_path, {"a": None}, wait=0.1) as (town, board),
        line(town.party("a"), backwards, said),
    ):
        board._config.__dict__["wait"] = 20.0
        board._await_parties()
        time.sleep(150)
        assert len(said) == 1, said
        assert board.ask({"a": b"xyz"}) == {"a": b"zyx"}


def test_who_left_and_stays_away_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "AWAY", 0.3)
    with switchboard(tmp_path, {"a": None}, wait=0.1) as (town, board):
        assert calls(town, *own(town, "a"), messages=[b"x"]) == []  # comes and goes
        assert board.ask({"a": b"?"}) == {}


def test_the_newest_line_of_a_party_is_the_one_that_counts(tmp_path):
    with switchboard(tmp_path, {"a": backwards}) as (town, board), line(town.party("a"), lambda message: b"newer"):
        end = time.monotonic() + 60
        while board.ask({"a": b"?!"}) != {"a": b"newer"}:  # both dial again and again, and take turns
            assert time.monotonic() < end


def test_who_shows_no_partys_certificate_does_not_get_in(tmp_path, caplog):
    caplog.set_level(logging.INFO, "privet.coordinator")
    with switchboard(tmp_path, {"a": backwards}) as (town, board):
        make_certificate("eve", tmp_path / "eve")
        for key, certificate in (
            ((tmp_path / "eve" / "eve.key").read_bytes(), (tmp_path / "eve" / "eve.crt").read_bytes()),
            (None, None),
        ):
            assert calls(town, key, certificate) is grpc.StatusCode.UNAVAILABLE
        assert "refused" not in caplog.text  # they do not get so far that the certificate is compared
        assert calls(town, *signed_by(town, "a")) is grpc.StatusCode.UNAUTHENTICATED
        assert "it shows a certificate that is no party's" in caplog.text
        assert board.ask({"a": b"xyz"}) == {"a": b"zyx"}
        assert PartyLine(town.party("a"), bytes).check() == ""  # a party's dry run is no stranger's call


def test_strangers_are_counted_and_noted_with_their_addresses_and_parties_are_not(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(strangers, "SETTLED", 1.0)
    monkeypatch.setattr(strangers, "BETWEEN_LOOKS", 0.0)  # all three call within moments
    with switchboard(tmp_path, {"a": backwards}) as (town, board):
        make_certificate("eve", tmp_path)
        assert calls(town, *own(town, "eve")) is grpc.StatusCode.UNAVAILABLE
        with socket.create_connection((HERE, town.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            plain.recv(100)
        assert PartyLine(town.party("a"), bytes).check() == ""
        end = time.monotonic() + 60
        while board.status()["refused connections"] < 2:
            assert time.monotonic() < end, caplog.text
            time.sleep(0.05)
        assert board.ask({"a": b"xyz"}) == {"a": b"zyx"}
    said = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]
    where = f" from {HERE}" if sys.platform == "linux" else ""
    assert f"connections{where}: they have not shown a party's certificate; " in said[0]


def signed_by(town, name):
    """A certificate in a party's own name that its key, which is a root here, vouches for."""
    root = x509.load_pem_x509_certificate(own(town, name)[1])
    signer = serialization.load_pem_private_key(own(town, name)[0], None)
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "b")]))
        .issuer_name(root.subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(signer, hashes.SHA256())
    )
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return text, certificate.public_bytes(serialization.Encoding.PEM)


def test_an_expired_certificate_does_not_get_in(tmp_path):
    make_certificate("a", tmp_path, start=datetime.now(UTC) - timedelta(days=9), days=3)
    with switchboard(tmp_path, {"a": None}, wait=0.1) as (town, _):
        assert calls(town, *own(town, "a")) is grpc.StatusCode.UNAVAILABLE


def test_too_long_a_message_ends_its_senders_line_and_nothing_that_is_small_becomes_large(tmp_path, monkeypatch):
    small = tuple((name, 1000 if "receive" in name else value) for name, value in module.SERVER_OPTIONS)
    monkeypatch.setattr(module, "SERVER_OPTIONS", small)
    heard = []
    monkeypatch.setattr(module, "TAG_BYTES", 16)
    with switchboard(tmp_path, {"a": None, "b": backwards}, wait=0.1) as (town, board):
        read = board._read

        async def listen(name, answers):
            async def overheard():
                async for said in answers:
                    heard.append(said)
                    yield said

            await read(name, overheard())

        monkeypatch.setattr(board, "_read", listen)
        assert calls(town, *own(town, "a"), [b"x" * 1001]) is grpc.StatusCode.RESOURCE_EXHAUSTED
        calls(town, *own(town, "a"), [b"\0" * 100_000], compression=grpc.Compression.Gzip)
        assert board.ask({"b": b"xyz"}) == {"b": b"zyx"}
    assert all(len(said) <= 1000 for said in heard)


def test_whatever_else_a_party_says_is_dropped(tmp_path):
    def chatter():
        for i in range(200):
            yield tag(b"%d" % i) + b"not asked"
            yield b"%d" % i

    with switchboard(tmp_path, {"a": None, "b": backwards}, wait=0.1) as (town, board):
        assert calls(town, *own(town, "a"), chatter()) == []
        assert board.ask({"b": b"xyz"}) == {"b": b"zyx"}


def test_a_port_that_another_has_is_refused_in_words(tmp_path):
    with switchboard(tmp_path, {"a": backwards}) as (town, board):
        with pytest.raises(FederatedError, match=f"cannot have {HERE}:{town.port}: Address already in use. Another"):
            Switchboard(town.coordinator)
        assert board.ask({"a": b"xyz"}) == {"a": b"zyx"}


def test_a_certificate_of_another_key_is_refused_before_anybody_calls(tmp_path):
    with switchboard(tmp_path, {"a": None}, wait=0.1) as (town, _):
        pass
    town.coordinator.__dict__["certificate"] = tmp_path / "a.crt"
    with pytest.raises(FederatedError, match=r"a.crt is not the certificate of .*coordinator.key"):
        Switchboard(town.coordinator)


def test_its_status_says_who_holds_a_line(tmp_path):
    with switchboard(tmp_path, {"a": backwards, "b": None}, wait=0.1) as (_, board):
        assert board.ask({"a": b"xyz"}) == {"a": b"zyx"}
        assert board.status()["members"] == [{"name": "a", "connected": True}, {"name": "b", "connected": False}]
        assert board.status()["refused connections"] == 0


def test_strangers_who_say_nothing_hold_no_threads(tmp_path):
    with switchboard(tmp_path, {"a": backwards}) as (town, board):
        before = threading.active_count()
        idle = [socket.create_connection((HERE, town.port)) for _ in range(150)]
        assert board.ask({"a": b"xyz"}) == {"a": b"zyx"}
        assert threading.active_count() < before + 10  # lines of other tests come and go meanwhile
        for one in idle:
            one.close()


def test_both_ends_speak_the_newest_tls(tmp_path):
    with switchboard(tmp_path, {"a": backwards}) as (town, _):
        context = ssl.create_default_context(cafile=str(tmp_path / "coordinator.crt"))
        context.load_cert_chain(tmp_path / "a.crt", tmp_path / "a.key")
        context.set_alpn_protocols(["h2"])
        with (
            socket.create_connection((HERE, town.port)) as plain,
            context.wrap_socket(plain, server_hostname=HERE) as own,
        ):
            assert own.version() == "TLSv1.3"
