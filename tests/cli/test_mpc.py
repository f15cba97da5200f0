"""``privet mpc``: what is refused before anybody is connected."""

from __future__ import annotations

import http.client
import importlib.util
import json
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest
from typer.testing import CliRunner

pytest.importorskip("cryptography")

from consortium.servers.town import OWNERS, QUERIES, Town
from held_ports import held_ports
from privet import Categorical, Numeric, Schema
from privet.cli import app, members
from privet.cli.logs import LogForm, speaking
from privet.cli.roles import checked, status_of
from privet.consortium.metrics import prometheus
from privet.consortium.monitor import page
from privet.consortium.net.channel import TlsChannel
from privet.consortium.servers import status as status_module
from privet.consortium.servers.client import predict, train
from privet.consortium.servers.requests import Requests
from privet.curators.owners.mpc_owner import Owner
from privet.errors import MpcError, PrivetError


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    result = CliRunner().invoke(app, ["mpc", *map(str, args)], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_help_says_what_has_to_be_trusted():
    assert "not independently reviewed" in " ".join(run("--help").stdout.split())


@pytest.fixture
def town(here):
    town = Town(here)
    yield town
    town.held.close()


def test_a_file_of_another_role_is_refused(town):
    result = run("server", "hospital.toml")
    assert result.exit_code == 2
    assert "not the file of a server: hospital has the role owner" in result.stderr
    assert "not the file of an owner: ann has the role user" in run("share", "ann.toml").stderr


def test_training_is_refused_before_anybody_is_connected(town):
    assert "epsilon" in run("train", "trainer.toml", "--epsilon", "-1", "-o", "m.json").stderr
    assert "no parameter" in run("train", "trainer.toml", "--epsilon", "1", "-o", "m.json", "--set", "x=1").stderr
    assert "give holdout" in run("train", "trainer.toml", "--epsilon", "1", "-o", "m.json", "--by", "colour").stderr
    (town.folder / "m.json").write_text("")
    assert "--force" in run("train", "trainer.toml", "--epsilon", "1", "-o", "m.json").stderr


def test_without_its_packages_the_command_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cryptography" else find(name))
    result = run("fingerprint", "x")
    assert result.exit_code == 2
    assert "privet[mpc]" in result.stderr


def test_a_trainer_and_a_user_who_run_nothing_have_a_page_too(town, monkeypatch, here):
    seen = {}

    class Looks:
        """What waits for the end: it looks at the page, and the end is there."""

        def wait(self):
            for name in ("trainer", "ann"):
                if (token := here / f"{name}.token").exists() and name not in seen:
                    with closing(http.client.HTTPConnection("127.0.0.1", town.page_port, timeout=20)) as line:
                        line.request("GET", "/", headers={"Authorization": f"Bearer {token.read_text()}"})
                        seen[name] = line.getresponse().read().decode()

    with pytest.raises(KeyError), Requests(here / "ann.toml").noted("40 queries of model 3f2a91c0"):
        raise KeyError
    with held_ports(1) as (town.page_port,):
        monkeypatch.setattr(members, "Event", Looks)
        for name in ("trainer", "ann"):
            assert (
                f"a page at http://127.0.0.1:{town.page_port}/"
                in run("page", f"{name}.toml", "--port", town.page_port).stdout
            )
    assert "ann (user)" in seen["ann"]
    assert "40 queries of model 3f2a91c0" in seen["ann"]
    assert "failed" in seen["ann"]
    assert "trainer (trainer)" in seen["trainer"]


CANARIES = [b"very-rare-colour", b"0.36787944117", struct.pack("<d", 0.36787944117144233)]


def with_canaries(table):
    """A category that no schema lists and a number with many digits, in every record: both would be seen anywhere."""
    return table.assign(colour="very-rare-colour", age=0.36787944117144233)


def test_no_value_of_a_record_is_in_a_log_a_status_a_metric_a_page_a_message_or_a_kept_file(here, capsys, monkeypatch):
    schema = Schema(
        {"age": Numeric(0, 7), "colour": Categorical(["r", "g", "b"])}, classes=["no", "yes"], label="bought"
    )
    town, wire, send = Town(here, schema=schema), [], TlsChannel.send
    monkeypatch.setattr(TlsChannel, "send", lambda line, message: (wire.append(message), send(line, message))[1])
    monkeypatch.setattr(status_module, "TO_CHECK", 60.0)
    monkeypatch.setattr(status_module, "TO_COME", 60.0)
    names = ["server0", "server1", "server2", *OWNERS, "trainer", "ann", "bob"]
    town.tables = [with_canaries(table) for table in town.tables]
    with ExitStack() as stack:
        stack.callback(town.held.close)
        says = {
            name: stack.enter_context(speaking(here / f"{name}.toml", LogForm.json, None, here / f"{name}.errors.log"))
            for name in names
        }
        stack.callback(town.stop)
        town.start({name: says[name] for name in names[:3]})
        with ThreadPoolExecutor(2) as pool:
            for hidden in (False, True):
                owners = town.owners(pool, says)
                assert all("left" in each for each in checked(here / "trainer.toml", 1.0, None)[3:])
                model = "HiddenTreeClassifier" if hidden else "PrivateTreeClassifier"
                params = {"epsilon": 1.0, "max_depth": 1}
                signed = train(
                    town.config("trainer"), model, params, hidden=hidden, progress=says["trainer"]
                ).signed  # fmt: skip
                assert all(owner.result() for owner in owners)
        queries = with_canaries(QUERIES)
        assert set(predict(town.config("ann"), signed, queries)) <= {"no", "yes"}
        for name, why in (("bob", "has 5 left"), ("eve", "has refused")):
            with pytest.raises(PrivetError, match=why):
                predict(town.config(name), signed, queries)
        monkeypatch.setattr(Owner, "answer", lambda owner, request: 1 / 0)  # and something that goes wrong
        with ThreadPoolExecutor(2) as pool:
            owners = town.owners(pool, says)
            with pytest.raises(MpcError):
                train(town.config("trainer"), "PrivateTreeClassifier", params)
            assert [type(owner.exception()) for owner in owners] == [MpcError] * 2
    seen = [json.dumps(status) + prometheus(status, everything=True) + page(status)
            for status in (status_of(here / f"{name}.toml") for name in names)]  # fmt: skip
    said = capsys.readouterr()
    texts = [text.encode() for text in (*seen, said.out, said.err)] + wire
    texts += [path.read_bytes() for path in here.rglob("*") if path.is_file() and path.suffix != ".csv"]
    assert len(wire) > 200
    assert any(b"answered 40 queries of ann" in text for text in texts)
    assert any(b"offered PrivateTreeClassifier for at most epsilon 1" in text for text in texts)
    assert any(b"ZeroDivisionError" in text for text in texts)
    assert not [text for text in texts for canary in CANARIES if canary in text]
