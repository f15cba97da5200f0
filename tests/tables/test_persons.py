"""Whose record is whose is read from a column or from groups, and never guessed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet.errors import SchemaError
from privet.schema import Numeric, Schema
from privet.tables.persons import read_persons

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=[0, 1], person="id")
IDS = ["b", "a", "b", "c", "a"]


def frame(ids, kind=pd.DataFrame):
    return kind({"x": np.zeros(len(ids)), "id": ids})


def same(persons, ids):
    """Whether two lists say the same of who is whom, and the numbers are those from 0 on."""
    return len(set(zip(persons.tolist(), ids))) == len(set(ids)) == len(set(persons.tolist())) and sorted(
        set(persons.tolist())
    ) == list(range(len(set(ids))))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda columns: pa.table(columns)])
@pytest.mark.parametrize("ids", [IDS, [10, 3, 10, 2**60, 3], [4.0, 0.0, 4.0, 2.0**53 - 1, -0.0]])
def test_persons_are_numbered_whatever_the_table(kind, ids):
    assert same(read_persons(frame(ids, kind), None, SCHEMA), ids)


@pytest.mark.parametrize("ids", [IDS, [7, 3, 7, 9, 3], [7.0, -0.0, 7.0, 9.0, 0.0]])
def test_persons_are_numbered_as_they_come_up_so_that_a_seed_draws_the_same_wherever_records_live(ids):
    for kind in (pd.DataFrame, pl.DataFrame, lambda columns: pa.table(columns)):
        assert read_persons(frame(ids, kind), None, SCHEMA).tolist() == [0, 1, 0, 2, 1]


def test_categories_that_do_not_occur_are_nobody():
    ids = pd.Categorical(IDS, categories=["z", "c", "b", "a"])
    assert same(read_persons(frame(ids), None, SCHEMA), IDS)


@pytest.mark.parametrize("groups", [IDS, np.array(IDS), np.array(IDS, dtype=object), pd.Series(IDS), pl.Series(IDS)])
def test_an_array_has_its_persons_in_groups(groups):
    assert same(read_persons(np.zeros((5, 1)), groups, SCHEMA), IDS)


def test_no_records_have_no_persons():
    assert read_persons(frame([]), None, SCHEMA).tolist() == []
    assert read_persons(frame(IDS), None, Schema({"x": Numeric(0, 1)}, classes=[0, 1])) is None


@pytest.mark.parametrize(
    "ids",
    [
        ["a", None, "b"],
        [1.0, float("nan"), 2.0],
        ["a", "", "b"],
        ["a", " \t", "b"],
        ["a", "\xa0\u2007\u3000", "b"],
        ["a", "\u200b\ufeff", "b"],
        pd.Categorical(["a", " ", "b"]),
        pl.Series(["a", "", "b"], dtype=pl.Categorical),
        pa.array(["a", "", "b"], pa.string_view()),
        pd.array([1, None, 2], dtype="Int64"),
    ],
    ids=str,
)
def test_a_missing_id_is_an_error(ids):
    with pytest.raises(SchemaError, match="'id' has missing or blank ids"):
        read_persons(frame(ids), None, SCHEMA)


@pytest.mark.parametrize(
    "ids",
    [
        [1.5, 2.0],
        [0.0, 2.0**53],
        [-(2.0**53), 1.0],
        [float("inf"), 1.0],
        np.array([2**24, 1], dtype=np.float32),
        pd.array([2.0**53, None, 1.0], dtype="Float64")[[0, 2]],
        pd.Categorical([0.5, 1.0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("inside", [True, False])
def test_floats_that_several_ids_may_have_become_are_refused(ids, inside):
    """Beyond 2^53 whole numbers round to each other before we see them; no value is quoted."""
    X, groups = (frame(ids), None) if inside else (np.zeros((2, 1)), pd.Series(ids))
    with pytest.raises(SchemaError, match="'id' has fractions or numbers too large") as refused:
        read_persons(X, groups, SCHEMA)
    assert not {"9007", "167", "0.5", "1.5"} & {word[:4] for word in str(refused.value).split()}


@pytest.mark.parametrize(
    ("X", "groups", "message"),
    [
        (np.zeros((5, 1)), None, "fit(X, y, groups=ids)"),
        (pd.DataFrame({"x": [0.0], "ID": [1]}), None, "no column 'id'"),
        (frame(IDS), IDS, "already"),
        (np.zeros((5, 1)), np.zeros((5, 2)), "one column"),
        (np.zeros((2, 1)), [1, "a"], "mixes types"),
    ],
    ids=str,
)
def test_what_cannot_be_told_is_refused(X, groups, message):
    with pytest.raises(SchemaError) as refused:
        read_persons(X, groups, SCHEMA)
    assert message in str(refused.value)


def test_groups_without_a_person_in_the_schema_are_refused():
    with pytest.raises(SchemaError, match="no person"):
        read_persons(np.zeros((5, 1)), IDS, Schema({"x": Numeric(0, 1)}, classes=[0, 1]))
