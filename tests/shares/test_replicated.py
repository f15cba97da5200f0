"""Our engine: exact answers, uniform views, equal transcripts, and an end for every changed bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

from in_threads import Queues, run_threads
from privet.errors import MpcError
from privet.shares.deal import deal

WORDS = st.integers(-(2**63), 2**63 - 1)


def shared(engine, values, party=1):
    return engine.input(values if engine.party == party else None, party, values.shape)


def same_on_all(results):
    first, *others = results
    assert all(np.array_equal(first, other) for other in others)
    return first


def same_on_all_lists(results):
    return [same_on_all(each) for each in zip(*results)]


@settings(max_examples=25, deadline=None)
@given(arrays(np.int64, (2, 9), elements=WORDS), st.integers(0, 2))
def test_sums_and_products_are_exact_modulo_two_to_the_64(values, party):
    def program(engine):
        x, y = shared(engine, values[0], party), shared(engine, values[1])
        return [engine.open(z) for z in (x + y, x - y, x * y, x * 5 - 3, -x)]

    x, y = values
    for got, expected in zip(same_on_all(run_threads(program)), (x + y, x - y, x * y, x * 5 - 3, -x)):
        assert np.array_equal(got, expected)


def test_a_matrix_product_is_exact_modulo_two_to_the_64(three):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-(2**63), 2**63, (5, 700)), rng.integers(-(2**63), 2**63, (700, 3))
    assert np.array_equal(same_on_all(three(lambda e: e.open(shared(e, a) @ shared(e, b, 2)))), a @ b)


def test_public_linear_maps_slices_and_sums_are_local(three):
    values = np.arange(24).reshape(6, 4) - 7

    def program(engine):
        x = shared(engine, values)
        rounds = engine.mesh.rounds
        y = engine.linear(x, lambda rows: np.cumsum(rows, axis=0))[1:, [0, 2]].sum(axis=1)
        z = engine.concatenate([y, y * -1]).reshape(2, 5)
        assert engine.mesh.rounds == rounds
        return engine.open(z)

    expected = np.cumsum(values, axis=0)[1:, [0, 2]].sum(axis=1)
    assert np.array_equal(same_on_all(three(program)), np.stack([expected, -expected]))


def test_arrays_of_different_shapes_are_broadcast_as_numpy_does(three):
    """The two parts of each are not an axis: with shapes that begin with 2 or 3 they could be taken for one."""
    a, b, c = np.arange(3), np.arange(6).reshape(2, 3) * 10, np.arange(12).reshape(2, 2, 3) * 100

    def program(engine):
        x, y, z = shared(engine, a), shared(engine, b), shared(engine, c)
        pairs = [x + y, y + x, x + z, z - x, x + b, x + c, x * b, x * c, y * c, x * y, y * z, y + 5, y + a]
        return [engine.open(each) for each in pairs]

    expected = [a + b, b + a, a + c, c - a, a + b, a + c, a * b, a * c, b * c, a * b, b * c, b + 5, b + a]
    for got, right in zip(same_on_all_lists(three(program)), expected, strict=True):
        assert np.array_equal(got, right)


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        slice(1, None),
        (0, slice(None), [2, 0]),
        ([1, 0], slice(None), [2, 0]),
        ([0, 1], [1, 1]),
        (..., 1),
        [True, False],
    ],
    ids=str,
)
def test_elements_are_taken_as_numpy_takes_them(three, index):
    values = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    assert np.array_equal(same_on_all(three(lambda e: e.open(shared(e, values)[index]))), values[index])


@pytest.mark.parametrize("values", [np.array([0.5]), np.array([1.0]), np.array([None])])
def test_only_whole_numbers_are_shared(three, values):
    with pytest.raises((TypeError, MpcError), match=r"whole|left"):
        three(lambda e: e.constant(values))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9])
def test_every_protocol_takes_any_number_of_elements(three, n):
    values = np.arange(n) - n // 2

    def program(engine):
        x = shared(engine, values)
        sign, digits = engine.less(x, x * -1, 8), engine.low_bits(x, 5)
        return [engine.open(each) for each in (x * x, sign, engine.integers(digits))]

    square, sign, digits = same_on_all_lists(three(program))
    assert np.array_equal(square, values**2)
    assert np.array_equal(sign, values < -values)
    assert np.array_equal(digits, values >> np.arange(5)[:, None] & 1)


@pytest.mark.parametrize("bits", [2, 3, 8, 31, 63])
def test_less_is_right_for_every_difference_that_its_bits_allow(three, bits):
    rng = np.random.default_rng(bits)
    half = 2 ** (bits - 1)
    edges = np.unique([-half, -half + 1, -1, 0, 1, half - 1])
    difference = np.concatenate([edges, rng.integers(-half, half, 50)])
    y = rng.integers(-(2**62), 2**62, len(difference))
    got = three(lambda e: e.open(e.less(shared(e, y + difference), shared(e, y, 2), bits)))
    assert np.array_equal(same_on_all(got), difference < 0)


def test_numbers_that_would_leave_the_ring_are_refused_in_public(three):
    with pytest.raises(MpcError, match="64 bits"):
        three(lambda e: e.less(e.constant(np.zeros(1, dtype=int)), e.constant(np.ones(1, dtype=int)), 64))


def test_select_and_maximum(three):
    x, y = np.array([1, -5, 7]), np.array([2, -9, 7])

    def program(engine):
        a, b = shared(engine, x), shared(engine, y)
        return engine.open(engine.maximum(a, b, 8)), engine.open(engine.select(engine.less(a, b, 8), a, b))

    largest, smallest = same_on_all(three(program))
    assert np.array_equal(largest, np.maximum(x, y))
    assert np.array_equal(smallest, np.minimum(x, y))


# -- what one server sees ----------------------------------------------------------------------------------------------


def view(values):
    """What each server holds and what it receives in a program that uses every protocol; its messages' lengths."""
    meshes = Queues.three()
    held, came = [[] for _ in meshes], [[] for _ in meshes]
    for mesh in meshes:
        mesh.lengths = []
        receive = mesh.receive
        mesh.receive = lambda sender, n, receive=receive, at=mesh.party: _noted(came[at], receive(sender, n))
    dealt = deal(values), deal(values[::-1])

    def program(engine):
        x, y = (engine.receive(shares[engine.party]) for shares in dealt)
        product, sign = x * y, engine.joined(np.arange(len(values)) % 2 == 0)
        digits = engine.integers(engine.low_bits(product, 8))
        square = x.reshape(8, -1) @ y.reshape(-1, 8)
        for z in (x, y, product, sign, digits, square):
            held[engine.party].append(z.parts.tobytes())

    run_threads(program, meshes=meshes)
    return held, came, [mesh.lengths for mesh in meshes]


