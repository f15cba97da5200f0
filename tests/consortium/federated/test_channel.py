"""Rounds of messages: to whom they go, and what somebody who listens gets to see."""

import io
import json

import pytest

from consortium.federated.owners import SCHEMA, tables
from privet.consortium.federated.channel import InProcess, Overheard, in_process, wire_log
from privet.consortium.federated.wire import pack


class Echo:
    def __init__(self, name):
        self.name = name

    def handle(self, message):
        return self.name.encode() + message


def test_each_party_gets_its_own_message_and_nobody_else_is_asked():
    channel = InProcess([Echo("a"), Echo("b"), Echo("c")])
    assert channel.parties == ("a", "b", "c")
    assert channel.ask({"a": b"1", "c": b"2"}) == {"a": b"a1", "c": b"c2"}


@pytest.mark.parametrize("n", [3, 11])
def test_parties_in_one_process_have_names_in_order_and_keys_of_their_own(n):
    channel = in_process(tables(n, 5), SCHEMA)
    assert list(channel.parties) == sorted(channel.parties)
    assert len(set(channel.parties)) == n
    assert len({party._identity.public.public_numbers() for party in channel._parties.values()}) == n


def test_who_listens_sees_every_message_both_ways_also_garbage():
    file = io.StringIO()
    channel = Overheard(InProcess([Echo("a")]), wire_log(file))
    assert channel.parties == ("a",)
    channel.ask({"a": pack({"do": "join"}, b"\1")})
    (line,) = map(json.loads, file.getvalue().splitlines())
    assert line["party"] == "a"
    assert line["asked"] == {"words": {"do": "join"}, "numbers": "01"}
    assert bytes.fromhex(line["answered"]["garbage"]).startswith(b"a")


def test_who_does_not_answer_is_overheard_too():
    class Silent:
        parties = ("a",)

        def ask(self, messages):
            return {}

    heard = []
    file = io.StringIO()
    assert Overheard(Silent(), lambda *said: heard.append(said)).ask({"a": b"x"}) == {}
    assert heard == [("a", b"x", None)]
    Overheard(Silent(), wire_log(file)).ask({"a": pack({"do": "join"})})
    assert json.loads(file.getvalue())["answered"] is None
