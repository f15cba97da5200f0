"""Division on shares is Python's, for every dividend and divisor that its bits allow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from in_threads import run_threads
from privet.errors import MpcError
from privet.privacy.joint_scores import floor_divide


def divided(dividend, divisor, quotient_bits, divisor_bits, ring_bits=64):
    dividend, divisor = np.array(dividend, dtype=np.int64), np.array(divisor, dtype=np.int64)

    def program(engine):
        x, y = engine.constant(dividend), engine.constant(divisor)
        return engine.open(floor_divide(engine, x, y, quotient_bits, divisor_bits))

    results = run_threads(program, ring_bits=ring_bits)
    assert all(np.array_equal(results[0], other) for other in results)
    return results[0].tolist()


def test_small_numbers_are_all_divided_exactly():
    pairs = [(n, d) for d in range(1, 8) for n in range(min(64, d * 2**4))]
    dividends, divisors = zip(*pairs)
    assert divided(dividends, divisors, 4, 3) == [n // d for n, d in pairs]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**20 - 1), st.integers(1, 2**10 - 1)), min_size=1, max_size=8))
def test_larger_numbers_too(pairs):
    pairs = [(min(n, d * 2**10 - 1), d) for n, d in pairs]
    assert divided(*zip(*pairs), 10, 10) == [n // d for n, d in pairs]


def test_the_ends_of_the_range_are_right():
    divisor = 2**10 - 1
    assert divided([0, divisor - 1, divisor, divisor * 2**10 - 1], [divisor] * 4, 10, 10) == [0, 0, 1, 2**10 - 1]


def test_a_quotient_of_no_bits_is_zero():
    assert divided([0, 3], [5, 5], 0, 3) == [0, 0]


def test_numbers_that_would_leave_the_ring_are_refused():
    with pytest.raises(MpcError, match="may need"):
        divided([1], [1], 30, 10, ring_bits=32)
