"""Bits on shares against bits in plain."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from in_threads import run_threads


def tables(columns=13, planes=3):
    return arrays(bool, (2, planes, columns))


@settings(max_examples=20, deadline=None)
@given(tables())
def test_and_xor_not_and_masks(values):
    a, b = values

    def program(engine):
        x, y = engine.constant_bits(a), engine.constant_bits(b)
        r = engine.random_bits(*a.shape)
        results = ((x ^ r) & y) ^ (r & y), x ^ y, ~x, x & b, x ^ b, engine.stack([x[1:], y[:1]])
        return [engine.open_bits(result) for result in results]

    expected = a & b, a ^ b, ~a, a & b, a ^ b, np.concatenate([a[1:], b[:1]])
    for got in run_threads(program):
        assert all(np.array_equal(g, e) for g, e in zip(got, expected))


@settings(max_examples=20, deadline=None)
@given(arrays(np.int64, 11, elements=st.integers(-(2**63), 2**63 - 1)), st.integers(1, 64))
def test_low_bits_are_the_binary_digits(values, count):
    for digits in run_threads(lambda e: e.open_bits(e.low_bits(e.constant(values), count))):
        assert np.array_equal(digits, values.view(np.uint64) >> np.arange(count, dtype=np.uint64)[:, None] & 1)


def test_bits_become_integers(three):
    values = np.random.default_rng(0).random((4, 21)) < 0.5

    def program(engine):
        r = engine.random_bits(*values.shape)
        return engine.open(engine.integers(r ^ values ^ r))

    assert all(np.array_equal(got, values) for got in three(program))


def test_random_bits_are_fair_fresh_and_known_to_nobody(three):
    """20,000 bits: a mean further from 1/2 than 0.02 has a chance below 2e-8."""

    def program(engine):
        first, second = engine.random_bits(10, 2000), engine.random_bits(10, 2000)
        return engine.open_bits(first), engine.open_bits(second), first.parts

    results = three(program)
    for first, second, _ in results:
        assert abs(first.mean() - 0.5) < 0.02
        assert abs((first ^ second).mean() - 0.5) < 0.02
    own, next = results[0][2]
    known = np.unpackbits(own ^ next, axis=1, bitorder="little")
    assert abs((known ^ results[0][0]).mean() - 0.5) < 0.02
