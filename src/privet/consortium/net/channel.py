"""Mutual TLS 1.3 between two programs that know each other's certificates.

Each side trusts exactly the certificates it was given: they are the only roots of its context, and after the handshake
the other's certificate is compared with them byte for byte. A certificate that is foreign, expired or missing ends the
handshake.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from privet.consortium.net.certificates import fingerprint
from privet.errors import MpcError, RunEndedError

LENGTH_BYTES = 8
MOST_BYTES = 2**33

LAST_WORDS = 2 ** (8 * LENGTH_BYTES) - 1
"""In the place of a length: what comes is not a message but why the other side leaves."""
MOST_WORDS = 2**12
TO_LEAVE = 5.0
"""Whoever leaves waits so many seconds at most for the other side to have heard why."""


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


class TlsChannel:
    """Whole messages over a socket: length, then bytes. Any failure closes it and is an ``MpcError``.

    ``heeded`` says that the other side's last words are passed on. They are a server's, in its own name; of anybody
    else it is only told that it has left, or an owner could have a server say whatever it likes.
    """

    def __init__(self, sock: socket.socket, timeout: float, peer: str = "a peer") -> None:
        self._socket = sock
        self._leaving = False
        self.peer = peer
        self.heeded = True
        sock.settimeout(timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: bytes) -> None:
        with self._failing():
            self._socket.sendall(len(message).to_bytes(LENGTH_BYTES, "big") + message)

    def receive(self, most: int = MOST_BYTES) -> bytes:
        with self._failing():
            length = int.from_bytes(self._exactly(LENGTH_BYTES), "big")
            if length == LAST_WORDS:
                said = self._last_words()
                raise RunEndedError(said if self.heeded else f"{self.peer} has left. The run has ended.")
            if length > most:
                raise MpcError(f"{self.peer} sends more than it should. The run has ended.")
            return self._exactly(length)

    def _exactly(self, n: int) -> bytes:
        buffer = bytearray(n)
        view, got = memoryview(buffer), 0
        while got < n:
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
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._socket.close()

    def __enter__(self) -> TlsChannel:
        return self

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
    return TlsChannel(wrapped, timeout, peer)


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not the one that was agreed on, or not valid today ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "it has not answered in time"
    return "it does not speak TLS 1.3 with the agreed certificate, or has refused ours"


class Listener:
    """Accepts programs that hold one of ``known`` certificates (name: certificate) and hands them to ``welcome``.

    Whoever holds none is refused in the handshake and nothing else happens.
    """

    def __init__(
        self,
        address: tuple[str, int],
        identity: TlsIdentity,
        known: Mapping[str, bytes],
        welcome: Callable[[str, TlsChannel], None],
        timeout: float,
    ) -> None:
        self._names = {fingerprint(certificate): name for name, certificate in known.items()}
        self._context = identity.context(ssl.PROTOCOL_TLS_SERVER, known.values())
        self._welcome = welcome
        self._timeout = timeout
        try:
            self._socket = socket.create_server(address)
        except OSError as error:
            raise MpcError(f"Nobody can listen at {address[0]}:{address[1]} ({error.strerror}).") from error
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self.refused = 0
        self._closed = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                raw, _ = self._socket.accept()
            except OSError:
                if self._closed:
                    return
                time.sleep(0.05)  # somebody gave up in the line, or there are too many: the next may do better
                continue
            threading.Thread(target=self._greet, args=(raw,), daemon=True).start()

    def _greet(self, raw: socket.socket) -> None:
        raw.settimeout(self._timeout)
        try:
            wrapped = self._context.wrap_socket(raw, server_side=True)
            name = self._names[fingerprint(wrapped.getpeercert(binary_form=True) or b"")]
        except (OSError, KeyError):
            self.refused += 1
            raw.close()
            return
        self._welcome(name, TlsChannel(wrapped, self._timeout, name))

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
