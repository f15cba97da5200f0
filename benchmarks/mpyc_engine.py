"""MPyC (Schoenmakers et al.) behind the share-array interface: an independent check of our engine.

MPyC shares integers by Shamir's polynomials over a prime field, semi-honest, honest majority. It has one runtime for
each process, configured when it is imported; ``MpycEngine.start`` does that. Bits are integers 0 and 1 here, so that
joining them costs a multiplication each: correct, and far slower than ``replicated.py``. Its TLS accepts the three
servers' certificates and those of the system's authorities, and it unpickles what servers send when they agree and
when they stop; ours accepts the three alone, and bytes alone.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import MpcError, RunEndedError
from privet.shares.engine import Bits, Engine, LinearMap, Secret, whole
from privet.shares.mesh import NOT_THE_SAME

INTEGER_BITS = 64

SECURITY_BITS = 80
"""Each comparison opens its difference under a mask that is this much longer: with a chance of 2^-80, not MPyC's usual
2^-30, what is opened says something. (Our own engine opens nothing on the way.)"""

WATCH = 0.2
"""Every so many seconds somebody looks whether the other servers are still there."""


class MpycEngine(Engine):
    """The parts of ``Secret`` and ``Bits`` are MPyC's secure arrays."""

    largest = INTEGER_BITS - 1
    held = 0

    def __init__(self, runtime: Any, timeout: float | None = None) -> None:
        self.runtime = runtime
        self._timeout = timeout
        self.party = runtime.pid
        self._type = runtime.SecInt(INTEGER_BITS)
        if self.modulus.bit_length() <= INTEGER_BITS + SECURITY_BITS:
            raise MpcError("MPyC was set up by something else in this process. Start a new process for a new run.")

    @classmethod
    def alone(cls) -> MpycEngine:
        """One party, for tests of programs: MPyC's arithmetic without messages."""
        return cls(_runtime([]))

    @classmethod
    def start(
        cls, party: int, addresses: Sequence[tuple[str, int]], folder: Path, timeout: float | None = None
    ) -> MpycEngine:
        """Connect to the others over TLS, with the keys that ``prepare_tls`` put into ``folder``.

        ``timeout``: so many seconds may pass until a value that is opened is there; MPyC itself waits for ever.

        MPyC reads them relative to the current directory, so this changes it meanwhile.
        """
        options = [word for host, port in addresses for word in ("-P", f"{host}:{port}")]
        here = os.getcwd()
        os.chdir(folder)
        try:
            engine = cls(_runtime([*options, "-I", str(party), "--ssl", "--no-log"]), timeout)
            engine._run(engine.runtime.start(), watch=False)
        finally:
            os.chdir(here)
        return engine

    def finish(self) -> None:
        self._run(self.runtime.shutdown(), watch=False)

    def _run(self, awaited: Any, watch: bool = True) -> Any:
        try:
            return self.runtime.run(asyncio.wait_for(self._watched(awaited) if watch else awaited, self._timeout))
        except TimeoutError as error:
            raise RunEndedError("A server has not answered in time. The run has ended.") from error
        except OSError as error:
            raise RunEndedError(f"A link to a server broke ({type(error).__name__}). The run has ended.") from error

    async def _watched(self, awaited: Any) -> Any:
        """MPyC itself waits for ever for a server that is gone."""
        task = asyncio.ensure_future(awaited)
        while not (await asyncio.wait([task], timeout=WATCH))[0]:
            if gone := [peer.pid for peer in self.runtime.parties if peer.pid != self.party and _gone(peer)]:
                task.cancel()
                raise RunEndedError(f"server {gone[0]} has left. The run has ended.")
        return task.result()

    @property
    def modulus(self) -> int:
        return int(self._type.field.modulus)

    def _secret(self, values: np.ndarray) -> Any:
        return self._type.array(_whole(values))

    # -- local -------------------------------------------------------------------------------------------------------

    def constant(self, values: np.ndarray) -> Secret:
        return Secret(self, self._secret(values))

    def constant_bits(self, values: np.ndarray) -> Bits:
        return Bits(self, self._secret(values), values.shape[1])

    def add(self, x: Secret, y: Secret | np.ndarray | int) -> Secret:
        return Secret(self, x.parts + (y.parts if isinstance(y, Secret) else _whole(y)))

    def scale(self, x: Secret, factor: np.ndarray | int) -> Secret:
        return Secret(self, x.parts * _whole(factor))

    def linear(self, x: Secret, map_rows: LinearMap) -> Secret:
        matrix = map_rows(np.eye(x.shape[0], dtype=np.int64))
        return Secret(self, np.matmul(matrix.astype(object), x.parts))

    def take(self, x: Secret, index: Any) -> Secret:
        # By numbers: MPyC takes what NumPy takes of an array of them.
        at = np.arange(int(np.prod(x.shape))).reshape(x.shape)[index]
        return Secret(self, np.reshape(x.parts, (-1,))[at.ravel()].reshape(at.shape))

    def reshape(self, x: Secret, shape: tuple[int, ...]) -> Secret:
        return Secret(self, np.reshape(x.parts, np.empty(x.shape, dtype=bool).reshape(shape).shape))

    def sum(self, x: Secret, axis: int) -> Secret:
        return Secret(self, np.sum(x.parts, axis=axis))

    def xor(self, a: Bits, b: Bits | np.ndarray) -> Bits:
        """With secret bits a + b - 2ab: one multiplication, unlike our own engine."""
        if isinstance(b, Bits):
            return Bits(self, a.parts + b.parts - 2 * a.parts * b.parts, a.columns)
        public = _whole(np.broadcast_to(b, a.parts.shape))
        return Bits(self, a.parts * (1 - 2 * public) + public, a.columns)

    def mask(self, a: Bits, public: np.ndarray) -> Bits:
        return Bits(self, a.parts * _whole(np.broadcast_to(public, a.parts.shape)), a.columns)

    def random_bits(self, planes: int, columns: int) -> Bits:
        return Bits(self, self.runtime.np_random_bits(self._type, planes * columns).reshape(planes, columns), columns)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def input(self, values: np.ndarray | None, party: int, shape: tuple[int, ...]) -> Secret:
        mine = self._secret(np.zeros(shape, dtype=np.int64) if values is None else values)
        return Secret(self, self.runtime.input(mine, senders=party))

    def multiply(self, x: Secret, y: Secret) -> Secret:
        return Secret(self, x.parts * y.parts)

    def matmul(self, x: Secret, y: Secret) -> Secret:
        return Secret(self, np.matmul(x.parts, y.parts))

    def both(self, a: Bits, b: Bits) -> Bits:
        return Bits(self, a.parts * b.parts, a.columns)

    def less(self, x: Secret, y: Secret, bits: int) -> Secret:
        self.need(bits)
        return Secret(self, self.runtime.np_sgn((x - y).parts, l=bits, LT=True))

    def low_bits(self, x: Secret, count: int) -> Bits:
        digits = self.runtime.np_to_bits(x.parts, count)
        return Bits(self, np.transpose(digits), x.shape[0])

    def integers(self, b: Bits) -> Secret:
        return Secret(self, b.parts)

    def open(self, x: Secret) -> np.ndarray:
        return np.asarray(self._run(self.runtime.output(x.parts))).astype(np.int64)

    def open_bits(self, b: Bits) -> np.ndarray:
        return self.open(Secret(self, b.parts)).astype(bool)

    def must_be_zero(self, x: Secret, otherwise: str) -> None:
        """By opening them: only a dealer who deviates has anything else there."""
        if np.asarray(self._run(self.runtime.output(x.parts))).astype(bool).any():
            raise MpcError(otherwise)

    def agree(self, public: bytes) -> None:
        digest = blake2b(public, digest_size=32).digest()
        if set(self._run(self.runtime.transfer(digest))) != {digest}:
            raise MpcError(NOT_THE_SAME)


