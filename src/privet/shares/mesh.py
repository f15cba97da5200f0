"""The links between three servers: one in each direction, every message counted and hashed.

A mesh moves bytes and knows nothing of shares. What it promises: messages arrive whole, in order and unchanged, or the
run ends in ``MpcError`` on every server. Lengths are fixed by the program, so a message of another length is an error,
not a guess. ``check`` compares, for every link, a hash of all that was sent with one of all that came: with TLS nothing
can differ by then, and without it (tests of the logic) a single changed bit is found before anything is opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import blake2b

import numpy as np

from privet.errors import MpcError

PARTIES = 3
DIGEST_BYTES = 32
NOT_THE_SAME = (
    "The servers were not asked the same question, or their files or versions of Privet differ. The run has ended; "
    "nothing was opened."
)


class Mesh(ABC):
    """Server ``party``'s links to the two others."""

    def __init__(self, party: int) -> None:
        self.party = party
        self.above, self.below = (party + 1) % PARTIES, (party - 1) % PARTIES
        self.rounds = 0
        self.bytes_sent = 0
        self.lengths: list[tuple[int, int]] | None = None  # (to, bytes) of every message, where a test asks for it
        self._sent, self._came = (
            {other: blake2b(digest_size=DIGEST_BYTES) for other in (self.above, self.below)} for _ in range(2)
        )

    @abstractmethod
    def _put(self, to: int, message: bytes) -> None:
        """Hand over a message without waiting for its receiver."""

    @abstractmethod
    def _get(self, sender: int, n_bytes: int) -> bytes:
        """Wait for the next message of a server."""

    @abstractmethod
    def close(self) -> None:
        """Drop the links: the others' next message fails, so a run ends everywhere."""

    def leave(self, why: str) -> None:
        """Drop the links, and say why to the others, where the links can carry it."""
        self.close()

    def send(self, to: int, array: np.ndarray) -> None:
        message = array.tobytes()
        self.bytes_sent += len(message)
        if self.lengths is not None:
            self.lengths.append((to, len(message)))
        self._sent[to].update(message)
        self._put(to, message)

    def receive(self, sender: int, n_bytes: int) -> np.ndarray:
        message = self._get(sender, n_bytes)
        if len(message) != n_bytes:
            raise MpcError("A message has the wrong length: the servers are not at the same step.")
        self._came[sender].update(message)
        return np.frombuffer(message, dtype=np.uint8)

    def pass_down(self, array: np.ndarray) -> np.ndarray:
        """Send to the server below and receive as much from the one above: one round."""
        self.rounds += 1
        self.send(self.below, array)
        return self.receive(self.above, array.nbytes).view(array.dtype).reshape(array.shape)

    def compare(self, to_above: np.ndarray, to_below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Send one array each way, receive one from above and one from below: one round."""
        self.rounds += 1
        self.send(self.above, to_above)
        self.send(self.below, to_below)
        above = self.receive(self.above, to_below.nbytes).view(to_below.dtype).reshape(to_below.shape)
        below = self.receive(self.below, to_above.nbytes).view(to_above.dtype).reshape(to_above.shape)
        return above, below

    def agree(self, public: bytes) -> None:
        """Stop unless all servers have the same public bytes. One round, 64 bytes."""
        mine = blake2b(public, digest_size=DIGEST_BYTES).digest()
        for other in self.compare(*[np.frombuffer(mine, dtype=np.uint8)] * 2):
            if other.tobytes() != mine:
                raise MpcError(NOT_THE_SAME)

    def check(self) -> None:
        """Stop unless all that was sent so far has arrived as it was sent. One round, 64 bytes."""
        sent = {to: np.frombuffer(digest.digest(), dtype=np.uint8) for to, digest in self._sent.items()}
        came = {sender: digest.digest() for sender, digest in self._came.items()}
        above, below = self.compare(sent[self.above], sent[self.below])
        if above.tobytes() != came[self.above] or below.tobytes() != came[self.below]:
            raise MpcError("A message arrived changed. The run has ended; nothing was opened.")
