"""What the programs between machines have in common: packages, keys, how they are stopped, and their logs."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privet.cli.screen import say
from privet.disk import owner_only
from privet.errors import PrivetError


def need(extra: str, *packages: str) -> None:
    """Raise, saying what to install, if one of these packages is not there."""
    if not all(map(importlib.util.find_spec, packages)):
        raise PrivetError(f"privet {extra} needs more packages: pip install 'privet[{extra}]'")


def stop_when_told() -> None:
    """End on SIGTERM as on Ctrl-C, so that what is open is closed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def make_keys(*args: Any, **options: Any) -> None:
    """Write a key and a certificate, as ``make_certificate`` does, and say what to do with them."""
    from privet.consortium.net.certificates import fingerprint, make_certificate

    key, certificate = make_certificate(*args, **options)
    say(f"Wrote {key} (keep it) and {certificate} (give it away).")
    say(f"Fingerprint {fingerprint(certificate.read_bytes())}")


@contextmanager
def errors_in(path: Path) -> Iterator[None]:
    """Tracebacks of errors, and reasons of refusals, go to this file. They may quote records: others cannot read it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
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
