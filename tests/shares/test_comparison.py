"""Comparison by two messages: right for every pair, and what each server sees says nothing."""

import numpy as np
import pytest

from in_threads import run_threads
from privet.shares.comparison import PRIME, carries


def compared(a, b, bits):
    """Each server's bits, and what server 0 received."""
    seen = []

    def program(engine):
        mesh = engine.mesh
        if mesh.party == 0:
            receive = mesh.receive
            mesh.receive = lambda sender, n: seen.append(receive(sender, n)) or seen[-1]
        numbers = np.array(a if mesh.party == 0 else b, dtype=np.uint64)
        mine, before = carries(mesh, engine._streams, numbers, bits), mesh.rounds
        mesh.receive = receive if mesh.party == 0 else mesh.receive
        return mine, before

    results = run_threads(program)
    return [mine for mine, _ in results], seen


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_every_pair_of_small_numbers(bits):
    a, b = (own.ravel() for own in np.meshgrid(np.arange(2**bits), np.arange(2**bits)))
    (zero, one, two), _ = compared(a, b, bits)
    assert np.array_equal(one, two)
    assert np.array_equal(zero ^ one, a + b >= 2**bits)


@pytest.mark.parametrize("bits", [31, 62])
def test_large_numbers_and_those_at_the_edge(bits):
    rng = np.random.default_rng(bits)
    a = rng.integers(0, 2**bits, 3000)
    b = np.where(rng.random(3000) < 0.5, rng.integers(0, 2**bits, 3000), 2**bits - 1 - a + rng.integers(0, 2, 3000))
    b = np.minimum(b, 2**bits - 1)
    (zero, one, _), _ = compared(a, b, bits)
    assert np.array_equal(zero ^ one, a + b >= 2**bits)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (31, 31), (16, 15), (31, 1)])
def test_server_0_sees_a_zero_half_of_the_time_at_an_even_place_and_else_numbers_that_are_even(a, b):
    """20,000 comparisons of the same numbers. Shares of zeros by 1/2, at each of 7 places by 1/7, and of each other
    number by 1/250: none is off by more than 7 deviations, which by chance happens less than once in 10^8 times."""
    n, places = 20_000, 7
    (zero, _, _), seen = compared([a] * n, [b] * n, 5)
    sums = (seen[0].astype(int) + seen[1]).reshape(n, places) % PRIME
    found = sums == 0
    assert found.sum(axis=1).max() <= 1
    assert np.array_equal(found.any(axis=1), zero)
    assert abs(zero.sum() - n / 2) < 7 * np.sqrt(n / 4)
    by_place, m = found.sum(axis=0), found.sum()
    assert np.abs(by_place - m / places).max() < 7 * np.sqrt(m / places)
    counts = np.bincount(sums[~found], minlength=PRIME)[1:]
    assert np.abs(counts - counts.mean()).max() < 7 * np.sqrt(counts.mean())
    for share in seen:  # each alone is uniform, 0 included
        counts = np.bincount(share, minlength=PRIME)
        assert len(counts) == PRIME
        assert np.abs(counts - counts.mean()).max() < 7 * np.sqrt(counts.mean())


def test_a_comparison_takes_four_rounds(three):
    def program(engine):
        x, rounds = engine.constant(np.arange(16)), engine.mesh.rounds
        engine.less(x, x * -1, 40)
        return engine.mesh.rounds - rounds

    assert three(program) == [4, 4, 4]
