"""Fits on the same records outside of a ledger are told what they add up to."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from privet import Ledger, Numeric, PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.curators import seen
from privet.curators.records import Records
from privet.curators.seen import tell_if_seen

SCHEMA = Schema({"x": Numeric(0, 1), "y": Numeric(0, 1)}, classes=[0, 1])
NUMBER = Schema({"x": Numeric(0, 1)}, target=(0, 1))


def table(n=500):
    rng = np.random.default_rng()
    X = rng.random((n, 2))
    return X, (X[:, 0] > 0.5).astype(int)


def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(own.message) for own in caught if "outside of any ledger" in str(own.message)]


def test_the_second_fit_on_the_same_records_warns_with_the_sum():
    X, y = table()
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5)
    assert told(lambda: model.fit(X, y)) == []
    (said,) = told(lambda: model.fit(X, y))
    assert "epsilon 1," in said
    assert "3 models" in told(lambda: model.fit(X, y))[0]
    assert "epsilon 2," in told(lambda: model.fit(X, y))[0]


def test_an_evaluation_counts_and_flatters_where_the_model_was_learned():
    X, y = table()
    model = PrivateTreeClassifier(SCHEMA, epsilon=0.5).fit(X, y)
    with pytest.warns(UserWarning, match="the scores flatter it") as caught:
        model.evaluate(X, y, epsilon=0.25)
    said = str(caught[1].message)
    assert "1 model and 1 evaluation" in said
    assert "epsilon 0.75," in said
    assert told(lambda: model.evaluate(*table(), epsilon=1)) == []
    assert "scored the model" in model.evaluate(*table(), epsilon=1).privacy_.trust


def test_a_void_release_beside_one_that_promises_something_has_no_bound():
    X, y = table()
    void, sound = (PrivateTreeClassifier(SCHEMA, epsilon=1, random_state=seed) for seed in (0, None))
    assert told(lambda: void.fit(X, y)) == []
    assert told(lambda: void.fit(X, y)) == []  # nothing was promised
    (said,) = told(lambda: sound.fit(X, y))
    assert "2 of them are void: together they have no bound" in said


def test_a_grid_search_warns():
    X, y = table()
    search = GridSearchCV(PrivateTreeClassifier(SCHEMA, epsilon=1), {"max_depth": [1, 2]}, cv=5)
    assert told(lambda: search.fit(X, y))


def test_other_records_and_ledgers_do_not_warn():
    X, y = table()
    PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, y)
    assert told(lambda: PrivateTreeClassifier(SCHEMA, epsilon=1).fit(*table())) == []
    with Ledger(3):
        assert told(lambda: PrivateTreeClassifier(SCHEMA, epsilon=1).fit(X, y)) == []


def test_numeric_targets_are_known_again():
    X, _y = table()
    for times in range(2):
        said = told(lambda: PrivateTreeRegressor(NUMBER, epsilon=1).fit(X[:, :1], X[:, 1]))
        assert len(said) == times


@pytest.mark.parametrize("n", [0, 3])
def test_few_kinds_of_records_are_known_by_all_of_them(n):
    X, y = table(n)
    records = Records(X, y, SCHEMA)
    assert told(lambda: tell_if_seen(records, Fraction(1))) == []
    assert len(told(lambda: tell_if_seen(records, Fraction(1)))) == (n > 0)
    fewer = Records(X[:-1], y[:-1], SCHEMA)
    assert told(lambda: tell_if_seen(fewer, Fraction(1))) == []


@pytest.mark.parametrize("n", [100, 5_000, 50_000])
def test_the_sketch_is_of_the_smallest_hashes_of_all_records(n):
    X, y = table(n)
    records = Records(X, y, SCHEMA)
    smallest, whole = seen._sketch(records)
    columns = seen._columns(records)[: seen.RANKED_COLUMNS]
    every = seen._hashes(records, seen._ranks(columns), slice(None))
    assert smallest.tolist() == np.unique(every)[: seen.KEPT_HASHES].tolist()
    assert whole in (0, int(every.sum()))


def test_the_same_records_in_another_order_are_alike_and_strangers_are_not():
    (X, y), (other, labels) = table(3_000), table(3_000)
    half = Records(np.concatenate([X[:1_500], other[:1_500]]), np.concatenate([y[:1_500], labels[:1_500]]), SCHEMA)
    known = seen._Seen(*seen._sketch(Records(X, y, SCHEMA)), Fraction(1))
    assert seen._alike(known, *seen._sketch(Records(X[::-1].copy(), y[::-1].copy(), SCHEMA)))
    assert not seen._alike(known, *seen._sketch(Records(other, labels, SCHEMA)))
    hashes, _ = seen._sketch(half)
    assert np.isin(hashes, known.hashes).any()
