"""A journal: what was said is kept before it is sent, so that nothing is said twice in two ways.

One small file for each entry, written whole and flushed to the disk before its name appears. Without a folder it is
kept in memory, for runs inside one process.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from privet.disk import write_whole
from privet.errors import FederatedError


class Journal:
    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._kept: dict[str, bytes] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for file in folder.iterdir():
                if file.suffix == ".entry":
                    self._kept[file.stem] = file.read_bytes()

    def get(self, name: str) -> bytes | None:
        return self._kept.get(name)

    def put(self, name: str, entry: bytes) -> None:
        """Keep an entry for good. What was said is never changed."""
        if self._kept.get(name, entry) != entry:
            raise FederatedError(f"Entry {name} of the journal says something else, and is not changed.")
        if name in self._kept:
            return
        if self._folder is not None:
            try:
                write_whole(self._folder / f"{name}.entry", entry, new=True)
            except FileExistsError as error:
                raise FederatedError(
                    f"Entry {name} of the journal was written by another process meanwhile. One process at a time may "
                    "have a journal: stop the other one."
                ) from error
        self._kept[name] = entry

    def once(self, name: str, say: Callable[[], bytes]) -> bytes:
        """What was said the first time."""
        if name not in self._kept:
            self.put(name, say())
        return self._kept[name]

    def _replace(self, name: str, entry: bytes) -> None:
        """Keep this in the place of what was kept: there is always one of them, whole."""
        if self._folder is not None:
            write_whole(self._folder / f"{name}.entry", entry)
        self._kept[name] = entry
