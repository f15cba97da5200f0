"""What is kept is there after a restart, and is never changed."""

import pytest

from privet.consortium.federated.journal import Journal
from privet.errors import FederatedError


def test_entries_survive_a_restart(tmp_path):
    Journal(tmp_path / "run").put("000001", b"said")
    assert Journal(tmp_path / "run").get("000001") == b"said"
    assert Journal(tmp_path / "run").get("000002") is None


def test_an_entry_is_never_changed(tmp_path):
    journal = Journal(tmp_path)
    journal.put("x", b"one")
    journal.put("x", b"one")
    with pytest.raises(FederatedError, match="not changed"):
        journal.put("x", b"two")
    assert Journal(tmp_path).get("x") == b"one"


def test_a_write_that_was_broken_off_leaves_nothing(tmp_path):
    (tmp_path / "x.1234.part").write_bytes(b"hal")
    assert Journal(tmp_path).get("x") is None


def test_only_its_owner_can_read_it(tmp_path):
    Journal(tmp_path / "run").put("x", b"secret")
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0
    assert (tmp_path / "run" / "x.entry").stat().st_mode & 0o077 == 0


def test_what_another_process_has_written_is_not_replaced(tmp_path):
    journals = Journal(tmp_path), Journal(tmp_path)
    journals[0].put("x", b"one")
    with pytest.raises(FederatedError, match="another process"):
        journals[1].put("x", b"two")
    assert Journal(tmp_path).get("x") == b"one"
    assert [file.name for file in tmp_path.iterdir()] == ["x.entry"]
