"""What is written once for all engines, on an engine whose shares are plain numbers: the logic, without messages."""

import numpy as np
import pytest

from privet.errors import MpcError
from privet.shares.engine import Bits, Engine, Secret, whole


class Plain(Engine):
    """One server that knows everything. Counts what would take a round."""

    party, largest = 0, 16

    def __init__(self):
        self.rounds = 0

    def constant(self, values):
        return Secret(self, np.asarray(values))

    def add(self, x, y):
        return Secret(self, x.parts + (y.parts if isinstance(y, Secret) else y))

    def scale(self, x, factor):
        return Secret(self, x.parts * factor)

    def shape(self, x):
        return x.parts.shape

    def sum(self, x, axis):
        return Secret(self, x.parts.sum(axis))

    def multiply(self, x, y):
        self.rounds += 1
        return Secret(self, x.parts * y.parts)

    def less(self, x, y, bits):
        self.need(bits)
        self.rounds += 1
        return Secret(self, (x.parts < y.parts).astype(int))

    def xor(self, a, b):
        return Bits(self, a.parts ^ (b.parts if isinstance(b, Bits) else b), a.columns)

    def mask(self, a, public):
        return Bits(self, a.parts & public, a.columns)

    def both(self, a, b):
        self.rounds += 1
        return Bits(self, a.parts & b.parts, a.columns)


for _name in Plain.__abstractmethods__:  # what is not asked for here
    setattr(Plain, _name, None)
Plain.__abstractmethods__ = frozenset()


@pytest.fixture
def engine():
    return Plain()


def test_selections_and_maxima_are_those_of_numpy(engine):
    x, y, c = (engine.constant(np.array(values)) for values in ([1, 5, -3, 7], [4, 5, -9, 8], [1, 0, 1, 0]))
    assert engine.select(c, x, y).parts.tolist() == [1, 5, -3, 8]
    assert engine.maximum(x, y, 8).parts.tolist() == [4, 5, -3, 8]
    assert engine.dot(x, y, 0).parts == 4 + 25 + 27 + 56


def test_a_selection_takes_one_round_and_a_maximum_two(engine):
    x = engine.constant(np.arange(3))
    engine.select(x, x, x)
    assert engine.rounds == 1
    engine.maximum(x, x, 8)
    assert engine.rounds == 3


def test_sums_differences_and_public_factors_take_no_round(engine):
    x = engine.constant(np.arange(3))
    assert (x + x - x * 3 + 1).parts.tolist() == [1, 0, -1]
    assert (-x).parts.tolist() == [0, -1, -2]
    assert engine.rounds == 0


def test_public_bits_are_free_and_secret_ones_take_a_round(engine):
    bits = Bits(engine, np.array([[True, False]]), 2)
    assert (~bits).parts.tolist() == [[False, True]]
    assert (bits & np.array([[True, True]])).parts.tolist() == [[True, False]]
    assert engine.rounds == 0
    assert (bits & ~bits).parts.tolist() == [[False, False]]
    assert engine.rounds == 1


def test_numbers_that_are_too_wide_are_refused_before_anything_is_computed(engine):
    x = engine.constant(np.arange(3))
    engine.maximum(x, x, 16)
    rounds = engine.rounds
    with pytest.raises(MpcError, match="may need 17 bits and the engine has 16"):
        engine.maximum(x, x, 17)
    assert engine.rounds == rounds


def test_only_whole_numbers_are_shared():
    assert whole([True, False]).dtype == np.int64
    assert whole(np.array([], dtype=float)).dtype == np.int64
    for values in ([0.5], [1.0], ["1"], [None]):
        with pytest.raises(TypeError, match="whole numbers"):
            whole(values)
