"""Three servers as threads, for tests of the logic."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")
sys.path.insert(0, str(Path(__file__).parent))  # servers in processes of their own import server_programs


@pytest.fixture
def three() -> Callable[..., list[Any]]:
    """Runs a program on three servers in this process; what each returned."""
    from privet.consortium.net.loopback import run_threads

    return run_threads
