"""Files that outlive a power cut: there whole and under their name, or as before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes, *, new: bool = False) -> None:
    """Write a file that only its owner can read: there whole or as it was before, also if the machine stops.

    With ``new``, FileExistsError if there is a file of that name, which stays as it is.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
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
