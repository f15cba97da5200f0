"""JSON that different readers would read differently is refused."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.strict_json import as_list, as_number, as_text, as_whole, loads_strict, object_of, only

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
    with pytest.raises(KeyError, match="no object"):
        object_of(text, KeyError("no object"))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[-1e400]"])
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(ValueError, match="number"):
        loads_strict(text)


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (as_text, ["", "a", "\U0001f333"], [1, None, ["a"], "\ud800", "a\udfff"]),
        (as_list, [[], [1]], [(), "ab", {}, None]),
        (as_whole, [0, -3, 2**63 - 1], [True, 1.0, "1", 2**63, -(2**63), None]),
        (as_number, [0, 1.5, -2], [True, "1", math.inf, math.nan, None]),
    ],
)
def test_a_value_of_another_kind_is_refused(read, good, bad):
    assert [read(value) for value in good] == good
    for value in bad:
        with pytest.raises(TypeError, match="expected"):
            read(value)


def test_a_key_that_nothing_reads_is_refused():
    only({"a": 1}, ("a", "b"))
    for data in ({"a": 1, "c": 2}, None, ["a"], "a"):
        with pytest.raises(TypeError, match="known keys"):
            only(data, ("a", "b"))
