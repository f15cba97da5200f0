"""MPyC runs the same programs with the same answers: an independent check of our own engine."""

import numpy as np
import pytest

from privet.errors import MpcError

pytest.importorskip("mpyc")

from in_threads import run_threads
from mpyc_engine import INTEGER_BITS, MpycEngine


def arithmetic(engine):
    rng = np.random.default_rng(0)
    values = rng.integers(-(2**20), 2**20, (2, 3, 5))
    x, y = (engine.input(v if engine.party == 0 else None, 0, v.shape) for v in values)
    z = engine.linear(x, lambda rows: np.cumsum(rows, axis=0))
    stacked = engine.concatenate([x, y * 3 - 1], axis=1)
    return [
        engine.open(result)
        for result in (
            *(x + y, x - y, x * y, -x, x @ y.reshape(5, 3), z, stacked, z[1:, [0, 2]], z[:, -1], x.sum(axis=1)),
            *(x + values[1], x * values[1], engine.less(x, y, 22), engine.maximum(x, y, 22), x.reshape(-1)),
        )
    ]


def bits(engine):
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 4, 7)) < 0.5
    x, y = engine.constant_bits(a), engine.constant_bits(b)
    numbers = engine.constant(rng.integers(-100, 100, 7))
    results = x & y, x ^ y, ~x, x & b, x ^ b, engine.stack([x[2:], y[:1]]), engine.low_bits(numbers, 6), x[::2]
    return [engine.open_bits(result) for result in results] + [engine.open(engine.integers(x))]


@pytest.mark.parametrize("program", [arithmetic, bits])
def test_both_engines_give_the_same_answers(program):
    ours = run_threads(program)[0]
    theirs = program(MpycEngine.alone())
    for mine, other in zip(ours, theirs, strict=True):
        assert np.array_equal(mine, other)
        assert mine.dtype == other.dtype


def test_random_bits_are_bits():
    """3,000 fair bits: a mean further than 0.06 from 1/2 has a chance below 1e-9."""
    engine = MpycEngine.alone()
    drawn = engine.open_bits(engine.random_bits(3, 1000))
    assert drawn.shape == (3, 1000)
    assert abs(drawn.mean() - 0.5) < 0.06


def test_what_comparisons_open_is_masked_by_80_more_bits():
    engine = MpycEngine.alone()
    assert engine.runtime.options.sec_param == 80
    assert engine.modulus.bit_length() >= INTEGER_BITS + 80 + 2
    opened = []
    output = engine.runtime.output
    engine.runtime.output = lambda x, *args, **kwargs: opened.append(x) or output(x, *args, **kwargs)
    try:
        engine.open(engine.less(engine.constant(np.zeros(50, dtype=int)), engine.constant(np.arange(50)), 8))
    finally:
        engine.runtime.output = output
    masked = max(int(value) for each in opened if hasattr(each, "value") for value in each.value.ravel().tolist())
    assert masked.bit_length() > 80


def test_a_configured_runtime_needs_a_process_of_its_own(tmp_path):
    MpycEngine.alone()
    with pytest.raises(MpcError, match="new process"):
        MpycEngine.start(0, [("localhost", 1)] * 3, tmp_path)
