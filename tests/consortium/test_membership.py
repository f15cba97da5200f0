"""How a consortium's file goes round: who joins, comes later, renews a key or leaves, and what nobody accepts."""

import os
from dataclasses import replace

import pytest

from consortium.test_consortium_file import FEDERATED, MPC
from privet.consortium.consortium_file import Consortium, Participant
from privet.consortium.membership import assembled, changes, found, gather, invite, join, remove, renew
from privet.consortium.net.certificates import fingerprint, make_certificate
from privet.consortium.own_file import OwnFile
from privet.errors import PrivetError


@pytest.fixture
def folders(tmp_path):
    """A machine for each."""
    for name in "cabe":
        (tmp_path / name).mkdir()
        (tmp_path / name / "d.csv").write_text("")
    return {name: tmp_path / name for name in "cabe"}


@pytest.fixture
def files(folders):
    return {name: OwnFile(path) for name, path in
            assembled(FEDERATED, folders, {name: {"data": "d.csv"} for name in "ab"}).items()}  # fmt: skip


def test_a_file_goes_round_once_and_no_key_leaves_its_machine(folders):
    found(folders["c"] / "consortium.toml", FEDERATED)
    sent = folders["c"] / "consortium.toml"
    own = {name: join(sent, name, folders[name], 30, {"data": "d.csv"} if name != "c" else {}) for name in "cab"}
    for name in "cab":
        assert {file.name for file in folders[name].iterdir()} - {"d.csv", "consortium.toml"} == {
            f"{name}.key", f"{name}.crt", f"{name}.toml", f"{name}.consortium.toml"
        }  # fmt: skip
        assert (folders[name] / f"{name}.key").stat().st_mode & 0o777 == 0o600
        assert b"PRIVATE" not in own[name][1].read_bytes()
    assert gather(own["c"][0], [own["a"][1]]) == ["a"]
    assert Consortium.read(own["c"][1]).missing == ["b"]
    with pytest.raises(PrivetError, match="b has not joined yet"):
        changes(own["a"][0], own["c"][1])
    assert gather(OwnFile(own["c"][0].path), [own["b"][1], own["a"][1]]) == ["b"]
    new, differences = changes(own["a"][0], own["c"][1])
    assert not differences
    assert not new.missing


def test_a_file_is_checked_before_it_is_there(tmp_path):
    with pytest.raises(PrivetError, match="at least 2 with the role party"):
        found(tmp_path / "c.toml", FEDERATED.without("a"))
    with pytest.raises(PrivetError, match="noise is one of"):
        found(tmp_path / "c.toml", replace(FEDERATED, terms={**FEDERATED.terms, "noise": "none"}))
    assert not list(tmp_path.iterdir())
    found(tmp_path / "c.toml", FEDERATED)
    with pytest.raises(PrivetError, match="exists"):
        found(tmp_path / "c.toml", FEDERATED)


def test_who_joins_is_listed_once_and_says_what_its_role_needs(files, folders, tmp_path):
    sent = folders["c"] / "consortium.toml"
    with pytest.raises(PrivetError, match="Nobody in the consortium is called 'x'"):
        join(sent, "x", tmp_path, 30, {})
    with pytest.raises(PrivetError, match="a has joined already"):
        join(files["c"].copy, "a", tmp_path, 30, {"data": "d.csv"})
    with pytest.raises(PrivetError, match="exists: a has joined before, from here"):
        join(sent, "a", folders["a"], 30, {"data": "d.csv"})
    with pytest.raises(PrivetError, match="--data FILE"):
        join(sent, "a", tmp_path, 30, {})
    with pytest.raises(PrivetError, match="coordinator, which has no epsilon"):
        join(sent, "c", tmp_path, 30, {"epsilon": 1})
    assert not [file for file in tmp_path.iterdir() if file.is_file()]  # no key is made for nothing


def test_every_role_of_a_joint_computation_gets_its_own_settings(tmp_path):
    (tmp_path / "d.csv").write_text("")
    own = assembled(MPC, dict.fromkeys(MPC.names(), tmp_path), {"o": {"data": "d.csv", "epsilon": 0.5}})
    assert "epsilon = 0.5  # the most that all runs together may ever spend" in own["o"].read_text()
    assert "epsilon = 1.0" in own["s0"].read_text()
    assert "epsilon" not in own["t"].read_text()
    assert own["o"].stat().st_mode & 0o777 == 0o600


def test_a_copy_of_another_file_is_not_gathered(files, folders, tmp_path):
    copy = files["a"].copy
    other = Consortium.read(copy)
    replace(other, terms={**other.terms, "tolerated_colluders": 0}).write(copy)
    with pytest.raises(PrivetError, match="tolerated_colluders is 0, it was 1"):
        gather(files["c"], [copy])
    _, swapped = make_certificate("a", tmp_path / "eve")
    other.with_member(replace(other.member("a"), certificate=swapped.read_bytes())).write(copy)
    with pytest.raises(PrivetError, match=r"another certificate of a .*--renewed a"):
        gather(files["c"], [copy])
    with pytest.raises(PrivetError, match="has swapped it: do not accept"):
        changes(files["a"], copy)


def test_a_sixth_comes_later_and_all_accept(files, folders):
    invite(files["c"], Participant("e", "party"))
    with pytest.raises(PrivetError, match="There is a e already"):
        invite(OwnFile(files["c"].path), Participant("e", "party"))
    _, copy = join(files["c"].copy, "e", folders["e"], 30, {"data": "d.csv"})
    assert gather(OwnFile(files["c"].path), [copy]) == ["e"]
    _, differences = changes(files["a"], files["c"].copy)
    assert differences == ["e is new"]


def test_a_key_is_renewed_and_the_old_one_opens_nothing_for_those_who_accept(files):
    before = files["a"].me.certificate
    copy = renew(files["a"], 30)
    again = OwnFile(files["a"].path)
    again.be(["party"], again.data)  # key, certificate and copy fit together
    assert fingerprint(again.me.certificate) != fingerprint(before)
    assert again.own_key.stat().st_mode & 0o777 == 0o600
    assert (again.own_key.parent / "a.crt.old").read_bytes() == before
    assert not [each for each in os.listdir(again.own_key.parent) if "renewed" in each]
    with pytest.raises(PrivetError, match="--renewed a"):
        gather(files["c"], [copy])
    with pytest.raises(PrivetError, match="has not been gathered yet"):
        changes(again, files["b"].copy)
    whole = files["c"].consortium
    assert gather(files["c"], [copy], ["a"]) == ["a"]
    kept = files["c"].copy.with_name(f"c.consortium.{whole.fingerprint[:8]}.toml")
    assert Consortium.read(kept) == whole  # what was signed before is checked with it
    _, differences = changes(files["b"], files["c"].copy)
    assert differences == ["a has another certificate"]


def test_who_leaves_is_told_and_as_many_stay_as_are_needed(files, folders):
    with pytest.raises(PrivetError, match="at least 2 with the role party"):
        remove(files["c"], "b")
    invite(files["c"], Participant("e", "party"))
    _, copy = join(files["c"].copy, "e", folders["e"], 30, {"data": "d.csv"})
    gather(OwnFile(files["c"].path), [copy])
    remove(OwnFile(files["c"].path), "b")
    _, differences = changes(files["a"], files["c"].copy)
    assert differences == ["e is new", "b has left"]
    with pytest.raises(PrivetError, match=r"b is not in .*it has left"):
        changes(files["b"], files["c"].copy)
