"""A fresh stream for every use."""

import pytest

from privet.errors import MpcError
from privet.shares.streams import MOST_BYTES, PURPOSES, Streams, fresh_key


def test_two_servers_read_the_same_stream_of_their_common_key_and_no_stream_is_read_twice():
    a, b, c = fresh_key(), fresh_key(), fresh_key()
    one, two = Streams(a, b), Streams(b, c)
    seen = set()
    for purpose in [*PURPOSES, *PURPOSES]:
        own, next = one.draw(purpose, 32)
        assert (next == two.draw(purpose, 32)[0]).all()
        seen |= {own.tobytes(), next.tobytes()}
    assert len(seen) == 4 * len(PURPOSES)


def test_the_purpose_is_part_of_the_nonce():
    key = fresh_key()
    first, second = (Streams(key, key).draw(purpose, 32)[0].tobytes() for purpose in ("zero", "input"))
    assert first != second


def test_a_longer_stream_begins_like_a_shorter_one_and_none_is_longer_than_its_counter():
    key = fresh_key()
    short, long = (Streams(key, key).draw("zero", n)[0] for n in (10, 1000))
    assert (long[:10] == short).all()
    with pytest.raises(MpcError):
        Streams(key, key).draw("zero", MOST_BYTES + 1)
