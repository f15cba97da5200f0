"""Random streams that two servers share: ChaCha20 (RFC 8439) from ``cryptography``, a fresh stream for every use."""

from __future__ import annotations

import secrets

import numpy as np

from privet.errors import MpcError
from privet.extras import need

need("mpc", "cryptography")
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms  # noqa: E402

KEY_BYTES = 32
MOST_BYTES = 2**37  # a stream has 2^32 blocks of 64 bytes; half of them is more than any use needs

PURPOSES = {"zero": 1, "input": 2, "random": 3, "binary zero": 4, "binary input": 5, "random bits": 6, "comparison": 7}


def fresh_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


class Streams:
    """The keys that server i shares with the server below it (``own``) and with the one above (``next``).

    All servers ask in the same order, so that the number of the use is the same on both sides of a key. Number and
    purpose make the nonce: no two uses in the life of a key read the same stream, whatever they are for.
    """

    def __init__(self, own: bytes, next: bytes) -> None:
        self._own, self._next = own, next
        self.uses = 0

    def draw(self, purpose: str, n_bytes: int) -> tuple[np.ndarray, np.ndarray]:
        """So many bytes of this use's stream of both keys. No message; indistinguishable from random to whoever lacks
        the key."""
        if n_bytes > MOST_BYTES:
            raise MpcError("One step of the computation would need more than 128 GB of randomness.")
        nonce = bytes(4) + PURPOSES[purpose].to_bytes(4, "little") + self.uses.to_bytes(8, "little")
        self.uses += 1
        return _stream(self._own, nonce, n_bytes), _stream(self._next, nonce, n_bytes)


def _stream(key: bytes, nonce: bytes, n_bytes: int) -> np.ndarray:
    """The first four bytes of ``nonce`` are the block counter, which starts at 0."""
    encryptor = Cipher(algorithms.ChaCha20(key, nonce), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(n_bytes)), dtype=np.uint8)
