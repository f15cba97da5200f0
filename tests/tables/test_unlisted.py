"""Whoever predicts rows with unlisted categories that look like a mistake is told, in counts."""

import warnings

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, DataWarning, Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema

SCHEMA = Schema({"age": Numeric(0, 9), "sex": Categorical(["male", "female"])}, classes=["no", "yes"])


@pytest.fixture(scope="module", params=["tree", "boosting"])
def model(request):
    data = rows(["male", "female"] * 100)
    y = np.where(data["sex"] == "male", "no", "yes")
    if request.param == "tree":
        return PrivateTreeClassifier(SCHEMA, epsilon=5, leaves="counts").fit(data, y)
    return PrivateForestClassifier(SCHEMA, epsilon=5, method="boosting", progress=False).fit(data, y)


def rows(sex, times=1):
    return pd.DataFrame({"age": np.arange(len(sex) * times) % 10, "sex": sex * times})


def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(own.message) for own in caught if own.category is DataWarning]


@pytest.mark.parametrize("times", [1, 10_000])  # the second by the compiled loops
def test_a_listed_value_in_capitals_or_with_spaces_is_counted(model, times):
    data = rows(["male", "Male", " female "], times)
    for call in (model.predict, model.predict_proba):
        (said,) = told(lambda call=call: call(data))
        assert said.startswith(f"column 'sex': {2 * times:,} of {3 * times:,} values count as 'any other value'")
        assert "Male" not in said


def test_a_column_without_any_listed_value_is_told(model):
    (said,) = told(lambda: model.predict(rows(["1", "2"])))
    assert said == "column 'sex': no value is listed in the schema (2 in all), and each counts as 'any other value'."


def test_rare_and_missing_values_are_what_other_is_for(model):
    for sex in (["male", "unknown"], ["male", None], [None, None], ["female", "male"]):
        assert told(lambda sex=sex: model.predict(rows(sex))) == []
