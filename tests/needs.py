"""What some tests need of the machine: without it they skip and say so; in CI, which installs it, they fail."""

import os
import shutil

import pytest


def program(name: str) -> str:
    """The path of a program."""
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is not installed")
    return str(found)


def missing(what: str) -> None:
    """Skip this test because of `what`; CI (`.ci/run` sets PRIVET_CI) must have everything, so there it fails."""
    if os.environ.get("PRIVET_CI"):
        pytest.fail(f"{what}; CI installs all that tests need (.ci/run)")
    pytest.skip(what, allow_module_level=True)
