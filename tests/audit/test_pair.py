"""Neighbours are checked: one record more or less, whatever the order, and nothing else."""

import numpy as np
import pandas
import polars
import pytest

from privet import Categorical, Numeric, Schema
from privet.audit import Pair
from privet.errors import PrivetError

SCHEMA = Schema({"a": Numeric(0, 9, missing=True), "b": Categorical(["u", "v"])}, classes=["n", "y"])


def frame(*rows):
    return pandas.DataFrame(list(rows), columns=["a", "b"])


def test_one_record_more_is_a_neighbour():
    pair = Pair(([[1.0]], [0]), ([[1.0], [2.0]], [0, 1]))
    assert (pair.larger, pair.record, pair.sizes) == ("other", (2.0, 1), (1, 2))


def test_the_order_of_rows_does_not_count():
    Pair(([[1], [2], [3]], [0, 1, 0]), ([[3], [1]], [0, 0]))


def test_a_table_may_be_empty():
    Pair((np.empty((0, 2)), []), (np.ones((1, 2)), [1]))


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (([[1]], [0]), ([[1]], [0]), "equal"),
        (([[1]], [0]), ([[2]], [0]), "twice the epsilon"),
        (([[1]], [0]), ([[1]], [1]), "twice the epsilon"),
        (([[1]], [0]), ([[1], [1], [1]], [0, 0, 0]), "not neighbours"),
        (([[1]], [0]), ([[1], [1]], [0]), "2 rows and 1 labels"),
    ],
)
def test_other_tables_are_no_neighbours(one, other, words):
    with pytest.raises(PrivetError, match=words):
        Pair(one, other)


def test_frames_of_different_libraries_and_column_orders_compare():
    one = frame((1.0, "u"), (None, "v"))
    other = polars.DataFrame({"b": ["v"], "a": [None], "more": [3]}, schema_overrides={"a": polars.Float64})
    assert Pair((one, ["n", "y"]), (other, ["y"]), SCHEMA).record == (1.0, "u", "n")


def test_missing_values_are_equal_to_each_other():
    Pair((frame((float("nan"), "u")), ["n"]), (frame((None, "u"), (None, "u")), ["n", "n"]), SCHEMA)


def test_columns_with_other_names_are_no_neighbours():
    with pytest.raises(PrivetError, match="names"):
        Pair((frame((1.0, "u")), ["n"]), (pandas.DataFrame({"c": [1], "b": ["u"]}), ["n"]))


def test_a_column_that_only_one_table_has_makes_no_neighbours():
    more = pandas.DataFrame({"a": [1.0, 1.0], "b": ["u", "u"], "more": [3, 4]})
    for tables in (((frame((1.0, "u")), ["n"]), (more, ["n", "n"])), ((more, ["n", "n"]), (frame((1.0, "u")), ["n"]))):
        with pytest.raises(PrivetError, match="names"):
            Pair(*tables)


def test_with_a_schema_only_its_columns_are_passed_on():
    more = pandas.DataFrame({"more": [3, 4], "b": ["u", "u"], "a": [1.0, 1.0]})
    pair = Pair((more, ["n", "n"]), (frame((1.0, "u")), ["n"]), SCHEMA)
    assert list(pair.one[0].columns) == list(pair.other[0].columns) == ["a", "b"]


def test_arrays_of_different_widths_are_no_neighbours():
    with pytest.raises(PrivetError, match="columns"):
        Pair((np.empty((0, 3)), []), (np.ones((1, 2)), [1]))


def test_an_empty_table_keeps_its_width_after_json():
    pair = Pair((np.empty((0, 2)), []), (np.ones((1, 2)), [1]))
    assert Pair.from_json(pair.to_json()).one[0].shape == (0, 2)


def test_an_inferred_schema_is_refused():
    with pytest.raises(PrivetError, match="infer"):
        Pair(([[1]], [0]), ([[1], [2]], [0, 0]), schema="infer")


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_a_pair_is_the_same_after_json(schema):
    pair = Pair((frame((1.0, "u"), (None, None)), ["n", "y"]), (frame((1.0, "u")), ["n"]), schema)
    again = Pair.from_json(pair.to_json())
    assert again.records("one") == pair.records("one")
    assert again.records("other") == pair.records("other")
    assert again.schema == pair.schema


def test_a_pair_of_arrays_is_the_same_after_its_code_ran():
    pair = Pair((np.array([[1.5], [2.0]]), [0, 1]), (np.array([[1.5]]), [0]))
    scope = {}
    exec(pair.code(), scope)
    assert scope["pair"].to_dict() == pair.to_dict()


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(PrivetError, match="compared"):
        Pair(([[object()]], [0]), ([[1], [2]], [0, 0]))


PEOPLE = Schema({"a": Numeric(0, 9)}, classes=["n", "y"], person="who", records_per_person=2)


def of_people(*rows):
    return pandas.DataFrame(rows, columns=["a", "who"]), ["n"] * len(rows)


def test_with_a_person_in_the_schema_neighbours_differ_by_a_person():
    pair = Pair(of_people((1, "x"), (2, "z"), (2, "z")), of_people((1, "x")), PEOPLE)
    assert (pair.larger, pair.record, pair.sizes) == ("one", (2, "z", "n"), (3, 1))
    assert Pair.from_json(pair.to_json()).records("one") == pair.records("one")


@pytest.mark.parametrize(
    "larger",
    [
        [(1, "x")],  # nobody
        [(1, "x"), (2, "z"), (3, "w")],  # two persons
        [(1, "x"), (2, "x")],  # a record of somebody who was there
        [(2, "z")],  # one for another
    ],
    ids=str,
)
def test_other_differences_are_no_neighbours_of_persons(larger):
    with pytest.raises(PrivetError, match="differ by one person"):
        Pair(of_people((1, "x")), of_people(*larger), PEOPLE)


def test_arrays_have_no_persons():
    with pytest.raises(PrivetError, match="data frames"):
        Pair(([[1.0]], ["n"]), ([[1.0], [2.0]], ["n", "n"]), PEOPLE)
