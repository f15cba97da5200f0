"""What all three servers sign: the receipt of a model that is announced, or all that is public of a hidden one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from privet.consortium.federated.identity import Identity, certified, check_signature
from privet.consortium.net.links import server_name
from privet.consortium.servers.config import Config
from privet.errors import FederatedError, ReceiptError
from privet.privacy.receipt import Receipt
from privet.shares.mesh import PARTIES, Mesh

FORMAT = "privet-servers-receipt-1"
SIGNATURE_BYTES = 80
"""Room for a signature, whose length differs a little from one to the next."""

Words = dict[str, Any]


def receipt_words(run: str, owners: Sequence[str], receipt: Receipt) -> Words:
    """What is signed of a model that is announced: its receipt, which holds the model's digest, and who is in it.

    Every owner is in every answer: a run without one of them ends.
    """
    return {"format": FORMAT, "run": run, "owners": sorted(owners), "receipt": receipt.to_dict()}


def signed_by_all(words: Words, config: Config, mesh: Mesh) -> Words:
    """These words with the signatures of all three servers; the same on each. One round."""
    files = config.identity
    signature = Identity.read(server_name(mesh.party), files.key, files.certificate).sign(statement(words))
    told = told_by_all(mesh, bytes([len(signature)]) + signature.ljust(SIGNATURE_BYTES - 1, b"\0"))
    signed = {**words, "signatures": [each[1 : 1 + each[0]].hex() for each in told]}
    check_signed(signed, [peer.certificate for peer in config.servers])
    return signed


def statement(words: Words) -> bytes:
    """What servers sign: all of it, in its order, which that of a schema's features is part of."""
    signed = {name: value for name, value in words.items() if name not in ("signatures", "shapes")}
    return b"privet servers|" + sha256(json.dumps(signed).encode()).digest()


def check_signed(words: Words, certificates: Sequence[bytes]) -> None:
    """Raise ReceiptError unless all three servers, by their certificates, have signed these words."""
    signatures = words.get("signatures")
    if not isinstance(signatures, list) or len(signatures) != PARTIES:
        raise ReceiptError("There are no three servers' signatures of this.")
    for party, (signature, certificate) in enumerate(zip(signatures, certificates, strict=True)):
        name = server_name(party)
        try:
            check_signature({name: certified(certificate)}, name, statement(words), bytes.fromhex(signature))
        except (FederatedError, TypeError, ValueError) as error:
            raise ReceiptError(f"{name} has not signed this.") from error


def signed_receipt(words: Words, certificates: Sequence[bytes]) -> Receipt:
    """The receipt in words that three servers have signed, which adds up; or ReceiptError."""
    check_signed(words, certificates)
    if not isinstance(words.get("receipt"), dict):
        raise ReceiptError("What the servers have signed has no receipt in it.")
    receipt = Receipt.from_dict(words["receipt"])
    receipt.verify()
    return receipt


def told_by_all(mesh: Mesh, own: bytes) -> list[bytes]:
    """What each of the three servers tells the two others, in their order. One round."""
    mine = np.frombuffer(own, dtype=np.uint8)
    above, below = mesh.compare(mine, mine)
    told = {mesh.party: own, mesh.above: above.tobytes(), mesh.below: below.tobytes()}
    return [told[party] for party in range(PARTIES)]
