"""The programs that talk to the three servers do not believe what servers say: all three must say it, and sensibly."""

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.consortium.servers import client
from privet.consortium.servers.client import next_words, train
from privet.errors import MpcError, ReceiptError
from privet.privacy.receipt import Receipt
from privet.shares.deal import deal


class Line:
    """A server's line that says one thing after the other."""

    def __init__(self, *said):
        self.said = list(said)
        self.sent = []

    def send(self, message):
        self.sent.append(message)


@pytest.fixture
def lines(monkeypatch):
    """Three servers that say these things, whoever connects."""

    def three(*said):
        own = [Line(*each) for each in said]
        monkeypatch.setattr(client, "in_turn", lambda config, stack, role, job: own)
        monkeypatch.setattr(client, "receive_all", lambda lines, timeout: [line.said.pop(0) for line in lines])
        return own

    return three


class Known:
    timeout = 1.0
    servers = ()
    schema = Schema({"age": Numeric(0, 7)}, classes=["no", "yes"])


RECEIPT = Receipt(claimed=Fraction(1), spent=Fraction(0), delta=Fraction(0), void=(), trust="", events=())


def said(receipt=RECEIPT, **words):
    return json.dumps({"model": words, "signed": {"receipt": receipt.to_dict()}}).encode()


@pytest.fixture
def believed(monkeypatch):
    """Signatures that are right, and models whose receipt is the signed one."""
    monkeypatch.setattr(client, "_checked", lambda signed, *asked: Receipt.from_dict(signed["receipt"]))
    monkeypatch.setattr(client, "from_dict", lambda model: SimpleNamespace(privacy_=RECEIPT))


def test_a_model_is_taken_if_all_three_servers_say_the_same(lines, believed):
    lines([said(tree=1)], [said(tree=1)], [said(tree=1)])
    assert train(Known(), "PrivateTreeClassifier", {}).model == {"tree": 1}


def test_one_server_alone_cannot_change_the_model(lines, believed):
    lines([said(tree=1)], [said(tree=2)], [said(tree=1)])
    with pytest.raises(MpcError, match="do not agree"):
        train(Known(), "PrivateTreeClassifier", {})


def test_a_model_with_another_receipt_than_the_signed_one_is_not_taken(lines, believed):
    other = replace(RECEIPT, claimed=Fraction(1, 2))
    lines(*[[said(other, tree=1)]] * 3)
    with pytest.raises(MpcError, match="another receipt than the model's"):
        train(Known(), "PrivateTreeClassifier", {})


def test_an_answer_without_a_signed_receipt_makes_no_sense(lines):
    for words in ({"model": {}}, {"signed": {}}, {"model": 1, "signed": {}}, {}):
        lines(*[[json.dumps(words).encode()]] * 3)
        with pytest.raises(MpcError, match="makes no sense"):
            train(Known(), "PrivateTreeClassifier", {})


def test_progress_is_passed_on_from_the_first_and_ignored_from_the_others(lines, believed):
    heard = []
    speaks = [json.dumps({"progress": text}).encode() for text in ("one", "two")]
    lines([*speaks, said(tree=1)], [speaks[0], said(tree=1)], [said(tree=1)])
    train(Known(), "PrivateTreeClassifier", {}, progress=heard.append)
    assert heard == ["one", "two"]


@pytest.mark.parametrize("nothing", [b"", b"\xff", b"[]", b"7", b"null", b"[" * 100_000])
def test_words_that_are_none_end_the_run(lines, nothing):
    with pytest.raises(MpcError, match="makes no sense"):
        next_words(lines([nothing], [said()], [said()]), 1.0)


def test_a_hidden_model_that_the_servers_have_not_signed_is_not_taken(lines):
    answer = json.dumps({"signed": {"id": "0" * 32, "receipt": {}}}).encode()
    lines([answer], [answer], [answer])
    with pytest.raises(ReceiptError, match="no three commitments"):
        train(Known(), "HiddenTreeClassifier", {}, hidden=True)


@pytest.mark.parametrize("hidden", [False, True])
def test_what_is_signed_of_another_run_is_not_taken(monkeypatch, hidden):
    """Neither by an owner, whose ledger would be settled by it, nor by a trainer."""
    monkeypatch.setattr(client, "check", lambda signed, certificates: None)
    monkeypatch.setattr(client, "signed_receipt", lambda signed, certificates: RECEIPT)
    signed = {"format": "", "id": "a"} if hidden else {"format": client.FORMAT, "run": "a"}
    assert client._checked(signed, Known(), "a", hidden) is RECEIPT
    for run, kind in (("b", hidden), ("a", not hidden)):
        with pytest.raises(MpcError, match="of another run"):
            client._checked(signed, Known(), run, kind)
    people = Schema(Known.schema.features, classes=["no", "yes"], person="who", records_per_person=3)
    with pytest.raises(MpcError, match="covers others than this schema names"):
        client._checked(signed, SimpleNamespace(servers=(), schema=people), "a", hidden)


def test_shares_of_an_answer_that_do_not_fit_together_are_found():
    classes = np.eye(3, dtype=np.int64)[[0, 2, 1]]
    parts = [np.array(part) for part in deal(classes, np.uint32)]
    assert np.array_equal(client._joined(parts), classes)
    for party in range(3):
        changed = [part.copy() for part in parts]
        changed[party][0, 0, 0] += np.uint32(1)
        with pytest.raises(MpcError, match="disagree"):
            client._joined(changed)
    none = [np.array(part) for part in deal(np.zeros((2, 3), dtype=np.int64), np.uint32)]
    with pytest.raises(MpcError, match="names no class"):
        client._joined(none)


def test_an_answer_of_the_wrong_length_is_refused():
    assert client._shares(bytes(24), (2, 3), np.uint32).shape == (2, 3)
    with pytest.raises(MpcError, match="wrong length"):
        client._shares(bytes(23), (2, 3), np.uint32)


def test_server_0_says_whose_turn_it_is_before_the_others_are_asked(monkeypatch):
    """So that all three answer in the same order, however many ask at once."""
    order = []

    class Server:
        def __init__(self, i):
            self.i = i

        def send(self, job):
            order.append(("asked", self.i))

        def receive(self, most):
            order.append(("turn", self.i))

    monkeypatch.setattr(client, "to_servers", lambda config, stack, role, which=range(3): [Server(i) for i in which])
    client.in_turn(Known(), None, "trainer", b"job")
    assert order == [("asked", 0), ("turn", 0), ("asked", 1), ("asked", 2)]
