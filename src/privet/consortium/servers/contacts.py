"""Who has connected to a server, and when last, in a file: so that its status is seen without asking it."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from privet.disk import write_whole


class Contacts:
    """Kept beside a server's ledger. It says nothing that matters, so one that is damaged begins anew."""

    def __init__(self, ledger: Path) -> None:
        self._path = ledger.with_suffix(".contacts.json")
        self._last: dict[str, str] = {}
        with suppress(OSError, ValueError, AttributeError):
            self._last = {str(name): str(when) for name, when in json.loads(self._path.read_bytes()).items()}

    def note(self, name: str) -> None:
        """Somebody has connected. At most once a second for each is written down."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        if self._last.get(name) == now:
            return
        self._last[name] = now
        with suppress(OSError):  # a full disk keeps nobody from connecting
            write_whole(self._path, json.dumps(self._last, sort_keys=True).encode())

    def listed(self) -> list[dict[str, Any]]:
        return [{"name": name, "last contact": when} for name, when in sorted(self._last.items())]
