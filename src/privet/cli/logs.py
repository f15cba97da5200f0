"""Where the programs that hold data write what went wrong, in full: a file for its owner's eyes alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def errors_in(path: Path) -> Iterator[None]:
    """Tracebacks of errors, and reasons of refusals, go to this file. They may quote records: others cannot read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
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
