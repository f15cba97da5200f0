"""The processes of a deployment: SuperLink and SuperNode with TLS and node authentication, and the channel between.

Nothing is downloaded at run time and nothing is reported: telemetry, checks for updates and the installation of
dependencies are off. A SuperNode signs every request with the party's own key, and the SuperLink lets only those in
that were registered from the parties' certificates; parties know the SuperLink by its very certificate. Neither starts
programs: what they get is handled here (``tasks.py``). What is not for nodes is for the coordinator (``superlink.py``).
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from privet.consortium.federated import superlink
from privet.consortium.federated.config import CoordinatorConfig, PartyConfig
from privet.consortium.federated.tasks import Unreachable, answer_messages
from privet.consortium.net.ports import HERE, held_ports
from privet.errors import FederatedError

if TYPE_CHECKING:
    from privet.consortium.federated.run import Run

TO_START = 120.0
"""Seconds that Flower's processes have to start."""

PROBE = 2.0
MISSED = 3
"""A coordinator whose port is closed so many times, so many seconds apart, has gone."""

QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}


class SuperNode:
    """A party's end: the SuperNode, whose messages ``handle`` answers in this process."""

    def __init__(self, config: PartyConfig, handle: Callable[[bytes], bytes], log: Path | None = None) -> None:
        self._config, self._handle, self._log = config, handle, log
        self._process: subprocess.Popen[bytes] | None = None
        self._secret = secrets.token_bytes(32)
        with ExitStack() as stack:
            # Its folder is for this user alone.
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privet-")))
            key = serialization.load_pem_private_key(config.key.read_bytes(), None)
            _private(self._folder / "node.key", _openssh(key))
            _private(self._folder / "secret", self._secret)
            stack.callback(self._stop)
            self._stack = stack.pop_all()

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
            if self._serve() < MISSED:
                reason = f"it does not know this party yet, or has not the certificate {self._config.certificate.name}"
                told = _once(progress, told, f"no entry at {host}:{port}: {reason}; trying again")
            else:
                told = _once(progress, told, "the coordinator has gone")

    def _serve(self) -> int:
        """One SuperNode's life: how often, at its end, the coordinator could not be reached."""
        with held_ports(1) as (port,):  # several parties on one machine would otherwise be given the same
            return self._serve_at(f"{HERE}:{port}")

    def _serve_at(self, local: str) -> int:
        self._process = self._start(local)
        over = threading.Event()
        answering = threading.Thread(target=answer_messages, args=(local, self._secret, self._handle, over))
        answering.start()
        missed = 0
        try:
            while self._process.poll() is None and missed < MISSED:
                time.sleep(PROBE)
                missed = 0 if _listens(*self._config.address) else missed + 1
        finally:
            over.set()
            self._stop()
            answering.join()
        return missed

    def _start(self, local: str) -> subprocess.Popen[bytes]:
        host, port = self._config.address
        options = {
            "--root-certificates": self._config.certificate.resolve(),
            "--superlink": f"{host}:{port}",
            "--auth-supernode-private-key": self._folder / "node.key",
            "--isolation": "process",
            superlink.SECRET: self._folder / "secret",
            "--host": local.split(":")[0],
            "--port": local.split(":")[1],
        }
        return _start([str(Path(sys.executable).parent / "flower-supernode")], options, self._folder, self._log)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _stop(process)

    def close(self) -> None:
        self._stack.close()


class FlowerChannel:
    """The coordinator's end: a SuperLink, a run on it, and the parties that have come."""

    def __init__(
        self, config: CoordinatorConfig, progress: Callable[[str], None] = lambda said: None, log: Path | None = None
    ) -> None:
        self._config = config
        self.parties = tuple(sorted(config.parties))
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privet-")))
            progress("starting the SuperLink")
            secret = secrets.token_bytes(32)
            _private(folder / "secret", secret)
            self._process = self._superlink(folder, log)
            stack.callback(_stop, self._process)
            self._run = self._begun(secret)
            stack.callback(self._run.close)
            self._await(progress)
            self._stack = stack.pop_all()

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        try:
            return self._run.ask(messages, self._config.timeout)
        except Unreachable as error:
            raise FederatedError(_LOST) from error

    def close(self) -> None:
        self._stack.close()

    def _await(self, progress: Callable[[str], None]) -> None:
        """Wait until all parties are there, or for as long as the file says."""
        end, told = time.monotonic() + self._config.wait, ""
        while time.monotonic() < end:
            there = self._run.there()
            missing = [name for name in self.parties if name not in there]
            if not missing:
                return
            told = _once(progress, told, f"waiting for {', '.join(missing)}")
            time.sleep(0.5)

    def _superlink(self, folder: Path, log: Path | None) -> subprocess.Popen[bytes]:
        host, port = self._config.address
        certificate = str(self._config.certificate.resolve())
        return _start(
            ["-m", superlink.__name__],
            {
                "--ssl-certfile": certificate,
                "--ssl-ca-certfile": certificate,
                "--ssl-keyfile": self._config.key.resolve(),
                "--enable-supernode-auth": None,
                "--disable-runtime-dependency-installation": None,
                "--isolation": "process",
                superlink.SECRET: folder / "secret",
                "--host": host,
                "--port": port,
            },
            folder,
            log,
        )

    def _begun(self, secret: bytes) -> Run:
        """A run on the SuperLink, once that has started, with the parties let in by the keys of their certificates."""
        from privet.consortium.federated.run import Run  # here, so that parties need not load what it takes

        address = f"{_reachable(self._config)}:{self._config.address[1]}"
        keys = {name: _public(certificate) for name, certificate in self._config.parties.items()}
        end = time.monotonic() + TO_START
        while not _listens(*address.rsplit(":", 1)):
            if self._process.poll() is not None or time.monotonic() > end:
                raise FederatedError(
                    f"Flower's SuperLink did not start, or this machine does not reach it at {address}, as its "
                    "certificate says. Its own words are in the file of --flower-log."
                )
            time.sleep(0.2)
        return Run(address, self._config.certificate.read_bytes(), secret, keys)


_LOST = "Flower's SuperLink has gone. Start the coordinator again, with the same journal: nothing is paid for twice."


def _start(
    program: Sequence[str], options: Mapping[str, Any], folder: Path, log: Path | None
) -> subprocess.Popen[bytes]:
    """Start one of Flower's programs in a process group of its own, its words in a file."""
    arguments = [str(word) for option in options.items() for word in option if word is not None]
    with open(log or folder / "flower.log", "ab") as words:
        return subprocess.Popen(
            [sys.executable, "-c", _LEASH, sys.executable, *program, *arguments],
            env={**os.environ, **QUIET, "FLWR_HOME": str(folder)},
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


def _reachable(config: CoordinatorConfig) -> str:
    """A host name of the certificate under which the SuperLink is reached from its own machine."""
    host = config.address[0]
    if host not in ("0.0.0.0", "::", "[::]"):
        return host
    certificate = x509.load_pem_x509_certificate(config.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return str(next(iter(names)).value)


def _public(certificate: bytes) -> bytes:
    """The key of a certificate as Flower knows it."""
    public = x509.load_pem_x509_certificate(certificate).public_key()
    return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def _openssh(key: Any) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
    return key.private_bytes(encoding, form, serialization.NoEncryption())


def _private(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(content)


def _listens(host: str, port: int | str) -> bool:
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
