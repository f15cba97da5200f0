"""The processes of a deployment: SuperLink and SuperNode with TLS and node authentication, and the channel between.

Nothing is downloaded at run time and nothing is reported: telemetry, checks for updates and the installation of
dependencies are off. A SuperNode signs every request with the party's own key, and the SuperLink lets only those in
that were registered from the parties' certificates; parties know the SuperLink by its very certificate.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from privet.errors import FederatedError
from privet.federated import guard
from privet.federated.config import CoordinatorConfig, PartyConfig
from privet.federated.relay import parcel, parcels
from privet.federated.wire import MOST_BYTES, pack, unpack

TO_START = 120.0
"""Seconds that Flower's processes have to start."""

PROBE = 2.0
MISSED = 3
"""A coordinator whose port is closed so many times, so many seconds apart, has gone."""

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
}

APP = {
    "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "privet-relay"
version = "1.0.0"
description = "Passes messages on"
dependencies = []

[tool.flwr.app]
publisher = "privet"

[tool.flwr.app.components]
serverapp = "privet_relay.app:server"
clientapp = "privet_relay.app:client"

[tool.flwr.app.config]
coordinator = ""
""",
    "privet_relay/__init__.py": "",
    "privet_relay/app.py": "from privet.federated import relay\n\nclient = relay.client\nserver = relay.server\n",
}
"""The bundle that Flower carries to the parties, where it is neither unpacked nor run (``guard.py``)."""


class SuperNode:
    """A party's end: the SuperNode, and the socket over which its ClientApp reaches ``handle`` in this process."""

    def __init__(self, config: PartyConfig, handle: Callable[[bytes], bytes], log: Path | None = None) -> None:
        self._config, self._handle, self._log = config, handle, log
        self._process: subprocess.Popen[bytes] | None = None
        with ExitStack() as stack:
            # A short path: sockets have no long ones. Its folder is for this user alone.
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privet-")))
            self._listener = stack.enter_context(Listener(str(self._folder / "party"), "AF_UNIX"))
            key = serialization.load_pem_private_key(config.key.read_bytes(), None)
            _private(self._folder / "node.key", _openssh(key))
            guard.install(self._folder / "bin")
            stack.callback(self._stop)
            self._stack = stack.pop_all()
        threading.Thread(target=self._serve, daemon=True).start()

    def run(self, progress: Callable[[str], None]) -> None:
        """Keep a SuperNode running as long as there is a coordinator, for good.

        A SuperNode that has lost its SuperLink may hang, and one that was not let in ends: either is started anew.
        """
        host, port = self._config.address
        told = ""
        while True:
            if not _listens(host, port):
                told = _once(progress, told, f"waiting for a coordinator at {host}:{port}")
                time.sleep(PROBE)
                continue
            self._process = self._start()
            missed = 0
            while self._process.poll() is None and missed < MISSED:
                time.sleep(PROBE)
                missed = 0 if _listens(host, port) else missed + 1
            if missed < MISSED:
                reason = f"it does not know this party yet, or has not the certificate {self._config.certificate.name}"
                told = _once(progress, told, f"no entry at {host}:{port}: {reason}; trying again")
            else:
                told = _once(progress, told, "the coordinator has gone")
            _stop(self._process)

    def _start(self) -> subprocess.Popen[bytes]:
        host, port = self._config.address
        options = {
            "--root-certificates": self._config.certificate.resolve(),
            "--superlink": f"{host}:{port}",
            "--auth-supernode-private-key": self._folder / "node.key",
            "--node-config": f'party="{self._folder / "party"}"',
            "--port": _free_port(),
        }
        return _start("flower-supernode", options, self._folder, self._log, self._folder / "bin")

    def _serve(self) -> None:
        while True:
            try:
                with self._listener.accept() as relay:
                    relay.send_bytes(self._handle(relay.recv_bytes(MOST_BYTES)))
            except EOFError:  # a relay that left: its message will come again
                continue
            except OSError:
                if self._process is None:  # closed
                    return
                time.sleep(0.05)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _stop(process)

    def close(self) -> None:
        self._stack.close()


class FlowerChannel:
    """The coordinator's end: a SuperLink, a run of the relay on it, and the parties that have come."""

    def __init__(
        self, config: CoordinatorConfig, progress: Callable[[str], None] = lambda said: None, log: Path | None = None
    ) -> None:
        self._config = config
        self._up = False
        self.parties = tuple(sorted(config.parties))
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privet-")))
            progress("starting the SuperLink")
            self._process = self._superlink(folder, log)
            stack.callback(_stop, self._process)
            self._register(folder)
            listener = stack.enter_context(Listener(str(folder / "coordinator"), "AF_UNIX"))
            self._run(folder)
            self._relay: Connection = stack.enter_context(_accepted(listener))
            self._await(progress)
            self._stack = stack.pop_all()

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        self._send(parcel(messages, do="ask", timeout=self._config.timeout))
        return parcels(*self._received())

    def close(self) -> None:
        with suppress(FederatedError):
            self._send(pack({"do": "done"}))
        self._stack.close()

    def _await(self, progress: Callable[[str], None]) -> None:
        """Wait until all parties are there, or for as long as the file says."""
        end, missing = time.monotonic() + self._config.wait, list(self.parties)
        while missing and time.monotonic() < end:
            progress(f"waiting for {', '.join(missing)}")
            self._send(pack({"do": "names", "timeout": min(self._config.timeout, 30.0)}))
            there = self._received()[0]["names"]
            missing = [name for name in self.parties if name not in there]
            if missing:
                time.sleep(1)

    def _send(self, message: bytes) -> None:
        try:
            self._relay.send_bytes(message)
        except OSError:
            raise FederatedError(_LOST) from None

    def _received(self) -> tuple[dict[str, Any], bytes]:
        try:
            return unpack(self._relay.recv_bytes(MOST_BYTES))
        except (EOFError, OSError):
            raise FederatedError(_LOST) from None

    def _superlink(self, folder: Path, log: Path | None) -> subprocess.Popen[bytes]:
        host, port = self._config.address
        certificate = str(self._config.certificate.resolve())
        (folder / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\naddress = "{_reachable(self._config)}:{port}"\n'
            f'root-certificates = "{certificate}"\n'
        )
        return _start(
            "flower-superlink",
            {
                "--ssl-certfile": certificate,
                "--ssl-ca-certfile": certificate,
                "--ssl-keyfile": self._config.key.resolve(),
                "--enable-supernode-auth": None,
                "--disable-runtime-dependency-installation": None,
                "--host": host,
                "--port": port,
            },
            folder,
            log,
        )

    def _register(self, folder: Path) -> None:
        """Let the parties in, by the keys of their certificates."""
        for name, certificate in self._config.parties.items():
            public = x509.load_pem_x509_certificate(certificate).public_key()
            file = folder / f"{name}.pub"
            file.write_bytes(public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH))
            self._flwr(folder, ["supernode", "register", str(file), "here", "--name", name])

    def _run(self, folder: Path) -> None:
        for name, text in APP.items():
            file = folder / "app" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        where = f'coordinator="{folder / "coordinator"}"'
        self._flwr(folder, ["run", str(folder / "app"), "here", "--run-config", where])

    def _flwr(self, folder: Path, arguments: Sequence[str]) -> None:
        """One of Flower's commands; the first is repeated while the SuperLink starts."""
        end = time.monotonic() + (0 if self._up else TO_START)
        while True:
            done = subprocess.run(
                [_program("flwr"), *arguments], env=_environment(folder), capture_output=True, check=False
            )
            if done.returncode == 0:
                self._up = True
                return
            if self._process.poll() is not None or time.monotonic() > end:
                said = (done.stderr or done.stdout).decode(errors="replace")[-500:]
                raise FederatedError(f"Flower's SuperLink did not start or refused. It says: {' '.join(said.split())}")
            time.sleep(0.5)


