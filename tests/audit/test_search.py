"""The search says what it tried and what it left out and why, and climbs from many kinds of bad pairs."""

import time

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from privet import Categorical, PrivateTreeClassifier, Schema
from privet.algorithms.baselines import RandomTreeClassifier
from privet.audit import Bound, Finding, Pair, audit, search
from privet.audit.search import NO_TIME, TOO_LARGE, Hunt, Trial, plainest, richest, variants

SURE = 1 - 1e-8


def test_large_pairs_are_counted_with_every_variant(monkeypatch):
    monkeypatch.setattr(search, "_FEW", 4)
    monkeypatch.setattr(search, "_MANY", 4)
    trial = Trial(variants(PrivateTreeClassifier(epsilon=1, max_depth=3)), 1.0, 0.0, SURE, 1 - SURE, each=0.0)
    schema = Schema({name: Categorical(["u", "v", "w"]) for name in "abc"}, classes=["n", "y", "m"])
    X = np.array([["u", "v", "w"]] * 5, dtype=object)
    pair = Pair((X, ["n"] * 5), (X[1:], ["n"] * 4), schema)
    found = [trial(pair, number, time.monotonic() + 60, always=False) for number in (0, 1, 7)]
    hints = {one.estimator.n_records for one in found if isinstance(one, Finding)}
    assert hints == {None, 10**6}
    assert {one.reason for one in found if not isinstance(one, Finding)} == {TOO_LARGE}


def test_a_pair_that_the_clock_cut_short_is_not_called_too_large(monkeypatch):
    trial = Trial([PrivateTreeClassifier(epsilon=1, max_depth=2)], 1.0, 0.0, SURE, 1 - SURE, each=0.0)
    schema = Schema({name: Categorical(["u", "v"]) for name in "ab"}, classes=["n", "y"])
    X = np.array([["u", "v"]] * 5, dtype=object)
    pair = Pair((X, ["n"] * 5), (X[1:], ["n"] * 4), schema)
    ticks = iter(range(10**9))
    monkeypatch.setattr(search.time, "monotonic", lambda: next(ticks) / 10)

    def found(seconds):
        return trial(pair, 1, next(ticks) / 10 + seconds, always=False)

    assert isinstance(found(10_000.0), Finding)  # every look at the clock takes a tenth of a second
    assert found(1.0).reason == NO_TIME
    monkeypatch.setattr(search, "_FEW", 2)
    assert found(10_000.0).reason == TOO_LARGE


def test_an_estimator_that_draws_its_structure_is_counted_and_with_a_seed_computed():
    schema = Schema({"a": Categorical(["u", "v"])}, classes=["n", "y"])
    pair = Pair((np.array([["u"], ["v"]]), ["n", "y"]), (np.array([["u"]]), ["n"]), schema)
    for structure, engine in ((None, "statistical"), (0, "exact")):
        model = RandomTreeClassifier(epsilon=1, max_depth=1, structure=structure)
        trial = Trial([model], 1.0, 0.0, SURE, 1 - SURE, each=0.0)
        assert trial(pair, 1, time.monotonic() + 60, always=False).bound.engine == engine


def test_what_was_left_out_is_counted_by_reason(search_only):
    report = audit(
        PrivateTreeClassifier(epsilon=1, max_depth=2), minutes=10, most_pairs=8, n_jobs=1, seed=1, confidence=SURE
    )
    assert set(report.skipped) <= {TOO_LARGE}
    assert report.tried + sum(report.skipped.values()) == 8


def test_a_pair_counts_once(search_only):
    pair = Pair((np.zeros((3, 1)), [0, 1, 1]), (np.zeros((2, 1)), [0, 1]))
    report = audit(DecisionTreeClassifier(), epsilon=100.0, pairs=[pair, pair], minutes=10, n_jobs=1, confidence=SURE)
    assert report.tried == 1
    assert report.worst.pairs == 1


def test_of_pairs_that_lose_about_the_same_one_with_many_outputs_and_one_that_shows_often_are_confirmed():
    def finding(guess, outputs, chance):
        return Finding(Bound(guess, 1.0, "exact", "", 1, 1.0, chance=chance), None, None, guess, outputs)

    some = [finding(0.95, 2, 0.5), finding(1.0, 2, 0.5), finding(0.97, 12, 0.1), finding(0.5, 90, 1.0)]
    assert richest(some) is some[2]
    assert plainest(some) is some[1]


def test_the_hill_climb_starts_from_many_kinds():
    hunt, rng = Hunt(0, None, False), np.random.default_rng(0)
    for i in range(60):
        hunt.found(hunt.next(), 1.0 + rng.random() / 100, 2 if i % 2 else 50)
    assert len(hunt._worst) == 8
    assert all(outputs == 50 for _, outputs, _ in hunt._worst.values())
