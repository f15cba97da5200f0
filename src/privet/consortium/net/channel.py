"""Mutual TLS 1.3 between two programs that know each other's certificates.

Each side trusts exactly the certificates it was given: they are the only roots of its context, and after the handshake
the other's certificate is compared with them byte for byte. A certificate that is foreign, expired or missing ends the
handshake.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import math
import select
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.consortium.net.certificates import fingerprint
from privet.errors import MpcError, RunEndedError
from privet.strict_json import object_of

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_logger = logging.getLogger("privet.net")

LENGTH_BYTES = 8
MOST_BYTES = 2**33

LAST_WORDS = 2 ** (8 * LENGTH_BYTES) - 1
"""In the place of a length: what comes is not a message but why the other side leaves."""
MOST_WORDS = 2**12
TO_LEAVE = 5.0
"""Whoever leaves waits so many seconds at most for the other side to have heard why."""

TO_GREET, MOST_GREETED = 20.0, 512
"""So many seconds has a stranger to show a certificate, and so many may be about to at a time: the oldest go first."""
BETWEEN_NOTES = 1.0
"""Seconds between two lines about refused strangers, who could fill the disk with them."""
POLL = 0.5


@dataclass(frozen=True)
class TlsIdentity:
    """A program's own key and certificate."""

    key: Path
    certificate: Path

    def context(self, purpose: int, trusted: Iterable[bytes]) -> ssl.SSLContext:
        """TLS 1.3 only, both sides show certificates, no roots but ``trusted``, no session is ever resumed."""
        context = ssl.SSLContext(purpose)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # a pinned certificate says more than a name
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(self.certificate, self.key)
        for certificate in trusted:
            context.load_verify_locations(cadata=certificate.decode())
        if purpose == ssl.PROTOCOL_TLS_SERVER:
            context.num_tickets = 0
        return context


class TlsChannel(contextlib.AbstractContextManager["TlsChannel"]):
    """Whole messages over a socket: length, then bytes. Any failure closes it and is an ``MpcError``.

    ``known_as`` is the name that the side that listens has for the other, ``greeting`` what else it says at first.
    ``heeded`` says that the other side's last
    words are passed on. They are a server's, in its own name; of anybody else it is only told that it has left, or an
    owner could have a server say whatever it likes.
    """

    def __init__(self, sock: socket.socket, timeout: float, peer: str = "a peer") -> None:
        self._socket = sock
        self._leaving = False
        self.closed = False
        self.peer = peer
        self.known_as = ""
        self.greeting: dict[str, Any] = {}
        self.heeded = True
        sock.settimeout(timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: bytes) -> None:
        with self._failing():
            self._socket.sendall(len(message).to_bytes(LENGTH_BYTES, "big") + message)

    def receive(self, most: int = MOST_BYTES, within: float = math.inf) -> bytes:
        """The next message. All of it has to come ``within`` so many seconds, and no part may be long in coming."""
        deadline = time.monotonic() + within
        with self._failing():
            length = int.from_bytes(self._exactly(LENGTH_BYTES, deadline), "big")
            if length == LAST_WORDS:
                said = self._last_words()
                raise RunEndedError(said if self.heeded else f"{self.peer} has left. The run has ended.")
            if length > most:
                raise MpcError(f"{self.peer} sends more than it should. The run has ended.")
            return self._exactly(length, deadline)

    def _exactly(self, n: int, deadline: float = math.inf) -> bytes:
        buffer = bytearray(n)
        view, got = memoryview(buffer), 0
        while got < n:
            if time.monotonic() > deadline:
                raise TimeoutError
            count = self._socket.recv_into(view[got:])
            if count == 0:
                raise RunEndedError(f"{self.peer} has left. The run has ended.")
            got += count
        return bytes(buffer)

    def _last_words(self) -> str:
        length = int.from_bytes(self._exactly(LENGTH_BYTES), "big")
        said = self._exactly(min(length, MOST_WORDS)).decode(errors="replace")
        return "".join(letter if letter.isprintable() else " " for letter in said)

    def say_why(self, why: str) -> None:
        """The last words on this channel: the other side's next ``receive`` raises them."""
        said = why.encode()[:MOST_WORDS]
        with self._failing():
            self._socket.sendall(
                LAST_WORDS.to_bytes(LENGTH_BYTES, "big") + len(said).to_bytes(LENGTH_BYTES, "big") + said
            )

    def leave(self, why: str) -> None:
        """Say why, if anybody still listens, and close; returns before the other side has heard it."""
        with contextlib.suppress(MpcError, OSError, ValueError):
            self._socket.settimeout(TO_LEAVE)
            self.say_why(why)
            self._socket.shutdown(socket.SHUT_WR)
            self._leaving = True
            threading.Thread(target=self._linger).start()
            return
        self.close()

    def _linger(self) -> None:
        """Closed while there is something to read, a connection is reset, and what was said may not arrive."""
        deadline = time.monotonic() + TO_LEAVE
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline and self._socket.recv(2**16):
                pass
        self._leaving = False
        self.close()

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except MpcError:
            self.close()
            raise
        except TimeoutError as error:
            self.close()
            raise RunEndedError(f"{self.peer} has not answered in time. The run has ended.") from error
        except (OSError, ValueError) as error:  # ValueError: the socket was closed by another thread
            self.close()
            raise RunEndedError(
                f"The link to {self.peer} broke ({type(error).__name__}). The run has ended."
            ) from error

    def speaks(self) -> bool:
        """Whether there is something to read, if only the end."""
        try:
            pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0
            return pending or bool(select.select([self._socket], [], [], 0)[0])
        except (OSError, ValueError):
            return True

    def close(self) -> None:
        if self._leaving:
            return
        self.closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._socket.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def wait_any(channels: Sequence[TlsChannel], longest: float | None = None) -> bool:
    """Wait until one of them speaks or leaves; whether it did within so many seconds."""
    try:
        return any(channel.speaks() for channel in channels) or bool(
            select.select([channel._socket for channel in channels], [], [], longest)[0]
        )
    except (OSError, ValueError):  # one was closed here: whoever reads from it will find out
        return True


