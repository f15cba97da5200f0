"""Three servers sign commitments to their own shares: binding, and silent about the tree."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from types import SimpleNamespace

import numpy as np
import pytest

from in_threads import Queues
from privet.consortium.net.certificates import make_certificate
from privet.consortium.net.channel import TlsIdentity
from privet.consortium.net.links import server_name
from privet.consortium.servers.commitments import SALT_BYTES, check, commitment, committed_by_all
from privet.errors import ReceiptError

NAME = "0123456789abcdef" * 2
TABLES = [np.arange(12, dtype=np.uint32).reshape(2, 6), np.ones((2, 3), dtype=np.uint32)]


@pytest.fixture(scope="module")
def configs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    identities = [TlsIdentity(*make_certificate(server_name(i), folder)) for i in range(3)]
    servers = [SimpleNamespace(certificate=identity.certificate.read_bytes()) for identity in identities]
    return [SimpleNamespace(identity=identity, servers=servers) for identity in identities]


def certificates(configs):
    return [server.certificate for server in configs[0].servers]


def agreed(configs):
    """What each of three servers has in the end, each with a commitment of its own."""
    public = {"id": NAME, "schema": {"b": 1, "a": 2}, "receipt": {"spent": "2"}}

    def serve(mesh):
        own = commitment(bytes([mesh.party]) * SALT_BYTES, NAME, TABLES)
        return committed_by_all(public, own, configs[mesh.party], mesh)

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(serve, Queues.three()))


def test_all_servers_end_with_the_same_three_commitments_and_signatures(configs):
    one, two, three = agreed(configs)
    assert one == two == three
    assert one["commitments"] == [commitment(bytes([i]) * SALT_BYTES, NAME, TABLES) for i in range(3)]
    check(one, certificates(configs))


@pytest.mark.parametrize(
    "change",
    [
        lambda public: {**public, "receipt": {"spent": "1"}},
        lambda public: {**public, "schema": {"a": 2, "b": 1}},  # the order of features counts
        lambda public: {**public, "commitments": public["commitments"][::-1]},
        lambda public: {**public, "commitments": public["commitments"][:2]},
        lambda public: {**public, "commitments": [*public["commitments"][:2], "x" * 64]},
        lambda public: {**public, "signatures": [public["signatures"][0]] * 3},
        lambda public: {**public, "signatures": [*public["signatures"][:2], 7]},
        lambda public: {**public, "signatures": [*public["signatures"][:2], "xyz"]},
        lambda public: {name: value for name, value in public.items() if name != "signatures"},
    ],
)
def test_whatever_is_changed_afterwards_is_found(configs, change):
    with pytest.raises(ReceiptError):
        check(change(agreed(configs)[0]), certificates(configs))


def test_a_server_that_others_do_not_know_is_named(configs, tmp_path):
    known = certificates(configs)
    _, stranger = make_certificate("stranger", tmp_path)
    with pytest.raises(ReceiptError, match="server 1 has not signed"):
        check(agreed(configs)[0], [known[0], stranger.read_bytes(), known[2]])


def test_a_commitment_binds_salt_name_and_shares_and_cannot_be_guessed_without_the_salt():
    salt = bytes(SALT_BYTES)
    own = commitment(salt, NAME, TABLES)
    changed = [TABLES[0], TABLES[1] + np.uint32(1)]
    others = {
        commitment(salt, NAME, changed),
        commitment(salt, "f" * 32, TABLES),
        commitment(bytes([1]) * SALT_BYTES, NAME, TABLES),
        sha256(b"".join(table.tobytes() for table in TABLES)).hexdigest(),
    }
    assert own not in others
    assert len(others) == 4
