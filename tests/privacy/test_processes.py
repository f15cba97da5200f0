"""A process knows whether one above it has a ledger open, however it was started, and for no longer than that."""

import os
import subprocess
import sys

import pytest

from privet.privacy import processes
from privet.privacy.processes import VARIABLE, Sign, open_elsewhere

ASK = "from privet.privacy.processes import open_elsewhere; print(open_elsewhere())"


def asked_in_a_child(**environment):
    clean = {name: value for name, value in os.environ.items() if name != VARIABLE}
    told = subprocess.run(
        [sys.executable, "-c", ASK], env={**clean, **environment}, capture_output=True, text=True, check=True
    )
    return told.stdout.strip() == "True"


@pytest.fixture
def sign(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    own = Sign()
    yield own
    own.down()


def test_a_child_sees_the_lock_of_its_parent_even_if_it_was_not_told(sign):
    assert not asked_in_a_child()
    sign.up()
    assert asked_in_a_child()
    sign.down()
    assert not asked_in_a_child()


def test_where_nothing_is_locked_the_variable_alone_tells(sign):
    assert asked_in_a_child(**{VARIABLE: "1:unlocked"})
    assert not asked_in_a_child(**{VARIABLE: f"{2**22 + 1}:locked"})  # whose process has ended


def test_a_process_does_not_wait_for_itself(sign):
    sign.up()
    assert os.environ[VARIABLE] == f"{os.getpid()}:locked"
    assert not open_elsewhere()


def test_down_leaves_everything_as_it_was(sign, monkeypatch):
    monkeypatch.setenv(VARIABLE, "7:locked")
    sign.up()
    sign.up()
    sign.down()
    sign.down()
    assert os.environ[VARIABLE] == "7:locked"
    assert not processes._path(os.getpid()).exists()


def test_a_file_that_cannot_be_locked_leaves_the_variable(sign, monkeypatch):
    def refuses(path):
        raise BlockingIOError

    monkeypatch.setattr(processes, "lock_file", refuses)
    sign.up()
    assert os.environ[VARIABLE] == f"{os.getpid()}:unlocked"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can make another user's file")
def test_another_users_file_keeps_nobody_from_fitting(sign):
    """Its name can be guessed, and the folder is everybody's."""
    sign.up()
    assert asked_in_a_child()
    os.chown(processes._path(os.getpid()), 12345, -1)
    assert not asked_in_a_child()
