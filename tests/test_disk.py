"""Files that outlive a power cut."""

import os

import pytest

from privet import disk
from privet.disk import lock_file, still_named, whole_file, write_whole


def stops_at(monkeypatch, step):
    """As if the machine stopped at one call of the operating system."""

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, stop)


@pytest.mark.parametrize(("new", "step"), [(False, "fsync"), (False, "replace"), (True, "fsync"), (True, "link")])
def test_a_stop_leaves_what_was_there_or_nothing(tmp_path, monkeypatch, new, step):
    path = tmp_path / "file"
    if not new:
        write_whole(path, b"before")
    stops_at(monkeypatch, step)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"after", new=new)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([] if new else [b"before"])


@pytest.mark.skipif(os.name != "posix", reason="folders are synced where that can be asked for")
@pytest.mark.parametrize("new", [False, True])
def test_data_is_on_the_disk_before_its_name_and_then_the_name_is(tmp_path, monkeypatch, new):
    path, seen = tmp_path / "file", []
    real = os.fsync

    def noted(handle):
        at = os.readlink(f"/proc/self/fd/{handle}") if os.path.isdir("/proc/self/fd") else ""
        seen.append((at == str(tmp_path), path.exists()))
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    write_whole(path, b"data", new=new)
    assert [there for _, there in seen] == [False, True]
    if os.path.isdir("/proc/self/fd"):
        assert [folder for folder, _ in seen] == [False, True]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_never_takes_anothers_place(tmp_path, monkeypatch, links):
    if not links:

        def none(*args):
            raise PermissionError

        monkeypatch.setattr(os, "link", none)
    path = tmp_path / "file"
    write_whole(path, b"first", new=True)
    with pytest.raises(FileExistsError):
        write_whole(path, b"second", new=True)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"first"]
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"


@pytest.mark.skipif(os.name != "posix", reason="needs a umask")
@pytest.mark.parametrize(
    ("umask", "mode", "kept"), [(0o022, 0o666, 0o644), (0o077, 0o666, 0o600), (0o022, 0o600, 0o600)]
)
def test_who_may_read_a_file_follows_from_its_mode_and_the_umask(tmp_path, umask, mode, kept):
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "file", b"data", mode=mode)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == kept


def test_a_file_that_others_write_is_there_at_the_end_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    with whole_file(path) as part:
        part.write_text("data")
        assert not path.exists()
    with pytest.raises(UnicodeEncodeError), whole_file(path) as part:
        part.write_text("half \ud800", encoding="utf-8")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["data"]


def test_a_locked_file_is_refused_until_it_is_let_go(tmp_path):
    path = tmp_path / "lock"
    held = lock_file(path)
    with pytest.raises(BlockingIOError):
        lock_file(path)
    os.close(held)
    os.close(lock_file(path))


def test_a_lock_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        lock_file(tmp_path / "nowhere" / "lock")


@pytest.mark.skipif(disk.fcntl is None, reason="no locks")
def test_a_lock_that_was_removed_or_replaced_is_seen(tmp_path):
    path = tmp_path / "lock"
    held = lock_file(path)
    assert still_named(held, path)
    path.unlink()
    assert not still_named(held, path)
    path.touch()
    assert not still_named(held, path)
    os.close(held)


def test_the_kind_of_file_system_is_that_of_the_nearest_mount(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    (tmp_path / "a b").mkdir()
    mounts.write_text(f"x / ext4 rw 0 0\ny {tmp_path} tmpfs rw 0 0\nz {tmp_path}/a\\040b nfs4 rw 0 0\nodd\n")
    monkeypatch.setattr(disk, "MOUNTS", mounts)
    kinds = [disk.filesystem_of(path) for path in (tmp_path / "f", tmp_path / "a b" / "f", tmp_path.parent / "f")]
    assert kinds == ["tmpfs", "nfs4", "ext4"]
    monkeypatch.setattr(disk, "MOUNTS", tmp_path / "none")
    assert disk.filesystem_of(tmp_path) == ""
