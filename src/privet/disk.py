"""Files that outlive a power cut: there whole and under their name, or as before."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing keeps two processes from using one file
    fcntl = None  # type: ignore[assignment]


MOUNTS = Path("/proc/self/mounts")
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs", "lustre", "fuse.sshfs"})
"""File systems of other machines: locks on them are often none."""


def write_whole(path: Path, data: bytes, *, new: bool = False, mode: int = 0o600) -> None:
    """Write a file: there whole or as it was before, also if the machine stops. The options are ``whole_file``'s."""
    with whole_file(path, new=new, mode=mode) as part:
        part.write_bytes(data)


@contextmanager
def whole_file(path: Path, *, new: bool = False, mode: int = 0o600) -> Iterator[Path]:
    """A file to write to that takes the place of ``path`` at the end, and disappears if there is no such end.

    Only its owner can read it, unless ``mode`` says otherwise: 0o666 is an ordinary file, as the umask has it.
    With ``new``, FileExistsError if there is a file of that name, which stays as it is.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        if new:
            _link(part, path)
        else:
            os.replace(part, path)
        _sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _link(part: Path, path: Path) -> None:
    """Give a file a name that no other has."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a device without links, where two programs at once could still take the same name
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(part, path)


def _sync(folder: Path) -> None:
    """Make a new name in a folder stay, where that can be asked for."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def owner_only(path: str, flags: int) -> int:
    """An opener for ``open``: a file that nobody but its owner can read, also if others could before."""
    file = os.open(path, flags, 0o600)
    if os.name == "posix":
        os.fchmod(file, 0o600)
    return file


def filesystem_of(path: Path) -> str:
    """The kind of file system that a file is on, such as "ext4" or "nfs4"; "" where that cannot be asked."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    places = ((fields[1].replace("\\040", " "), fields[2]) for line in mounts if len(fields := line.split(" ")) > 2)
    above = [(len(where), kind) for where, kind in places if path.resolve().is_relative_to(where)]
    return max(above, key=lambda found: found[0], default=(0, ""))[1]


def lock_file(path: Path) -> int | None:
    """Keep other processes from a file until what is returned is closed; None where there are no locks.

    BlockingIOError if another process has it, or another OSError if it cannot be made.
    """
    if fcntl is None:
        return None
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def still_named(file: int, path: Path) -> bool:
    """Whether an open file has this name yet: a lock on one that was removed or replaced keeps nobody out."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False
