"""Final classes have no subclasses, and exact copies do not ask what they copy."""

from __future__ import annotations

import numpy as np
import pytest

from privet.values import exact_int, exact_str, final


def lying(kind, truth):
    """An instance of a subclass whose every conversion gives something else."""
    lie = kind() if kind is not str else "lie"
    methods = {name: lambda self: lie for name in ("__int__", "__index__", "__float__", "__str__", "__repr__")}
    return type("Liar", (kind,), methods)(truth)


@pytest.mark.parametrize(
    ("copy", "value"), [(exact_int, 7), (exact_int, -(2**70)), (exact_str, "text"), (exact_str, "")]
)
def test_a_copy_is_what_the_value_is_and_not_what_it_says(copy, value):
    copied = copy(lying(type(value), value))
    assert type(copied) is type(value)
    assert copied == value


def test_numbers_of_numpy_become_pythons():
    assert type(exact_int(np.int8(3))) is int


@pytest.mark.parametrize(("copy", "value"), [(exact_int, 1.0), (exact_int, "1"), (exact_str, b"a")])
def test_another_type_is_no_value(copy, value):
    with pytest.raises(TypeError):
        copy(value)


def test_a_final_class_has_no_subclass():
    @final
    class Word:
        pass

    with pytest.raises(TypeError, match="Word is final"):
        type("Spy", (Word,), {})
