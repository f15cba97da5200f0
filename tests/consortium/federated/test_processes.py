"""Parties and a coordinator as real processes, over TLS: the same answers, and whatever may happen to them."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from delayed import Delayed

pytest.importorskip("grpc")
sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

import federated_loopback as loopback

from held_ports import held_ports
from privet import FederatedCurator, HistogramTreeClassifier, Ledger, load
from privet.consortium.consortium_file import Consortium
from privet.consortium.federated.channel import InProcess
from privet.consortium.federated.identity import Identity, certified
from privet.consortium.federated.party import Party
from privet.consortium.federated.signed import SignedReceipt
from privet.consortium.membership import renew
from privet.consortium.net.certificates import make_certificate
from privet.consortium.own_file import OwnFile
from privet.datasets import load_adult
from privet.errors import ReceiptError

MODEL = ["--model", "HistogramTreeClassifier", "--set", "max_depth=2"]


SLOW_LINE = 0.15
"""Seconds that each message takes one way, where something is to happen in the middle of a run."""


@pytest.fixture
def lay_out(tmp_path):
    """Lays out a consortium with delayed lines, in a folder; the line can be cut."""
    with held_ports(1) as (port,), Delayed(port, SLOW_LINE) as wire:

        def lay_out(names=loopback.HOSPITALS, **options):
            loopback.lay_out(tmp_path, names, port=port, dialled=wire.port, **options)
            return wire

        yield lay_out


def in_one_process(names, rows, seed, **terms):
    """What the same parties with the same seeds learn on the in-process channel."""
    _, _, schema = load_adult()
    identities = {name: Identity.fresh(name) for name in names}
    known = {name: own.public for name, own in identities.items()}
    parties = [
        Party(
            identities[name], table.select(list(schema.columns)), table.column(schema.label), schema, known, seed=seed
        )
        for name, table in loopback.dealt(names, rows).items()
    ]
    curator = FederatedCurator(schema, InProcess(parties), ledger=Ledger(math.inf), **terms)
    return HistogramTreeClassifier(epsilon=1.0, max_depth=2).fit_curator(curator)


def start_coordinator(folder, *options):
    command = [*loopback.PRIVET, "federated", "coordinator", str(folder / "coordinator" / "coordinator.toml")]
    command += ["--epsilon", "1", "-o", str(folder / "coordinator" / "model.json"), *MODEL, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(file, text, seconds=400):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if file.exists() and text in file.read_text():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} did not come")


def test_four_processes_learn_the_tree_of_the_in_process_channel_and_show_masked_numbers_only(tmp_path, lay_out):
    names = loopback.HOSPITALS[:3]
    lay_out(names, rows=6000, seed=3, timeout=180).seconds = 0.0
    parties = [loopback.start_party(tmp_path, name) for name in names]
    wire = tmp_path / "wire.jsonl"
    coordinator = start_coordinator(tmp_path, "--wire-log", str(wire))
    try:
        said, _ = coordinator.communicate(timeout=500)
    finally:
        coordinator.kill()
        loopback.stop(parties)
    assert coordinator.returncode == 0, said
    model = load(tmp_path / "coordinator" / "model.json")

    assert model.tree_.to_dict() == in_one_process(names, 6000, 3).tree_.to_dict()
    assert model.privacy_.void == ("random_state: the noise can be reproduced",)

    signed = SignedReceipt.from_json((tmp_path / "coordinator" / "model.signed.json").read_text())
    known = {name: certified((tmp_path / name / f"{name}.crt").read_bytes()) for name in names}
    assert signed.verify(known).spent == model.privacy_.spent
    with pytest.raises(ReceiptError):
        SignedReceipt(signed.terms, signed.receipt, {}, signed.answered).verify(known)

    lines = [json.loads(line) for line in wire.read_text().splitlines()]
    answers = [line["answered"] for line in lines if line["asked"]["words"]["do"] == "ask"]
    assert len(answers) >= 9
    assert all(answer["words"] == {"said": None} for answer in answers)
    numbers = np.frombuffer(b"".join(bytes.fromhex(answer["numbers"]) for answer in answers), dtype="<u8")
    assert len(np.unique(numbers)) == len(numbers) > 1000
    ones = np.unpackbits(numbers.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 6 * 0.5 / math.sqrt(64 * len(numbers))
    for line in lines:
        if line["asked"]["words"]["do"] != "ask":
            assert line["answered"]["numbers"] == ""


@pytest.mark.parametrize("what", ["killed", pytest.param("halted", marks=pytest.mark.slow)])
def test_a_party_killed_or_too_slow_in_the_middle_is_done_without(what, tmp_path, lay_out, monkeypatch):
    names = ("north", "south", "east", "west")
    lay_out(names, rows=3000, dropouts=1, timeout=20)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    parties = {name: loopback.start_party(tmp_path, name) for name in names}
    coordinator = start_coordinator(tmp_path)
    try:
        wait_for(tmp_path / "south" / "state" / "questions.log", "question 0")
        os.kill(parties["south"].pid, signal.SIGKILL if what == "killed" else signal.SIGSTOP)
        assert not list((tmp_path / "tmp").iterdir())  # no key, nor anything else, outlives it there
        said, _ = coordinator.communicate(timeout=500)
    finally:
        coordinator.kill()
        if what == "halted":
            os.kill(parties["south"].pid, signal.SIGCONT)
        loopback.stop(list(parties.values()))
    assert coordinator.returncode == 0, said
    assert "going on without south" in said
    assert load(tmp_path / "coordinator" / "model.json").privacy_.verify()


@pytest.mark.slow
def test_where_nobody_may_be_missing_a_run_stops_and_goes_on_when_the_party_is_back(tmp_path, lay_out):
    names = ("north", "south", "east")
    lay_out(names, rows=3000, seed=1, timeout=10)
    parties = {name: loopback.start_party(tmp_path, name) for name in names}
    coordinator = start_coordinator(tmp_path)
    try:
        wait_for(tmp_path / "south" / "state" / "questions.log", "question 0")
        parties["south"].kill()
        said, _ = coordinator.communicate(timeout=500)
        assert coordinator.returncode == 1, said
        assert "south did not answer, and the terms tolerate 0 missing. Nothing is lost" in said
        parties["south"] = loopback.start_party(tmp_path, "south")
        coordinator = start_coordinator(tmp_path)
        said, _ = coordinator.communicate(timeout=500)
    finally:
        coordinator.kill()
        loopback.stop(list(parties.values()))
    assert coordinator.returncode == 0, said
    assert (
        load(tmp_path / "coordinator" / "model.json").tree_.to_dict() == in_one_process(names, 3000, 1).tree_.to_dict()
    )
    for name in names:
        log = (tmp_path / name / "state" / "questions.log").read_text()
        assert log.count("question 0") == log.count("question 1") == 1
        assert "spent epsilon 1 in this run, 1 of 1 in all, 0 left" in log


def test_a_coordinator_killed_in_the_middle_goes_on_where_it_was(tmp_path, lay_out):
    names = ("north", "south", "east")
    lay_out(names, rows=3000, seed=1, timeout=120)
    parties = [loopback.start_party(tmp_path, name) for name in names]
    coordinator = start_coordinator(tmp_path)
    try:
        wait_for(tmp_path / "south" / "state" / "questions.log", "question 1")
        coordinator.kill()
        coordinator.wait(timeout=60)
        again = start_coordinator(tmp_path)
        said, _ = again.communicate(timeout=500)
    finally:
        coordinator.kill()
        loopback.stop(parties)
    assert again.returncode == 0, said
    assert "question 0" not in said
    model = load(tmp_path / "coordinator" / "model.json")
    assert model.tree_.to_dict() == in_one_process(names, 3000, 1).tree_.to_dict()
    for name in names:
        log = (tmp_path / name / "state" / "questions.log").read_text()
        assert log.count("question 0") == log.count("question 1") == 1
        assert "spent epsilon 1 in this run, 1 of 1 in all, 0 left" in log


@pytest.mark.slow
def test_a_party_that_holds_another_certificate_of_the_coordinator_does_not_talk_to_it(tmp_path, lay_out):
    """And a party whose certificate the coordinator does not have is not let in: the run says who did not come."""
    names = ("north", "south", "east")
    lay_out(names, rows=300, wait=15, timeout=15)
    _, other = make_certificate("coordinator", tmp_path / "other", hosts=["127.0.0.1"])
    copy = tmp_path / "south" / "south.consortium.toml"
    known = Consortium.read(copy)
    known.with_member(replace(known.member("coordinator"), certificate=other.read_bytes())).write(copy)
    renew(OwnFile(tmp_path / "east" / "east.toml"), 1)  # and nobody has accepted it
    parties = [loopback.start_party(tmp_path, name) for name in names]
    coordinator = start_coordinator(tmp_path)
    try:
        said, _ = coordinator.communicate(timeout=500)
    finally:
        coordinator.kill()
        loopback.stop(parties)
    assert coordinator.returncode == 1
    assert "east, south did not join" in said
    assert "no entry at" in (tmp_path / "south" / "party.log").read_text()


def logs_of(folder, names):
    return [(folder / name / "state" / "questions.log").read_text() for name in names]


@pytest.mark.slow
def test_lines_that_break_in_the_middle_cost_nothing_but_time(tmp_path, lay_out):
    names = ("north", "south", "east")
    wire = lay_out(names, rows=3000, seed=1, timeout=60)
    parties = [loopback.start_party(tmp_path, name) for name in names]
    coordinator = start_coordinator(tmp_path)
    try:
        for question in ("question 0", "question 1"):
            wait_for(tmp_path / "south" / "state" / "questions.log", question)
            wire.cut()
        said, _ = coordinator.communicate(timeout=500)
    finally:
        coordinator.kill()
        loopback.stop(parties)
    assert coordinator.returncode == 0, said
    model = load(tmp_path / "coordinator" / "model.json")
    assert model.tree_.to_dict() == in_one_process(names, 3000, 1).tree_.to_dict()
    for log in logs_of(tmp_path, names):
        assert log.count("question 0") == log.count("question 1") == 1
        assert log.count("connected to the coordinator") >= 3
        assert "spent epsilon 1 in this run, 1 of 1 in all, 0 left" in log


@pytest.mark.slow
def test_a_partys_small_limit_and_a_second_coordinator_cost_nobody_anything(tmp_path, lay_out):
    names = ("north", "south", "east")
    lay_out(names, rows=300, timeout=60)
    file = tmp_path / "south" / "south.toml"
    file.write_text(file.read_text().replace("epsilon = 1.0", "epsilon = 0.5"))
    parties = [loopback.start_party(tmp_path, name) for name in names[:2]]
    coordinator = start_coordinator(tmp_path)
    try:
        for name in names[:2]:
            wait_for(tmp_path / name / "party.log", "connected to the coordinator")
        second = start_coordinator(tmp_path, "--journal", str(tmp_path / "second.run"), "--force")
        told, _ = second.communicate(timeout=200)
        assert second.returncode == 1
        assert "Address already in use. Another coordinator may have this port" in told
        parties.append(loopback.start_party(tmp_path, names[2]))
        said, _ = coordinator.communicate(timeout=500)
    finally:
        coordinator.kill()
        loopback.stop(parties)
    assert coordinator.returncode == 1
    assert "south refuses: south has epsilon 0.5 left of its limit of 0.5, and this run needs epsilon 1." in said
    assert not any("question 0" in log for log in logs_of(tmp_path, names))
