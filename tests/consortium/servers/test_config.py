"""What programs of a joint computation know, from the consortium's file and their own."""

from fractions import Fraction

import pytest

from consortium.servers.town import OWNERS, SCHEMA, Town
from privet.consortium.servers.config import Config
from privet.errors import PrivetError


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    town = Town(tmp_path_factory.mktemp("town"), columns={"hospital": (["colour"], False), "bank": (["age"], True)})
    yield town
    town.held.close()


@pytest.fixture
def read(town):
    def reading(name, old="", new=""):
        text = (town.folder / f"{name}.toml").read_text()
        assert old in text
        (town.folder / "x.toml").write_text(text.replace(old, new, 1))
        return Config.read(town.folder / "x.toml")

    return reading


def test_a_servers_file_is_read_with_the_consortiums(read, town):
    config = read("server1")
    assert config.party == 1
    assert [peer.address for peer in config.servers] == town.addresses
    assert config.listen == town.addresses[1]
    assert list(config.owners) == list(OWNERS)
    assert config.identity.key == town.folder / "server1.key"
    assert config.ledger == town.folder / "server1.ledger"
    assert config.epsilon == 100
    assert config.schema == SCHEMA
    assert config.columns == {"hospital": (("colour",), False), "bank": (("age",), True)}
    assert {name: queries for name, (_, queries) in config.users.items()} == {"ann": 100, "bob": 5}
    assert config.seeds
    assert not read("server1", "seeds = true", "seeds = false").seeds
    assert read("server1", 'ledger = "server1.ledger"', 'ledger = "kept"').ledger == town.folder / "kept"


def test_an_owners_file_has_its_records_and_a_limit_of_its_own(read, town):
    config = read("bank", "epsilon = 100.0", "epsilon = 0.1")
    assert (config.party, config.listen, config.models) == (None, None, None)
    assert (config.data, config.ledger) == (town.folder / "bank.csv", town.folder / "bank.ledger")
    assert config.epsilon == Fraction(1, 10)
    assert config.holds == (("age",), True)
    assert not read("bank", "seeds = true", "").seeds


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("server0", "seeds = true", "seeds = 1", "true or false"),
        ("server0", "timeout", "time_out", "time_out"),
        ("server0", "epsilon = 100.0", "", "needs epsilon"),
        ("server0", "epsilon = 100.0", "epsilon = -1", "epsilon must be a positive number"),
        ("trainer", "timeout = 20", "epsilon = 1", "'epsilon', which nothing reads"),
        ("ann", "timeout = 20", "queries = 1", "'queries', which nothing reads"),
        ("bank", 'data = "bank.csv"', "", "needs data"),
        ("bank", "patience = 60", "patience = 0", "patience must be"),
    ],
)
def test_what_is_missing_or_wrong_is_named(read, name, old, new, says):
    with pytest.raises(PrivetError, match=says):
        read(name, old, new)
