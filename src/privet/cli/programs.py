"""What the programs between machines have in common: packages, keys, how they are stopped, and their logs."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privet.cli.screen import REFUSED, fail, say
from privet.disk import owner_only
from privet.errors import PrivetError


def stop_when_told() -> None:
    """End on SIGTERM as on Ctrl-C, so that what is open is closed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def show_status(status: Mapping[str, Any]) -> None:
    """Print what there is to see: a line for each thing, or all of it as JSON."""
    say(**status)
    width = max(map(len, status))
    for name, value in status.items():
        for each in value if isinstance(value, list) else [value]:
            say(f"{name:<{width}}  {_in_words(each)}")


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        first, *rest = value.items()
        return "; ".join([_in_words(first[1]), *(f"{name} {_in_words(each)}" for name, each in rest if each != [])])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_in_words, value)) if isinstance(value, list) else str(value)


def refuse_problems(checked: Sequence[Mapping[str, Any]]) -> None:
    """End as refused if a check has found anything, after it was shown."""
    if any(each["problems"] for each in checked):
        raise fail("something above would stop a run; nobody has paid anything.", REFUSED)


@contextmanager
def errors_in(path: Path) -> Iterator[None]:
    """Tracebacks of errors, and reasons of refusals, go to this file. They may quote records: others cannot read it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(owner_only(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    except OSError as error:
        raise PrivetError(f"Errors cannot be kept in {path}: {error.strerror}.") from error
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger = logging.getLogger("privet")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    except Exception:
        logger.exception("the program has ended")
        raise
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()
