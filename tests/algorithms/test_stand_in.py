"""Tables that nobody is in."""

import numpy as np
import pytest

from privet import Categorical, Numeric, PrivateTreeClassifier, Schema
from privet.algorithms.stand_in import stand_in
from privet.tables.misfit import check_data

FEATURES = {
    "age": Numeric(18, 90, integer=True),
    "pay": Numeric(0, 1e6, log=True),
    "town": Categorical(["a", "b", "c"]),
    "mean": Numeric(0, 1, mean_of=["first", "second"]),
    "gap": Numeric(0, 1, missing=True),
}


@pytest.mark.parametrize(
    "schema",
    [
        Schema(FEATURES, classes=["no", "yes"]),
        Schema(FEATURES, classes=[1, 2, 3]),
        Schema(FEATURES, target=(-5, 5)),
        Schema(FEATURES, classes=["no", "yes"], person="who", records_per_person=3),
        Schema({"one": Categorical([True, False])}, classes=["only"]),
    ],
)
def test_a_stand_in_fits_its_schema_whatever_that_is(schema):
    X, y, ids = stand_in(schema, 500)
    assert set(X.column_names) == set(schema.columns)
    assert check_data(X, y, schema) == []
    assert (ids is None) == (schema.person is None)
    if schema.target is None:
        assert set(y.tolist()) == set(schema.classes)
    else:
        assert y.min() >= -5
        assert y.max() <= 5


def test_there_is_something_to_learn():
    """About nine in ten labels follow from features; a tree with hardly any noise finds well over the even half."""
    schema = Schema(FEATURES, classes=["no", "yes"])
    X, y, _ = stand_in(schema, 3000)
    assert PrivateTreeClassifier(schema, epsilon=50, max_depth=5).fit(X, y).score(X, y) > 0.65


def test_classes_are_as_common_as_is_said():
    """Nine in ten labels are exactly so by rank; one in ten is drawn: 20,000 records are within .02 of the share."""
    _, y, _ = stand_in(Schema(FEATURES, classes=["no", "yes"]), 20_000, class_shares=[0.88, 0.12])
    assert abs(np.mean(y == "no") - 0.88) < 0.02


def test_the_same_seed_draws_the_same():
    schema = Schema(FEATURES, classes=["no", "yes"])
    (X, y, _), (again, same, _) = stand_in(schema, 50, 1), stand_in(schema, 50, 1)
    assert X.equals(again)
    assert np.array_equal(y, same)
    assert stand_in(schema, 0)[0].num_rows == 0
