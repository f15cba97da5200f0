"""Three servers as three threads with queues between them: neither TLS nor other processes, to test the logic alone."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from privet.errors import MpcError
from privet.shares.mesh import PARTIES, Mesh
from privet.shares.replicated import ReplicatedEngine


def run_threads(
    program: Callable[..., Any], *args: Any, meshes: Sequence[Mesh] | None = None, ring_bits: int = 64
) -> list[Any]:
    """What ``program(engine, *args)`` returns on each of three servers in threads of this process."""
    meshes = meshes or Queues.three()

    def serve(mesh: Mesh) -> Any:
        try:
            engine = ReplicatedEngine(mesh, ring_bits)
            answer = program(engine, *args)
            engine.finish()
            return answer
        except BaseException:
            mesh.close()
            raise

    with ThreadPoolExecutor(PARTIES) as pool:
        return [future.result() for future in [pool.submit(serve, mesh) for mesh in meshes]]


class Queues(Mesh):
    """Links inside one process, for tests of the logic: no encryption and no other process."""

    def __init__(self, party: int, links: dict[tuple[int, int], queue.SimpleQueue[bytes]], timeout: float) -> None:
        super().__init__(party)
        self._links = links
        self._timeout = timeout

    def _put(self, to: int, message: bytes) -> None:
        self._links[self.party, to].put(message)

    def _get(self, sender: int, n_bytes: int) -> bytes:
        try:
            message = self._links[sender, self.party].get(timeout=self._timeout)
        except queue.Empty as error:
            raise MpcError("A server has not answered in time. The run has ended.") from error
        if message is None:
            raise MpcError("A server has left. The run has ended.")
        return message

    def close(self) -> None:
        for to in (self.above, self.below):
            self._links[self.party, to].put(None)  # type: ignore[arg-type]

    @classmethod
    def three(cls, timeout: float = 60.0) -> list[Queues]:
        links: dict[tuple[int, int], queue.SimpleQueue[bytes]] = {
            (i, j): queue.SimpleQueue() for i in range(PARTIES) for j in range(PARTIES) if i != j
        }
        return [cls(party, links, timeout) for party in range(PARTIES)]


class QueueLine:
    """One end of a line inside this process, with the methods of a channel: for tests of the logic."""

    def __init__(self, out: queue.SimpleQueue[bytes | None], into: queue.SimpleQueue[bytes | None]) -> None:
        self._out, self._into = out, into

    @classmethod
    def pair(cls) -> tuple[QueueLine, QueueLine]:
        one: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        other: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        return cls(one, other), cls(other, one)

    def send(self, message: bytes) -> None:
        self._out.put(message)

    def receive(self, most: int = 2**33) -> bytes:
        message = self._into.get(timeout=60)
        if message is None or len(message) > most:
            raise MpcError("The other end has left. The run has ended.")
        return message

    def close(self) -> None:
        self._out.put(None)
