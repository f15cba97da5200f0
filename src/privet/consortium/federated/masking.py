"""Masks: what makes a party's numbers unreadable alone, and cancels in the sum.

Every two parties of a run have a secret, from X25519 keys that are made for the run and signed with the parties' own
keys. For every message a fresh seed follows from it (HKDF, bound to the very bytes of the question and to all that was
told before it: ``terms.question_context``), and from the seed a row of numbers modulo 2^64 (ChaCha20): one of the two
adds it, the other subtracts it. A mask is used once, because a party answers a question once and has no two questions
with the same bytes; one that has forgotten that it did answers with the same bytes again (``repeatable_noise.py``).

Where drop-outs are tolerated a party adds one more mask of its own, whose seed it deals to all parties in a threshold
scheme (Shamir). After the answers are in, those who answered sign the list of their
names (``terms.py``), and then say, all for the same list, their shares of the own seeds of the listed and their seeds
of pairs with the missing. So whoever is listed is summed up, and whoever is not stays unreadable, even if its answer
turns up later (Bonawitz and others, 2017). Where two or more may drop out, one of them may answer and leave before it
says its seeds with another who is missing; so the seeds of pairs are dealt like the own ones, and shares of those
with the missing are said. Seeds are of one message: what is told for it opens no other.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from privet.errors import FederatedError

KEY_BYTES = 32
SEED_BYTES = 32
_PRIME = 2**521 - 1
SHARE_BYTES = 66
TAG_BYTES = 16
"""How much longer a sealed share is."""


def pair_secret(mine: X25519PrivateKey, theirs: bytes, terms: bytes) -> bytes:
    """The secret of two parties in one run; ``terms`` is the digest of what both have signed."""
    try:
        shared = mine.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError as error:
        raise FederatedError("A party's key for the run is none.") from error
    return HKDF(hashes.SHA256(), SEED_BYTES, salt=terms, info=b"privet pair").derive(shared)


def pair_seed(secret: bytes, context: bytes) -> bytes:
    """The seed of two parties' mask of the question with this context."""
    return _derived(secret, b"privet mask", context)


def mask(seed: bytes, n: int) -> np.ndarray:
    """``n`` numbers modulo 2^64 that look random to whoever does not know the seed."""
    stream = Cipher(algorithms.ChaCha20(seed, bytes(16)), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * n)), dtype="<u8")


class Stream:
    """Bytes that look random to whoever does not know the secret, and that come again in the same order."""

    def __init__(self, secret: bytes, purpose: bytes) -> None:
        seed = HKDF(hashes.SHA256(), SEED_BYTES, salt=None, info=purpose).derive(secret)
        self._stream = Cipher(algorithms.ChaCha20(seed, bytes(16)), mode=None).encryptor()

    def __call__(self, n: int) -> bytes:
        return self._stream.update(bytes(n))


def masked(values: np.ndarray, me: str, seeds: Mapping[str, bytes], own_seed: bytes | None = None) -> np.ndarray:
    """A party's integers with the masks of all pairs it is in, and its own if there is one."""
    total = np.ascontiguousarray(values, dtype=np.int64).view(np.uint64).copy()
    for other, seed in seeds.items():
        _add(total, mask(seed, len(total)), me < other)
    if own_seed is not None:
        total += mask(own_seed, len(total))
    return total


def unmasked(
    answers: Mapping[str, np.ndarray],
    own_seeds: Iterable[bytes] = (),
    seeds_with_missing: Mapping[tuple[str, str], bytes] | None = None,
) -> np.ndarray:
    """The sum of the answers, modulo 2^64 and read as signed: pairs of which both are in it have cancelled.

    ``own_seeds`` are those of all who are in it; ``seeds_with_missing`` those of each of them with each who is not.
    """
    total = np.zeros(len(next(iter(answers.values()))), dtype=np.uint64)
    for answer in answers.values():
        total += answer
    for seed in own_seeds:
        total -= mask(seed, len(total))
    for (here, missing), seed in (seeds_with_missing or {}).items():
        _add(total, mask(seed, len(total)), not here < missing)
    return total.view(np.int64)


def _add(total: np.ndarray, numbers: np.ndarray, plus: bool) -> None:
    if plus:
        total += numbers
    else:
        total -= numbers


def deal_seed(
    seed: bytes, threshold: int, names: Sequence[str], random_bytes: Callable[[int], bytes] = os.urandom
) -> dict[str, bytes]:
    """A share of a party's own seed for each name, by its place; any ``threshold`` of them give it back (Shamir, 1979).

    Points of a random polynomial over a prime field, in Python's integers: for fifty parties that is fifty times faster
    than the libraries' fields of 2^128, which would take most of the time of a run.
    """
    drawn = (int.from_bytes(random_bytes(2 * SHARE_BYTES), "big") % _PRIME for _ in range(threshold - 1))
    polynomial = [int.from_bytes(seed, "big"), *drawn]
    shares = {}
    for place, name in enumerate(names, start=1):
        value = 0
        for coefficient in reversed(polynomial):
            value = (value * place + coefficient) % _PRIME
        shares[name] = value.to_bytes(SHARE_BYTES, "big")
    return shares


def join_seeds(shares: Mapping[str, Mapping[str, bytes]], owners: Sequence[str], names: Sequence[str]) -> list[bytes]:
    """The owners' seeds, from what at least as many helpers as it takes have of each: ``shares[helper][owner]``."""
    places = {name: names.index(name) + 1 for name in shares}
    weights = {}
    for name, place in places.items():  # of each point in the polynomial's value at 0 (Lagrange)
        others = [other for other in places.values() if other != place]
        above, below = math.prod(others), math.prod(other - place for other in others)
        weights[name] = above * pow(below, -1, _PRIME) % _PRIME
    seeds = []
    for owner in owners:
        seed = sum(weights[name] * int.from_bytes(own[owner], "big") for name, own in shares.items()) % _PRIME
        if seed >= 256**SEED_BYTES:
            raise FederatedError(f"The shares of the seed of {owner} do not fit together: a party sent a wrong one.")
        seeds.append(seed.to_bytes(SEED_BYTES, "big"))
    return seeds


def sealed(secret: bytes, context: bytes, sender: str, share: bytes) -> bytes:
    """A share that only the other one of a pair can read: the key is of this message and direction alone."""
    key = _derived(secret, b"privet share from " + sender.encode(), context)
    return ChaCha20Poly1305(key).encrypt(bytes(12), share, context)


def opened(secret: bytes, context: bytes, sender: str, box: bytes) -> bytes:
    key = _derived(secret, b"privet share from " + sender.encode(), context)
    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), box, context)
    except InvalidTag as error:
        raise FederatedError(f"A share that is said to be from {sender} is not.") from error


def _derived(secret: bytes, purpose: bytes, context: bytes) -> bytes:
    return HKDFExpand(hashes.SHA256(), SEED_BYTES, info=purpose + b"|" + context).derive(secret)
