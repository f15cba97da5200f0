"""Randomness that is tied to a question: asked again about the same numbers, it gets the same noise, whoever forgot.

A party that has forgotten an answer, because its folder was restored from a backup, and is asked again must not draw
anew. Its answers have the same mask, so they would show by how much their noise differs, and a few of them would show
the noise itself. So the bytes that noise is drawn from follow from a secret, from the question with all that was told
before it, and from the exact numbers that get the noise. Who does not know the secret cannot tell them from the
operating system's (SHAKE256 and HMAC, taken as pseudorandom functions, as masks and TLS take others). The numbers are
in it so that others, of records that have changed meanwhile, have noise that is independent.

Who has the secret and an answer can test any guess of the exact numbers. It must be guarded like the records, and go
when no question can come again (``consortium/federated/run_state.py``).
"""

from __future__ import annotations

import hmac
from hashlib import sha256, shake_256

import numpy as np

from privet.errors import LeakError


class TiedBytes:
    """A source of bytes for samplers. Every draw goes on from the one before, so no two share a byte."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._state: bytes | None = None
        self._calls = 0

    def tie(self, context: bytes) -> None:
        """Begin a question. The same context must never stand for two."""
        self._state = hmac.digest(self._secret, b"question|" + context, sha256)

    def to(self, numbers: np.ndarray, scale: float) -> TiedBytes:
        """These bytes, from here on for noise of this scale on these numbers."""
        if self._state is None:
            raise LeakError("Noise is tied to a question, and none was asked.")
        about = np.float64(scale).tobytes() + np.ascontiguousarray(numbers, dtype="<i8").tobytes()
        self._state = hmac.digest(self._state, b"numbers|" + about, sha256)
        self._calls = 0
        return self

    def __call__(self, n: int) -> bytes:
        if self._state is None:
            raise LeakError("Noise is tied to a question, and none was asked.")
        self._calls += 1
        return shake_256(self._state + self._calls.to_bytes(8, "big")).digest(n)
