"""Who is who: a party's own key signs what it says, and the others hold its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from privet.errors import FederatedError

_SIGNATURE = ec.ECDSA(hashes.SHA256())


class Identity:
    """A name with a private key, as ``privet federated join`` makes it; others hold the certificate."""

    def __init__(self, name: str, key: ec.EllipticCurvePrivateKey) -> None:
        self.name = name
        self._key = key

    @classmethod
    def fresh(cls, name: str) -> Identity:
        return cls(name, ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def read(cls, name: str, key_file: Path, certificate_file: Path) -> Identity:
        """Raise unless the certificate, which the others hold, is of this key."""
        try:
            key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        except (TypeError, ValueError):
            key = None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise FederatedError(f"{key_file} is not a key that privet makes.")
        if key.public_key() != certified(certificate_file.read_bytes()):
            raise FederatedError(f"{certificate_file} is not the certificate of {key_file}.")
        return cls(name, key)

    @property
    def public(self) -> ec.EllipticCurvePublicKey:
        return self._key.public_key()

    def sign(self, said: bytes) -> bytes:
        return self._key.sign(said, _SIGNATURE)

    def secret(self, purpose: bytes) -> bytes:
        """32 bytes that only the holder of the key can have, others for each purpose."""
        number = self._key.private_numbers().private_value
        return HKDF(hashes.SHA256(), 32, salt=None, info=b"privet secret|" + purpose).derive(number.to_bytes(66, "big"))


Known = Mapping[str, ec.EllipticCurvePublicKey]
"""The parties' public keys by name: pinned, not vouched for by anybody."""


def certified(certificate: bytes) -> ec.EllipticCurvePublicKey:
    """The public key of a certificate in PEM."""
    try:
        key = x509.load_pem_x509_certificate(certificate).public_key()
    except ValueError as error:
        raise FederatedError("This is not a certificate.") from error
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise FederatedError("This certificate's key is not one that privet makes.")
    return key


def check_signature(known: Known, name: str, said: bytes, signature: bytes) -> None:
    """Raise FederatedError unless ``name`` signed this."""
    if name not in known:
        raise FederatedError(f"There is no certificate of {name}. Get it from them, and compare its fingerprint.")
    try:
        known[name].verify(signature, said, _SIGNATURE)
    except InvalidSignature as error:
        raise FederatedError(
            f"What came in the name of {name} was not signed with the key of their certificate. Somebody else speaks "
            "in their name, or their certificate here is out of date."
        ) from error
