"""Choosing epsilon on records that are public, or that nobody is in."""

import numpy as np
import pyarrow as pa
import pytest

from privet import Ledger, Numeric, PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.algorithms.choosing import _found, as_text, scores_by_epsilon
from privet.errors import PrivetError

SCHEMA = Schema({"a": Numeric(0, 1), "b": Numeric(0, 10)}, classes=["no", "yes"])


def test_accuracy_rises_with_epsilon_and_so_does_what_a_guess_gains():
    with Ledger(1) as ledger:
        low, high = scores_by_epsilon(PrivateTreeClassifier(SCHEMA), 2000, (0.001, 10), runs=3)
    assert ledger.spent == 0
    assert high.score > low.score
    assert high.score > 0.7
    assert (round(low.guess, 3), round(high.guess, 3)) == (0.5, 1.0)
    assert as_text([low, high], "accuracy").count("\n") == 3


def test_public_records_are_parted_into_learned_from_and_scored_on():
    rng = np.random.default_rng(0)
    a = rng.random(3000)
    X, y = pa.table({"a": a, "b": 10 * rng.random(3000)}), pa.array(np.where(a > 0.5, "yes", "no"))
    (point,) = scores_by_epsilon(PrivateTreeClassifier(SCHEMA), 2000, (10,), public=(X, y), runs=2)
    assert point.score > 0.9
    with pytest.raises(PrivetError, match="too few public records"):
        scores_by_epsilon(PrivateTreeClassifier(SCHEMA), 2900, (10,), public=(X, y))


def test_rare_classes_show_in_how_much_of_each_class_is_found():
    model = PrivateTreeClassifier(SCHEMA)
    (point,) = scores_by_epsilon(model, 500, (1e-6,), class_shares=[0.98, 0.02], runs=1)
    assert point.balanced == pytest.approx(0.5, abs=0.2)  # nothing is learned: one class for all, or a split by chance
    assert point.blind > 0.9
    for shares in ([0.5, 0.6], [1.0], [1.0, 0.0], [float("nan"), float("nan")]):
        with pytest.raises(PrivetError, match="add up to 1"):
            scores_by_epsilon(model, 500, (1,), class_shares=shares)


def test_a_class_that_nobody_is_there_to_score_on_is_no_class_that_was_missed():
    truth, said = np.array(["a", "a", "b", "b"]), np.array(["a", "c", "b", "b"])
    assert _found(truth, said) == 0.75


def test_numbers_have_a_score_too():
    model = PrivateTreeRegressor(Schema(SCHEMA.features, target=(0, 1)))
    (point,) = scores_by_epsilon(model, 2000, (10,), runs=1)
    assert 0 < point.score <= 1
    assert point.error == 0


def test_a_schema_is_needed():
    with pytest.raises(PrivetError, match="with a schema"):
        scores_by_epsilon(PrivateTreeClassifier(), 100)
