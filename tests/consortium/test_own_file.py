"""A member's own file: who it is, and nothing that others decide."""

from dataclasses import replace
from fractions import Fraction

import pytest

from consortium.test_consortium_file import FEDERATED
from privet.consortium.consortium_file import Consortium
from privet.consortium.membership import assembled
from privet.consortium.own_file import OwnFile
from privet.errors import PrivetError


@pytest.fixture
def own(tmp_path):
    (tmp_path / "d.csv").write_text("")
    data = {name: {"data": "d.csv"} for name in "ab"}
    return OwnFile(assembled(FEDERATED, dict.fromkeys("cab", tmp_path), data)["a"])


def test_it_is_of_one_role_and_says_nothing_else(own):
    settings = ("data", "state", "epsilon", "delta")
    own.be(["party"], settings)
    assert own.limit() == 1
    assert own.limit("delta", Fraction) == Fraction(1e-6)
    assert own.dialled("c") == ("example.org", 1)
    assert own.certificate.name == "a.crt"
    with pytest.raises(PrivetError, match="'delta', which nothing reads"):
        own.be(["party"], settings[:3])
    with pytest.raises(PrivetError, match="not there as server or owner, but as party"):
        own.be(["server", "owner"], settings)


def test_nobody_starts_before_everybody_has_joined(own):
    members = own.consortium
    members.with_member(replace(members.member("b"), certificate=b"")).write(own.copy)
    with pytest.raises(PrivetError, match=r"b has not joined yet.*privet federated accept .*a\.toml FILE"):
        OwnFile(own.path).be(["party"], own.data)


def test_a_swapped_certificate_of_ones_own_is_noticed(own):
    members = own.consortium
    other = members.member("b").certificate
    members.without("b").with_member(replace(own.me, certificate=other)).write(own.copy)
    with pytest.raises(PrivetError, match="at least 2"):
        OwnFile(own.path)
    Consortium.write(
        replace(members, members=tuple(
            replace(each, certificate=members.member({"a": "b", "b": "a"}.get(each.name, each.name)).certificate)
            for each in members.members
        )), own.copy,
    )  # fmt: skip
    with pytest.raises(PrivetError, match="somebody has swapped it"):
        OwnFile(own.path).be(["party"], own.data)
