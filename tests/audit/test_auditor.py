"""The whole audit: it keeps to its time, our estimators survive it, and wrong use is explained.

Bounds that are counted have a confidence of 1 - 1e-8 in each test; computed ones are facts.
"""

import contextlib
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from privet import Categorical, HistogramTreeClassifier, PrivateTreeClassifier, Schema
from privet.audit import Bound, Finding, Pair, audit, auditor
from privet.audit.search import TOO_LARGE
from privet.errors import PrivetError

SURE = 1 - 1e-8
PAIR = Pair((np.zeros((3, 1)), [0, 1, 1]), (np.zeros((2, 1)), [0, 1]))


class Stranger(BaseEstimator):
    def __init__(self, epsilon=1.0, seconds=0.0):
        self.epsilon = epsilon
        self.seconds = seconds

    def fit(self, X, y):
        time.sleep(self.seconds)
        self.n_ = len(y)
        return self

    def predict(self, X):
        return np.full(len(X), np.random.default_rng().random() < 0.5)


class RarelyTells(Stranger):
    """(0, 0.5)-private: every second time it says how many rows there were."""

    def predict(self, X):
        return np.full(len(X), self.n_ if np.random.default_rng().random() < 0.5 else 0)


class Refuses(Stranger):
    error: Exception = KeyError("secret")

    def fit(self, X, y):
        raise self.error


class Explains(Refuses):
    error = PrivetError("what to do next.")


# -- our own ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaves", ["labels", pytest.param("counts", marks=pytest.mark.slow)])
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
    report = audit(model, minutes=5, confidence=SURE)
    assert not report.violated, str(report)
    assert report.worst.epsilon > 0.9 * epsilon


def test_a_schema_of_the_callers_is_kept_to(search_only):
    schema = Schema({"s": Categorical(["a", "b"])}, classes=["n", "y"])
    report = audit(
        PrivateTreeClassifier(schema, epsilon=1, max_depth=1), minutes=10, most_pairs=3, n_jobs=1, confidence=SURE
    )
    assert report.pair.schema == schema


# -- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.02, 0.1])
def test_slow_fits_keep_to_the_time(seconds, search_only, monkeypatch):
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)  # a clock of its own: the machine may be busy
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    with contextlib.suppress(PrivetError):
        audit(Stranger(seconds=seconds), minutes=0.02, n_jobs=1)
    assert sum(slept) <= 1.2 + 2 * seconds


def test_time_that_is_too_short_for_one_pair_is_said_with_what_it_takes(monkeypatch):
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    with pytest.raises(PrivetError, match=r"at least 35 fits.* took 30 s\. Give at least 17\.5 minutes"):
        audit(Stranger(seconds=30.0), minutes=1, n_jobs=1)


def test_progress_is_told(search_only):
    told = []
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1)
    audit(model, minutes=10, most_pairs=2, progress=lambda share, note: told.append((share, note)), n_jobs=1)
    assert told
    assert all(0 <= share <= 1 for share, _ in told)


# -- real fits on two of the worst ------------------------------------------------------------------------------------


def test_a_rich_and_a_plain_pair_are_confirmed_within_the_time_and_the_chance_to_be_wrong(monkeypatch):
    rich, plain = (
        Finding(Bound(0.9, 1.0, "exact", "", 1, 1.0, chance=chance), PAIR, Stranger(), 0.9, outputs)
        for outputs, chance in ((50, 0.01), (2, 0.5))
    )
    until, chances = [], []

    def counted(finding, end, sure, *_):
        until.append(end)
        chances.append(1 - sure)
        now.append(end)
        return Bound(0.1 * len(until), sure, "statistical", "", 100, 1.0)

    now = [0.0]
    monkeypatch.setattr(auditor.time, "monotonic", lambda: now[-1])
    monkeypatch.setattr(auditor, "_counted", counted)
    found, why = auditor._confirmed([plain, rich], 60.0, SURE, 1, None)
    assert [one.outputs for one in found] == [50, 2]
    assert until == [30.0, 60.0]
    assert sum(chances) <= 1 - SURE
    assert why == ""


