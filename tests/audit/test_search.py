"""The search finds what is bad, gives back what it found, and our estimators survive it.

Bounds that are counted have a confidence of 1 - 1e-8 in each test; computed ones are facts.
"""

import json
import time

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from privet import Categorical, PrivateTreeClassifier, Schema
from privet.audit import Pair, audit, auditor, exact_bound
from privet.audit.search import TOO_LARGE

SURE = 1 - 1e-8


class HalfTheNoise(PrivateTreeClassifier):
    """Spends twice what it says."""

    def fit(self, X, y):
        return self._twice(super().fit, X, y)

    def fit_curator(self, curator):
        return self._twice(super().fit_curator, curator)

    def _twice(self, fit, *args):
        self.epsilon *= 2
        try:
            return fit(*args)
        finally:
            self.epsilon /= 2


class CountsRows:
    """Says how many rows there were."""

    def fit(self, X, y):
        self.n = len(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.n % 2)


def test_a_schema_of_the_callers_is_kept_to():
    schema = Schema({"s": Categorical(["a", "b"])}, classes=["n", "y"])
    report = audit(PrivateTreeClassifier(schema, max_depth=1), minutes=0.02, most_pairs=3, n_jobs=1, confidence=SURE)
    assert report.pair.schema == schema


@pytest.mark.parametrize("leaves", ["labels", "counts"])
def test_our_tree_survives(leaves, monkeypatch):
    confirmed = auditor._confirmed

    def for_three_seconds(findings, deadline, *args):
        return confirmed(findings, time.monotonic() + 3, *args)

    monkeypatch.setattr(auditor, "_confirmed", for_three_seconds)
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=2, leaves=leaves)
    report = audit(model, minutes=10, most_pairs=14, confidence=SURE, seed=1, n_jobs=1)
    # So many pairs however fast the machine is, and none of them refused.
    assert report.tried >= 7
    assert set(report.skipped) <= {TOO_LARGE}
    assert report.tried + sum(report.skipped.values()) == 14
    assert not report.violated, str(report)
    assert all(bound.epsilon <= 1 + 1e-9 for bound in report.bounds)
    # The search is no formality: it comes close to what is allowed.
    assert report.worst.epsilon > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["labels", "counts"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_our_tree_survives_for_long(leaves, epsilon):
    model = PrivateTreeClassifier(epsilon=epsilon, max_depth=3, leaves=leaves)
    report = audit(model, minutes=15, confidence=SURE)
    assert not report.violated, str(report)
    assert report.worst.epsilon > 0.9 * epsilon


def test_half_the_noise_is_caught_and_can_be_caught_again():
    report = audit(HalfTheNoise(epsilon=1.0, max_depth=2), minutes=0.5, seed=1, confidence=SURE, n_jobs=1)
    assert report.violated
    again = exact_bound(report.findings[0].estimator, Pair.from_json(report.pair.to_json()), window=(-1, 3))
    assert again.violated


def test_an_estimator_without_noise_is_caught():
    report = audit(DecisionTreeClassifier(max_depth=2), epsilon=1.0, minutes=0.2, confidence=SURE, n_jobs=1)
    assert report.violated
    assert report.worst.engine == "statistical"


def test_what_depends_on_the_number_of_rows_alone_is_caught_on_a_given_pair():
    pair = Pair((np.zeros((3, 1)), [0, 1, 1]), (np.zeros((2, 1)), [0, 1]))
    report = audit(CountsRows(), epsilon=1.0, pairs=[pair], minutes=0.1, confidence=SURE, n_jobs=1)
    assert report.violated
    assert report.pair is pair


def test_a_report_is_json_with_code_that_runs():
    report = audit(
        PrivateTreeClassifier(epsilon=1.0, max_depth=1), minutes=0.02, most_pairs=2, confidence=SURE, n_jobs=1
    )
    told = json.loads(report.to_json())
    assert told["tried"] == report.tried
    assert told["violated"] is False
    compile(told["code"], "report", "exec")
    assert "no violation found" in str(report)


def test_progress_is_told():
    told = []
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1)
    audit(model, minutes=0.02, most_pairs=2, progress=lambda share, note: told.append((share, note)), n_jobs=1)
    assert told
    assert all(0 <= share <= 1 for share, _ in told)
