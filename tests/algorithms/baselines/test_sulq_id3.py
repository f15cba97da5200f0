"""SuLQ-ID3: attributes by noisy counts alone, all of them asked for together."""

from fractions import Fraction

import numpy as np
import pandas as pd

from listening import Recording
from privet import Categorical, Ledger, Numeric, Schema
from privet.algorithms.baselines import SuLQID3Classifier

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


def test_sulq_takes_the_attribute_with_the_largest_gain():
    y = np.where(X["letter"] == "y", "yes", "no")
    assert SuLQID3Classifier(SCHEMA, epsilon=1000, max_depth=1).fit(X, y).tree_.nodes[0].rule.feature == 0


def test_a_level_asks_for_tables_of_all_attributes_that_still_part_something():
    """One query pays for all tables: its sensitivity is their number, which falls as attributes are used up."""
    model = SuLQID3Classifier(SCHEMA, epsilon=1000, max_depth=2).fit(X, Y)
    tables = [event for event in model.privacy_.events if event.sensitivity > 1]
    assert {event.sensitivity for event in tables} == {3, 2}
    assert {event.charged for event in model.privacy_.events} == {Fraction(1000, 6)}


def test_nothing_but_sums_is_asked_for():
    curator = Recording(X, Y, SCHEMA, ledger=Ledger(1000))
    SuLQID3Classifier(epsilon=10, max_depth=2).fit_curator(curator)
    assert curator.asked == {"tally"}


def test_a_table_without_records_has_no_entropy_and_the_first_attribute_is_taken():
    """Only noise: whatever is chosen, the tree has counts and the receipt adds up."""
    model = SuLQID3Classifier(SCHEMA, epsilon=0.1, max_depth=1).fit(X.iloc[:0], Y[:0])
    assert model.privacy_.verify()
    assert model.privacy_.spent <= Fraction(1, 10)
