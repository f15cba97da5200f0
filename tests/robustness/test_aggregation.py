"""Partition ensembles: what they certify is so, tried with every way to poison that small ensembles have."""

from itertools import combinations

import numpy as np
import pytest

from privet.errors import PrivetError
from privet.robustness.aggregation import FiniteAggregationClassifier, parts_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=600) > 0, "yes", "no")


def test_a_record_s_part_follows_from_itself_alone():
    parts = parts_of(X, 50)
    order = RNG.permutation(len(X))
    assert (parts_of(X[order], 50) == parts[order]).all()
    assert (parts_of(X[10:11], 50) == parts[10]).all()
    assert parts_of(np.array([[0.0], [-0.0]]), 1000).tolist()[0] == parts_of(np.array([[-0.0]]), 1000)[0]


@pytest.mark.parametrize("spread", [1, 3])
def test_the_order_of_records_changes_nothing_and_one_record_touches_as_many_trees_as_it_is_spread_over(spread):
    model = FiniteAggregationClassifier(20, spread, max_depth=2).fit(X, Y)
    order = RNG.permutation(len(X))
    again = FiniteAggregationClassifier(20, spread, max_depth=2).fit(X[order], Y[order])
    assert (model.votes(X) == again.votes(X)).all()
    fewer = FiniteAggregationClassifier(20, spread, max_depth=2).fit(X[1:], Y[1:])
    touched = set(np.flatnonzero((model.votes(X) != fewer.votes(X)).any(axis=0)))
    assert touched <= set(model.trees_of_part_[parts_of(X[:1], 20 * spread)[0]])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("spread", [1, 2])
def test_radii_are_those_of_the_worst_attacker_who_owns_whole_parts(spread, classes):
    """Every set of up to three parts is given to an attacker, who lets their trees vote for any one class."""
    n_trees = 6 * spread
    model = FiniteAggregationClassifier(6, spread)
    model.classes_ = np.arange(classes)
    model.trees_of_part_ = FiniteAggregationClassifier(6, spread).fit(X, Y).trees_of_part_
    votes = RNG.integers(0, classes, size=(60, n_trees)).astype(np.int16)
    votes[:20] = 1  # some that are certain
    radii = model.radii_of_votes(votes)
    before = model._counts(votes).argmax(axis=1)
    broken = np.full(len(votes), 99)
    for size in (1, 2, 3):
        for owned in combinations(range(n_trees), size):
            trees = np.unique(model.trees_of_part_[list(owned)])
            for rival in range(classes):
                attacked = votes.copy()
                attacked[:, trees] = rival
                turned = model._counts(attacked).argmax(axis=1) != before
                broken = np.where(turned, np.minimum(broken, size), broken)
    assert (radii < broken).all()  # sound
    if spread == 1:
        assert (np.minimum(radii, 3) == np.minimum(broken - 1, 3)).all()  # and tight


def test_no_attack_on_the_records_beats_the_certificate():
    model = FiniteAggregationClassifier(30, max_depth=2).fit(X, Y)
    radii, predicted = model.radii(X), model.predict(X)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        k = 4
        gone = rng.choice(len(X), k // 2, replace=False)
        added = rng.normal(size=(k // 2, 3))
        poisoned = np.concatenate([np.delete(X, gone, axis=0), added])
        labels = np.concatenate([np.delete(Y, gone), np.array(["no"] * (k // 2))])
        after = FiniteAggregationClassifier(30, max_depth=2).fit(poisoned, labels).predict(X)
        assert (after == predicted)[radii >= k].all()


def test_certified_accuracy_falls_with_the_distance():
    model = FiniteAggregationClassifier(50, max_depth=2).fit(X, Y)
    certified = model.certified_accuracy(X, Y, [0, 5, 10, 50])
    assert certified[0] == model.score(X, Y) > 0.85
    assert (np.diff(certified) <= 0).all()
    assert certified[-1] == 0


def test_more_parts_than_records_and_wrong_numbers():
    assert len(FiniteAggregationClassifier(1000).fit(X[:20], Y[:20]).predict(X)) == 600
    with pytest.raises(PrivetError, match="at least 1"):
        FiniteAggregationClassifier(0).fit(X, Y)