def receive_all(channels: Sequence[TlsChannel], timeout: float, most: int = MOST_BYTES) -> list[bytes]:
    """A message from each. Waits without a limit until one of them speaks; then the others have so long to do the same.

    So whoever waits for several programs that work together may be patient with all of them and yet finds out about
    one that is stuck; and as soon as one has left, or says why the run has ended, that is raised.
    """
    said: dict[TlsChannel, bytes] = {}
    deadline = None
    while silent := [channel for channel in channels if channel not in said]:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not wait_any(silent, left):
            raise RunEndedError(f"{silent[0].peer} has not answered in time. The run has ended.")
        said |= {channel: channel.receive(most) for channel in silent if channel.speaks()}
        if deadline is None:
            deadline = time.monotonic() + timeout
    return [said[channel] for channel in channels]


def connect(
    address: tuple[str, int], identity: TlsIdentity, certificate: bytes, *, peer: str, timeout: float
) -> TlsChannel:
    """Connect to a program that holds ``certificate``; tries until ``timeout`` while it has not started yet."""
    context = identity.context(ssl.PROTOCOL_TLS_CLIENT, [certificate])
    deadline = time.monotonic() + timeout
    while True:
        try:
            raw = socket.create_connection(address, timeout=timeout)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise MpcError(f"{peer} cannot be reached at {address[0]}:{address[1]}. Is it running?") from error
            time.sleep(0.05)
    try:
        wrapped = context.wrap_socket(raw)
        if fingerprint(wrapped.getpeercert(binary_form=True) or b"") != fingerprint(certificate):
            raise ssl.SSLError("not the pinned certificate")
    except OSError as error:
        raw.close()
        raise MpcError(f"{peer} was refused: {_reason(error)}.") from error
    channel = TlsChannel(wrapped, timeout, peer)
    try:
        channel.greeting = object_of(channel.receive(MOST_WORDS), MpcError(f"{peer} greets with what is no greeting."))
        channel.known_as = str(channel.greeting.get("known_as"))
    except RunEndedError as error:  # in TLS 1.3 a client learns what is thought of its certificate when it first reads
        raise MpcError(
            f"{peer} has refused this program: it does not know {identity.certificate.name}, or that is not valid."
        ) from error
    return channel


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not the one that was agreed on, or not valid today ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "it has not answered in time"
    return "it does not speak TLS 1.3 with the agreed certificate, or has refused ours"


