"""Who called the coordinator's port and was no party.

gRPC ends the handshakes of strangers itself and tells nobody: why is a line of its own on stderr, without an address.
But it asks for its certificate whenever a handshake begins (a public hook, meant for renewing certificates). So
handshakes are counted there, and on Linux the kernel's table says who is connected to the port at that moment. Whoever
has not called as a party by the time that a handshake may take was refused.
"""

from __future__ import annotations

import logging
import socket
import struct
import sys
import threading
import time
from collections import deque
from pathlib import Path
from urllib.parse import unquote

_logger = logging.getLogger("privet.coordinator")

HANDSHAKE = 10.0
"""Seconds that a stranger has to show a certificate, at most."""
SETTLED = HANDSHAKE + 1.0
MOST_NAMED = 10
"""So many addresses are in one line of the log."""
BETWEEN_LOOKS = 0.05
"""Seconds between two looks at the kernel's table, or many strangers would keep this machine busy."""

_TABLES = {socket.AF_INET: Path("/proc/net/tcp"), socket.AF_INET6: Path("/proc/net/tcp6")}
_ESTABLISHED = "01"

Peer = tuple[str, int]


class Strangers:
    """Counts the connections to a port that became no call of a party; ``refused`` are those since the start."""

    def __init__(self, port: int) -> None:
        self.refused = 0
        self._port = port
        self._lock = threading.Lock()
        self._begun: deque[float] = deque()  # handshakes that no call has followed yet
        self._seen: dict[Peer, float] = {}  # who was connected then, and has not called
        self._recognized: set[Peer] = set()
        self._looked = -BETWEEN_LOOKS

    def began(self) -> None:
        """A handshake begins: called by gRPC, on threads of its own."""
        now = time.monotonic()
        with self._lock:
            self._begun.append(now)
            if now >= self._looked + BETWEEN_LOOKS:
                self._looked = now
                for peer in connected(self._port) - self._recognized:
                    self._seen.setdefault(peer, now)

    def recognized(self, peer: str) -> None:
        """A party has called, from where gRPC says."""
        with self._lock:
            if (known := peer_of(peer)) in self._recognized:
                return
            self._recognized.add(known)
            self._seen.pop(known, None)
            if self._begun:
                self._begun.popleft()

    def look(self) -> None:
        """Note in the log who was refused since the last look; for now and then."""
        late = time.monotonic() - SETTLED
        with self._lock:
            n = 0
            while self._begun and self._begun[0] < late:
                self._begun.popleft()
                n += 1
            self.refused += n
            named = sorted({host for (host, _), since in self._seen.items() if since < late})
            self._seen = {peer: since for peer, since in self._seen.items() if since >= late}
            if here := connected(self._port):
                self._recognized &= here
        if n:
            who = ", ".join(named[:MOST_NAMED]) + (", and others" if len(named) > MOST_NAMED else "")
            _logger.warning(
                "refused %s connections%s: they have not shown a party's certificate; %s refused so far",
                n, f" from {who}" if who else "", self.refused,
            )  # fmt: skip


def connected(port: int) -> set[Peer]:
    """Who is connected to a port of this machine, as far as the kernel says: nobody but on Linux."""
    found = set()
    for family, table in _TABLES.items() if sys.platform == "linux" else ():
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for _, local, remote, state, *_ in map(str.split, lines):
            if state == _ESTABLISHED and int(local.rpartition(":")[2], 16) == port:
                found.add(_decoded(family, remote))
    return found


def _decoded(family: int, remote: str) -> Peer:
    """An address of the kernel's table: words of four bytes in this machine's order, in hexadecimal."""
    host, _, port = remote.partition(":")
    words = struct.unpack(f">{len(host) // 8}I", bytes.fromhex(host))
    text = socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words))
    return text.removeprefix("::ffff:"), int(port, 16)


def peer_of(said: str) -> Peer:
    """What gRPC calls a peer, such as "ipv4:10.0.0.7:41234" or "ipv6:%5B::1%5D:41234".

    >>> peer_of("ipv6:%5B::ffff:10.0.0.7%5D:41234")
    ('10.0.0.7', 41234)
    """
    host, _, port = unquote(said).partition(":")[2].rpartition(":")
    return host.strip("[]").removeprefix("::ffff:"), int(port) if port.isdecimal() else 0
