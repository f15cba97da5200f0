"""Messages come back as they were sent; bytes that are no message are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.consortium.federated.wire import numbers_of, pack, unpack
from privet.errors import FederatedError


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()), st.binary())
def test_a_message_comes_back_as_it_was_sent(words, numbers):
    assert unpack(pack(words, numbers)) == (words, numbers)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(message):
    try:
        words, _ = unpack(message)
    except FederatedError:
        return
    assert isinstance(words, dict)


def test_numbers_of_another_length_are_refused():
    assert numbers_of(b"\1" + bytes(7), 1).tolist() == [1]
    with pytest.raises(FederatedError, match="bytes"):
        numbers_of(bytes(9), 1)
