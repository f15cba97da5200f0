"""A party's end of the wire: it says why it has no line, dials again, and answers one message at a time."""

import time
from dataclasses import replace

from consortium.federated.wired import Town, line, switchboard
from delayed import Delayed
from held_ports import HERE, held_ports
from privet.consortium.federated.line import TAG_BYTES, tag
from privet.consortium.net.certificates import make_certificate


def comes(said, words, seconds=60):
    end = time.monotonic() + seconds
    while not any(words in each for each in said):
        assert time.monotonic() < end, said
        time.sleep(0.02)


def test_a_tag_tells_messages_apart():
    assert len({tag(b"a"), tag(b"b"), tag(b"")}) == 3
    assert len(tag(b"a")) == TAG_BYTES


def test_a_party_waits_for_a_coordinator_and_says_it_once(tmp_path):
    said = []
    with held_ports(1) as (port,), line(Town(tmp_path, ["a"], port).party("a"), bytes, said):
        comes(said, f"waiting for a coordinator at {HERE}:{port}")
        time.sleep(1.0)
        assert len(said) == 1


def test_a_line_is_dialled_again_when_it_breaks_or_the_coordinator_goes(tmp_path):
    said = []
    with (
        switchboard(tmp_path, {"a": None}, wait=0.1) as (town, _),
        Delayed(town.port) as wire,
        line(town.party("a", address=(HERE, wire.port)), bytes, said),
    ):
        comes(said, "connected")
        wire.cut()
        comes(said, "has gone")
        said.clear()
        comes(said, "connected")


def test_who_has_another_certificate_of_the_coordinator_does_not_talk_to_it(tmp_path):
    make_certificate("coordinator", tmp_path / "other", hosts=[HERE])
    said, asked = [], []
    with switchboard(tmp_path, {"a": None}, wait=0.1) as (town, board):
        wrong = replace(town.party("a"), coordinator=(tmp_path / "other" / "coordinator.crt").read_bytes())
        with line(wrong, asked.append, said):
            comes(said, "it has not the certificate of the consortium's file, or that has expired")
            assert board.ask({"a": b"?"}) == {}
    assert "CERTIFICATE_VERIFY_FAILED" in said[0]  # what the library says goes along
    assert not asked


def test_who_is_not_known_is_told_that(tmp_path):
    said = []
    with switchboard(tmp_path, {"a": None}, wait=0.1) as (town, _):
        make_certificate("eve", tmp_path)
        with line(town.party("eve"), bytes, said):
            comes(said, "it does not know this party's certificate")


def test_a_coordinator_whose_certificate_names_no_host_is_known_by_its_name(tmp_path):
    make_certificate("coordinator", tmp_path)
    with switchboard(tmp_path, {"a": lambda message: message}) as (_, board):
        assert board.ask({"a": b"hello"}) == {"a": b"hello"}
