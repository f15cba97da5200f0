"""What a trainer or a user has asked the servers for, and how that ended, in a file beside its own: for its status."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from privet.disk import write_whole

MOST_KEPT = 100

Entry = dict[str, str]


class Requests:
    """Kept in ``NAME.requests.json``. It says nothing that matters, so one that is damaged begins anew."""

    def __init__(self, own: Path) -> None:
        self._path = own.with_suffix(".requests.json")

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """A request is open until this ends; it is done, or has failed."""
        entry = {"run": what, "state": "open", "began": _now(), "process": str(os.getpid())}
        self._write([*self._read(), entry])
        state = "failed"
        try:
            yield
            state = "done"
        finally:
            ended = {**entry, "state": state, "ended": _now()}
            self._write([ended if each == entry else each for each in self._read()])

    def listed(self) -> list[Entry]:
        """The last of them, the oldest first. One whose process has gone without a word was lost."""
        return [
            {**{name: each[name] for name in ("run", "state", "began", "ended") if name in each}, **_lost(each)}
            for each in self._read()
        ]

    def _read(self) -> list[Entry]:
        with suppress(OSError, ValueError, AttributeError, TypeError, KeyError):
            entries = json.loads(self._path.read_bytes())
            return [{str(name): str(said) for name, said in each.items()} for each in entries if each["state"]]
        return []

    def _write(self, entries: list[Entry]) -> None:
        with suppress(OSError):  # a full disk keeps nobody from asking
            write_whole(self._path, json.dumps(entries[-MOST_KEPT:]).encode())


def _lost(entry: Entry) -> Entry:
    if entry["state"] != "open" or os.name != "posix":
        return {}
    try:
        os.kill(int(entry.get("process", "")), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return {"state": "lost"}
    except PermissionError:
        pass
    return {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
