"""Arrays on disk that nobody else can open and that are gone when this process ends, however it ends.

Their files have no name (``tempfile.TemporaryFile``): the operating system frees them with the last handle, also after
a crash. Space is taken up in advance, so that a full disk is found before anything is written.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import PrivetError

FOLDER = "PRIVET_CACHE"
"""The environment variable that says where, if the caller does not: by default the user's cache folder."""

SMALL = 2**20
"""Smaller arrays, in bytes, stay in memory."""


class DiskFullError(PrivetError):
    """There is no space for an array."""


class Scratch:
    """Makes such arrays in a folder, which its owner alone can read if it is made here."""

    def __init__(self, folder: Any = None) -> None:
        named = folder or os.environ.get(FOLDER)
        self.folder = Path(named) if named else default_folder()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise PrivetError(
                f"{self.folder}: {error.strerror}. Records are kept there, binned, during a fit: name another folder "
                f"by cache=... or in the environment variable {FOLDER}."
            ) from None

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array of zeros; DiskFullError if there is no space for it."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size < SMALL:
            return np.zeros(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            try:
                _take_up(file.fileno(), size)
            except OSError:
                raise DiskFullError(
                    f"{self.folder} has no space for {size / 1e9:.1f} GB: name another folder by cache=... or in the "
                    f"environment variable {FOLDER}"
                ) from None
            return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)


def default_folder() -> Path:
    """The folder for files of this user that can be made again; where there is no such place, that for all users."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    there = next(place for place in (home, *home.parents) if place.exists())
    return home / "privet" if os.access(there, os.W_OK) else Path(tempfile.gettempdir())


def _take_up(file: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.ftruncate(file, size)
