"""A party as its file says: one at a time, and with its own certificate if it lists itself."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from consortium.federated.owners import SCHEMA, table
from privet import Schema
from privet.consortium.federated.config import PartyConfig
from privet.consortium.federated.service import open_party
from privet.consortium.net.certificates import make_certificate
from privet.errors import BudgetError, FederatedError


@pytest.fixture
def config_of(tmp_path):
    for name in ("mercy", "general"):
        make_certificate(name, tmp_path)
    (tmp_path / "coordinator.crt").write_bytes((tmp_path / "general.crt").read_bytes())
    Schema(SCHEMA.features, classes=SCHEMA.classes, label="answer").to_toml(tmp_path / "s.toml")
    X, y = table(20)
    columns = {name: X[:, i].tolist() for i, name in enumerate(SCHEMA.names)}
    pq.write_table(pa.table({**columns, "answer": y.tolist()}), tmp_path / "d.parquet")

    def written(**certificates):
        entries = "".join(
            f'[[parties]]\nname = "{name}"\ncertificate = "{own}.crt"\n' for name, own in certificates.items()
        )
        (tmp_path / "party.toml").write_text(
            'name = "mercy"\nkey = "mercy.key"\nschema = "s.toml"\ndata = "d.parquet"\nepsilon = 1\n'
            f'[coordinator]\naddress = "localhost:9443"\ncertificate = "coordinator.crt"\n{entries}'
        )
        return PartyConfig.read(tmp_path / "party.toml")

    return written


def test_a_party_may_list_itself_with_its_own_certificate_alone(config_of):
    open_party(config_of(mercy="mercy", general="general")).close()
    with pytest.raises(FederatedError, match="certificate of mercy in its own list"):
        open_party(config_of(mercy="general"))


def test_a_second_process_with_the_same_state_is_refused(config_of):
    config = config_of(general="general")
    first = open_party(config)
    with pytest.raises(BudgetError, match="Another process"):
        open_party(config)
    first.close()
    open_party(config).close()
