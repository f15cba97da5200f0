"""Files that say who is who."""

import pytest

from privet.consortium.servers.config import Config
from privet.errors import PrivetError

GOOD = """
key = "a.key"
certificate = "1.crt"
schema = "s.toml"
party = 1
[[servers]]
address = "127.0.0.1:7000"
certificate = "0.crt"
[[servers]]
address = "[::1]:7001"
certificate = "1.crt"
[[servers]]
address = "example.org:7002"
certificate = "2.crt"
[[owners]]
name = "hospital"
certificate = "h.crt"
[trainer]
certificate = "t.crt"
"""


@pytest.fixture
def read(tmp_path):
    for name in ("a.key", "s.toml", *(f"{who}.crt" for who in "012ht")):
        (tmp_path / name).write_text(name)
    (tmp_path / "a.key").chmod(0o600)

    def reading(text):
        (tmp_path / "c.toml").write_text(text)
        return Config.read(tmp_path / "c.toml")

    return reading


def test_a_key_that_others_can_read_is_refused(read, tmp_path):
    (tmp_path / "a.key").chmod(0o604)
    with pytest.raises(PrivetError, match="others can read"):
        read(GOOD)


def test_a_whole_file_is_read_with_its_neighbours(read, tmp_path):
    config = read(GOOD)
    assert config.party == 1
    assert config.servers[2].address == ("example.org", 7002)
    assert config.owners == {"hospital": b"h.crt"}
    assert config.identity.key == tmp_path / "a.key"
    assert config.ledger == tmp_path / "c.ledger"
    assert not config.seeds
    assert read(GOOD.replace("party = 1", 'party = 1\nledger = "kept.json"')).ledger == tmp_path / "kept.json"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('key = "a.key"', "", "needs key"),
        ('key = "a.key"', 'key = "b.key"', "no file"),
        ("party = 1", "party = 3", "0 to 2"),
        ("127.0.0.1:7000", "7000", "host:port"),
        ('[trainer]\ncertificate = "t.crt"', "", "trainer"),
        ('address = "example.org:7002"', "", "needs address"),
        ("party = 1", "party = 1\nepsilom = 2", "epsilom"),
        ("party = 1", "party = 1\nepsilon = -2", "positive"),
        ("party = 1", "party = 1\nmost_records = 1.5", "whole"),
        ("party = 1", 'party = 1\nnoise = "some"', "one of cut, dealt"),
        ("party = 1", "party = 1\nseeds = 1", "true or false"),
        ("party = 1", "party = 1\nledger = 1", "needs ledger"),
        ("party = 1", "party = ", "not TOML"),
        ('"2.crt"', '"0.crt"', "same certificate"),
        ('"h.crt"', '"t.crt"', "same certificate"),
        ('[[servers]]\naddress = "127.0.0.1:7000"\ncertificate = "0.crt"', "", r"3 \[\[servers"),
    ],
)
def test_what_is_missing_or_wrong_is_named(read, old, new, says):
    assert old in GOOD
    with pytest.raises(PrivetError, match=says):
        read(GOOD.replace(old, new, 1))
