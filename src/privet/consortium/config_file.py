"""Reading a TOML file that says who is who: whatever is missing or wrong is named."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from privet.errors import PrivetError

_ADDRESS = re.compile(r"([A-Za-z0-9._%:\[\]-]+):([0-9]{1,5})")


class ConfigFile:
    """A file's data; names of other files in it are relative to it."""

    def __init__(self, path: Path, part: Any = None) -> None:
        """``part``: one table of the file, instead of all of it."""
        self.path = path
        if part is not None and not isinstance(part, dict):
            raise self.wrong("it has something else where a table should be")
        try:
            self.data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")) if part is None else part
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PrivetError(f"{path} is not TOML: {error}") from error

    def allow(self, known: Collection[str]) -> None:
        """Raise for a name that nothing reads."""
        if unknown := sorted(set(self.data) - set(known)):
            raise self.wrong(f"it has {unknown[0]!r}, which nothing reads; known are {', '.join(sorted(known))}")

    def file(self, entry: Any, name: str) -> Path:
        path = self.path.parent / self.need(entry, name, str)
        if not path.is_file():
            raise self.wrong(f"there is no file {path} ({name})")
        return path

    def key(self, default: str) -> Path:
        """A private key's file, which nobody but its owner may read."""
        path = self.file({"key": default, **self.data}, "key")
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise self.wrong(f"others can read {path}; a key is its owner's alone: chmod 600 {path}")
        return path

    def need(self, entry: Any, name: str, kind: type) -> Any:
        if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
            raise self.wrong(f"it needs {name}")
        return entry[name]

    def address(self, name: str, default: str) -> tuple[str, int]:
        address = address_of(self.need({name: default, **self.data}, name, str))
        if address is None:
            raise self.wrong(f'{name} is an address, "host:port"')
        return address

    def number(self, name: str, default: Any, *, least: float | None = None, whole: bool = False) -> Any:
        """A number above 0, or from ``least`` on."""
        value = self.data.get(name, default)
        fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not fits or not (value > 0 if least is None else value >= least):
            kind = "whole number" if whole else "number"
            raise self.wrong(f"{name} must be a {'positive ' if least is None else ''}{kind}")
        return value

    def choice(self, name: str, known: Sequence[str]) -> str:
        """One of these words; the first, where the file says nothing."""
        if (value := self.data.get(name, known[0])) not in known:
            raise self.wrong(f"{name} is one of {', '.join(known)}")
        return value

    def beside(self, name: str, default: str) -> Path:
        """A place that need not exist yet, relative to the file."""
        return self.path.parent / (self.need(self.data, name, str) if name in self.data else default)

    def wrong(self, what: str) -> PrivetError:
        return PrivetError(f"{self.path}: {what}.")


def address_of(text: str) -> tuple[str, int] | None:
    """Host and port. No space or other sign may be in it: an address is shown to people who compare a fingerprint."""
    found = _ADDRESS.fullmatch(str(text))
    return (found[1], int(found[2])) if found and int(found[2]) < 2**16 else None
