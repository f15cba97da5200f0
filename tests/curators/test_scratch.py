"""What is kept on disk has no name, and is gone with the process, also if that is killed."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from privet.curators import scratch
from privet.curators.scratch import DiskFullError, Scratch, default_folder
from privet.errors import PrivetError


def test_arrays_are_of_zeros_on_a_disk_in_files_without_a_name(tmp_path):
    array = Scratch(tmp_path / "cache").array((2**20, 3), np.uint8)
    assert not array.any()
    array[5] = 7
    assert array.sum() == 21
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "cache").iterdir()) == []
    maps = Path("/proc/self/maps")
    assert not maps.exists() or str(tmp_path) in maps.read_text()


@pytest.mark.parametrize("shape", [(0,), (5, 0), (0, 3)])
def test_an_array_may_be_empty(tmp_path, shape):
    assert Scratch(tmp_path).array(shape, np.int64).shape == shape


def test_a_killed_process_leaves_nothing(tmp_path):
    code = (
        "import sys, os, numpy as np; from privet.curators.scratch import Scratch;"
        "a = Scratch(sys.argv[1]).array((2**21,), np.uint8); a[:] = 1; print('written', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "written\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_found_before_anything_is_written(tmp_path, monkeypatch):
    def full(file, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(scratch, "_take_up", full)
    with pytest.raises(DiskFullError, match=r"no space for 0.1 GB"):
        Scratch(tmp_path).array((10**8,), np.uint8)


def test_a_folder_that_cannot_be_made_is_said_with_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PrivetError, match="PRIVET_CACHE"):
        Scratch(tmp_path / "file" / "cache")


def test_the_folder_is_the_users_unless_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "privet"
    monkeypatch.setenv("PRIVET_CACHE", str(tmp_path / "other"))
    assert Scratch().folder == tmp_path / "other"
