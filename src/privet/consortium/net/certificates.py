"""Keys and self-signed certificates: who is who is settled by holding the very certificate, not by an authority."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from privet.errors import MpcError

MOST_DRIFT = 60.0
"""Seconds by which clocks may differ before it is said: fresh certificates allow for five minutes."""

_NOT_FOR = "content_commitment key_encipherment data_encipherment key_agreement crl_sign encipher_only decipher_only"
# It signs itself, too, which a strict check of a root wants to see.
_SIGNS = x509.KeyUsage(digital_signature=True, key_cert_sign=True, **dict.fromkeys(_NOT_FOR.split(), False))


def make_certificate(
    name: str,
    folder: Path,
    *,
    hosts: Sequence[str] = (),
    days: int = 365,
    start: datetime | None = None,
) -> tuple[Path, Path]:
    """Write ``name.key`` (readable by its owner alone) and ``name.crt``; never over existing files.

    The certificate goes to the others, by a way on which nobody can swap it. The key stays. ``hosts`` are the names and
    addresses that clients of a server know it by, where they compare them.
    """
    key_file, certificate_file = folder / f"{name}.key", folder / f"{name}.crt"
    if key_file.exists() or certificate_file.exists():
        raise MpcError(f"{key_file} or {certificate_file} exists. Delete both, or choose another name.")
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    start = start or datetime.now(UTC) - timedelta(minutes=5)  # clocks differ a little
    builder = (
        x509.CertificateBuilder()
        .subject_name(issuer)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_SIGNS, critical=True)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    folder.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return key_file, certificate_file


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def names_in(certificate: bytes) -> list[str]:
    """The hosts that a certificate in PEM names, or else the name of whom it is."""
    own = x509.load_pem_x509_certificate(certificate)
    try:
        hosts = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return [str(host.value) for host in hosts]
    except x509.ExtensionNotFound:
        return [str(name.value) for name in own.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]


def standing(name: str, certificate: bytes) -> dict[str, str | int]:
    """Whose certificate it is, how long it is valid, in days from now, and its fingerprint."""
    try:
        until = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
    except ValueError as error:
        raise MpcError(f"The certificate of {name} is none.") from error
    days = (until - datetime.now(UTC)) // timedelta(days=1)
    return {"name": name, "until": f"{until:%Y-%m-%d}", "days": days, "fingerprint": fingerprint(certificate)}


def is_one(certificate: bytes) -> bool:
    """Whether it is one certificate in PEM and nothing else: whatever is shown, pinned or trusted of it is the same."""
    try:
        own = x509.load_pem_x509_certificate(certificate)
    except ValueError:
        return False
    return own.public_bytes(serialization.Encoding.PEM).strip() == certificate.strip()


def fingerprint(certificate: bytes) -> str:
    """SHA-256 of a certificate in PEM or DER."""
    if certificate.lstrip().startswith(b"-----"):
        certificate = x509.load_pem_x509_certificate(certificate).public_bytes(serialization.Encoding.DER)
    return sha256(certificate).hexdigest()