def prepare_tls(party: int, folder: Path, key: Path, certificate: Path, certificates: Sequence[bytes]) -> None:
    """Lay out keys and certificates the way MPyC reads them: the three servers' certificates are each its own root.

    Their common names must be "MPyC party i".
    """
    config = folder / ".config"
    config.mkdir(parents=True)
    (config / f"party_{party}.key").symlink_to(key.resolve())
    (config / f"party_{party}.crt").symlink_to(certificate.resolve())
    (config / "mpyc_ca.crt").write_bytes(b"".join(certificates))


def _whole(values: np.ndarray | int) -> Any:
    return whole(values).astype(object)


def _gone(peer: Any) -> bool:
    return peer.protocol is None or peer.protocol.transport.is_closing()


def _runtime(options: list[str]) -> Any:
    """MPyC's runtime; it reads ``sys.argv`` when it is first imported, and there is one for each process."""
    if options and "mpyc.runtime" in sys.modules:
        raise MpcError("MPyC can be configured once in a process. Start a new process for a new run.")
    argv, sys.argv = sys.argv, [sys.argv[0], *options]
    try:
        runtime = importlib.import_module("mpyc.runtime").mpc
    finally:
        sys.argv = argv
    runtime.options.sec_param = SECURITY_BITS  # read whenever it is needed
    return runtime
