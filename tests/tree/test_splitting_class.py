"""Splitting classes are public lists of binary questions, made from the schema alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema, SplittingClass
from privet.errors import SchemaError
from privet.tree.splitting_class import evenly_spaced

SCHEMA = Schema(
    {
        "age": Numeric(0, 100),
        "flag": Numeric(0, 1, integer=True),
        "gap": Numeric(0, 10, missing=True),
        "town": Categorical(["a", "b", "c"]),
        "sex": Categorical(["f", "m"], other=False),
        "one": Categorical(["x"], other=False),
    },
    classes=[0, 1],
)


def questions(splits):
    """Which values go left, by feature."""
    found = {}
    for i in range(len(splits)):
        f = int(splits.feature[i])
        found.setdefault(splits.grid.features[f].name, []).append(splits.left_cells(i).tolist())
    return found


def test_thresholds_are_evenly_spaced_and_categories_one_hot():
    splits = SplittingClass(3).functions(SCHEMA)
    found = questions(splits)
    assert splits.grid.features[0].cuts.tolist() == pytest.approx([100 / 6, 50, 500 / 6])
    assert len(found["age"]) == 3
    assert found["flag"] == [[True, False]]  # of whole numbers, thresholds that part the same are one
    assert found["gap"][-1] == [False, False, False, False, True]  # is it missing?
    assert len(found["gap"]) == 4
    assert found["town"] == [[i == j for j in range(4)] for i in range(3)]  # unlisted values: in none
    assert found["sex"] == [[True, False]]  # of two values one question is enough
    assert "one" not in found
    assert not splits.log_prior.any()


def test_the_papers_thresholds_of_a_pixel():
    assert evenly_spaced(Numeric(0, 255), 3).tolist() == [42.5, 127.5, 212.5]


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.integers(0, 200), st.sampled_from(["plain", "integer", "log"]))
def test_thresholds_lie_inside_the_range_and_increase(low, width, n, kind):
    if kind == "integer":
        low, width = round(low), round(width)
    feature = Numeric(
        abs(low) if kind == "log" else low,
        (abs(low) if kind == "log" else low) + width,
        integer=kind == "integer",
        log=kind == "log",
    )
    cuts = evenly_spaced(feature, n)
    assert len(cuts) <= n
    assert ((cuts >= feature.low) & (cuts < feature.high)).all()
    assert (np.diff(cuts) > 0).all()
    if kind == "integer":
        assert (cuts == np.floor(cuts)).all()
        if n >= width > 0:
            assert len(cuts) == width


def test_a_log_feature_has_equal_ratios():
    cuts = evenly_spaced(Numeric(1, 10_000, log=True), 4)
    assert np.diff(np.log10(cuts)).tolist() == pytest.approx([1, 1, 1])


def test_features_may_have_questions_of_their_own():
    own = SplittingClass(2, of={"age": [18, 65.5], "gap": 0, "town": [["a", "b"], ["c"]], "sex": []})
    found = questions(own.functions(SCHEMA))
    assert own.functions(SCHEMA).grid.features[0].cuts.tolist() == [18, 65.5]
    assert len(found["gap"]) == 1  # only whether it is missing
    assert found["town"] == [[True, True, False, False], [False, False, True, False]]
    assert "sex" not in found


@pytest.mark.parametrize(
    ("thresholds", "of", "message"),
    [
        (-1, None, "whole number"),
        (2.5, None, "whole number"),
        (10**6, None, "whole number"),
        (3, [1], "table"),
        (3, {"height": 3}, "'height'"),
        (3, {"age": "18"}, "'age'"),
        (3, {"age": [18, "x"]}, "'age'"),
        (3, {"age": [-5]}, "outside its range"),
        (3, {"age": [100]}, "outside its range"),
        (3, {"age": -3}, "'age'"),
        (3, {"town": 3}, "groups"),
        (3, {"town": ["a"]}, "groups"),
        (3, {"town": [["z"]]}, "does not list"),
    ],
)
def test_a_wrong_splitting_class_says_what_to_mend(thresholds, of, message):
    with pytest.raises(SchemaError, match=message):
        SplittingClass(thresholds, of).functions(SCHEMA)


def test_plain_data_give_it_back():
    own = SplittingClass(4, of={"age": np.array([18.0, 65.0]), "gap": 7, "town": [("a",)]})
    again = SplittingClass.from_dict(own.to_dict())
    assert again == own != SplittingClass(4)
    assert questions(again.functions(SCHEMA)) == questions(own.functions(SCHEMA))
    with pytest.raises(SchemaError):
        SplittingClass.from_dict({"threshold": 3})
