"""A mistake of ours keeps its cause: its traceback is in the log of whoever holds the data, and nothing on the wire."""

import json
import logging
from fractions import Fraction

import pytest

from consortium.federated.owners import GRID, SCHEMA, TABLES, asking, table, tables
from consortium.servers.town import Town
from in_threads import QueueLine
from privet import Ledger
from privet.consortium.federated.channel import Overheard, in_process
from privet.consortium.federated.party import CANNOT_ANSWER
from privet.consortium.federated.wire import unpack
from privet.consortium.servers.config import TRAINER
from privet.consortium.servers.service import Server
from privet.curators.owners.mpc_owner import Owner
from privet.curators.owners.party_records import PartyRecords
from privet.errors import FederatedError, MpcError
from privet.questions.tally import Tally

SECRET = "the record with age 17 and income 54321"


class MistakeOfOursError(RuntimeError):
    pass


def breaks(*args, **kwargs):
    raise MistakeOfOursError(SECRET)


def assert_logged(caplog, logger):
    records = [record for record in caplog.records if record.name == logger and record.levelno >= logging.ERROR]
    assert records
    assert "MistakeOfOursError" in caplog.text
    assert SECRET in caplog.text
    assert "in breaks" in caplog.text  # where it happened


def test_a_bug_at_a_party_is_in_its_log_and_not_on_the_wire(caplog, monkeypatch):
    heard = []
    channel = Overheard(in_process(tables(3), SCHEMA, limit=1), lambda name, asked, answered: heard.append(answered))
    curator = asking(SCHEMA, channel, ledger=Ledger(10))
    curator.grid(GRID)
    root = curator.root(Fraction(1, 2))
    with monkeypatch.context() as patched:
        patched.setattr(PartyRecords, "answer", breaks)
        with pytest.raises(FederatedError, match=CANNOT_ANSWER):
            curator.tally({root: Tally(TABLES)}, Fraction(1, 2))
    assert_logged(caplog, "privet.party")
    assert unpack(heard[-1])[0] == {"refused": CANNOT_ANSWER}
    assert not any(SECRET.encode() in answer or b"54321" in answer or b"Mistake" in answer for answer in heard)


def test_a_bug_at_an_owner_is_in_its_log_and_the_servers_see_it_leave(caplog, monkeypatch):
    monkeypatch.setattr(Owner, "answer", breaks)
    ends = [QueueLine.pair() for _ in range(3)]
    for server, _ in ends:
        server.send(json.dumps({"do": "root", "node": 0}).encode())
    with pytest.raises(MpcError, match="log says why") as error:
        Owner(*table(9), SCHEMA).serve([owner for _, owner in ends])
    assert isinstance(error.value.__cause__, MistakeOfOursError)
    assert SECRET not in str(error.value)
    assert_logged(caplog, "privet.owner")
    for server, _ in ends:
        with pytest.raises(MpcError, match="has left"):
            server.receive()


@pytest.mark.parametrize("asked", [b"", b"[]", b"7", b'{"do": "dance"}', b'{"do": ["root"]}', b"[" * 100_000])
def test_what_is_no_question_is_refused_by_an_owner_before_anything_is_done(asked):
    ends = [QueueLine.pair() for _ in range(3)]
    for server, _ in ends:
        server.send(asked)
    with pytest.raises(MpcError, match="no question"):
        Owner(*table(9), SCHEMA).serve([owner for _, owner in ends])


class Client:
    """A trainer as a server sees it."""

    peer = TRAINER

    def __init__(self):
        self.said = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def leave(self, why):
        self.said.append(why)

    def close(self):
        pass


def test_a_bug_at_a_server_is_in_its_log_and_the_others_hear_that_it_failed(caplog, monkeypatch, tmp_path):
    town = Town(tmp_path)
    server, client, told = Server(town.config("server0")), Client(), []
    server._progress = told.append
    monkeypatch.setattr(server, "_answer", breaks)
    monkeypatch.setattr(server._inbox, "first_to_speak", lambda name: client)
    try:
        with pytest.raises(MpcError, match="it failed with MistakeOfOursError") as error:
            server.serve(once=True)
    finally:
        server.close()
        town.held.close()
    assert isinstance(error.value.__cause__, MistakeOfOursError)
    assert_logged(caplog, "privet.server")
    assert client.said == ["server 0 has ended the run: it failed with MistakeOfOursError."]
    assert not any(SECRET in said for said in (*client.said, *told))
