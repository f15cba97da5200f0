"""DiffPID3: attributes and thresholds by the exponential mechanism."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Numeric, Schema
from privet.algorithms.baselines import DiffPID3Classifier
from privet.privacy.scores import CorrectCount, Entropy, Gini

SCHEMA = Schema(
    {
        "letter": Categorical(["x", "y", "z"], other=False),
        "noise": Categorical(["u", "v"], other=False),
        "number": Numeric(0, 100),
    },
    classes=["no", "yes"],
)


def people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"letter": rng.choice(["x", "y", "z"], n), "noise": rng.choice(["u", "v"], n), "number": rng.uniform(0, 100, n)}
    )
    return X, np.where((X["letter"] == "y") ^ (X["number"] > 40), "yes", "no")


X, Y = people()


@pytest.mark.parametrize("criterion", ["max", "gini", "entropy"])
def test_diffpid3_takes_the_best_attribute_by_each_criterion(criterion):
    y = np.where(X["number"] > 40, "yes", "no")
    model = DiffPID3Classifier(SCHEMA, epsilon=1000, max_depth=1, criterion=criterion).fit(X, y)
    rule = model.tree_.nodes[0].rule
    assert rule.feature == 2
    assert rule.cuts[0] == pytest.approx(40, abs=0.4)


@pytest.mark.parametrize(
    ("criterion", "score"), [("max", CorrectCount()), ("gini", Gini()), ("entropy", Entropy(100_000))]
)
def test_a_choice_is_charged_by_the_sensitivity_of_its_criterion(criterion, score):
    model = DiffPID3Classifier(SCHEMA, epsilon=100, max_depth=1, criterion=criterion).fit(X, Y)
    choices = [event for event in model.privacy_.events if event.mechanism == "exponential"]
    assert {(event.lemma, event.sensitivity) for event in choices} == {(score.lemma, score.sensitivity)}


def test_a_smaller_bound_on_the_records_makes_the_entropy_sharper():
    few, many = (
        DiffPID3Classifier(SCHEMA, epsilon=100, max_depth=1, criterion="entropy", max_records=n).fit(X, Y).privacy_
        for n in (3000, 10**6)
    )
    assert max(event.sensitivity for event in few.events) < max(event.sensitivity for event in many.events)


def test_every_numeric_feature_makes_a_level_dearer_by_one_query():
    """With a threshold of its own for each; bins cost nothing extra."""
    for numeric, queries in (("thresholds", 5), ("bins", 4)):
        model = DiffPID3Classifier(SCHEMA, epsilon=100, max_depth=1, numeric=numeric).fit(X, Y)
        assert {event.charged for event in model.privacy_.events} == {Fraction(100, queries)}
