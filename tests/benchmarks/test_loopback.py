"""Three real processes with TLS between them."""

from importlib import import_module

import pytest

from consortium.net.server_programs import dies, dies_on_the_way, keys_and_costs, program, stalls
from loopback import run_three, run_three_mpyc
from privet.errors import MpcError


def test_three_processes_compute_over_tls_and_a_new_run_has_fresh_keys():
    keys = set()
    for n in (100, 200_000):
        results = run_three(keys_and_costs, n)
        assert all(right for right, _, _ in results)
        assert len({rounds for _, _, rounds in results}) == 1
        keys |= {key for _, key, _ in results}
    assert len(keys) == 6


def test_a_killed_server_ends_the_run_for_all():
    with pytest.raises(MpcError):
        run_three(dies)


class OfNoModule:
    """What no process can read."""

    def __reduce__(self):
        return import_module, ("a_module_that_is_nowhere",)


def test_a_program_that_servers_cannot_import_is_an_error_at_once():
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        run_three(keys_and_costs, bytes(2**20), OfNoModule(), bytes(2**20))


def test_a_stalled_server_ends_the_run_for_all():
    with pytest.raises(MpcError, match=r"in time|left|broke|reached"):
        run_three(stalls, timeout=1.0)


def test_three_processes_compute_on_mpyc_over_its_tls():
    pytest.importorskip("mpyc")
    assert run_three_mpyc(program, 20) == [True] * 3


def test_a_killed_server_ends_the_run_for_all_on_mpyc_too():
    pytest.importorskip("mpyc")
    with pytest.raises(MpcError, match=r"left|broke"):
        run_three_mpyc(dies_on_the_way, longest=600)