def _most_files() -> int:
    """How many files and sockets this process may hold open."""
    return 4 * MOST_GREETED if resource is None else resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class Listener:
    """Accepts programs that hold one of ``known`` certificates (name: certificate) and hands them to ``welcome``.

    Each is first told the name that it is known by, and what ``tells`` returns for it. Whoever holds no such
    certificate is refused in the handshake, which is noted in the log, and nothing else happens. One thread greets all:
    who says nothing holds none.
    """

    def __init__(
        self,
        address: tuple[str, int],
        identity: TlsIdentity,
        known: Mapping[str, bytes],
        welcome: Callable[[str, TlsChannel], None],
        timeout: float,
        tells: Callable[[str], Mapping[str, Any]] = lambda name: {},
    ) -> None:
        self._names = {fingerprint(certificate): name for name, certificate in known.items()}
        self._context = identity.context(ssl.PROTOCOL_TLS_SERVER, known.values())
        self._welcome, self._tells = welcome, tells
        self._timeout = timeout
        try:
            self._socket = socket.create_server(address, backlog=MOST_GREETED)
        except OSError as error:
            raise MpcError(f"Nobody can listen at {address[0]}:{address[1]} ({error.strerror}).") from error
        self._socket.setblocking(False)
        self._most_greeted = min(MOST_GREETED, _most_files() // 4)  # or strangers would leave none for the work itself
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self.refused = 0
        self._noted = -math.inf
        self._closed = False
        self._greeted: dict[ssl.SSLSocket, float] = {}  # and until when
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select(POLL):
                if isinstance(key.fileobj, ssl.SSLSocket):
                    self._greet(key.fileobj)
                else:
                    self._accept()
            late = [one for one, until in self._greeted.items() if until < time.monotonic()]
            for one in late:
                self._refuse(one, "it has not said who it is in time")
        for one in list(self._greeted):
            self._forget(one).close()
        self._selector.close()

    def _accept(self) -> None:
        try:
            raw, _ = self._socket.accept()
            raw.setblocking(False)
            one = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and self._greeted:  # as many as this process may hold
                self._refuse(next(iter(self._greeted)), "there are too many others")
            time.sleep(0 if self._closed else POLL / 10)  # somebody gave up, or there are too many
            return
        if len(self._greeted) >= self._most_greeted:
            self._refuse(next(iter(self._greeted)), "there are too many others")
        self._greeted[one] = time.monotonic() + min(self._timeout, TO_GREET)
        self._selector.register(one, selectors.EVENT_READ)

    def _greet(self, one: ssl.SSLSocket) -> None:
        """Go on with a handshake, as far as what has come allows."""
        try:
            one.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLWantWriteError:
            self._selector.modify(one, selectors.EVENT_READ | selectors.EVENT_WRITE)
            return
        except (OSError, ValueError) as error:
            self._refuse(one, getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error))
            return
        name = self._names.get(fingerprint(one.getpeercert(binary_form=True) or b""))
        if name is None:
            self._refuse(one, "its certificate is signed by one that is known, and is not that one")
            return
        channel = TlsChannel(self._forget(one), self._timeout, name)
        try:
            channel.send(json.dumps({"known_as": name, **self._tells(name)}).encode())
            self._welcome(name, channel)
        except MpcError:
            pass  # it has left
        except Exception:  # a file that cannot be read, or a mistake of ours: all others are still greeted
            _logger.exception("%s cannot be greeted", name)
            channel.close()

    def _refuse(self, one: ssl.SSLSocket, why: str) -> None:
        self.refused += 1
        if time.monotonic() > self._noted + BETWEEN_NOTES:
            self._noted = time.monotonic()
            with contextlib.suppress(OSError):
                _logger.warning("refused %s: %s; %s refused so far", one.getpeername()[0], why, self.refused)
        self._forget(one).close()

    def _forget(self, one: ssl.SSLSocket) -> ssl.SSLSocket:
        del self._greeted[one]
        self._selector.unregister(one)
        return one

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
