"""Privet as an app on Flower, for those who run Flower already: its public interface alone, and its trust.

Flower carries the messages instead of ``switchboard.py`` and ``line.py``; masks, noise, ledgers and signatures are the
same. But Flower brings a bundle of code from whoever starts a run to every party and runs it there, beside the records:
all parties trust whoever may start runs on their SuperLink. And a message takes it seconds. Tested with Flower 1.41.

The app's own files name these two, ``server_app`` and ``client_app``: docs/federated.md has them. A node's own setting
``party`` is the path of its own file; the run's settings are ``coordinator``, the path of coordinator.toml at the
SuperLink, ``epsilon``, ``output`` and, if it is not a histogram tree, ``model``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from privet.algorithms.registry import make
from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.consortium.federated.service import open_party, train
from privet.disk import write_whole
from privet.errors import FederatedError

POLL = 1.0

client_app = ClientApp()
server_app = ServerApp()


@client_app.query()
def answer(message: Message, context: Context) -> Message:
    """A party's answer; who it is, to a message without words. Its state is open for this message alone."""
    config = PartyConfig.read(Path(str(context.node_config["party"])))
    asked = _bytes(message)
    if not asked:
        return Message(_record(config.name.encode()), reply_to=message)
    with closing(open_party(config)) as party:
        return Message(_record(party.handle(asked)), reply_to=message)


@server_app.main()
def coordinate(grid: Grid, context: Context) -> None:
    """Train a model with the parties that have come, and write it with its signed receipt."""
    settings = context.run_config
    config, output = CoordinatorConfig.read(Path(str(settings["coordinator"]))), Path(str(settings["output"]))
    model = make(str(settings.get("model", "HistogramTreeClassifier")), epsilon=settings["epsilon"])
    signed = train(config, model, channel=GridChannel(grid, config), journal=output.with_suffix(".run"), progress=print)
    model.save(output, overwrite=True)
    write_whole(output.with_suffix(".signed.json"), signed.to_json().encode())


class GridChannel:
    """A channel to the nodes of a Flower grid. Which is which party they say themselves: signatures show who lies."""

    def __init__(self, grid: Grid, config: CoordinatorConfig) -> None:
        self.parties = tuple(sorted(config.parties))
        self._grid, self._timeout = grid, config.timeout
        self._nodes: dict[str, int] = {}
        end = time.monotonic() + config.wait
        while len(self._nodes) < len(self.parties) and time.monotonic() < end:
            new = [node for node in grid.get_node_ids() if node not in self._nodes.values()]
            for node, name in self._sent(dict.fromkeys(new, b"")).items():
                if name.decode(errors="replace") in self.parties:
                    self._nodes[name.decode()] = node
            time.sleep(POLL)
        if missing := sorted(set(self.parties) - set(self._nodes)):
            raise FederatedError(f"{', '.join(missing)} did not come: no node of this Flower says that it is theirs.")

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        answers = self._sent({self._nodes[name]: message for name, message in messages.items()})
        return {name: answers[node] for name, node in self._nodes.items() if node in answers}

    def _sent(self, messages: Mapping[int, bytes]) -> dict[int, bytes]:
        out = [Message(_record(own), dst_node_id=node, message_type="query") for node, own in messages.items()]
        replies = self._grid.send_and_receive(out, timeout=self._timeout) if out else ()
        return {reply.metadata.src_node_id: _bytes(reply) for reply in replies if not reply.has_error()}


def _record(message: bytes) -> RecordDict:
    return RecordDict({"privet": ConfigRecord({"message": message})})


def _bytes(message: Message) -> bytes:
    content: Any = message.content["privet"]
    return bytes(content["message"])
