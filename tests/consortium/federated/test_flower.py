"""Privet as an app on a real SuperLink: its public interface carries messages as the wire does."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")  # `make test-long` installs it
sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

import federated_loopback as loopback
from flwr.app import Message, RecordDict

from held_ports import HERE, held_ports
from privet import load
from privet.consortium.federated import flower
from privet.consortium.federated.identity import certified
from privet.consortium.federated.signed import SignedReceipt
from privet.errors import FederatedError

pytestmark = pytest.mark.slow

APP = Path(loopback.__file__).parent / "flower_app"


def program(name):
    return str(Path(sys.executable).parent / name)


def wait_until_it_listens(port, seconds=600):
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((HERE, port)).close()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.2)


def test_parties_on_a_real_superlink_train_a_model(tmp_path):
    names = ("east", "north", "south")
    loopback.lay_out(tmp_path, names, rows=1500, port=1)
    shutil.copytree(APP, tmp_path / "app")
    home = tmp_path / "flower"
    home.mkdir()
    own_programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    environment = {**os.environ, **quiet, "FLWR_HOME": str(home), "PATH": own_programs}
    with held_ports(len(names) + 1) as (port, *own):
        (home / "config.toml").write_text(
            f'[superlink]\ndefault = "test"\n[superlink.test]\naddress = "{HERE}:{port}"\ninsecure = true\n'
        )
        log = open(tmp_path / "flower.log", "ab")  # noqa: SIM115

        def start(*command):
            return subprocess.Popen(list(map(str, command)), env=environment, stdout=log, stderr=log)

        link = start(
            program("flower-superlink"), "--insecure", "--disable-runtime-dependency-installation", "--host", HERE,
            "--port", port,
        )  # fmt: skip
        nodes = [
            start(
                program("flower-supernode"), "--insecure", "--superlink", f"{HERE}:{port}", "--port", mine,
                "--node-config", f'party="{tmp_path / name / f"{name}.toml"}"',
            )
            for name, mine in zip(names, own)
        ]  # fmt: skip
        model = tmp_path / "coordinator" / "model.json"
        settings = f'coordinator="{tmp_path / "coordinator" / "coordinator.toml"}" output="{model}"'
        try:
            wait_until_it_listens(port)
            run = [program("flwr"), "run", str(tmp_path / "app"), "test", "--run-config", settings]
            said = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=600)
            assert said.returncode == 0, said.stdout + said.stderr
            end = time.monotonic() + 1500
            while not model.with_suffix(".signed.json").exists():
                assert time.monotonic() < end, (tmp_path / "flower.log").read_text()[-4000:]
                time.sleep(0.5)
        finally:
            for process in (*nodes, link):
                process.terminate()
            for process in (*nodes, link):
                process.wait(timeout=60)
            log.close()
    signed = SignedReceipt.from_json(model.with_suffix(".signed.json").read_text())
    known = {name: certified((tmp_path / name / f"{name}.crt").read_bytes()) for name in names}
    assert signed.verify(known).spent == load(model).privacy_.spent == 1
    assert json.loads(signed.receipt)["released"]


class Grid:
    """Nodes that say who they are, and answer backwards; node 3 is nobody's and node 4 fails."""

    nodes = {1: b"a", 2: b"b", 3: b"\xff", 4: None}  # noqa: RUF012

    def get_node_ids(self):
        return list(self.nodes)

    def send_and_receive(self, messages, *, timeout):
        for message in messages:
            node, asked = message.metadata.dst_node_id, flower._bytes(message)
            name = self.nodes[node]
            yield SimpleNamespace(
                metadata=SimpleNamespace(src_node_id=node),
                has_error=lambda name=name: name is None,
                content=flower._record(asked[::-1] if asked else name or b""),
            )


@pytest.fixture
def in_a_run(monkeypatch):
    """As in a process that Flower started: messages are made of no run otherwise."""
    monkeypatch.setattr(flower, "POLL", 0.01)
    monkeypatch.setattr(
        flower,
        "Message",
        lambda content, dst_node_id, message_type: SimpleNamespace(
            content=content, metadata=SimpleNamespace(dst_node_id=dst_node_id)
        ),
    )


def test_nodes_are_asked_by_the_names_that_they_give(in_a_run):
    channel = flower.GridChannel(Grid(), SimpleNamespace(parties={"b": b"", "a": b""}, timeout=5.0, wait=5.0))
    assert channel.parties == ("a", "b")
    assert channel.ask({"a": b"xyz", "b": b"uvw"}) == {"a": b"zyx", "b": b"wvu"}
    assert channel.ask({"b": b"uvw"}) == {"b": b"wvu"}


def test_parties_that_no_node_is_of_are_named(in_a_run):
    with pytest.raises(FederatedError, match="c, d did not come"):
        flower.GridChannel(Grid(), SimpleNamespace(parties=dict.fromkeys("abcd", b""), timeout=5.0, wait=0.1))


def test_messages_keep_their_bytes():
    record = flower._record(bytes(range(256)))
    assert isinstance(record, RecordDict)
    assert flower._bytes(SimpleNamespace(content=record)) == bytes(range(256))
    assert Message is flower.Message