_LOST = "The connection to Flower's ServerApp was lost. Start the coordinator again, with the same journal."


def _accepted(listener: Listener) -> Connection:
    """The ServerApp's connection; raises if it does not come."""
    come: list[Connection] = []
    waiting = threading.Thread(target=lambda: come.append(listener.accept()), daemon=True)
    waiting.start()
    waiting.join(TO_START)
    if not come:
        raise FederatedError("Flower's ServerApp did not start in time.")
    return come[0]


def _start(
    program: str, options: Mapping[str, Any], folder: Path, log: Path | None, first: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start one of Flower's programs in a process group of its own, its words in a file.

    It finds commands in the folder ``first`` before all others.
    """
    arguments = [str(word) for option in options.items() for word in option if word is not None]
    with open(log or folder / "flower.log", "ab") as words:
        return subprocess.Popen(
            [sys.executable, "-c", _LEASH, sys.executable, _program(program), *arguments],
            env=_environment(folder, first),
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            start_new_session=True,
        )


# A program that is killed cannot end those it started; on Linux the system does, elsewhere they are ended by hand.
_LEASH = """
import ctypes, os, signal, sys
try:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
except (AttributeError, OSError, TypeError):
    pass
os.execv(sys.argv[1], sys.argv[1:])
"""


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a program and those that it started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _environment(folder: Path, first: Path | None = None) -> dict[str, str]:
    places = [first, Path(sys.executable).parent, os.environ.get("PATH", "")]
    path = os.pathsep.join(str(place) for place in places if place)
    return {**os.environ, **QUIET, "FLWR_HOME": str(folder), "PATH": path}


def _program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def _reachable(config: CoordinatorConfig) -> str:
    """A host name of the certificate under which the SuperLink is reached from its own machine."""
    host = config.address[0]
    if host not in ("0.0.0.0", "::", "[::]"):
        return host
    certificate = x509.load_pem_x509_certificate(config.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return str(next(iter(names)).value)


def _openssh(key: Any) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
    return key.private_bytes(encoding, form, serialization.NoEncryption())


def _private(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(content)


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=10).close()
    except OSError:
        return False
    return True


def _once(progress: Callable[[str], None], told: str, said: str) -> str:
    """Say something unless it was the last thing said."""
    if said != told:
        progress(said)
    return said


def _free_port() -> int:
    """A port for the SuperNode's own ClientApps, on this machine alone."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
