"""Evaluations as plain data."""

from dataclasses import replace

import numpy as np
import pytest

from privet import Numeric, PrivateForestClassifier, PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.algorithms.stand_in import stand_in
from privet.report.score_facts import roc, score_facts

FEATURES = {"a": Numeric(0, 1), "b": Numeric(0, 1)}


def evaluated(model, **options):
    """With the same noise each time: how near two areas under noisy counts are depends on it."""
    X, y, _ = stand_in(model.schema, 3000)
    return model.set_params(random_state=0).fit(X, y, holdout=0.3, **options).evaluation_


def test_two_classes_have_calibration_and_a_curve_that_rises():
    schema = Schema(FEATURES, classes=["no", "yes"])
    found = evaluated(PrivateForestClassifier(schema, epsilon=3, method="boosting"), by={"a": [0.5]})
    facts = score_facts(found)
    curve = np.array(roc(found))
    assert (np.diff(curve[:, :2], axis=0) >= 0).all()
    assert curve[0, :2].tolist() == [0, 0]
    assert curve[-1, :2].tolist() == [1, 1]
    area = float(np.sum(np.diff(curve[:, 0]) * (curve[1:, 1] + curve[:-1, 1]) / 2))  # NumPy 1.26 has no trapezoid
    assert area == pytest.approx(found.auc.value, abs=0.03)
    assert facts["of"] == "yes"
    assert len(facts["groups"]) == 2
    assert all(low <= value <= high for _, value, low, high, _ in facts["calibration"] if value is not None)
    common, value, low, high = facts["common"]
    assert common in ("no", "yes")
    assert low < value < high


def test_shares_and_sizes_are_rounded_as_the_answers_say_them():
    found = evaluated(PrivateTreeClassifier(Schema(FEATURES, classes=["no", "yes"]), epsilon=3))
    facts = score_facts(found)
    shown = found.accuracy.outward(3)
    assert facts["summary"][0] == ["accuracy", shown.value, shown.low, shown.high]
    assert facts["n"] == [found.size.value, found.size.low, found.size.high]
    assert all(number == round(number, 3) for row in facts["recall"] for number in row[1:] if number is not None)


def test_what_noise_hides_has_no_numbers_to_draw():
    schema = Schema(FEATURES, classes=["no", "yes"])
    found = replace(evaluated(PrivateTreeClassifier(schema, epsilon=3), by={"a": [0.5]}), variance=1e7)
    facts = score_facts(found)
    assert all(row[2:] == [None, None, None] for row in facts["groups"])
    assert all(row[1:] == [None, None, None] for row in facts["recall"])


def test_labels_alone_have_neither():
    facts = score_facts(evaluated(PrivateTreeClassifier(Schema(FEATURES, classes=["no", "yes"]), epsilon=3)))
    assert facts["calibration"] == facts["roc"] == []
    assert [name for name, *_ in facts["recall"]] == ["no", "yes"]


def test_numbers_have_errors():
    found = evaluated(PrivateTreeRegressor(Schema(FEATURES, target=(0, 1)), epsilon=3))
    facts = score_facts(found)
    assert sum(n for _, _, n in facts["errors"]) == pytest.approx(found.n, rel=0.01)
    assert facts["errors"][0][0] == facts["errors"][0][1]  # the outermost bins hold what is beyond the range
