"""How messages travel: a channel asks parties and gives back what they answer in time.

All that the protocol needs is rounds: the coordinator sends a message to each of some parties and waits. A channel need
not be reliable (a party answers a repeated message with the same bytes) nor secret against the coordinator's side; who
said what is checked by signatures where it matters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TextIO

from privet.consortium.federated.identity import Identity
from privet.consortium.federated.party import Party
from privet.consortium.federated.wire import unpack
from privet.errors import FederatedError
from privet.schema import Schema


class Channel(Protocol):
    """``parties`` are the names of all who can be asked."""

    @property
    def parties(self) -> Sequence[str]: ...

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        """Send each party its message; the answers of those who answered in time."""
        ...


class InProcess:
    """Parties in this process, each with its own records and keys: for tests, simulations and costs."""

    def __init__(self, parties: Sequence[Party]) -> None:
        self._parties = {party.name: party for party in parties}
        self.parties = tuple(self._parties)

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        return {name: self._parties[name].handle(message) for name, message in messages.items()}


def in_process(tables: Sequence[tuple[Any, Any]], schema: Schema, **options: Any) -> InProcess:
    """A party for each (X, y), with fresh keys, in one process; ``options`` are those of every ``Party``."""
    width = len(str(len(tables) - 1))
    identities = [Identity.fresh(f"party{i:0{width}}") for i in range(len(tables))]
    known = {identity.name: identity.public for identity in identities}
    return InProcess([Party(identity, *own, schema, known, **options) for identity, own in zip(identities, tables)])


def wire_log(file: TextIO) -> Callable[[str, bytes, bytes | None], None]:
    """Writes every message, both ways, as a line of JSON: for whoever wants to see what leaves."""

    def log(name: str, asked: bytes, answered: bytes | None) -> None:
        reply = None if answered is None else _readable(answered)
        file.write(json.dumps({"party": name, "asked": _readable(asked), "answered": reply}) + "\n")
        file.flush()

    return log


def _readable(message: bytes) -> dict[str, Any]:
    try:
        words, numbers = unpack(message)
    except FederatedError:
        return {"garbage": message.hex()}
    return {"words": words, "numbers": numbers.hex()}


class Overheard:
    """A channel whose messages somebody listens to: ``log(name, asked, answered)``, with None for no answer."""

    def __init__(self, channel: Channel, log: Callable[[str, bytes, bytes | None], None]) -> None:
        self._channel, self._log = channel, log

    @property
    def parties(self) -> Sequence[str]:
        return self._channel.parties

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        replies = self._channel.ask(messages)
        for name, message in messages.items():
            self._log(name, message, replies.get(name))
        return replies
