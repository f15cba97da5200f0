"""Whether a ledger is open in the process that started this one, which could not see a charge made here.

A process with an open ledger locks a file that is named after it, and tells the processes it starts by an
environment variable. The lock also reaches workers that were started before the ledger was opened (joblib keeps
them), and it ends with the ledger, or with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from privet.disk import lock_file

try:
    import fcntl
except ImportError:  # Windows: only the environment variable tells
    fcntl = None  # type: ignore[assignment]

VARIABLE = "PRIVET_LEDGER_PROCESS"


class Sign:
    """Up while a ledger is open in this process."""

    def __init__(self) -> None:
        self._process: int | None = None
        self._before: str | None = None
        self._file: int | None = None

    def up(self) -> None:
        me = os.getpid()
        if self._process == me:
            return
        if self._file is not None:  # inherited by a fork; closing it here leaves the parent's lock alone
            os.close(self._file)
        self._process, self._before = me, os.environ.get(VARIABLE)
        try:
            self._file = lock_file(_path(me))
        except OSError:
            self._file = None
        os.environ[VARIABLE] = f"{me}:{'unlocked' if self._file is None else 'locked'}"

    def down(self) -> None:
        if self._process != os.getpid():
            return
        if self._before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = self._before
        if self._file is not None:
            with contextlib.suppress(OSError):
                _path(self._process).unlink()
            fcntl.flock(self._file, fcntl.LOCK_UN)  # also for copies that forks hold
            os.close(self._file)
        self._process = self._file = None


def open_elsewhere() -> bool:
    """True if a process above this one has a ledger open."""
    above = {os.getppid()}
    process = sys.modules.get("multiprocessing.process")  # loaded in every worker process
    parent = process.parent_process() if process else None
    if parent is not None and parent.pid is not None:
        above.add(parent.pid)
    told, _, how = os.environ.get(VARIABLE, "").partition(":")
    if told.isdecimal() and int(told) != os.getpid():
        if how != "locked":
            return True
        above.add(int(told))
    return any(map(_is_locked, above))


def _path(process: int) -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"privet-ledger-{user}-{process}"


def _is_locked(process: int) -> bool:
    if fcntl is None:
        return False
    try:
        file = os.open(_path(process), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.fstat(file).st_uid != os.getuid():  # another user's, who could keep this one from ever fitting
            return False
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
