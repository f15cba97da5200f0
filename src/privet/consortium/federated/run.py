"""A run on a SuperLink: the parties' nodes are let in, and messages go to them and come back.

What Flower calls a ServerApp, in the coordinator's own process (``tasks.py``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing

import httpx
from flwr.app import Message
from flwr.cli.build import build_fab_from_files
from flwr.common.serde import run_from_proto
from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, StartRunRequest
from flwr.proto.fab_pb2 import Fab
from flwr.proto.runtime_pb2 import PullTaskInputRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid.http_grid import HttpGrid

from privet.consortium.federated.tasks import (
    POLL,
    ShowsSecret,
    Unreachable,
    acquired,
    beating,
    bytes_of,
    client,
    reached,
    record,
    runtime,
    shows,
)
from privet.errors import FederatedError

BUNDLE = {
    "pyproject.toml": b"""
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "privet"
version = "1.0.0"
description = "Nothing: whoever takes part has Privet installed"
dependencies = []

[tool.flwr.app]
publisher = "privet"

[tool.flwr.app.components]
serverapp = "nothing:here"
clientapp = "nothing:here"
""",
    "nothing.py": b"here = None\n",
}
"""Flower wants a bundle of code for every run. Nobody unpacks this one."""


class Run:
    """The coordinator's end: one run on a SuperLink, and messages to its nodes. ``nodes`` are their numbers by name."""

    def __init__(self, address: str, certificate: bytes, secret: bytes, keys: Mapping[str, bytes]) -> None:
        self._address, self._certificate = address, certificate
        self._check_gate()
        with closing(client(ControlHttpClient, address, certificate, ShowsSecret(secret))) as control, reached():
            self.nodes = {
                name: int(control.RegisterNode(RegisterNodeRequest(public_key=key, name=name)).node_id)
                for name, key in keys.items()
            }
            content, _ = build_fab_from_files(BUNDLE)
            self._run_id = control.StartRun(StartRunRequest(fab=Fab(content=content))).run_id
        self._grid = HttpGrid(address, False, certificate, token=self._token(secret))
        self._grid._retry_invoker = None  # whoever asks decides what to do about a SuperLink that has gone
        with reached():
            own = self._grid._runtime_client.PullTaskInput(PullTaskInputRequest())
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = own.task_id, self._run_id, own.context.node_id
        self._grid.set_run(run_from_proto(own.run))
        self._beating = beating(self._grid._runtime_client)
        self._beating.__enter__()

    def _check_gate(self) -> None:
        """Raise if the SuperLink obeys whoever reaches it."""
        with closing(client(ControlHttpClient, self._address, self._certificate)) as stranger:
            try:
                stranger.ListNodes(ListNodesRequest())
            except httpx.HTTPStatusError as error:
                if error.response.status_code == httpx.codes.FORBIDDEN:
                    return
            except httpx.HTTPError as error:
                raise Unreachable(f"Flower's SuperLink does not answer: {error}") from error
        raise FederatedError("Flower's SuperLink obeys strangers: this is not the version that Privet was made for.")

    def _token(self, secret: bytes) -> str:
        """What this run's ServerApp would get; runs that others may have started are left alone."""
        with closing(runtime(self._address, shows(secret), self._certificate)) as link:
            while True:
                token, run_id = acquired(link, TaskType.SERVER_APP)
                if token is None:
                    raise FederatedError("Flower's SuperLink has no task for the run that was started.")
                if run_id == self._run_id:
                    return token

    def there(self) -> set[str]:
        """The names of the parties whose nodes have come and proved their keys."""
        with reached():
            nodes = set(self._grid.get_node_ids())
        return {name for name, node in self.nodes.items() if node in nodes}

    def ask(self, messages: Mapping[str, bytes], timeout: float) -> dict[str, bytes]:
        """The answers that come in time, by party."""
        end = time.monotonic() + timeout
        there = self.there()
        sent = [
            Message(record(message), dst_node_id=self.nodes[name], message_type="query", ttl=timeout)
            for name, message in messages.items()
            if name in there
        ]
        names = {node: name for name, node in self.nodes.items()}
        replies: dict[str, bytes] = {}
        with reached():
            waiting = set(self._grid.push_messages(sent)) if sent else set()
            while waiting and time.monotonic() < end:
                for reply in self._grid.pull_messages(waiting):
                    waiting.discard(str(reply.metadata.reply_to_message_id))
                    if not reply.has_error():
                        replies[names[reply.metadata.src_node_id]] = bytes_of(reply)
                if waiting:
                    time.sleep(POLL)
        return replies

    def close(self) -> None:
        self._beating.__exit__(None, None, None)
        self._grid.close()
