"""A PostgreSQL server of this process's own, on a socket in a folder: for tests and benchmarks."""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

BINARIES = "/usr/lib/postgresql/*/bin/"
"""Where Debian puts them, which is in no path."""


class NoServer(Exception):
    """A program is missing that the server needs."""


def program(name: str) -> str:
    found = shutil.which(name) or next(iter(sorted(glob.glob(BINARIES + name), reverse=True)), None)
    if found is None:
        raise NoServer(f"{name} is not installed: apt-get install postgresql")
    return found


@cache
def postgres_folder() -> Path:
    """Where a server listens until this process ends; its user is ``owner``. It refuses to run as root."""
    initdb, control = program("initdb"), program("pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="privet-pg-"))
    as_user = []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        as_user = [program("setpriv"), "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def run(*command: str | Path) -> None:
        subprocess.run([*as_user, *map(str, command)], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def stop() -> None:
        subprocess.run([*as_user, control, "-D", str(folder / "data"), "-m", "immediate", "stop"], cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    run(initdb, "-D", folder / "data", "-A", "trust", "-U", "owner", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c log_statement=all"
    run(control, "-D", folder / "data", "-o", settings, "-l", folder / "log", "-w", "start")
    return folder


def postgres_address() -> str:
    return f"postgresql://owner@/postgres?host={postgres_folder()}"
