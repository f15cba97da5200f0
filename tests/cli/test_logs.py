"""What programs that run for long say: plain, or JSON lines with times; warnings too, and never what led to them."""

from __future__ import annotations

import http.client
import json
import logging
import re
from contextlib import closing
from datetime import datetime
from fractions import Fraction

import pytest

pytest.importorskip("cryptography")

from consortium.servers.town import Town
from privet.cli.logs import LogForm, Speaker, speaking
from privet.consortium.membership import renew
from privet.consortium.own_file import OwnFile
from privet.privacy.receipt import Receipt


@pytest.fixture
def own(tmp_path):
    town = Town(tmp_path)
    yield tmp_path / "server0.toml"
    town.held.close()


def test_json_lines_have_times_names_and_levels_and_warnings_no_traceback(own, tmp_path, capsys):
    with speaking(own, LogForm.json, None, tmp_path / "errors.log") as speaker:
        speaker("waiting\x1b for a request")
        try:
            raise ValueError("record 17")
        except ValueError:
            logging.getLogger("privet.server").exception("a request has failed")
        logging.getLogger("privet.net").warning("refused %s: %s", "10.0.0.7", "bad certificate")
        logging.getLogger("privet.server").info("for the file alone")
    logging.getLogger("privet.net").warning("afterwards")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["level"], line["event"]) for line in lines] == [
        ("info", "waiting\\x1b for a request"),
        ("error", "a request has failed"),
        ("warning", "refused 10.0.0.7: bad certificate"),
    ]
    assert all(line["name"] == "server0" and datetime.fromisoformat(line["time"]).tzinfo for line in lines)
    assert "record 17" in (tmp_path / "errors.log").read_text()  # which is its operator's alone


def test_plain_lines_are_for_people_and_warnings_go_to_stderr(own, tmp_path, capsys):
    with speaking(own, LogForm.plain, None, tmp_path / "errors.log") as speaker:
        speaker("waiting")
        logging.getLogger("privet.net").warning("refused a stranger")
    said = capsys.readouterr()
    assert said.out == "waiting\n"
    assert "warning: refused a stranger" in said.err


def test_with_a_port_there_is_a_page_with_the_status_and_what_was_said_last(own, tmp_path, capsys):
    live = {"members": [{"name": "owner bank", "connected": True}]}
    with speaking(own, LogForm.plain, 0, tmp_path / "errors.log", lambda: live) as speaker:
        port = int(re.search(r"http://127.0.0.1:(\d+)/; the token is in", capsys.readouterr().out)[1])
        speaker("waiting for a request")
        token = (tmp_path / "server0.token").read_text()
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
            line.request("GET", "/", headers={"Authorization": f"Bearer {token}"})
            page = line.getresponse().read().decode()
    for words in ("server0 (server)", "waiting for a request", "owner bank", "queries left", "certificates"):
        assert words in page
    assert token not in page


def test_a_certificate_that_runs_out_soon_is_told_of_at_the_start(own, tmp_path, capsys):
    renew(OwnFile(own), 7)
    with speaking(own, LogForm.plain, None, tmp_path / "errors.log"):
        pass
    assert "warning: the certificate of server0 (own) is valid for 6 more days: renew it" in capsys.readouterr().err


def test_a_receipt_is_whole_for_people_and_one_line_for_programs(capsys):
    receipt = Receipt(claimed=Fraction(1), spent=Fraction(1, 2), delta=Fraction(0), void=(), trust="", events=())
    Speaker("a", LogForm.json).received(receipt, "Wrote m.json.")
    assert json.loads(capsys.readouterr().out)["event"] == "Wrote m.json. It cost epsilon 0.5."
    Speaker("a", LogForm.plain).received(receipt, "Wrote m.json.")
    assert capsys.readouterr().out.startswith("\nReceipt\n")


def test_the_last_words_are_remembered():
    speaker = Speaker("a", LogForm.json)
    speaker("one")
    speaker("two")
    assert speaker.last.endswith(" two")
