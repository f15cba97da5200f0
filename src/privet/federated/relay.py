"""The Flower app: a ServerApp and a ClientApp that pass messages on, and do nothing else.

The party's records, keys and journal are in the party's own process (``privet federated party``), which the ClientApp,
for every message in a process of its own, reaches over a local socket, and which checks whatever comes through. What
runs as ClientApp is what the party has installed, not what a coordinator sends (``guard.py``). The ServerApp passes on
what the coordinator's process asks, so that a coordinator can stop and start again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from multiprocessing.connection import Client
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from privet.federated.wire import MOST_BYTES, pack, unpack

POLL = 0.2
"""Seconds between two looks for answers."""

HELLO = pack({"do": "hello"})

client = ClientApp()
server = ServerApp()


@client.query()
def query(message: Message, context: Context) -> Message:
    """Hand a message to the party's own process, and its answer back."""
    with Client(str(context.node_config["party"]), "AF_UNIX") as party:
        party.send_bytes(_bytes_of(message))
        return Message(_record(party.recv_bytes(MOST_BYTES)), reply_to=message)


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Ask whom the coordinator's process says, until it is done."""
    names: dict[str, int] = {}
    with Client(str(context.run_config["coordinator"]), "AF_UNIX") as coordinator:
        while True:
            words, numbers = unpack(coordinator.recv_bytes(MOST_BYTES))
            if words["do"] == "done":
                return
            if words["do"] == "names":
                names |= _who_is_there(grid, set(names.values()), words["timeout"])
                coordinator.send_bytes(pack({"names": sorted(names)}))
            else:
                asked = {names[name]: part for name, part in parcels(words, numbers).items() if name in names}
                replies = _ask(grid, asked, words["timeout"])
                coordinator.send_bytes(parcel({name: replies[n] for name, n in names.items() if n in replies}))


def _who_is_there(grid: Grid, known: set[int], timeout: float) -> dict[str, int]:
    """The names of nodes that are not known yet. A name proves nothing: parties sign."""
    replies = _ask(grid, {node: HELLO for node in grid.get_node_ids() if node not in known}, timeout)
    return {str(unpack(reply)[0]["name"]): node for node, reply in replies.items()}


def _ask(grid: Grid, messages: Mapping[int, bytes], timeout: float) -> dict[int, bytes]:
    """The answers that come in time, by node."""
    end = time.monotonic() + timeout
    there = set(grid.get_node_ids())
    sent = [
        Message(_record(message), dst_node_id=node, message_type="query", ttl=timeout)
        for node, message in messages.items()
        if node in there
    ]
    waiting = set(grid.push_messages(sent)) if sent else set()
    replies: dict[int, bytes] = {}
    while waiting and time.monotonic() < end:
        for reply in grid.pull_messages(waiting):
            waiting.discard(str(reply.metadata.reply_to_message_id))
            if not reply.has_error():
                replies[reply.metadata.src_node_id] = _bytes_of(reply)
        if waiting:
            time.sleep(POLL)
    return replies


def _record(message: bytes) -> RecordDict:
    return RecordDict({"privet": ConfigRecord({"message": message})})


def _bytes_of(message: Message) -> bytes:
    content: Any = message.content["privet"]
    return bytes(content["message"])


def parcel(messages: Mapping[str, bytes], **words: Any) -> bytes:
    """Several messages in one, with the names they are for or from."""
    lengths: Iterable[tuple[str, int]] = [(name, len(message)) for name, message in messages.items()]
    return pack({"lengths": lengths, **words}, b"".join(messages.values()))


def parcels(words: Mapping[str, Any], numbers: bytes) -> dict[str, bytes]:
    messages, start = {}, 0
    for name, length in words["lengths"]:
        messages[name] = numbers[start : start + length]
        start += length
    return messages
