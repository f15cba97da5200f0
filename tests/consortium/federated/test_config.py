"""What parties and coordinators know, from the consortium's file and their own: whatever is wrong is named."""

from fractions import Fraction

import pytest

from consortium.federated.owners import SCHEMA
from privet.consortium.consortium_file import TERMS, Consortium, Participant
from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.consortium.membership import assembled
from privet.curators.owners.party_records import QUESTIONS
from privet.errors import PrivetError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("consortium")
    (folder / "d.csv").write_text("")
    members = [Participant("coordinator", "coordinator", "example.org:9443")]
    members += [Participant(name, "party") for name in ("mercy", "general")]
    consortium = Consortium("federated", SCHEMA, tuple(members), {**TERMS["federated"], "epsilon": 0.1})
    data = {name: {"data": "d.csv"} for name in ("mercy", "general")}
    assembled(consortium, dict.fromkeys(consortium.names(), folder), data)
    return folder


@pytest.fixture
def read(folder):
    def reading(kind, old="", new=""):
        text = (folder / ("mercy.toml" if kind is PartyConfig else "coordinator.toml")).read_text()
        assert old in text
        (folder / "x.toml").write_text(text.replace(old, new, 1))
        return kind.read(folder / "x.toml")

    return reading


def test_a_partys_file_is_read_with_the_consortiums(read, folder):
    config = read(PartyConfig)
    assert config.epsilon == Fraction(1, 10)  # the number that was written, not a float near it
    assert config.address == ("example.org", 9443)
    assert list(config.parties) == ["mercy", "general"]
    assert config.state == folder / "mercy.state"
    assert config.questions == QUESTIONS
    assert config.tolerated_colluders == 1
    assert config.certificate == folder / "mercy.crt"
    assert config.coordinator == (folder / "coordinator.crt").read_bytes()
    assert config.schema == SCHEMA
    assert config.seed is None
    assert config.delta is None
    assert read(PartyConfig, "epsilon", "delta = 1e-6\nepsilon").delta == Fraction(1, 10**6)


def test_a_coordinators_file_is_read(read):
    config = read(CoordinatorConfig)
    assert (config.tolerated_colluders, config.tolerated_dropouts, config.noise) == (1, 0, "shared")
    assert config.address == ("example.org", 9443)
    assert read(CoordinatorConfig, "name", 'listen = "0.0.0.0:1"\nname').address == ("0.0.0.0", 1)


@pytest.mark.parametrize("kind", [PartyConfig, CoordinatorConfig])
def test_a_key_that_others_can_read_is_refused(read, folder, kind):
    key = folder / ("mercy.key" if kind is PartyConfig else "coordinator.key")
    try:
        for mode in (0o644, 0o640, 0o602):
            key.chmod(mode)
            with pytest.raises(PrivetError, match=r"others can read .*key; a key is its owner's alone: chmod 600"):
                read(kind)
        key.chmod(0o400)
        read(kind)
    finally:
        key.chmod(0o600)


@pytest.mark.parametrize(
    ("kind", "old", "new", "says"),
    [
        (PartyConfig, "epsilon = 0.1", "", "needs epsilon"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 0", "positive"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\nquestions = ['peek']", ", ".join(QUESTIONS)),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\ntolerated_colluders = -1", "whole number"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\nseed = 0.5", "whole number"),
        (PartyConfig, "epsilon = 0.1", "epsilom = 1", "epsilom"),
        (PartyConfig, "epsilon = 0.1", "epsilon = inf", r"x\.toml: epsilon must be"),
        (PartyConfig, "epsilon = 0.1", "epsilon = nan", r"x\.toml: epsilon must be"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\ndelta = 2", r"x\.toml: delta is"),
        (PartyConfig, 'state = "mercy.state"', "state = 5", "needs state"),
        (PartyConfig, "epsilon = 0.1", "epsilon = 1\nquestions = [[1]]", ", ".join(QUESTIONS)),
        (PartyConfig, 'name = "mercy"', 'name = "coordinator"', "not there as party, but as coordinator"),
        (PartyConfig, 'name = "mercy"', 'name = "mercury"', "there are coordinator, mercy, general"),
        (PartyConfig, 'name = "mercy"', 'name = "mercy"\nkey = "general.key"', "somebody has swapped it"),
        (PartyConfig, 'data = "d.csv"', 'data = "e.csv"', "no file"),
        (CoordinatorConfig, "name", 'noise = "own"\nname', "'noise', which nothing reads"),
        (CoordinatorConfig, "name", "timeout = 0\nname", "positive"),
        (CoordinatorConfig, "name", 'listen = "here"\nname', "host:port"),
        (CoordinatorConfig, 'name = "coordinator"', "", "needs name"),
        (CoordinatorConfig, "name =", "name", "not TOML"),
    ],
)
def test_what_is_missing_or_wrong_is_named(read, kind, old, new, says):
    with pytest.raises(PrivetError, match=says):
        read(kind, old, new)