def _noted(seen, message):
    seen.append(message.tobytes())
    return message


@pytest.mark.parametrize("party", range(3))
def test_what_one_server_holds_and_what_it_receives_is_uniform_whatever_the_data(party):
    """Chi-square of all bytes for two neighbouring inputs and an empty one; false alarm 6e-8 for each server.

    Comparisons send numbers below a prime: theirs are in test_comparison.py."""
    histogram = np.full(512, 3)
    neighbour = histogram.copy()
    neighbour[7] += 1
    for values in (histogram, neighbour, np.zeros(512, dtype=np.int64)):
        for parts in view(values)[:2]:
            seen = np.frombuffer(b"".join(parts[party]), dtype=np.uint8)
            counts = np.bincount(seen, minlength=256)
            statistic = ((counts - len(seen) / 256) ** 2).sum() / (len(seen) / 256)
            assert statistic < chi2.isf(1e-8, 255)


def test_transcripts_agree_in_number_order_and_length_whatever_the_data():
    histogram = np.full(64, 3)
    neighbour = histogram.copy()
    neighbour[7] += 1
    assert view(histogram)[2] == view(neighbour)[2] == view(np.full(64, -(2**62)))[2]


def test_every_run_has_fresh_keys_and_so_other_shares(three):
    ones = np.ones(4, dtype=int)
    first, second = (three(lambda e: (e.constant(ones) * e.constant(ones)).parts) for _ in range(2))
    assert not np.array_equal(first[0], second[0])


# -- ends --------------------------------------------------------------------------------------------------------------


class Flipping(Queues):
    """Changes one bit of one message on the way."""

    flip = None  # (number of the message, bit)
    count = 0

    def _put(self, to, message):
        if self.flip and self.count == self.flip[0]:
            changed = bytearray(message)
            bit = self.flip[1] % (8 * len(changed))
            changed[bit // 8] ^= 1 << bit % 8
            message = bytes(changed)
        self.count += 1
        super()._put(to, message)


def everything(engine):
    x, y = shared(engine, np.arange(5)), shared(engine, np.arange(5) * 2, 2)
    z = engine.maximum(x * y, y, 20)
    opened = engine.open_bits(engine.low_bits(z, 6)), engine.open(z)
    engine.integers(engine.low_bits(x * z, 3))  # never opened
    return opened


@pytest.mark.parametrize("party", range(3))
def test_a_bit_flipped_in_any_message_ends_the_run(party):
    """Without TLS, which would find it at once: by the comparison of what was sent with what came."""
    meshes = Flipping.three(timeout=60)
    run_threads(everything, meshes=meshes)
    for number in range(meshes[party].count):
        meshes = Flipping.three(timeout=60)
        meshes[party].flip = (number, 1234567 * number + 3)
        with pytest.raises(MpcError):
            run_threads(everything, meshes=meshes)


def test_an_opened_value_that_its_two_holders_disagree_about_ends_the_run(three):
    def program(engine):
        x = shared(engine, np.arange(4))
        if engine.party == 2:
            x.parts[0, 1] += np.uint64(1)
        return engine.open(x)

    with pytest.raises(MpcError, match=r"disagree|left"):
        three(program)


def test_servers_that_are_asked_different_questions_stop(three):
    with pytest.raises(MpcError, match=r"not asked the same|left"):
        three(lambda e: e.agree(b"one" if e.party else b"another"))


def test_streams_that_are_out_of_step_are_found(three):
    def program(engine):
        if engine.party == 0:
            engine._streams.draw("random", 1)
        engine.agree(b"the same")

    with pytest.raises(MpcError, match=r"not asked the same|left"):
        three(program)


def test_a_server_that_leaves_or_stalls_ends_the_run():
    def leaves(engine):
        if engine.party == 1:
            raise MpcError("gone")
        return everything(engine)

    with pytest.raises(MpcError):
        run_threads(leaves)

    def stalls(engine):
        return None if engine.party == 1 else everything(engine)

    with pytest.raises(MpcError, match=r"in time|left"):
        run_threads(stalls, meshes=Queues.three(timeout=0.2))