def test_time_that_is_too_short_for_two_pairs_goes_to_the_plain_one(monkeypatch):
    bound = Bound(0.9, 1.0, "exact", "", 1, 1.0)
    some = [
        Finding(replace(bound, chance=1 / outputs), PAIR, Stranger(seconds=0.1), 0.9, outputs) for outputs in (50, 2)
    ]
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(auditor, "statistical_bound", lambda *_, **options: replace(bound, runs=options["minutes"]))
    found, _ = auditor._confirmed(some, 20.0, SURE, 1, None)
    assert [one.outputs for one in found] == [2]
    assert found[0].bound.runs > 15 / 60


def test_too_little_time_for_real_fits_is_said(monkeypatch):
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    report = audit(Stranger(seconds=0.1), pairs=[PAIR], minutes=0.1, n_jobs=1, confidence=SURE)
    assert report.confirmations == ()
    assert "any bound needs at least 56 on each table" in report.unconfirmed
    assert report.unconfirmed in str(report)


def test_the_bar_moves_while_the_worst_is_confirmed(monkeypatch):
    now, told = [0.0], []

    def counts_for_a_second(*_, progress, proven, **__):
        for step in range(10):
            now.append(now[-1] + 0.1)
            progress(step / 10, "")
        return Bound(0.0, SURE, "statistical", "", 100, proven)

    monkeypatch.setattr(auditor.time, "monotonic", lambda: now[-1])
    monkeypatch.setattr(auditor, "statistical_bound", counts_for_a_second)
    audit(Stranger(), pairs=[PAIR], minutes=1, n_jobs=1, progress=lambda share, note: told.append((share, note)))
    shares = [share for share, note in told if note.startswith("confirming")]
    assert len(set(shares)) >= 10


# -- delta ------------------------------------------------------------------------------------------------------------


def test_what_delta_allows_is_no_violation(search_only):
    def violated(delta):
        return audit(
            RarelyTells(), pairs=[PAIR], delta=delta, minutes=10, n_jobs=1, confidence=SURE, epsilon=0.1
        ).violated

    assert violated(None)
    assert not violated(0.5)


def test_with_a_delta_our_own_are_computed_as_without(search_only):
    report = audit(PrivateTreeClassifier(epsilon=1, max_depth=1), delta=1e-3, minutes=10, most_pairs=1, n_jobs=1)
    assert {bound.engine for bound in report.bounds} == {"exact"}
    assert report.worst.delta == 1e-3


def test_an_estimators_own_delta_is_what_it_promised(search_only):
    model = HistogramTreeClassifier(epsilon=1, delta=1e-2, max_depth=1, n_bins=2, min_samples=10_000)
    report = audit(model, minutes=10, most_pairs=3, n_jobs=1)
    assert (report.worst.delta, report.violated) == (1e-2, False)
    assert "exact" in {bound.engine for bound in report.bounds}
    assert "delta=0.01" in report.findings[0].code()


# -- wrong use --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "kwargs", "words"),
    [
        (Refuses(), {}, r"refused 51 of 51, the first with KeyError\. Give"),
        (Explains(), {}, r"the first with PrivetError: what to do next\. Give"),
        (Stranger(), {"most_pairs": 0}, "most_pairs must be at least 1"),
        (Stranger(), {"pairs": [(PAIR.one, PAIR.other)]}, r"pairs\[0\] is a tuple: write Pair"),
        (Stranger(), {"pairs": PAIR}, r"pairs=\[pair\]"),
        (Stranger(), {"epsilon": -1}, "epsilon must be a number greater than zero"),
        (Stranger(epsilon=0), {}, "epsilon must be a number greater than zero"),
        (Stranger(), {"delta": 1.5}, "delta is a probability"),
        (PrivateTreeClassifier("infer", epsilon=1), {}, "infer"),
        (PrivateTreeClassifier(epsilon=1, random_state=3), {}, "random_state is fixed"),
        (PrivateTreeClassifier(epsilon=1), {"pairs": []}, "pairs is empty"),
        (PrivateTreeClassifier(epsilon=1), {"minutes": 0}, "minutes"),
        (object(), {}, "fit and predict"),
    ],
)
def test_wrong_use_is_explained(estimator, kwargs, words):
    with pytest.raises(PrivetError, match=words) as raised:
        audit(estimator, **{"minutes": 0.5, "n_jobs": 1, **kwargs})
    assert "secret" not in str(raised.value)
