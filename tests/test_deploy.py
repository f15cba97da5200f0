"""What is in deploy/: units that systemd takes without a word, and a Containerfile that builds from what there is."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from needs import program
from privet.cli import app

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
INSTRUCTIONS = re.sub(r"\\\n", " ", "\n".join(line for line in CONTAINERFILE.splitlines() if not line.startswith("#")))


def check_command(words):
    """Whether the command exists, with all of these options."""
    command = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for param in command.params for option in param.opts}
    assert {word for word in words if word.startswith("-")} <= known, words


def test_there_is_a_unit_for_every_role_that_runs():
    assert {unit.name.split("@")[0] for unit in UNITS} == {
        "privet-party", "privet-coordinator", "privet-server", "privet-share", "privet-train"
    }  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_nothing_wrong_with_a_unit(unit):
    checked = subprocess.run(
        [program("systemd-analyze"), "verify", str(unit)], capture_output=True, text=True, timeout=60
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_that_exists_as_a_user_without_rights(unit):
    settings = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.MULTILINE))
    start, privet, *words = shlex.split(settings["ExecStart"])
    assert (start, privet) == ("/usr/bin/env", "privet")
    check_command(words)
    assert (settings["User"], settings["UMask"], settings["NoNewPrivileges"]) == ("privet", "0077", "yes")
    assert settings["CapabilityBoundingSet"] == ""


def test_the_containerfile_has_known_instructions_and_copies_what_there_is():
    instructions = [line.split(maxsplit=1) for line in INSTRUCTIONS.splitlines() if line.strip()]
    assert {name for name, _ in instructions} <= {
        "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "STOPSIGNAL", "ENTRYPOINT", "CMD"
    }  # fmt: skip
    for name, rest in instructions:
        if name == "FROM":
            assert re.match(r"docker\.io/library/python:\d+\.\d+-slim\b", rest)  # a version, never "latest"
        if name == "COPY" and "--from" not in rest:
            assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest
    last = dict(instructions)
    assert last["USER"].isdecimal()
    assert int(last["USER"]) > 0
    assert json.loads(last["ENTRYPOINT"]) == ["privet"]


def test_commands_in_the_containerfile_exist():
    text = re.sub(r" \\\n#\s+", " ", CONTAINERFILE)
    commands = re.findall(r"^#\s+podman run .*? privet ((?:federated|mpc) .*)$", text, re.MULTILINE)
    assert len(commands) == len(UNITS)
    for command in commands:
        check_command(shlex.split(command))


@pytest.mark.slow
def test_the_container_is_built_where_there_is_a_builder():
    builder = next(filter(None, map(shutil.which, ("podman", "buildah", "docker"))), None)
    if builder is None:
        pytest.skip("no podman, buildah or docker here")
    chroot = ["--isolation", "chroot"] if builder.endswith("buildah") else []
    built = subprocess.run(
        [builder, "build", *chroot, "-t", "privet-test", "-f", str(DEPLOY / "Containerfile"), str(ROOT)],
        capture_output=True, text=True, timeout=3600,
    )  # fmt: skip
    if built.returncode and "Cannot connect to the Docker daemon" in built.stderr:
        pytest.skip("docker has no daemon here to build with")
    if built.returncode and re.search(r"pinging container registry|no such host|dial tcp|pull", built.stderr):
        pytest.skip(f"the base image cannot be had: {built.stderr.splitlines()[-1]}")
    assert built.returncode == 0, built.stderr
