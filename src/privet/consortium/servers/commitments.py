"""What three servers sign of a hidden model: a commitment of each to its own shares.

Nobody may see a hash of the tree itself: trees are few enough to be guessed and compared. A commitment is a hash over
32 random bytes that stay on the server and over its shares, which are random numbers, so it says nothing about the
tree. But a server that later answers with other shares than it kept cannot open it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from privet.consortium.federated.identity import Identity, certified, check_signature
from privet.consortium.net.links import server_name
from privet.consortium.servers.config import Config
from privet.errors import FederatedError, ReceiptError
from privet.shares.mesh import PARTIES, Mesh

DIGEST = re.compile("[0-9a-f]{64}")
SALT_BYTES = 32
SIGNATURE_BYTES = 80
"""Room for a signature, whose length differs a little from one to the next."""


def commitment(salt: bytes, name: str, tables: Iterable[np.ndarray]) -> str:
    """Of one server's shares of the model of this name."""
    hashed = sha256(b"privet shares|" + salt + name.encode())
    for table in tables:
        hashed.update(np.ascontiguousarray(table).tobytes())
    return hashed.hexdigest()


def signed_by_all(public: dict[str, Any], own: str, config: Config, mesh: Mesh) -> dict[str, Any]:
    """What is public of a model, with the commitments and the signatures of all three servers; the same on each.

    ``own`` is this server's commitment. Each signs all three.
    """
    commitments = [each.hex() for each in _told(mesh, bytes.fromhex(own))]
    public = {**public, "commitments": commitments}
    own_name, files = server_name(mesh.party), config.identity
    signature = Identity.read(own_name, files.key, files.certificate).sign(statement(public))
    told = _told(mesh, bytes([len(signature)]) + signature.ljust(SIGNATURE_BYTES - 1, b"\0"))
    public["signatures"] = [each[1 : 1 + each[0]].hex() for each in told]
    check(public, [peer.certificate for peer in config.servers])
    return public


def statement(public: dict[str, Any]) -> bytes:
    """What servers sign: all that is public, in its order, which that of a schema's features is part of."""
    signed = {name: value for name, value in public.items() if name not in ("signatures", "shapes")}
    return b"privet hidden model|" + sha256(json.dumps(signed).encode()).digest()


def check(public: dict[str, Any], certificates: Sequence[bytes]) -> None:
    """Raise ReceiptError unless all three servers, by their certificates, have signed what is public of a model."""
    signatures, commitments = public.get("signatures", []), public.get("commitments", [])
    three = all(isinstance(each, list) and len(each) == PARTIES for each in (signatures, commitments))
    if not three or not all(isinstance(each, str) and DIGEST.fullmatch(each) for each in commitments):
        raise ReceiptError("Of this hidden model there are no three commitments and signatures.")
    for party, (signature, certificate) in enumerate(zip(signatures, certificates, strict=True)):
        name = server_name(party)
        try:
            check_signature({name: certified(certificate)}, name, statement(public), bytes.fromhex(signature))
        except (FederatedError, TypeError, ValueError) as error:
            raise ReceiptError(f"{name} has not signed what is said of this hidden model.") from error


def _told(mesh: Mesh, own: bytes) -> list[bytes]:
    """What each of the three servers tells the two others, in their order. One round."""
    mine = np.frombuffer(own, dtype=np.uint8)
    above, below = mesh.compare(mine, mine)
    told = {mesh.party: own, mesh.above: above.tobytes(), mesh.below: below.tobytes()}
    return [told[party] for party in range(PARTIES)]
