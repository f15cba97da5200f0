"""A lemma's name is read in one place, and back and forth it is the same."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.privacy.lemmas import Lemma


@given(st.from_regex("[a-z_]{1,40}", fullmatch=True), st.lists(st.integers(0, 10**18 - 1), max_size=2))
def test_a_name_is_read_as_it_was_written(name, numbers):
    lemma = Lemma(name, tuple(numbers))
    assert Lemma.parse(str(lemma)) == lemma


@given(st.text())
def test_a_text_that_is_read_is_written_the_same_again(text):
    with contextlib.suppress(ValueError):
        assert str(Lemma.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "a()", "a(1/2/3)", "a(01)", "a(-1)", "a(1", "a(\u0663)", "a\n", "a(1)b", "A", "a" * 41]
)
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match="lemma"):
        Lemma.parse(text)
