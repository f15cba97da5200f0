"""Masks: what makes a party's numbers unreadable alone, and cancels in the sum.

Every two parties of a run have a secret, from X25519 keys that are made for the run and signed with the parties' own
keys. For every message a fresh seed follows from it (HKDF, bound to the very bytes of the question), and from the seed
a row of numbers modulo 2^64 (ChaCha20): one of the two adds it, the other subtracts it. A mask is used once, because
a party answers a question once and has no two questions with the same bytes.

Where drop-outs are tolerated a party adds one more mask of its own, whose seed it deals to all parties in a threshold
scheme (Shamir, in pycryptodome's field of 2^128). After the answers are in, those who answered say, all for the same
list of names, their shares of the own seeds of the listed and their seeds of pairs with the missing. So whoever is
listed is summed up, whoever is not stays unreadable, even if its answer turns up later, and no party ever helps with
two lists for one question (Bonawitz and others, 2017). Seeds are of one message: what is told for it opens no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from privet.errors import FederatedError

SEED_BYTES = 32
OWN_SEED_BYTES = 16
"""What the threshold scheme deals: one element of its field."""


def pair_secret(mine: X25519PrivateKey, theirs: bytes, terms: bytes) -> bytes:
    """The secret of two parties in one run; ``terms`` is the digest of what both have signed."""
    try:
        shared = mine.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise FederatedError("A party's key for the run is none.") from None
    return HKDF(hashes.SHA256(), SEED_BYTES, salt=terms, info=b"privet pair").derive(shared)


def pair_seed(secret: bytes, context: bytes) -> bytes:
    """The seed of two parties' mask of the message that ``context`` is the digest of."""
    return _derived(secret, b"privet mask", context)


def mask(seed: bytes, n: int) -> np.ndarray:
    """``n`` numbers modulo 2^64 that look random to whoever does not know the seed."""
    key = seed if len(seed) == SEED_BYTES else _derived(sha256(seed).digest(), b"privet own mask", b"")
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * n)), dtype="<u8")


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


def deal_seed(seed: bytes, threshold: int, names: Sequence[str]) -> dict[str, bytes]:
    """A share of a party's own seed for each name, by its place; any ``threshold`` of them give it back."""
    from Crypto.Protocol.SecretSharing import Shamir

    return {names[place - 1]: share for place, share in Shamir.split(threshold, len(names), seed, ssss=False)}


def join_seed(shares: Mapping[str, bytes], names: Sequence[str]) -> bytes:
    """The seed, from the shares of at least as many names as it takes."""
    from Crypto.Protocol.SecretSharing import Shamir

    return Shamir.combine([(names.index(name) + 1, share) for name, share in shares.items()], ssss=False)


def sealed(secret: bytes, context: bytes, sender: str, share: bytes) -> bytes:
    """A share that only the other one of a pair can read: the key is of this message and direction alone."""
    key = _derived(secret, b"privet share from " + sender.encode(), context)
    return ChaCha20Poly1305(key).encrypt(bytes(12), share, context)


def opened(secret: bytes, context: bytes, sender: str, box: bytes) -> bytes:
    key = _derived(secret, b"privet share from " + sender.encode(), context)
    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), box, context)
    except InvalidTag:
        raise FederatedError(f"A share that is said to be from {sender} is not.") from None


def _derived(secret: bytes, purpose: bytes, context: bytes) -> bytes:
    return HKDFExpand(hashes.SHA256(), SEED_BYTES, info=purpose + b"|" + context).derive(secret)
