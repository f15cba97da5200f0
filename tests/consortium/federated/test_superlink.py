"""Whoever reaches the coordinator's port can neither start nor stop a run there, nor let in nodes."""

import asyncio
import ssl
import sys
import time
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("flwr")

from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, StartRunRequest, StopRunRequest
from flwr.supercore.control import ControlHttpClient

from privet.consortium.federated import flower, run
from privet.consortium.federated.superlink import HEADER, Gate, shown
from privet.consortium.federated.tasks import ShowsSecret, client
from privet.consortium.net.certificates import make_certificate
from privet.consortium.net.ports import HERE, held_ports
from privet.errors import FederatedError

SECRET = b"s" * 32
RIGHT = (HEADER.encode(), shown(SECRET).encode())


def passes(path, *headers, kind="http"):
    """Whether the gate lets a request through."""
    reached, sent = [], []

    async def app(scope, receive, send):
        reached.append(scope)

    async def send(message):
        sent.append(message)

    asyncio.run(Gate(app, SECRET)({"type": kind, "path": path, "headers": list(headers)}, None, send))
    assert bool(reached) != bool(sent)
    assert not sent or sent[0].get("status", 403) == 403
    return bool(reached)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/control/start-run",
        "/docs",
        "/openapi.json",
        "/",
        "",
        "//v1/fleet/x",
        "/v1/fleet",
        "/v1/fleets/",
        "/V1/fleet/",
    ],
)
def test_only_who_shows_the_secret_gets_beyond_what_is_for_nodes(path):
    assert not passes(path)
    assert not passes(path, (HEADER.encode(), b"a guess"))
    assert not passes(path, (HEADER.encode(), SECRET))
    assert not passes(path, RIGHT, RIGHT)
    assert not passes(path, kind="websocket")
    assert passes(path, RIGHT)


def test_nodes_and_tasks_come_through():
    assert passes("/v1/fleet/pull-messages")
    assert passes("/v1/runtime/acquire-task")


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    """A real SuperLink, started as the coordinator starts it."""
    folder = tmp_path_factory.mktemp("link")
    make_certificate("coordinator", folder, hosts=[HERE])
    (folder / "secret").write_bytes(SECRET)
    with held_ports(1) as (port,):
        config = SimpleNamespace(
            address=(HERE, port), certificate=folder / "coordinator.crt", key=folder / "coordinator.key"
        )
        process = flower.FlowerChannel._superlink(SimpleNamespace(_config=config), folder, None)
        try:
            end = time.monotonic() + flower.TO_START
            while not flower._listens(HERE, port):
                assert process.poll() is None, (folder / "flower.log").read_text()
                assert time.monotonic() < end
                time.sleep(0.2)
            yield SimpleNamespace(
                pid=process.pid, port=port, address=f"{HERE}:{port}", certificate=config.certificate.read_bytes()
            )
        finally:
            flower._stop(process)


def test_a_stranger_cannot_use_a_real_superlink_and_the_coordinator_can(link):
    with closing(client(ControlHttpClient, link.address, link.certificate)) as stranger:
        for ask, request in (
            (stranger.ListNodes, ListNodesRequest()),
            (stranger.RegisterNode, RegisterNodeRequest(public_key=b"", name="eve")),
            (stranger.StartRun, StartRunRequest()),
            (stranger.StopRun, StopRunRequest(run_id=1)),
        ):
            with pytest.raises(httpx.HTTPStatusError, match="403"):
                ask(request)
    with closing(client(ControlHttpClient, link.address, link.certificate, ShowsSecret(SECRET))) as coordinator:
        assert not coordinator.ListNodes(ListNodesRequest()).nodes_info


def posted(link, path, **headers):
    """The status that a real SuperLink answers this very path with: clients tidy up paths before they send them."""
    context = ssl.create_default_context(cadata=link.certificate.decode())
    with closing(HTTPSConnection(HERE, link.port, context=context, timeout=30)) as connection:
        body = ListNodesRequest().SerializeToString()
        connection.request("POST", path, body, {"Content-Type": "application/protobuf", **headers})
        return connection.getresponse().status


LIST_NODES = "v1/control/list-nodes"


@pytest.mark.parametrize(
    "path",
    [
        f"/{LIST_NODES}",
        f"/{LIST_NODES}/",
        f"//{LIST_NODES}",
        f"/./{LIST_NODES}",
        "/v1//control/list-nodes",
        "/V1/CONTROL/LIST-NODES",
        "/v1/Control/list-nodes",
        "/v1/%63ontrol/list-nodes",
        "/v1%2fcontrol%2flist-nodes",
        f"/%00{LIST_NODES}",
        f"/{LIST_NODES}%00",
        f"/{LIST_NODES}?/v1/fleet/",
        f"/{LIST_NODES};/v1/fleet/",
        f"https://{HERE}/{LIST_NODES}",
        *(
            f"/v1/{opened}/{up}"
            for opened in ("fleet", "runtime")
            for up in (
                "../control/list-nodes",
                "%2e%2e/control/list-nodes",
                "%2E%2E%2Fcontrol%2Flist-nodes",
                "..%2fcontrol/list-nodes",
                "..%5ccontrol%5clist-nodes",
                "%252e%252e/control/list-nodes",
                f"../../{LIST_NODES}",
                f"/{LIST_NODES}",
                f"%00/../../../{LIST_NODES}",
                "..;/control/list-nodes",
            )
        ),
    ],
)
def test_no_way_of_writing_a_path_leads_a_stranger_to_control(link, path):
    assert posted(link, path) in (401, 403, 404, 415)


def test_the_coordinator_reaches_control_by_the_path_that_strangers_tried(link):
    assert posted(link, f"/{LIST_NODES}", **{HEADER: shown(SECRET)}) == 200


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_superlink_has_one_port_and_no_other(link):
    """All that it serves is behind the gate."""
    sockets = {
        target.removeprefix("socket:[").removesuffix("]")
        for file in Path(f"/proc/{link.pid}/fd").iterdir()
        if (target := str(file.readlink())).startswith("socket:[")
    }
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{link.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            local, state, inode = fields[1], fields[3], fields[9]
            if state == "0A" and inode in sockets:  # it listens
                ports.add(int(local.rsplit(":", 1)[1], 16))
    assert ports == {link.port}


def test_a_coordinator_does_not_go_on_with_a_superlink_that_obeys_strangers(link, monkeypatch):
    class Obedient:
        def ListNodes(self, request):
            return None

        def close(self):
            pass

    monkeypatch.setattr(run, "client", lambda *args: Obedient())
    with pytest.raises(FederatedError, match="obeys strangers"):
        run.Run(link.address, link.certificate, SECRET, {})
