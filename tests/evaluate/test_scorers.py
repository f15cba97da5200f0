"""A scorer says of every record what the model's own ``predict`` says, for every kind of model."""

import numpy as np
import pandas
import pytest

from privet import (
    Categorical,
    LeakError,
    MemoryCurator,
    Numeric,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    PrivetError,
    Schema,
)
from privet.evaluate.scorers import Groups, check_scorable, n_bins_for, reading_of
from privet.questions.codec import scorer_of, scorer_words

FEATURES = {"x": Numeric(0, 1, missing=True), "i": Numeric(0, 9, integer=True), "s": Categorical(["a", "b"])}
RNG = np.random.default_rng(1)
X = pandas.DataFrame(
    {
        "x": np.where(RNG.random(3000) < 0.1, np.nan, RNG.random(3000)),
        "i": RNG.integers(0, 10, 3000),
        "s": RNG.choice(["a", "b", "?"], 3000),
    }
)
SCORE = np.nan_to_num(X["x"]) + X["i"] / 9 + 0.3 * RNG.standard_normal(3000)
# The schema's order of classes is not the sorted one, in which ensembles break ties.
TWO, THREE = (Schema(FEATURES, classes=classes) for classes in (["y", "n"], ["q", "p", "r"]))
NUMBER = Schema(FEATURES, target=(-1, 3))
Y2 = np.where(SCORE > 0.8, "y", "n")
Y3 = np.array(["p", "q", "r"])[(SCORE > 0.6).astype(int) + (SCORE > 1.2)]

CLASSIFIERS = [
    PrivateTreeClassifier(epsilon=2),
    PrivateTreeClassifier(epsilon=2, leaves="counts"),
    PrivateTreeClassifier(epsilon=0.001, leaves="counts", n_records=3000),
    PrivateForestClassifier(epsilon=2, method="trees", n_trees=4),
    PrivateForestClassifier(epsilon=2, method="boosting", progress=False),
]


def exact_table(reading, y, schema):
    room = MemoryCurator(X, y, schema).room()
    return room.scored(room.everything(None), reading.scorer)


@pytest.mark.parametrize("n_bins", [8, 32])
@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=range(len(CLASSIFIERS)))
def test_the_table_has_the_classes_that_the_model_predicts(model, schema, n_bins):
    y = Y2 if schema is TWO else Y3
    model = model.set_params(schema=schema).fit(X, y)
    released = model.tree_ if hasattr(model, "tree_") else model.forest_
    reading = reading_of(released, n_bins, None)
    reading = reading._replace(scorer=scorer_of(scorer_words(reading.scorer), schema))  # as owners get it
    table = exact_table(reading, y, schema)[0]
    predicted = model.predict(X)
    for k, guess in enumerate(schema.classes):
        for j, true in enumerate(schema.classes):
            assert table[reading.scorer.predicts == k, j].sum() == ((predicted == guess) & (y == true)).sum()
    if len(schema.classes) == 2 and hasattr(model, "predict_proba"):
        # Bins are in the order of the model's chances, and each says about what is in it.
        chance = model.predict_proba(X)[:, model.classes_.tolist().index(schema.classes[1])]
        mean = (table.sum(axis=1) * reading.marks).sum() / len(y)
        assert abs(mean - chance.mean()) < (0.1 if n_bins == 8 else 0.05)  # bins say their middles
        assert (np.diff(reading.marks) > 0).all()


REGRESSORS = [
    PrivateTreeRegressor(epsilon=2),
    PrivateForestRegressor(epsilon=2, n_trees=3),
    PrivateForestRegressor(epsilon=5, method="boosting"),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=range(len(REGRESSORS)))
def test_errors_are_in_the_bins_that_they_belong_to(model):
    y = np.clip(SCORE, -1, 3)
    model = model.set_params(schema=NUMBER).fit(X, y)
    released = model.tree_ if hasattr(model, "tree_") else model.forest_
    reading = reading_of(released, 24, None)
    reading = reading._replace(scorer=scorer_of(scorer_words(reading.scorer), NUMBER))
    table = exact_table(reading, y, NUMBER)[0, :, 0]
    expected = np.searchsorted(reading.marks, model.predict(X) - y)
    assert np.abs(table - np.bincount(expected, minlength=len(table))).sum() <= 2  # rounding at a cut
    assert len(reading.marks) == 24


def test_groups_part_the_records():
    model = PrivateTreeClassifier(schema=TWO, epsilon=2).fit(X, Y2)
    values = X["x"].to_numpy()
    for by, in_groups in (
        ("s", [X["s"] == "a", X["s"] == "b", X["s"] == "?"]),
        ({"x": [0.7, 0.2]}, [values <= 0.2, (values > 0.2) & (values <= 0.7), values > 0.7, np.isnan(values)]),
    ):
        groups = Groups.of(TWO, by)
        table = exact_table(reading_of(model.tree_, 8, groups), Y2, TWO)
        assert table.sum(axis=(1, 2)).tolist() == [int(own.sum()) for own in in_groups]
        assert len(groups.names) == len(in_groups)


def test_hidden_models_are_not_scored():
    with pytest.raises(PrivetError, match="hidden"):
        check_scorable(object())


def test_a_model_of_another_schema_is_refused():
    model = PrivateTreeClassifier(schema=TWO, epsilon=2).fit(X, Y2)
    desk = MemoryCurator(X, Y3, THREE).open()
    from fractions import Fraction

    node = desk.root()
    scorer = reading_of(model.tree_, 8, None).scorer
    for ask in (lambda: desk.evaluate({node: scorer}, Fraction(1)), lambda: desk.prefer(node, [scorer], Fraction(1))):
        with pytest.raises(LeakError, match="schema"):
            ask()
    assert desk.ledger.spent == 0


def test_little_data_has_few_bins():
    assert n_bins_for(100, 200.0, 2) == 8
    assert n_bins_for(10**6, 2.0, 2) == 32
    assert n_bins_for(0, 2.0, 3) == 1
    assert n_bins_for(10**6, 2.0, 0) == 96
