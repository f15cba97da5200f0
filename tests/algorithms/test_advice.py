"""Whoever fits one tree where boosting is better is told so, from public numbers alone."""

import numpy as np
import pytest

from privet import Numeric, PrivateForestClassifier, PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.algorithms.advice import boosting_instead
from privet.errors import BudgetWarning

FEATURES = {"x": Numeric(0, 1)}
SCHEMA = Schema(FEATURES, classes=["no", "yes"])


def test_boosting_is_named_from_where_it_pays_off():
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5)
    assert boosting_instead(model, 6_000) == boosting_instead(model, None) == ""
    said = boosting_instead(model, 8_000)
    assert said.startswith("With n * epsilon of about 4,000, PrivateForestClassifier is as a rule more accurate")
    regressor = PrivateTreeRegressor(Schema(FEATURES, target=(0, 1)), epsilon=0.5)
    assert "PrivateForestRegressor" in boosting_instead(regressor, 8_000)
    assert boosting_instead(PrivateForestClassifier(SCHEMA, epsilon=0.5), 8_000) == ""


def test_a_fit_knows_about_how_many_records_it_has_learned_from():
    X = np.random.default_rng(0).random((2_000, 1))
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    assert PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, y).n_records_ == pytest.approx(2_000, abs=1_000)
    assert PrivateTreeClassifier(SCHEMA, epsilon=1, n_records=2_000).fit(X, y, holdout=0.5).n_records_ == 1_000


def test_a_fit_counts_persons_where_they_are_the_unit():
    """Not their shares: 12 to 64 of them would hide that a model is mostly noise."""
    schema = Schema(FEATURES, classes=["no", "yes"], person="who", records_per_person=60)
    X, who = np.random.default_rng(0).random((2_000, 1)), np.arange(2_000) // 10
    model = PrivateTreeClassifier(schema, epsilon=10)
    with pytest.warns(BudgetWarning):  # of an epsilon of 10
        model.fit(X, np.where(X[:, 0] > 0.5, "yes", "no"), who)
    assert model.n_records_ == pytest.approx(200, abs=100)
    with pytest.warns(BudgetWarning, match="too small to learn much from"):
        # The same noise each time: with fresh noise the count is now and then too large for the warning.
        PrivateTreeClassifier(schema, epsilon=0.1, random_state=0).fit(X, np.where(X[:, 0] > 0.5, "yes", "no"), who)
