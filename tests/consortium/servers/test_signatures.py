"""What three servers sign of a model that is announced: a receipt that anybody with their certificates can check."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from consortium.servers.test_client import RECEIPT
from in_threads import Queues
from privet.consortium.net.certificates import make_certificate
from privet.consortium.net.channel import TlsIdentity
from privet.consortium.servers.signatures import check_signed, receipt_words, signed_by_all, signed_receipt
from privet.errors import ReceiptError


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    identities = [TlsIdentity(*make_certificate(f"server{i}", folder)) for i in range(3)]
    servers = [SimpleNamespace(certificate=identity.certificate.read_bytes()) for identity in identities]
    configs = [SimpleNamespace(identity=identity, servers=servers) for identity in identities]
    words = receipt_words("0" * 32, ["b", "a"], RECEIPT)
    with ThreadPoolExecutor(3) as pool:
        one, two, three = pool.map(lambda mesh: signed_by_all(words, configs[mesh.party], mesh), Queues.three())
    assert one == two == three
    return one, [server.certificate for server in servers]


def test_a_signed_receipt_says_who_is_in_it(signed):
    words, certificates = signed
    assert signed_receipt(words, certificates) == RECEIPT
    assert words["owners"] == ["a", "b"]


@pytest.mark.parametrize(
    "change",
    [{"owners": ["a"]}, {"run": "1" * 32}, {"receipt": {}}, {"signatures": []}, {"signatures": ["", "", ""]},
     {"signatures": 3}, {"receipt": {**RECEIPT.to_dict(), "spent": "1"}}],
)  # fmt: skip
def test_whatever_is_changed_is_found(signed, change):
    words, certificates = signed
    with pytest.raises(ReceiptError):
        signed_receipt({**words, **change}, certificates)


def test_a_server_that_has_not_signed_is_named(signed):
    words, certificates = signed
    with pytest.raises(ReceiptError, match="server 0 has not signed"):
        check_signed(words, [certificates[1], certificates[1], certificates[2]])
