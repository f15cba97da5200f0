"""A run on a SuperLink: who counts as there, whose answers come in time, and a link that obeys strangers."""

from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("flwr")

from flwr.supercore.task_identity import TaskIdentity

from privet.consortium.federated import run as module
from privet.consortium.federated.run import Run
from privet.consortium.federated.tasks import Unreachable, record
from privet.errors import FederatedError


@pytest.fixture
def begun(monkeypatch):
    """As in a process that has a run: Flower's messages are of it."""
    monkeypatch.setattr(module, "POLL", 0.001)
    for name in ("_task_id", "_run_id", "_node_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


class Grid:
    """Flower's end: nodes that are there, and their replies, each after so many looks."""

    def __init__(self, there, replies):
        self.there, self.replies, self.sent, self.looks = there, replies, [], 0

    def get_node_ids(self):
        return list(self.there)

    def push_messages(self, messages):
        self.sent = list(messages)
        return [f"to {message.metadata.dst_node_id}" for message in messages]

    def pull_messages(self, waiting):
        self.looks += 1
        for node, (after, content) in self.replies.items():
            if f"to {node}" in waiting and self.looks > after:
                metadata = SimpleNamespace(reply_to_message_id=f"to {node}", src_node_id=node)
                yield SimpleNamespace(
                    metadata=metadata, has_error=lambda content=content: content is None, content=record(content or b"")
                )


def run_with(grid, nodes):
    run = object.__new__(Run)
    run.nodes, run._grid = nodes, grid
    return run


def test_answers_come_by_party_and_who_is_away_is_not_asked(begun):
    grid = Grid({1, 2}, {1: (0, b"one"), 2: (3, b"two")})
    run = run_with(grid, {"a": 1, "b": 2, "c": 3})
    assert run.there() == {"a", "b"}
    assert run.ask({"a": b"?", "b": b"?", "c": b"?"}, 60) == {"a": b"one", "b": b"two"}
    assert [message.metadata.dst_node_id for message in grid.sent] == [1, 2]


def test_who_fails_or_is_too_slow_has_not_answered_and_nobody_waits_for_who_failed(begun):
    run = run_with(Grid({1, 2}, {1: (0, None), 2: (0, b"two")}), {"a": 1, "b": 2})
    assert run.ask({"a": b"?", "b": b"?"}, 60) == {"b": b"two"}
    assert run_with(Grid({1}, {1: (10**9, b"late")}), {"a": 1}).ask({"a": b"?"}, 0.05) == {}
    assert run_with(Grid(set(), {}), {"a": 1}).ask({"a": b"?"}, 60) == {}


def gate(monkeypatch, answer):
    """What a run makes of a SuperLink that answers a stranger like this."""

    class Stranger:
        def ListNodes(self, request):
            return answer()

        def close(self):
            pass

    monkeypatch.setattr(module, "client", lambda *args: Stranger())
    run = object.__new__(Run)
    run._address, run._certificate = "here:1", b""
    run._check_gate()


def status(code):
    def answer():
        request = httpx.Request("POST", "https://here")
        raise httpx.HTTPStatusError("no", request=request, response=httpx.Response(code, request=request))

    return answer


def test_a_link_that_obeys_strangers_is_not_used(monkeypatch):
    gate(monkeypatch, status(403))
    for answer in (lambda: "nodes", status(200), status(500)):
        with pytest.raises(FederatedError, match="obeys strangers"):
            gate(monkeypatch, answer)


def test_a_link_that_does_not_answer_is_unreachable_and_the_cause_is_kept(monkeypatch):
    def answer():
        raise httpx.ConnectError("refused")

    with pytest.raises(Unreachable, match="does not answer") as error:
        gate(monkeypatch, answer)
    assert isinstance(error.value.__cause__, httpx.ConnectError)


def test_a_token_is_taken_of_our_own_run_alone(monkeypatch):
    offered = iter([("theirs", 7), ("ours", 8)])
    monkeypatch.setattr(module, "runtime", lambda *args: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(module, "acquired", lambda link, kind: next(offered, (None, 0)))
    run = object.__new__(Run)
    run._address, run._certificate, run._run_id = "here:1", b"", 8
    assert run._token(b"secret") == "ours"
    with pytest.raises(FederatedError, match="no task"):
        run._token(b"secret")
