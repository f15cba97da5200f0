"""JSON that different readers would read differently is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.strict_json import loads_strict

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(plain)
def test_what_was_written_is_read(value):
    assert loads_strict(json.dumps(value)) == value


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]', '{"a": 1, "\\u0061": 2}'])
def test_a_key_that_is_there_twice_is_refused(text):
    with pytest.raises(ValueError, match="twice"):
        loads_strict(text)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[-1e400]"])
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(ValueError, match="number"):
        loads_strict(text)
