"""A party as its file says: one at a time."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from consortium.federated.owners import SCHEMA, table
from privet import Schema
from privet.consortium.consortium_file import TERMS, Consortium, Participant
from privet.consortium.federated.config import PartyConfig
from privet.consortium.federated.service import open_party
from privet.consortium.federated.wire import pack, unpack
from privet.consortium.membership import assembled
from privet.errors import BudgetError, FederatedError, PrivetError


@pytest.fixture
def config(tmp_path):
    X, y = table(20)
    columns = {name: X[:, i].tolist() for i, name in enumerate(SCHEMA.names)}
    pq.write_table(pa.table({**columns, "answer": y.tolist()}), tmp_path / "d.parquet")
    members = [Participant("coordinator", "coordinator", "localhost:9443")]
    members += [Participant(name, "party") for name in ("mercy", "general")]
    schema = Schema(SCHEMA.features, classes=SCHEMA.classes, label="answer")
    consortium = Consortium("federated", schema, tuple(members), TERMS["federated"])
    settings = {name: {"data": "d.parquet", "state": "state"} for name in ("mercy", "general")}
    return PartyConfig.read(assembled(consortium, dict.fromkeys(consortium.names(), tmp_path), settings)["mercy"])


def test_a_second_process_with_the_same_state_is_refused(config):
    first = open_party(config)
    with pytest.raises(BudgetError, match="Another process"):
        open_party(config)
    first.close()
    open_party(config).close()


def test_wrong_labels_are_found_at_the_start_by_their_owner(config, tmp_path):
    X, y = table(20)
    columns = {name: X[:, i].tolist() for i, name in enumerate(SCHEMA.names)}
    pq.write_table(pa.table({**columns, "answer": ["maybe", *y.tolist()[1:]]}), tmp_path / "d.parquet")
    with pytest.raises(PrivetError, match="label"):
        open_party(config)
    assert not (tmp_path / "state").exists()


def test_a_state_folder_that_cannot_be_written_is_an_error_in_words(config, tmp_path):
    (tmp_path / "state").write_text("a file in its place")
    with pytest.raises(FederatedError, match=r"cannot be kept in .*state: File exists"):
        open_party(config)


def test_a_disk_that_fails_later_keeps_the_party_from_answering_and_not_from_running(config, tmp_path):
    said = []
    party = open_party(config, said.append)
    (tmp_path / "state" / "questions.log").mkdir()
    refused, _ = unpack(party.handle(pack({"do": "join"})))
    assert "another version" in refused["refused"]
    assert any("cannot write" in each and "Is a directory" in each for each in said)
    party.close()


def test_the_log_is_its_owners_alone(config, tmp_path):
    log = tmp_path / "state" / "questions.log"
    log.parent.mkdir()
    log.write_text("of an earlier version, for all to read\n")
    log.chmod(0o644)
    party = open_party(config)
    party.handle(b"nonsense")
    assert "refused" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    party.close()
