"""Membership inference: our tree gives an attacker no more than epsilon allows, a tree without noise gives it all."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from privet import PrivateTreeClassifier
from privet.audit import advantage_allowed, attack_membership
from privet.datasets import load_adult
from privet.errors import PrivetError

SURE = 1 - 1e-7  # in each test: all of them together are wrong in fewer than one of a million


def test_epsilon_allows_what_the_formula_says():
    for epsilon in (0.0, 0.1, 1.0, 5.0):
        assert advantage_allowed(epsilon) == pytest.approx((np.exp(epsilon) - 1) / (np.exp(epsilon) + 1))


@pytest.mark.parametrize("leaves", ["labels", "counts"])
def test_our_tree_gives_no_more_than_epsilon_allows_on_adult(leaves):
    model = PrivateTreeClassifier(epsilon=0.5, leaves=leaves)
    X, y, schema = load_adult()
    found = attack_membership(model, X, y, schema=schema, records=200, targets=10, runs=60, confidence=SURE, n_jobs=1)
    assert not found.violated
    assert found.low <= found.advantage <= found.high
    assert found.allowed == pytest.approx(np.tanh(0.25))


def test_a_tree_without_noise_gives_its_records_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] > 0).astype(int)
    found = attack_membership(DecisionTreeClassifier(), X, y, epsilon=1.0, records=150, runs=400, confidence=SURE)
    assert found.violated
    assert found.mean > 0.2


@pytest.mark.slow
def test_our_tree_gives_no_more_than_epsilon_allows_on_much_of_adult():
    model = PrivateTreeClassifier(epsilon=1.0, leaves="counts")
    X, y, schema = load_adult()
    found = attack_membership(model, X, y, schema=schema, records=2000, targets=50, runs=5000, confidence=SURE)
    assert not found.violated


@pytest.mark.parametrize(("kwargs", "words"), [({"runs": 4}, "too few"), ({"targets": 200}, "fewer than records")])
def test_wrong_use_is_explained(kwargs, words):
    X, y = np.zeros((50, 1)), np.zeros(50)
    with pytest.raises(PrivetError, match=words):
        attack_membership(DecisionTreeClassifier(), X, y, records=50, **{"runs": 10, **kwargs})


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [({"epsilon": -1.0}, "promised"), ({"confidence": 2.0}, "confidence"), ({"runs": -1}, "runs must")],
)
def test_numbers_that_make_no_sense_are_refused(kwargs, words):
    with pytest.raises(PrivetError, match=words):
        attack_membership(DecisionTreeClassifier(), np.zeros((50, 1)), np.zeros(50), **kwargs)
    with pytest.raises(PrivetError, match="epsilon"):
        advantage_allowed(-1.0)


def test_an_estimator_without_parameters_is_attacked():
    class Constant:
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.zeros(len(X))

    found = attack_membership(
        Constant(), np.zeros((50, 1)), np.arange(50) % 2, records=30, targets=5, runs=40, n_jobs=1
    )
    assert found.advantage == 0


def test_a_fixed_seed_is_refused():
    with pytest.raises(PrivetError, match="random_state is fixed"):
        attack_membership(DecisionTreeClassifier(random_state=0), np.zeros((50, 1)), np.zeros(50), records=30)
