"""Messages that Flower brings are handed to the party as bytes, and nothing else is done with them."""

import threading
from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("flwr")

from flwr.app import Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from privet.consortium.federated import tasks


class Runtime:
    """A SuperNode's API with some tasks waiting."""

    def __init__(self, waiting):
        self.waiting = list(waiting)
        self.closed = 0

    def AcquireTask(self, request):
        assert list(request.supported_task_types) == ["flwr-clientapp"]
        if not self.waiting:
            raise httpx.ConnectError("gone")
        token = self.waiting.pop(0)
        return SimpleNamespace(token=token, task=SimpleNamespace(run_id=7))

    def SendTaskHeartbeat(self, request):
        raise httpx.ConnectError("gone")

    def close(self):
        self.closed += 1


@pytest.fixture
def node(monkeypatch):
    """Runs ``answer_messages`` on some messages; what is sent back, in order."""

    for number in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, number, 7)

    def run(messages, handle):
        stop, sent = threading.Event(), []
        own = Runtime([*(str(i) for i in range(len(messages))), ""])
        monkeypatch.setattr(tasks, "runtime", lambda *args: own)
        asked = iter(messages)

        def pulled(client):
            message = Message(tasks.record(next(asked)), dst_node_id=3, message_type="query")
            message.metadata.__dict__["_message_id"] = "an id"
            return message, "context", "run", "bundle"

        def pushed(client, reply, context):
            sent.append(reply)

        monkeypatch.setattr(tasks, "pull_task_input", pulled)
        monkeypatch.setattr(tasks, "push_message", pushed)
        monkeypatch.setattr(tasks, "push_task_output", lambda *args: None)
        monkeypatch.setattr(stop, "wait", lambda seconds: stop.set() if seconds == 1.0 else None)
        tasks.answer_messages("127.0.0.1:1", b"secret", handle, stop)
        assert own.closed == len(messages) + 1
        return sent

    return run


def test_every_message_is_answered_with_the_partys_bytes(node):
    sent = node([b"one", b"two"], lambda message: message[::-1])
    assert [tasks.bytes_of(reply) for reply in sent] == [b"eno", b"owt"]


def test_a_party_that_fails_says_so_and_nothing_else_and_goes_on(node, caplog):
    def handle(message):
        if message == b"bad":
            raise RuntimeError("record 17 is 42")
        return message

    bad, good = node([b"bad", b"good"], handle)
    assert bad.has_error()
    assert "42" not in bad.error.reason
    assert tasks.bytes_of(good) == b"good"
    assert "record 17" in caplog.text  # its owner's own log


def test_a_message_that_makes_no_sense_is_not_the_last(node):
    (good,) = node([None, b"good"], lambda message: message)
    assert tasks.bytes_of(good) == b"good"


def test_messages_keep_their_bytes():
    record = tasks.record(bytes(range(256)))
    assert isinstance(record, RecordDict)
    assert tasks.bytes_of(SimpleNamespace(content=record)) == bytes(range(256))


def test_the_bundle_that_flower_wants_says_nothing():
    from flwr.cli.build import build_fab_from_files

    from privet.consortium.federated.run import BUNDLE

    content, _ = build_fab_from_files(BUNDLE)
    assert len(content) < 4096
    assert b"import" not in BUNDLE["nothing.py"]
