"""Numbers, texts and lists of a schema are exact copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privet.errors import SchemaError
from privet.schema_values import as_columns, as_groups, as_number, as_range, as_target, as_values, check_flags, kind_of


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.array(["a", "b"]), ("a", "b")),
        (pd.Series([1, 2]), (1, 2)),
        (np.array([1, 2], dtype=np.int8), (1, 2)),
        (np.array([0.5, 1.5], dtype=np.float32), (0.5, 1.5)),
        ([1, 0.5], (1.0, 0.5)),
        ([True, np.bool_(False)], (True, False)),
        (iter("ab"), ("a", "b")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_become_pythons_own(given, kept):
    copied = as_values(given, "values")
    assert copied == kept
    assert [type(value) for value in copied] == [type(value) for value in kept]


@pytest.mark.parametrize(
    "given", [[], "ab", {"a": 1}, None, [None], ["a", 1], ["a", "a"], [1, 1.0], [2**63], [float("nan")]]
)
def test_lists_that_are_no_categories_are_refused(given):
    with pytest.raises(SchemaError):
        as_values(given, "values")


@pytest.mark.parametrize("given", [True, "1", None, 1j, float("inf"), float("nan"), 10**400])
def test_what_is_no_finite_number_is_refused(given):
    with pytest.raises(SchemaError):
        as_number(given, "low")


def test_a_negative_zero_is_zero():
    assert str(as_number(-0.0, "low")) == "0.0"


def test_a_range_goes_up_and_is_finite():
    assert as_range(np.float32(1), 2) == (1.0, 2.0)
    for low, high in ((2, 1), (-1.7e308, 1.7e308)):
        with pytest.raises(SchemaError):
            as_range(low, high)
    with pytest.raises(SchemaError, match="target: low"):
        as_target((2, 1))


def test_groups_hold_every_value_once():
    assert as_groups([[1.0], [2, 3]], (1, 2, 3)) == ((1,), (2, 3))
    for groups in ([["1"], [2, 3]], [[1], [2]], [[1, 2, 3, 4]]):
        with pytest.raises(SchemaError):
            as_groups(groups, (1, 2, 3))


@pytest.mark.parametrize("names", ["ab", [""], ["a", "a"], [1], None])
def test_columns_are_names_each_once(names):
    with pytest.raises(SchemaError):
        as_columns(names)


def test_flags_are_true_or_false():
    check_flags(a=True, b=False)
    for flag in (1, None, "yes", np.bool_(True)):
        with pytest.raises(SchemaError, match="log must be true or false"):
            check_flags(log=flag)


def test_the_kind_of_values():
    assert [kind_of(values) for values in (("a",), (True,), (1,), (0.5,))] == ["text", "booleans", "numbers", "numbers"]
