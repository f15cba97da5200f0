"""Who may ask a hidden model, and how often: counted before an answer leaves, and never forgotten."""

import json

import pytest

from privet.consortium.servers.users import Users
from privet.errors import PrivetError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "users.json"


def test_limits_survive_a_restart_and_what_was_not_answered_is_given_back(tmp_path):
    users = Users({"ann": 10, "bob": 0}, tmp_path / "users.json")
    users.charge("ann", 7)
    users = Users({"ann": 10, "bob": 0}, tmp_path / "users.json")
    assert users.left("ann") == 3
    for name, queries in (("ann", 4), ("bob", 1), ("eve", 1)):
        with pytest.raises(PrivetError, match=f"{name} may ask"):
            users.charge(name, queries)
    users.give_back("ann", 7)
    assert Users({"ann": 10}, tmp_path / "users.json").left("ann") == 10


def test_queries_that_are_more_than_are_left_are_refused_and_not_counted(path):
    users = Users({"ann": 3}, path)
    users.charge("ann", 2)
    for refused in (users.check, users.charge):
        with pytest.raises(PrivetError, match="3 queries in all and has 1 left; these are 2"):
            refused("ann", 2)
    assert Users({"ann": 3}, path).left("ann") == 1


def test_who_is_not_on_the_list_has_nothing(path):
    users = Users({"ann": 3}, path)
    with pytest.raises(PrivetError, match="eve may ask 0"):
        users.charge("eve", 1)
    assert not path.exists()


def test_a_count_that_cannot_be_kept_is_no_count(path, monkeypatch):
    """Otherwise queries would be answered that a restart forgets."""

    def full(*args, **kwargs):
        raise OSError("no space left")

    users = Users({"ann": 3}, path)
    monkeypatch.setattr("privet.consortium.servers.users.write_whole", full)
    with pytest.raises(OSError, match="no space"):
        users.charge("ann", 1)
    assert users.left("ann") == 3


def test_a_limit_that_was_lowered_below_what_was_asked_ends_the_queries(path):
    Users({"ann": 9}, path).charge("ann", 5)
    lowered = Users({"ann": 4}, path)
    with pytest.raises(PrivetError, match="may ask 4 queries in all and has 0 left"):
        lowered.charge("ann", 1)
    assert json.loads(path.read_text()) == {"ann": 5}


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"ann": "5"}', '{"ann": -1}', '{"ann": true}', "\xff", "[" * 10**5])
def test_a_damaged_file_is_an_error_that_advises_no_older_copy(path, kept):
    path.write_bytes(kept.encode("latin-1"))
    with pytest.raises(PrivetError, match=r"is damaged. An older copy would have forgotten some: write a new one"):
        Users({"ann": 9}, path)


def test_a_file_that_cannot_be_read_is_an_error_that_servers_know(path):
    path.mkdir()
    with pytest.raises(PrivetError, match="how many queries each user has asked, cannot be read: Is a directory"):
        Users({"ann": 9}, path)
