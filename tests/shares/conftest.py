"""Three servers as threads, for tests of the logic."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("cryptography")


@pytest.fixture
def three() -> Callable[..., list[Any]]:
    """Runs a program on three servers in this process; what each returned."""
    from in_threads import run_threads

    return run_threads
