from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet.errors import SchemaError
from privet.tables.column import (
    attempt,
    code_dtype,
    encode,
    has_missing,
    kind_of_column,
    numbers,
    open_column,
)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (np.array([1, 2]), "numbers"),
        (np.array([1.5, np.nan], np.float16), "numbers"),
        (np.array([1.5], np.longdouble), "numbers"),
        (np.array([True]), "booleans"),
        (np.array(["a"]), "text"),
        (np.array(["a", None], dtype=object), "text"),
        (np.array([np.nan]), "nothing"),
        (np.array([]), "nothing"),
        ([None, None], "nothing"),
        (["a", "b"], "text"),
        ((1, 2.5), "numbers"),
        (pd.Series(["a"]), "text"),
        (pd.Series([1, None], dtype="Int8"), "numbers"),
        (pd.Series(["a"], dtype="category"), "text"),
        (pd.Series([1, 2], dtype="category"), "numbers"),
        (pl.Series([True, None]), "booleans"),
        (pa.array([Decimal("1.5")]), "numbers"),
    ],
)
def test_a_column_knows_what_it_holds(data, kind):
    assert kind_of_column(open_column(data, "c"), "c") == kind


@pytest.mark.parametrize(
    "data", [np.zeros((2, 2)), "text", np.array(3), np.array(["2020"], "M8[Y]"), pl.Series([[1]]), ["a", 1]]
)
def test_what_is_no_column_is_refused(data):
    with pytest.raises(SchemaError, match="the label"):
        kind_of_column(open_column(data, "the label"), "the label")


def test_lists_keep_text_and_numbers_apart():
    column = open_column(["1", 1], "c")
    assert column.tolist() == ["1", 1]


@pytest.mark.parametrize("n_categories", [2, 24, 25, 255, 256, 65_535])
def test_every_category_and_the_unlisted_get_their_own_code(n_categories):
    for values in (tuple(range(n_categories)), tuple(map(str, range(n_categories)))):
        column = open_column([*reversed(values), type(values[0])(n_categories)], "c")
        codes = encode(column, values, "c")
        assert codes.dtype == code_dtype(values) == (np.uint8 if n_categories < 256 else np.uint16)
        assert codes.tolist() == [*reversed(range(n_categories)), n_categories]


def test_unused_entries_of_a_dictionary_do_not_matter():
    column = pa.DictionaryArray.from_arrays([0, None, 0], ["a", "unlisted"])
    assert encode(column, ("a",), "c").tolist() == [0, 1, 0]
    chunks = pa.chunked_array([column, pa.DictionaryArray.from_arrays([1, 0], ["b", "a"])])
    assert encode(chunks, ("a", "b"), "c").tolist() == [0, 2, 0, 0, 1]


def test_missing_values_are_seen_in_every_guise():
    for data in (
        [1, None],
        [np.nan],
        ["a", None],
        pd.Series(["a", pd.NA]),
        pl.Series([1, None]),
        [1, "a", pd.NA],
    ):
        assert has_missing(open_column(data, "c"))
    for data in ([1, 2], [1.5], ["a"], [1, "a"], pl.Series(["a"])):
        assert not has_missing(open_column(data, "c"))


def test_integers_too_large_for_a_float_are_rounded():
    assert numbers(open_column(pa.array([2**53 + 1]), "c"), "c").tolist() == [2.0**53]


def test_a_failed_attempt_leaves_nothing_to_chain():
    assert attempt(float, "s3cr3t") is None
    with pytest.raises(SchemaError) as caught:
        numbers(open_column(["1", "s3cr3t"], "c"), "c")
    assert caught.value.__context__ is None
