"""Keys and certificates as keygen writes them."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from privet.consortium.net.certificates import fingerprint, make_certificate
from privet.errors import MpcError


def test_a_certificate_is_of_its_key_and_valid_for_as_long_as_asked(tmp_path):
    key, certificate = make_certificate("mercy", tmp_path / "new", days=30)
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    public = x509.load_pem_x509_certificate(certificate.read_bytes())
    assert public.public_key() == private.public_key()
    now = datetime.now(UTC)
    assert public.not_valid_before_utc < now
    assert timedelta(days=29) < public.not_valid_after_utc - now < timedelta(days=30)
    assert public.subject.rfc4514_string() == "CN=mercy"
    if os.name == "posix":
        assert key.stat().st_mode & 0o077 == 0


def test_hosts_and_addresses_are_named_for_clients_that_compare_them(tmp_path):
    _, certificate = make_certificate("link", tmp_path, hosts=["here.example", "10.0.0.7"])
    public = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = public.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["here.example"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]
    assert public.subject.rfc4514_string() == "CN=link"


def test_neither_a_key_nor_a_certificate_is_written_over(tmp_path):
    for ending in ("key", "crt"):
        (tmp_path / f"{ending}.{ending}").write_text("mine")
        with pytest.raises(MpcError, match="exists"):
            make_certificate(ending, tmp_path)
        assert (tmp_path / f"{ending}.{ending}").read_text() == "mine"


def test_a_fingerprint_is_that_of_the_certificate_however_it_is_written(tmp_path):
    _, one = make_certificate("one", tmp_path)
    _, two = make_certificate("two", tmp_path)
    pem = one.read_bytes()
    der = x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)
    assert fingerprint(pem) == fingerprint(b"\n" + pem) == fingerprint(der)
    assert fingerprint(pem) != fingerprint(two.read_bytes())
