"""Comparing two numbers that different servers know, in two messages one after the other.

The protocol is private compare of SecureNN (Wagh, Gupta and Chandran 2019, section 5.1) with its roles as replicated
sharing has them: server 0 knows one number, servers 1 and 2 know the other, and what they learn is a bit of the answer
each, uniform by itself, whose exclusive or is the answer.

Server 0 shares the digits A_j of its number modulo a prime between the two others. These compute on their shares

    c_j = 1 + s (B_j - A_j) + (how many places above j differ),

where s is 1, or -1 if their secret bit is 1. All is linear in the digits, since they know B. Some c_j is 0 if and only
if A > B (s = 1) or B > A (s = -1): at the highest place where they differ, and nowhere else; the prime is larger than
any c_j. They multiply each c_j by a random number that is not 0, turn the places round by a random step, add fresh
shares of zero, and send their shares to server 0, which looks for a 0.

What each server sees: server 1 shares of digits that are uniform without server 2's; server 2 its stream alone; server
0 uniform numbers that are not 0 and, with a chance of one half whatever is compared, a 0 at a uniform place. So each
view can be simulated from nothing. Numbers that would be equal are kept apart by a last digit.
"""

from __future__ import annotations

import numpy as np

from privet.errors import MpcError
from privet.shares.mesh import Mesh
from privet.shares.streams import Streams

PRIME = 251
"""The largest below 256, so that a digit's share is a byte; more than two above the number of places."""

_REMAINDER = (np.arange(2**16) % PRIME).astype(np.uint8)


def carries(mesh: Mesh, streams: Streams, numbers: np.ndarray, bits: int) -> np.ndarray:
    """This server's bit of whether a + b >= 2^bits, for server 0's ``numbers`` a and the others' b, all below 2^bits.

    Two rounds; bits + 2 bytes an element from each server.
    """
    n, places = len(numbers), bits + 2
    size = n * places
    # a + b >= 2^bits if and only if 2a + 1 > 2 (2^bits - b): an odd and an even number.
    wide = numbers.astype(np.uint64)
    if mesh.party == 0:
        digits = _digits(wide * np.uint64(2) + np.uint64(1), places)
    else:
        digits = _digits((np.uint64(1 << bits) - wide) * np.uint64(2), places)
    # Key 0 is known to servers 0 and 2, key 2 to servers 1 and 2.
    own, next = streams.draw("comparison", 2 * _drawn(size) + 9 * n)
    mesh.rounds += 2
    if mesh.party == 0:
        share = _modulo(own, size, PRIME).reshape(n, places)
        mesh.send(1, _REMAINDER[digits.astype(np.uint16) + (PRIME - share)])
        first, second = (mesh.receive(party, size).astype(np.uint16) for party in (1, 2))
        return (_REMAINDER[first + second].reshape(n, places) == 0).any(axis=1)
    if mesh.party == 1:
        share, secret = mesh.receive(0, size).reshape(n, places), next
    else:
        share, secret = _modulo(next, size, PRIME).reshape(n, places), own
    masks, flips = _Masks.of(secret, n, places), secret[len(secret) - n :] & 1
    mesh.send(0, masks.hide(_tests(share, digits, flips, mesh.party == 1), mesh.party == 1))
    return flips.astype(bool)


def _tests(share: np.ndarray, digits: np.ndarray, flips: np.ndarray, adds: bool) -> np.ndarray:
    """This server's shares of all c_j, modulo the prime; one of the two adds what is public to both."""
    minus = np.uint8(PRIME) - share  # at most the prime: a share is below it
    differs = np.where(digits, minus, share)
    if adds:
        differs += digits
    wide = differs.astype(np.uint16)
    above = np.cumsum(wide, axis=1, dtype=np.uint16) - wide
    turned = flips[:, None] == 1
    signed = np.where(turned, share, minus).astype(np.uint16)
    if adds:
        signed += np.where(turned, PRIME + 1 - digits, 1 + digits)
    return _REMAINDER[above + signed]


class _Masks:
    """What hides the c_j from server 0: factors that are not 0, shares of zero, and how far places are turned."""

    def __init__(self, factors: np.ndarray, zeros: np.ndarray, steps: np.ndarray) -> None:
        self.factors, self.zeros, self.steps = factors, zeros, steps

    @classmethod
    def of(cls, stream: np.ndarray, n: int, places: int) -> _Masks:
        size, half = n * places, _drawn(n * places)
        factors = _modulo(stream[:half], size, PRIME - 1).reshape(n, places) + np.uint8(1)
        zeros = _modulo(stream[half : 2 * half], size, PRIME).reshape(n, places)
        # 64 bits modulo the number of places: even to within 2^-57.
        steps = stream[2 * half : 2 * half + 8 * n].view(np.uint64) % np.uint64(places)
        return cls(factors, zeros, steps)

    def hide(self, tests: np.ndarray, adds: bool) -> np.ndarray:
        places = tests.shape[1]
        scaled = _REMAINDER[tests.astype(np.uint16) * self.factors]
        zeros = self.zeros if adds else np.uint8(PRIME) - self.zeros
        hidden = _REMAINDER[scaled.astype(np.uint16) + zeros]
        turned = (np.arange(places) + self.steps.astype(np.intp)[:, None]) % places
        return np.take_along_axis(hidden, turned, axis=1)


def _digits(numbers: np.ndarray, places: int) -> np.ndarray:
    """Binary digits, a row for each number, the highest first."""
    as_bytes = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(as_bytes, axis=1)[:, 64 - places :]


def _drawn(size: int) -> int:
    """So many bytes hold enough below the prime: all but one in 2^100 times. A multiple of 8."""
    return (size + size // 16 + 135) // 8 * 8


def _modulo(stream: np.ndarray, size: int, modulus: int) -> np.ndarray:
    """Uniform numbers below ``modulus``: the bytes that are, in order."""
    drawn = stream[: _drawn(size)]
    kept = drawn[drawn < modulus][:size]
    if len(kept) < size:
        raise MpcError("A stream had too few numbers for a comparison, which should never happen. Start again.")
    return kept
