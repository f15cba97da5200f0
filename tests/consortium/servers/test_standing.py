"""How owners stand before anybody pays: amounts, a clock and a version, and nothing else comes through."""

import json
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from privet.consortium.servers import standing as module
from privet.consortium.servers.jobs import PROTOCOL, QueryJob, TrainingJob, fresh_run
from privet.consortium.servers.own_ledger import OwnerLedger
from privet.consortium.servers.standing import DryRun, Standing, asked_of, owners_checked, stands
from privet.errors import MpcError

HALF = Fraction(1, 2)
GOOD = Standing.of(Fraction(1), HALF, True)


class Line:
    """The other end says one thing, or nothing."""

    peer = "server 1"

    def __init__(self, says=None):
        self.says, self.sent, self.closed = says, [], False

    def send(self, message):
        self.sent.append(message)

    def receive(self, most, within=None):
        return self.says

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def spoken(monkeypatch):
    monkeypatch.setattr(module, "wait_any", lambda lines, longest: lines[0].says is not None)


def test_a_dry_run_crosses_the_wire_and_is_told_from_jobs():
    for needs in (None, HALF, Fraction(1, 3), Fraction(2)):
        assert DryRun.from_bytes(DryRun(needs).to_bytes()) == DryRun(needs)
    assert DryRun.from_bytes(QueryJob(fresh_run(), fresh_run(), 3).to_bytes()) is None
    assert DryRun.from_bytes(TrainingJob(fresh_run(), "m", {"check": 1}, None, False).to_bytes()) is None
    for needs in ("x", "1/0", "-1", "0", "inf", "nan", [], True, "1e30000000"):
        with pytest.raises(MpcError, match="makes no sense"):
            DryRun.from_bytes(json.dumps({"check": needs}).encode())


def test_a_standing_is_of_the_ledger_alone_and_sets_nothing_aside(tmp_path):
    ledger = OwnerLedger(tmp_path / "own.ledger", Fraction(1), "one row", at_most=HALF)
    found = {needs: ledger.standing(needs) for needs in (None, HALF, Fraction(3, 4))}
    assert [each.enough for each in found.values()] == [True, True, False]
    assert {(each.limit, each.left) for each in found.values()} == {("1", "1")}
    assert ledger.state == "epsilon 1 of 1 is left"


@pytest.mark.parametrize(
    "change",
    [
        {"left": "all my records: 17"}, {"left": 1}, {"limit": "inf"}, {"enough": 1}, {"now": "now"}, {"protocol": "7"},
        {"version": "1 and more words"}, {"version": "\x1b[2J"}, {"records": 3}, {"left": "1/0"}, {"version": "1" * 41},
        {"limit": "1" * 900 + "/1"}, {"left": "-1"},
    ],
)  # fmt: skip
def test_an_owner_cannot_have_a_server_say_anything_else(change):
    assert Standing.from_bytes(GOOD.to_bytes()) == GOOD
    line = Line(json.dumps({**json.loads(GOOD.to_bytes()), **change}).encode())
    assert stands(line, DryRun(HALF)) is None
    assert line.closed


def test_an_owner_that_says_nothing_is_not_waited_for():
    silent = Line()
    assert stands(silent, DryRun()) is None
    assert silent.closed
    assert stands(Line(GOOD.to_bytes()), DryRun())["left"] == "0.5"


def test_what_keeps_a_training_from_its_end_is_said():
    good = replace(GOOD, now=time.time())
    assert good.problems(HALF) == []
    assert "another version" in replace(good, protocol=PROTOCOL - 1).problems(None)[0]
    assert "differ by 3,600 seconds" in replace(good, now=time.time() - 3600).problems(None)[0]
    short = replace(good, enough=False)
    assert short.problems(Fraction(3, 4)) == ["it has epsilon 0.5 of 1 left, and this model needs 0.75"]
    assert short.problems(HALF) == ["it takes part for less (--at-most), and this model needs 0.5"]


def test_a_trainer_reads_what_a_server_says_of_owners_as_carefully():
    said = {"a": json.loads(GOOD.to_bytes()), "b": None}
    assert asked_of(Line(json.dumps({"owners": said}).encode()), DryRun()) == {"a": GOOD, "b": None}
    for nonsense in (b"", b"{}", b'{"owners": []}', b'{"owners": {"a": 1}}', b'{"owners": {"a": {"left": "1"}}}'):
        with pytest.raises(MpcError, match="no standing"):
            asked_of(Line(nonsense), DryRun())
    with pytest.raises(MpcError, match="busy with another request"):
        asked_of(Line(), DryRun())


def test_each_owner_is_one_entry_whatever_servers_it_waits_at():
    good = replace(GOOD, now=time.time())
    told = {"server 0": {"a": good, "b": None}, "server 1": {"a": good, "b": replace(good, enough=False)}}
    first, second = owners_checked(told, HALF)
    assert (first["owner"], first["left"], first["problems"]) == ("a", "0.5", [])
    assert "does not wait at server 0:" in second["problems"][0]
    assert len(second["problems"]) == 2
