"""Processes that do not outlive what they are for, and changes to the package that do not outlive a process."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def apart(job: Callable[[], Any]) -> Any:
    """Run a job in a copy of this process, whose changes to the package are gone with it."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            there.send((True, job()))
        except BaseException as error:
            there.send((False, f"{type(error).__name__}: {error}"))
        finally:
            os._exit(0)
    there.close()
    try:
        done, found = here.recv()
    except EOFError:
        done, found = False, "it ended without an answer"
    os.waitpid(child, 0)
    if not done:
        raise RuntimeError(found)
    return found


def die_with_parent(parent: int) -> None:
    """A worker whose runner is killed must not go on."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def constant(module: Any, name: str, value: Any) -> Callable[[], None]:
    """One constant or function changed, where it is defined and wherever it was imported."""

    def change() -> None:
        old = getattr(module, name)
        for own in [own for key, own in sys.modules.items() if key.startswith("privet.")]:
            if getattr(own, name, None) is old:
                setattr(own, name, value)
            for kept in vars(own).values():
                if callable(forget := getattr(kept, "cache_clear", None)):
                    forget()  # what was computed before the change

    return change
