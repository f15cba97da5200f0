"""What three servers sign of a hidden model: a commitment of each to its own shares.

Nobody may see a hash of the tree itself: trees are few enough to be guessed and compared. A commitment is a hash over
32 random bytes that stay on the server and over its shares, which are random numbers, so it says nothing about the
tree. But a server that later answers with other shares than it kept cannot open it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from privet.consortium.servers.config import Config
from privet.consortium.servers.signatures import check_signed, signed_by_all, told_by_all
from privet.errors import ReceiptError
from privet.shares.mesh import PARTIES, Mesh

DIGEST = re.compile("[0-9a-f]{64}")
SALT_BYTES = 32


def commitment(salt: bytes, name: str, tables: Iterable[np.ndarray]) -> str:
    """Of one server's shares of the model of this name."""
    hashed = sha256(b"privet shares|" + salt + name.encode())
    for table in tables:
        hashed.update(np.ascontiguousarray(table).tobytes())
    return hashed.hexdigest()


def committed_by_all(public: dict[str, Any], own: str, config: Config, mesh: Mesh) -> dict[str, Any]:
    """What is public of a model, with the commitments and the signatures of all three servers; the same on each.

    ``own`` is this server's commitment. Each signs all three.
    """
    commitments = [each.hex() for each in told_by_all(mesh, bytes.fromhex(own))]
    return signed_by_all({**public, "commitments": commitments}, config, mesh)


def check(public: dict[str, Any], certificates: Sequence[bytes]) -> None:
    """Raise ReceiptError unless all three servers, by their certificates, have signed what is public of a model."""
    commitments = public.get("commitments")
    if not isinstance(commitments, list) or len(commitments) != PARTIES:
        raise ReceiptError("Of this hidden model there are no three commitments.")
    if not all(isinstance(each, str) and DIGEST.fullmatch(each) for each in commitments):
        raise ReceiptError("Of this hidden model there are no three commitments.")
    check_signed(public, certificates)
