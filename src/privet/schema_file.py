"""Schemas as text: reading and writing files, and the checks of what is written there."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from privet.disk import write_whole
from privet.errors import SchemaError


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a misspelt name, or nothing: ``; did you mean 'age'?``."""
    match = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {match[0]!r}?" if match else ""


def check_keys(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            hint = nearest(str(key), known) or f"; known are {', '.join(known)}"
            raise SchemaError(f"{where} has an unknown key {key!r}{hint}")


def as_table(entry: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(entry, Mapping):
        raise SchemaError(f"{where} must be a table")
    return entry


def is_text(source: str | Path) -> bool:
    """Whether this is a schema itself, and not the name of its file."""
    return isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{"))


def parse(source: str | Path, loads: Callable[[str], Any], language: str) -> Any:
    if is_text(source):
        text, where = str(source), "the schema"
    else:
        where = str(source)
        try:
            text = Path(source).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SchemaError(f"{where}: no such file; write a schema there, or draft one") from None
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError(f"{where} cannot be read as UTF-8 text ({type(error).__name__})") from None
    try:
        return loads(text)
    except ValueError as error:
        raise SchemaError(f"{where} is not valid {language}: {error}") from None


def write(text: str, path: str | Path | None, *, draft: bool) -> str:
    """The text, also in a file; that of a draft is its owner's alone, because what it says was read off records."""
    if path is not None:
        # No newline translation: the file is the same on every system, as its fingerprint is.
        write_whole(Path(path), text.encode(), mode=0o600 if draft else 0o666)
    return text
