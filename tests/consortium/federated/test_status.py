"""What operators see: from files alone, and, before anybody pays, from the parties; never anything about records."""

import math
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from consortium.federated.owners import SCHEMA, TABLES, begun, closed, receipt_of, table, tables
from consortium.federated.wired import Town
from privet import Schema
from privet.consortium.federated.allowance import Need
from privet.consortium.federated.channel import InProcess, in_process
from privet.consortium.federated.identity import Identity, certified
from privet.consortium.federated.journal import Journal
from privet.consortium.federated.party import Party
from privet.consortium.federated.status import checks, coordinator_status, give_up, party_status
from privet.consortium.federated.wire import pack, unpack
from privet.errors import FederatedError
from privet.questions.tally import Tally

HALF = Fraction(1, 2)
NAMES = ("a", "b", "c")


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path, NAMES, 1, schema=SCHEMA)
    known = {name: certified(own) for name, own in town.parties.items()}
    identities = [Identity.read(name, tmp_path / f"{name}.key", tmp_path / f"{name}.crt") for name in NAMES]
    town.channel = InProcess(
        [Party(own, *table(30), SCHEMA, known, limit=Fraction(1), state=tmp_path / own.name) for own in identities]
    )
    with closed(town.channel._parties.values()):
        yield town


def test_a_party_sees_its_limit_its_runs_and_how_long_certificates_hold(town, tmp_path):
    config = town.party("a", state=tmp_path / "a", schema=SCHEMA)
    seen = party_status(config)
    assert (seen["spent"], seen["left"], seen["runs"], seen["running"]) == ("0", "1", [], True)
    curator, _ = begun(town.channel, HALF)
    (run,) = party_status(config)["runs"]
    assert (run["state"], run["questions"], run["spent"], run["with"]) == ("open", 1, "0.5", list(NAMES))
    curator.coordinator.sign(receipt_of(curator))
    (tmp_path / "a" / "questions.log").write_text(
        "2026-01-01T00:00:00Z one\n2026-01-02T00:00:00Z two\n2026-01-03T00:00:00Z waiting for a coordinator at x\n"
    )
    town.channel._parties["a"].close()
    seen = party_status(config)
    assert seen["runs"][0]["state"] == "closed"
    assert (seen["spent"], seen["left"], seen["running"]) == ("0.5", "0.5", False)
    assert seen["last contact"].endswith("two")
    assert [each["name"] for each in seen["certificates"]] == ["a (own)", "coordinator", "b", "c"]
    assert all(363 <= each["days"] <= 365 for each in seen["certificates"])
    assert party_status(replace(config, epsilon=Fraction(1, 4)))["left"] == "0"  # it was lowered


def test_a_party_that_has_never_run_has_a_status_and_no_folder_afterwards(town, tmp_path):
    seen = party_status(town.party("a", state=tmp_path / "nowhere", schema=SCHEMA))
    assert (seen["spent"], seen["last contact"], seen["running"]) == ("0", "none", False)
    assert not (tmp_path / "nowhere").exists()


def test_a_coordinator_sees_its_runs(town, tmp_path):
    begun(town.channel, HALF, journal=Journal(tmp_path / "model.run"))
    (tmp_path / "empty.run").mkdir()
    seen = coordinator_status(town.coordinator, [tmp_path / "empty.run", tmp_path / "model.run"])
    empty, run = seen["runs"]
    assert empty["state"] == "empty"
    assert (run["state"], run["joined"], run["questions"], run["in the last answer"]) == ("open", True, 1, list(NAMES))
    assert run["last contact"].endswith("Z")
    assert len(seen["certificates"]) == 4


def test_a_check_asks_everything_before_anybody_pays(town):
    begun(town.channel, HALF)
    spent = [party._spent_elsewhere("") for party in town.channel._parties.values()]
    folders = [sorted(party._state.iterdir()) for party in town.channel._parties.values()]
    for each in checks(town.coordinator, town.channel, Need(HALF, None)):
        assert (each["left"], each["limit"], each["problems"]) == ("0.5", "1", [])
    for each in checks(town.coordinator, town.channel, Need(Fraction(1), None)):
        assert "left of its limit of 1, and this run needs epsilon 1" in each["problems"][0]
    for each in checks(replace(town.coordinator, tolerated_dropouts=0, noise="own"), town.channel, None):
        assert each["problems"] == []
    assert [party._spent_elsewhere("") for party in town.channel._parties.values()] == spent
    assert [sorted(party._state.iterdir()) for party in town.channel._parties.values()] == folders


def test_a_check_names_another_schema_who_is_silent_and_who_lives_in_another_time(town, tmp_path, monkeypatch):
    other = Schema(SCHEMA.features, classes=["x", "y"])
    for each in checks(replace(town.coordinator, schema=other), town.channel, None):
        assert each["problems"] == ["The coordinator's schema is not this party's. Give all of them the same file."]

    class Odd:
        parties = NAMES

        def ask(self, messages):
            said = unpack(town.channel.ask({"a": messages["a"]})["a"])[0]
            return {"a": pack({**said, "now": time.time() - 3600}), "b": b"garbage"}

    a, b, c = checks(town.coordinator, Odd(), None)
    assert "differ by 3,600 seconds" in a["problems"][0]
    assert "makes no sense" in b["problems"][0]
    assert "does not answer" in c["problems"][0]


def test_a_check_says_the_same_whatever_the_records_are():
    """But for the clock."""

    def said(rows):
        channel = in_process([table(rows, 1), *tables(2)], SCHEMA, limit=math.inf)
        message = pack({"do": "check", "protocol": 0, "terms": {}})
        return [{**unpack(each)[0], "now": 0} for each in channel.ask(dict.fromkeys(channel.parties, message)).values()]

    assert said(10) == said(300)
    assert "another version" in said(10)[0]["problems"][0]


def test_a_run_that_is_given_up_has_no_secrets_and_no_more_answers_and_stays_paid_for(town, tmp_path):
    config = town.party("a", state=tmp_path / "a", schema=SCHEMA)
    curator, root = begun(town.channel, HALF, Fraction(1), tolerated_dropouts=0)
    run = curator.coordinator.terms.run
    folder = tmp_path / "a" / run
    _, key = unpack((folder / "run.entry").read_bytes())
    asked = unpack(
        unpack((folder / "000000.entry").read_bytes())[1][: unpack((folder / "000000.entry").read_bytes())[0]["asked"]]
    )
    with pytest.raises(FederatedError, match="a is running"):
        give_up(config, run[:8])
    party = town.channel._parties["a"]
    party.close()
    for other in ("", "x", "ffffffffff"):
        with pytest.raises(FederatedError, match="open runs of a begin with"):
            give_up(config, other)
    assert give_up(config, run[:8]) == run
    assert not any(key in file.read_bytes() for file in folder.iterdir())
    seen = party_status(config)
    assert (seen["runs"][0]["state"], seen["spent"], seen["left"]) == ("given up", "0.5", "0.5")
    again = Party(party._identity, *table(30), SCHEMA, party._known, limit=Fraction(1), state=tmp_path / "a")
    town.channel._parties["a"] = again
    with pytest.raises(FederatedError, match="a refuses: a has given this run up"):
        curator.tally({root: Tally(TABLES)}, Fraction(1, 4))
    assert "given this run up" in unpack(again.handle(pack(*asked)))[0]["refused"]
