"""The files of parties and coordinators: whatever is missing or wrong is named."""

from fractions import Fraction

import pytest

from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.curators.owners.party_records import QUESTIONS
from privet.errors import PrivetError

PARTY = """
name = "mercy"
key = "a.key"
schema = "s.toml"
data = "d.csv"
epsilon = 0.1
[coordinator]
address = "example.org:9443"
certificate = "c.crt"
[[parties]]
name = "general"
certificate = "g.crt"
"""
COORDINATOR = """
key = "a.key"
certificate = "c.crt"
address = "0.0.0.0:9443"
schema = "s.toml"
[[parties]]
name = "general"
certificate = "g.crt"
"""


@pytest.fixture
def read(tmp_path):
    for name in ("a.key", "a.crt", "c.crt", "g.crt", "s.toml", "d.csv"):
        (tmp_path / name).write_text(name)
    (tmp_path / "a.key").chmod(0o600)

    def reading(kind, text):
        (tmp_path / "x.toml").write_text(text)
        return kind.read(tmp_path / "x.toml")

    return reading


def test_a_partys_file_is_read_with_its_neighbours(read, tmp_path):
    config = read(PartyConfig, PARTY)
    assert config.epsilon == Fraction(1, 10)  # the number that was written, not a float near it
    assert config.address == ("example.org", 9443)
    assert config.parties == {"general": b"g.crt"}
    assert config.state == tmp_path / "state"
    assert config.questions == QUESTIONS
    assert config.tolerated_colluders == 1
    assert config.certificate == tmp_path / "a.crt"  # beside the key, if it is not named
    assert config.coordinator == tmp_path / "c.crt"
    assert read(PartyConfig, "certificate = 'g.crt'\n" + PARTY).certificate == tmp_path / "g.crt"
    assert config.seed is None
    assert config.delta is None
    assert read(PartyConfig, PARTY.replace("epsilon", "delta = 1e-6\nepsilon")).delta == Fraction(1, 10**6)


def test_a_coordinators_file_is_read(read):
    config = read(CoordinatorConfig, COORDINATOR)
    assert (config.tolerated_colluders, config.tolerated_dropouts, config.noise) == (1, 0, "shared")


@pytest.mark.parametrize(("kind", "text"), [(PartyConfig, PARTY), (CoordinatorConfig, COORDINATOR)])
def test_a_key_that_others_can_read_is_refused(read, tmp_path, kind, text):
    for mode in (0o644, 0o640, 0o602):
        (tmp_path / "a.key").chmod(mode)
        with pytest.raises(PrivetError, match=r"others can read .*a.key; a key is its owner's alone: chmod 600"):
            read(kind, text)
    (tmp_path / "a.key").chmod(0o400)
    read(kind, text)


@pytest.mark.parametrize(
    ("kind", "old", "new", "says"),
    [
        (PartyConfig, "epsilon = 0.1", "", "needs epsilon"),
        (PartyConfig, "[[parties]]", '[[parties]]\nname = "b"\ncertificate = "g.crt"\n[[parties]]', "same certificate"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 0", "positive"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\nquestions = ['peek']", ", ".join(QUESTIONS)),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\ntolerated_colluders = -1", "whole number"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\nseed = 0.5", "whole number"),
        (PartyConfig, "epsilon = 0.1", "epsilom = 1", "epsilom"),
        (PartyConfig, "epsilon = 0.1", "epsilon = inf", r"x\.toml: epsilon must be"),
        (PartyConfig, "epsilon = 0.1", "epsilon = nan", r"x\.toml: epsilon must be"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\ndelta = 2", r"x\.toml: delta is"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\nstate = 5", "needs state"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\nquestions = [[1]]", ", ".join(QUESTIONS)),
        (PartyConfig, "[[parties]]", '[[parties]]\nname = "general"\ncertificate = "c.crt"\n[[parties]]', "two of"),
        (PartyConfig, "[[parties]]", "[parties]", r"\[\[parties\]\]"),
        (PartyConfig, 'name = "mercy"', 'name = "Mercy Hospital"', "small letters"),
        (PartyConfig, 'data = "d.csv"', 'data = "e.csv"', "no file"),
        (PartyConfig, "example.org:9443", "example.org", "host:port"),
        (PartyConfig, '[[parties]]\nname = "general"\ncertificate = "g.crt"', "", "parties"),
        (CoordinatorConfig, 'schema = "s.toml"', 'schema = "s.toml"\nnoise = "none"', "shared, own"),
        (CoordinatorConfig, 'schema = "s.toml"', 'schema = "s.toml"\ntimeout = 0', "positive"),
        (CoordinatorConfig, 'schema = "s.toml"', 'schema = "s.toml"\ntolerated_dropouts = 1.5', "whole number"),
        (CoordinatorConfig, 'name = "general"', "", "needs name"),
        (CoordinatorConfig, "key =", "key", "not TOML"),
    ],
)
def test_what_is_missing_or_wrong_is_named(read, kind, old, new, says):
    text = PARTY if kind is PartyConfig else COORDINATOR
    assert old in text
    with pytest.raises(PrivetError, match=says):
        read(kind, text.replace(old, new, 1))
