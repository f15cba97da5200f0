"""Who is who: a signature is of one key and of one text, and a certificate is what it says."""

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from privet.consortium.federated.identity import Identity, certified, check_signature
from privet.consortium.net.certificates import make_certificate
from privet.errors import FederatedError

MERCY, GENERAL = Identity.fresh("mercy"), Identity.fresh("general")
KNOWN = {"mercy": MERCY.public, "general": GENERAL.public}


def test_a_signature_is_of_its_signer_and_of_its_text():
    signature = MERCY.sign(b"yes")
    check_signature(KNOWN, "mercy", b"yes", signature)
    for name, said, wrong in [
        ("general", b"yes", signature),
        ("mercy", b"no", signature),
        ("mercy", b"yes", signature[:-1]),
        ("mercy", b"yes", b""),
        ("mercy", b"yes", GENERAL.sign(b"yes")),
    ]:
        with pytest.raises(FederatedError, match=f"in the name of {name}"):
            check_signature(KNOWN, name, said, wrong)


def test_of_a_stranger_the_certificate_is_missing():
    with pytest.raises(FederatedError, match="no certificate of north"):
        check_signature(KNOWN, "north", b"yes", MERCY.sign(b"yes"))


def test_a_key_and_its_certificate_belong_together(tmp_path):
    key, certificate = make_certificate("mercy", tmp_path)
    read = Identity.read("mercy", key, certificate)
    check_signature({"mercy": certified(certificate.read_bytes())}, "mercy", b"yes", read.sign(b"yes"))
    _, other = make_certificate("general", tmp_path)
    with pytest.raises(FederatedError, match=r"general.crt is not the certificate of .*mercy.key"):
        Identity.read("mercy", key, other)


def test_files_that_are_no_certificate_or_of_another_kind_of_key_are_refused(tmp_path):
    with pytest.raises(FederatedError, match="not a certificate"):
        certified(b"-----BEGIN CERTIFICATE-----\nnonsense")
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "rsa.key").write_bytes(key)
    with pytest.raises(FederatedError, match="not a key that privet makes"):
        Identity.read("mercy", tmp_path / "rsa.key", tmp_path / "rsa.key")
    (tmp_path / "no.key").write_bytes(b"nonsense")
    with pytest.raises(FederatedError, match="not a key that privet makes"):
        Identity.read("mercy", tmp_path / "no.key", tmp_path / "no.key")


def test_secrets_follow_from_the_key_and_the_purpose_alone():
    again = Identity("mercy", MERCY._key)
    assert again.secret(b"noise") == MERCY.secret(b"noise")
    assert len({MERCY.secret(b"noise"), MERCY.secret(b"masks"), GENERAL.secret(b"noise")}) == 3
    number = ec.derive_private_key(1, ec.SECP256R1())
    assert len(Identity("one", number).secret(b"noise")) == 32  # also of a key with leading zeros
