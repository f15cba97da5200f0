"""The mesh over TLS: for every two servers one connection in each direction, each written by one side only.

(On a connection that both sides write at once, TLS can wait for itself.) Short messages are written at once: servers
are never more than two rounds apart, so they fit into the sockets' buffers. Long ones are written by a thread, so that
three servers that all send before they receive do not wait for each other.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from privet.consortium.net.channel import POLL, TlsChannel, TlsIdentity, connect, wait_any
from privet.errors import MpcError
from privet.shares.mesh import PARTIES, Mesh

SHORT = 2**15
MOST_WAITING = 8


class Links(Mesh):
    """``to`` and ``from_`` hold a channel for each of the two other servers."""

    def __init__(self, party: int, to: dict[int, TlsChannel], from_: dict[int, TlsChannel]) -> None:
        super().__init__(party)
        self._to = {other: _Outgoing(channel) for other, channel in to.items()}
        self._from = from_

    def _put(self, to: int, message: bytes) -> None:
        try:
            self._to[to].put(message)
        except MpcError:
            self._hear_why(to)
            raise

    def _hear_why(self, other: int) -> None:
        """Raise what a server that reads no more has said last, or that it is lost; earlier messages are skipped."""
        while True:
            self._from[other].receive()

    def _get(self, sender: int, n_bytes: int) -> bytes:
        return self._from[sender].receive(n_bytes)

    def close(self) -> None:
        self.leave(None)

    def leave(self, why: str | None) -> None:
        for outgoing in self._to.values():
            outgoing.end(why)
        for outgoing in self._to.values():
            outgoing.close()
        for channel in self._from.values():
            channel.close()


class _Outgoing:
    """Writes to one channel, in order: a short message at once if none waits, others on a thread."""

    def __init__(self, channel: TlsChannel) -> None:
        self._channel = channel
        self._writer = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def put(self, message: bytes) -> None:
        idle = self._last is None or self._last.done()
        if self._channel.closed or (idle and len(message) <= SHORT):
            self._channel.send(message)  # raises if it is closed, as it is once a message could not be sent
        else:
            self._last = self._writer.submit(self._channel.send, message)

    def end(self, why: str | None = None) -> None:
        """What was put is still written, so that a server that is done does not cut the others off; then why it leaves,
        if it has not come to the end."""
        if why is not None:
            self._last = self._writer.submit(self._channel.say_why, why)

    def close(self) -> None:
        if self._last is not None:
            wait([self._last], timeout=5)
        self._channel.close()
        self._writer.shutdown()


class Inbox:
    """Incoming channels by the name they wait under, until somebody asks for them.

    Of one program at most ``MOST_WAITING`` wait, the newest, so that nobody can use up what a server may hold open.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, list[TlsChannel]] = defaultdict(list)
        self._changed = threading.Condition()
        self._closed = False

    def welcome(self, name: str, channel: TlsChannel) -> None:
        with self._changed:
            lines = self._waiting[name]
            alike = [line for line in lines if line.peer == channel.peer]
            for line in [channel] if self._closed else alike[: max(0, len(alike) + 1 - MOST_WAITING)]:
                line.close()
            lines[:] = [line for line in [*lines, channel] if not line.closed]
            self._changed.notify_all()

    def get(self, name: str, timeout: float | None) -> TlsChannel:
        """The next channel that ``name`` opens or has opened."""
        with self._changed:
            there = self._changed.wait_for(lambda: self._closed or self._waiting[name], timeout)
            if self._closed:
                raise MpcError("This server has been closed.")
            if not there:
                raise MpcError(f"{name} has not connected in time. Is it running, and does its file name this server?")
            return self._waiting[name].pop(0)

    def newest(self, name: str, timeout: float | None) -> TlsChannel:
        """The last one; those before it are closed, because whoever connects again has given them up.

        So are lines that already speak: whoever waits to be asked has nothing to say, so that is the end.
        """
        channel = self.get(name, timeout)
        while self._waiting[name] or channel.speaks():
            channel.close()
            channel = self.get(name, timeout)
        return channel

    def first_to_speak(self, name: str) -> TlsChannel:
        """The first one that says something: nobody waits for one that is silent."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._waiting[name])
                lines = list(self._waiting[name])
                if self._closed:
                    raise MpcError("This server has been closed.")
            if not wait_any(lines, POLL):
                continue
            with self._changed:
                for line in filter(TlsChannel.speaks, list(self._waiting[name])):
                    self._waiting[name].remove(line)
                    return line

    def has(self, name: str) -> bool:
        """Whether somebody waits under this name, in silence."""
        return self.silent(name) is not None

    def silent(self, name: str) -> TlsChannel | None:
        """The newest line on which somebody waits under this name, in silence; it stays here."""
        with self._changed:
            lines = reversed(self._waiting.get(name, ()))
            return next((line for line in lines if not line.closed and not line.speaks()), None)

    def holds(self, name: str) -> bool:
        """Whether a line waits under this name, even one that has ended."""
        with self._changed:
            return bool(self._waiting.get(name))

    def waiting(self, name: str) -> list[TlsChannel]:
        """Those that ``name`` has opened and nobody has asked for."""
        with self._changed:
            return self._waiting.pop(name, [])

    def close(self) -> None:
        """Whoever waits, here or at the other end, is told that nobody will come."""
        with self._changed:
            self._closed = True
            for line in (line for lines in self._waiting.values() for line in lines):
                line.close()
            self._waiting.clear()
            self._changed.notify_all()


def join(
    party: int,
    run: bytes,
    addresses: Sequence[tuple[str, int]],
    certificates: Sequence[bytes],
    identity: TlsIdentity,
    inbox: Inbox,
    timeout: float,
) -> Links:
    """Open the links of one run: connect to both others, and wait for their connections in ``inbox``.

    ``run`` is fresh for each run; what is left from another is dropped.
    """
    others = [other for other in range(PARTIES) if other != party]
    to, from_ = {}, {}
    try:
        for other in others:
            to[other] = connect(
                addresses[other], identity, certificates[other], peer=server_name(other), timeout=timeout
            )
            to[other].send(run)
        for other in others:
            from_[other] = _of_this_run(run, server_name(other), inbox, timeout)
    except MpcError:
        for channel in (*to.values(), *from_.values()):
            channel.close()
        raise
    return Links(party, to, from_)


def _of_this_run(run: bytes, name: str, inbox: Inbox, timeout: float) -> TlsChannel:
    """The channel that ``name`` opened for this run; those that it opened for others, or gave up, are dropped."""
    while True:
        channel = inbox.get(name, timeout)
        with contextlib.suppress(MpcError):
            if channel.receive(len(run)) == run:
                return channel
        channel.close()


def server_name(party: int) -> str:
    return f"server {party}"
