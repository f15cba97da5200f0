"""No code that a coordinator sends runs at a party."""

import os
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

pytest.importorskip("flwr")

from privet.federated import guard


def test_a_supernode_finds_the_guard_instead_of_every_program_that_runs_bundles(tmp_path):
    from flwr.supercore.constant import TASK_TYPE_TO_COMMAND

    guard.install(tmp_path / "bin")
    commands = set(TASK_TYPE_TO_COMMAND.values())
    assert {file.name for file in (tmp_path / "bin").iterdir()} == commands == {guard.CLIENT, *guard.OTHERS}
    for name in guard.OTHERS:
        ran = subprocess.run([tmp_path / "bin" / name], capture_output=True, text=True, check=False)
        assert ran.returncode == 1
        assert "no code from elsewhere" in ran.stderr
    assert os.stat(tmp_path / "bin" / guard.CLIENT).st_mode & 0o077 == 0


def test_whatever_a_bundle_names_the_installed_relay_is_what_runs():
    names = {name: getattr(import_module("flwr.supernode.runtime.run_clientapp"), name) for name in guard.NEEDED}
    program = guard.guarded(SimpleNamespace(**names), "the relay")
    assert program.install_from_fab(b"a bundle", skip_prompt=True) is None
    load = program.get_load_client_app_fn(default_app_ref="", app_path=None, multi_app=True)
    assert load("evil/app", "1.0.0", "hash") == "the relay"
    with pytest.raises(SystemExit):
        program.install_app_dependencies("somewhere")


def test_a_flower_that_is_not_known_here_runs_nothing():
    with pytest.raises(SystemExit, match="not known here"):
        guard.guarded(SimpleNamespace(run_clientapp=print), "the relay")


def test_the_guards_command_starts_flowers_program():
    """It gets as far as asking for its arguments."""
    code = "import sys; sys.argv = ['x', '--help']; from privet.federated.guard import main; main('flwr-clientapp')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert "--runtime-api-address" in ran.stdout
