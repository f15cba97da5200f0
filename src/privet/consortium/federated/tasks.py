"""What Flower would start programs for, done in our own processes: no bundle of code is ever unpacked or run.

Flower makes a task of every message and of every run, and starts a program for each, which unpacks the bundle that
came with it and runs what it names. Whoever coordinates could run anything at a hospital, and whoever reaches the
SuperLink could run anything at the coordinator. Here SuperLink and SuperNodes start nothing (``--isolation process``):
their tasks are taken by the processes that hold the keys, which must show a secret of their own for it, and all that is
done with a message is to hand its bytes to ``Party.handle``. It is also several times faster: a program of Flower's
takes two seconds of processor time to start, at every party and for every message.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
from flwr.app import ConfigRecord, Error, Message, RecordDict
from flwr.common.constant import ErrorCode, SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest, SendTaskHeartbeatRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import (
    RuntimeTokenHttpInterceptor,
    RuntimeVersionHttpInterceptor,
    SuperExecAuthHttpInterceptor,
)
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from privet.consortium.federated.superlink import HEADER, shown
from privet.errors import FederatedError

_logger = logging.getLogger("privet.party")

POLL = 0.1
"""Seconds between two looks for messages or answers, on the same machine."""

BEAT = 10.0
"""Seconds between two signs of life of whoever has a task; Flower gives a task up after half a minute without."""


class Unreachable(FederatedError):
    """Flower's process does not answer."""


def answer_messages(address: str, secret: bytes, handle: Callable[[bytes], bytes], stop: threading.Event) -> None:
    """Answer every message that the SuperNode with this address (of its Runtime API, on this machine) gets.

    A SuperNode that is starting or has gone is waited for.
    """
    with closing(runtime(address, shows(secret))) as node:
        while not stop.is_set():
            try:
                token, _ = acquired(node, TaskType.CLIENT_APP)
                if token is None:
                    stop.wait(POLL)
                else:
                    _answer(address, token, handle)
            except Unreachable:
                stop.wait(1.0)
            except Exception:  # a message that Flower itself cannot make sense of must not be the last one
                _logger.exception("a message cannot be answered")
                stop.wait(POLL)


def _answer(address: str, token: str, handle: Callable[[bytes], bytes]) -> None:
    with closing(runtime(address, RuntimeTokenHttpInterceptor(token))) as task, beating(task), reached():
        message, context, _, _ = pull_task_input(task)
        try:
            reply = Message(record(handle(bytes_of(message))), reply_to=message)
        except Exception:  # a SuperNode waits for an answer for good: it must get one, and it must say nothing
            error = Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "this party cannot answer")
            reply = Message(error, reply_to=message)
            _logger.exception("a message cannot be answered")  # for this party's own eyes
        push_message(task, reply, context)
        push_task_output(task, context, SubStatus.FAILED if reply.has_error() else SubStatus.COMPLETED, "")


@contextmanager
def beating(task: RuntimeHttpClient) -> Iterator[None]:
    """Signs of life of a task, as long as it is worked on."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(BEAT):
            try:
                task.SendTaskHeartbeat(SendTaskHeartbeatRequest())
            except httpx.HTTPError:  # who works on the task will see it, too
                continue

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def acquired(client: RuntimeHttpClient, kind: TaskType) -> tuple[str | None, int]:
    """The token of a task of this kind and its run, or None if there is none."""
    with reached():
        own = client.AcquireTask(AcquireTaskRequest(supported_task_types=[kind]))
    return (own.token or None), int(own.task.run_id)


def shows(secret: bytes) -> SuperExecAuthHttpInterceptor:
    return SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods={"/flwr.proto.Runtime/AcquireTask"})


class ShowsSecret:
    """Lets the coordinator through the gate of its SuperLink (``superlink.py``)."""

    def __init__(self, secret: bytes) -> None:
        self._header = {HEADER: shown(secret)}

    def intercept(self, context: Any, call_next: Callable[[Any], httpx.Response]) -> httpx.Response:
        context.request.headers.update(self._header)
        return call_next(context)


def runtime(address: str, proof: Any, certificate: bytes | None = None) -> RuntimeHttpClient:
    return client(RuntimeHttpClient, address, certificate, proof)


def client(kind: Any, address: str, certificate: bytes | None, *interceptors: Any) -> Any:
    version = RuntimeVersionHttpInterceptor(component_name="privet")
    return kind.from_server_address(address, certificate is None, certificate, [version, *interceptors])


@contextmanager
def reached() -> Iterator[None]:
    try:
        yield
    except httpx.HTTPError as error:
        raise Unreachable(f"Flower's process does not answer, or refuses: {error}") from error


def record(message: bytes) -> RecordDict:
    return RecordDict({"privet": ConfigRecord({"message": message})})


def bytes_of(message: Message) -> bytes:
    content: Any = message.content["privet"]
    return bytes(content["message"])
