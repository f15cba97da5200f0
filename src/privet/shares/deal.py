"""How an owner turns integers into shares, one message for each server: the only form in which counts leave it."""

from __future__ import annotations

import secrets

import numpy as np

from privet.shares.mesh import PARTIES

RINGS: dict[int, type[np.unsignedinteger]] = {64: np.uint64, 32: np.uint32}
"""Half the bits are half the bytes of every message, and matrix products of twice the speed."""


def deal(values: np.ndarray, ring: type[np.unsignedinteger] = np.uint64) -> list[np.ndarray]:
    """Replicated shares of integers modulo 2^64, or a smaller ring: server i gets x_i and x_{i+1}, stacked.

    Two summands are from the operating system's randomness and the third is what is missing, so any one server's two
    are uniform and independent of the values. Two ring elements for each integer to each server.
    """
    exact = np.asarray(values, dtype=np.int64).astype(ring)
    drawn = np.frombuffer(secrets.token_bytes(2 * exact.nbytes), dtype=ring).reshape(2, *exact.shape)
    summands = [drawn[0], drawn[1], exact - drawn[0] - drawn[1]]
    return [np.stack([summands[i], summands[(i + 1) % PARTIES]]) for i in range(PARTIES)]
