"""The one file that a consortium exchanges: read and written without loss, one fingerprint, and every fault named."""

from dataclasses import replace

import pytest

from privet import Categorical, Numeric, Schema
from privet.consortium.consortium_file import TERMS, Consortium, Participant, check_names, shown
from privet.consortium.net.certificates import fingerprint, make_certificate
from privet.errors import PrivetError

SCHEMA = Schema(
    {"z": Numeric(0, 7.5), "a": Categorical(["ä", 'b"c'], other=False)}, classes=["no", "yes"], label="bought"
)
SERVERS = [Participant(f"s{i}", "server", f"10.0.0.{i}:71") for i in range(3)]
MEMBERS = (*SERVERS, Participant("o", "owner"), Participant("t", "trainer"), Participant("u", "user", queries=7))
MPC = Consortium("mpc", SCHEMA, MEMBERS, TERMS["mpc"])
FEDERATED = Consortium(
    "federated",
    SCHEMA,
    (Participant("c", "coordinator", "example.org:1"), Participant("a", "party"), Participant("b", "party")),
    {**TERMS["federated"], "delta": 1e-6},
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return [make_certificate(name, folder)[1].read_bytes() for name in "ab"]


@pytest.mark.parametrize("consortium", [MPC, FEDERATED], ids=["mpc", "federated"])
def test_what_is_written_is_read_again_with_the_same_fingerprint(tmp_path, consortium, certificates):
    first = consortium.members[0]
    consortium = consortium.with_member(replace(first, certificate=certificates[0]))
    consortium.write(tmp_path / "c.toml")
    again = Consortium.read(tmp_path / "c.toml")
    assert again == consortium
    assert again.fingerprint == consortium.fingerprint
    assert fingerprint(certificates[0]) in (tmp_path / "c.toml").read_text()  # for people to compare
    assert list(again.schema.features) == list(SCHEMA.features)
    assert not consortium.differences(again)


def test_every_word_is_in_the_fingerprint(certificates):
    others = [
        replace(MPC, terms={**MPC.terms, "rows": 7}),
        replace(MPC, schema=Schema(SCHEMA.features, classes=["no", "yes", "?"], label="bought")),
        replace(MPC, members=(SERVERS[1], SERVERS[0], *MEMBERS[2:])),
        MPC.with_member(replace(MEMBERS[-1], queries=8)),
        MPC.with_member(replace(MEMBERS[0], address="10.0.0.9:71")),
        MPC.with_member(replace(MEMBERS[0], certificate=certificates[0])),
        MPC.with_member(replace(MEMBERS[0], certificate=certificates[1])),
        MPC.without("u"),
    ]
    assert len({each.fingerprint for each in (MPC, *others)}) == len(others) + 1
    for each in (*others[:5], others[7]):
        assert MPC.differences(each), each
    assert not MPC.differences(others[5])  # somebody has joined: that is how a file grows
    assert others[5].differences(others[6]) == ["s0 has another certificate"]
    assert others[5].differences(MPC) == ["s0 has another certificate"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kind = "mpc"', 'kind = "tree"', "no consortium file"),
        ('kind = "mpc"', 'kind = "mpc"\nkey = "s0.key"', "'key', which nothing reads"),
        ('role = "owner"', 'role = "party"', "one of server, owner, trainer, user"),
        ('role = "owner"', 'role = "trainer"', "at least 1 with the role owner"),
        ('role = "trainer"', 'role = "owner"', "needs 1 with the role trainer, and has 0"),
        ('address = "10.0.0.1:71"\n', "", "s1 needs an address"),
        ('"10.0.0.1:71"', '"10.0.0.1"', "s1 needs an address"),
        ('"10.0.0.1:71"', '"10.0.0.1\\nFingerprint 00:71"', "s1 needs an address"),
        ('role = "owner"', 'role = "owner"\naddress = "Fingerprint 00"', "nobody dials its role"),
        ('name = "o"', 'name = "t"', "two members have the same name: t"),
        ('name = "o"', 'name = "Our Hospital"', "small letters"),
        ('name = "o"\n', "", "needs name"),
        ("queries = 7", "queries = -7", "queries must be"),
        ('role = "owner"', 'role = "owner"\nfeatures = "z"', "list of names"),
        ('role = "owner"', 'role = "owner"\nfeatures = ["z"]\nlabel = 1', "true or false"),
        ('role = "owner"', 'role = "owner"\ncertificate = "none"', "certificate of o is none, or"),
        ('role = "owner"', 'role = "owner"\nfingerprint = "00"', "not the fingerprint"),
        ("rows = 32768", "rows = 0", "rows must be"),
        ("rows = 32768", "row = 1", "'row', which nothing reads"),
        ('noise = "cut"', 'noise = "none"', "cut, dealt"),
        ("[schema.label]", "[scheme.label]", "scheme"),
        ("[[members]]", "[[member]]", "'member', which nothing reads"),
    ],
)
def test_what_is_missing_or_wrong_is_named(tmp_path, old, new, says):
    MPC.write(tmp_path / "c.toml")
    text = (tmp_path / "c.toml").read_text()
    assert old in text
    (tmp_path / "c.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(PrivetError, match=says):
        Consortium.read(tmp_path / "c.toml")


def test_two_members_with_one_certificate_are_refused(tmp_path, certificates):
    both = MPC.with_member(replace(MEMBERS[0], certificate=certificates[0]))
    both.with_member(replace(MEMBERS[1], certificate=certificates[0])).write(tmp_path / "c.toml")
    with pytest.raises(PrivetError, match="same certificate"):
        Consortium.read(tmp_path / "c.toml")


def test_a_certificate_is_one_and_nothing_else(tmp_path, certificates):
    """A second one, or words around it, would be neither in what is shown nor in what is compared."""
    one, two = certificates
    for other in (one + two, b"words\n" + one, one + b"words\n", one[:-40]):
        MPC.with_member(replace(MEMBERS[3], certificate=one)).write(tmp_path / "c.toml")
        text = (tmp_path / "c.toml").read_text()
        (tmp_path / "c.toml").write_text(text.replace(one.decode(), other.decode()))
        with pytest.raises(PrivetError, match="certificate of o is none, or has something else"):
            Consortium.read(tmp_path / "c.toml")


def test_owners_hold_columns_all_or_none(tmp_path):
    split = MPC.with_member(Participant("p", "owner", features=("z",)))
    split.write(tmp_path / "c.toml")
    with pytest.raises(PrivetError, match="all have"):
        Consortium.read(tmp_path / "c.toml")


def test_names_and_fingerprints_are_for_people():
    check_names(["mercy", "saint-anne", "ward_3.b"])
    with pytest.raises(PrivetError, match="'Mercy'"):
        check_names(["Mercy"])
    assert shown("0123456789") == "0123 4567 89"
    assert MPC.missing == ["s0", "s1", "s2", "o", "t", "u"]
    with pytest.raises(PrivetError, match="Nobody in the consortium is called 'x'"):
        MPC.member("x")
