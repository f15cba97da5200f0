"""The whole audit: it keeps to its time, says what it left out and why, and what it says can be run again.

Bounds that are counted have a confidence of 1 - 1e-8 in each test; computed ones are facts.
"""

import contextlib
import io
import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from privet import Categorical, PrivateTreeClassifier, Schema
from privet.audit import Bound, Finding, Pair, audit, auditor, search
from privet.audit.search import NO_TIME, TOO_LARGE, Hunt, Trial, richest, simplest, variants
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


def out_of(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue().strip()


# -- time --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.02, 0.1])
def test_slow_fits_keep_to_the_time(seconds, monkeypatch):
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)  # a clock of its own: the machine may be busy
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(auditor, "_confirmed", lambda *_: ([], ""))
    with contextlib.suppress(PrivetError):
        audit(Stranger(seconds=seconds), minutes=0.02, n_jobs=1)
    assert sum(slept) <= 1.2 + 2 * seconds


def test_time_that_is_too_short_for_one_pair_is_said_with_what_it_takes(monkeypatch):
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    with pytest.raises(PrivetError, match=r"at least 35 fits.* took 30 s\. Give at least 17\.5 minutes"):
        audit(Stranger(seconds=30.0), minutes=1, n_jobs=1)


def test_too_little_time_for_real_fits_is_said(monkeypatch):
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    report = audit(Stranger(seconds=0.1), pairs=[PAIR], minutes=0.1, n_jobs=1, confidence=SURE)
    assert report.confirmation is None
    assert "any bound needs at least 56 on each table" in report.unconfirmed
    assert report.unconfirmed in str(report)


def test_the_bar_moves_while_the_worst_is_confirmed():
    told = []
    audit(Stranger(), pairs=[PAIR], minutes=0.03, n_jobs=1, progress=lambda share, note: told.append((share, note)))
    shares = [share for share, note in told if note.startswith("confirming")]
    assert len(set(shares)) > 5


# -- what is tried, and what is left out --------------------------------------------------------------------------


def test_large_pairs_are_counted_with_every_variant(monkeypatch):
    monkeypatch.setattr(search, "_TRANSCRIPTS", 4)
    trial = Trial(variants(PrivateTreeClassifier(max_depth=3)), 1.0, 0.0, SURE, 1 - SURE, each=0.0)
    schema = Schema({name: Categorical(["u", "v", "w"]) for name in "abc"}, classes=["n", "y", "m"])
    X = np.array([["u", "v", "w"]] * 5, dtype=object)
    pair = Pair((X, ["n"] * 5), (X[1:], ["n"] * 4), schema)
    found = [trial(pair, number, time.monotonic() + 60, always=False) for number in (0, 1, 7)]
    hints = {one.estimator.n_records for one in found if isinstance(one, Finding)}
    assert hints == {None, 10**6}
    assert {one.reason for one in found if not isinstance(one, Finding)} == {TOO_LARGE}


def test_a_pair_that_the_clock_cut_short_is_not_called_too_large(monkeypatch):
    trial = Trial([PrivateTreeClassifier(max_depth=2)], 1.0, 0.0, SURE, 1 - SURE, each=0.0)
    schema = Schema({name: Categorical(["u", "v"]) for name in "ab"}, classes=["n", "y"])
    X = np.array([["u", "v"]] * 5, dtype=object)
    pair = Pair((X, ["n"] * 5), (X[1:], ["n"] * 4), schema)
    ticks = iter(range(10**9))
    monkeypatch.setattr(search.time, "monotonic", lambda: next(ticks) / 10)

    def found(seconds):
        return trial(pair, 1, next(ticks) / 10 + seconds, always=False)

    assert isinstance(found(10_000.0), Finding)  # every look at the clock takes a tenth of a second
    assert found(1.0).reason == NO_TIME
    monkeypatch.setattr(search, "_TRANSCRIPTS", 2)
    assert found(10_000.0).reason == TOO_LARGE


def test_what_was_left_out_is_counted_by_reason(monkeypatch):
    monkeypatch.setattr(auditor, "_confirmed", lambda *_: ([], ""))
    report = audit(PrivateTreeClassifier(max_depth=2), minutes=10, most_pairs=8, n_jobs=1, seed=1, confidence=SURE)
    assert set(report.skipped) <= {TOO_LARGE}
    assert report.tried + sum(report.skipped.values()) == 8


def test_a_pair_counts_once():
    report = audit(Stranger(), pairs=[PAIR, PAIR], minutes=0.02, n_jobs=1, confidence=SURE)
    assert report.tried == 1
    assert report.worst.pairs == 1


def test_of_pairs_that_lose_about_the_same_those_with_most_and_with_fewest_outputs_are_confirmed():
    some = [Finding(None, None, None, *seen) for seen in ((0.95, 2), (1.0, 2), (0.97, 12), (0.98, 5), (0.5, 90))]
    assert richest(some) is some[2]
    assert simplest(some) is some[1]


def test_a_rich_and_a_simple_pair_are_confirmed_within_the_time_and_the_chance_to_be_wrong(monkeypatch):
    bound = Bound(0.9, 1.0, "exact", "", 1, 1.0)
    rich, simple = (Finding(bound, PAIR, Stranger(), 0.9, outputs) for outputs in (50, 2))
    until, chances = [], []

    def counted(finding, end, sure, *_):
        until.append(end)
        chances.append(1 - sure)
        now.append(end)
        return Bound(0.1 * len(until), sure, "statistical", "", 100, 1.0)

    now = [0.0]
    monkeypatch.setattr(auditor.time, "monotonic", lambda: now[-1])
    monkeypatch.setattr(auditor, "_counted", counted)
    found, why = auditor._confirmed([simple, rich], 60.0, SURE, 1, None)
    assert [one.outputs for one in found] == [50, 2]
    assert until == [30.0, 60.0]
    assert sum(chances) <= 1 - SURE
    assert why == ""


def test_time_that_is_too_short_for_two_pairs_goes_to_the_simple_one(monkeypatch):
    bound = Bound(0.9, 1.0, "exact", "", 1, 1.0)
    some = [Finding(bound, PAIR, Stranger(seconds=0.1), 0.9, outputs) for outputs in (50, 2)]
    slept = []
    monkeypatch.setattr(auditor.time, "sleep", slept.append)
    monkeypatch.setattr(auditor.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(auditor, "statistical_bound", lambda *_, **options: replace(bound, runs=options["minutes"]))
    found, _ = auditor._confirmed(some, 20.0, SURE, 1, None)
    assert [one.outputs for one in found] == [2]
    assert found[0].bound.runs > 15 / 60


def test_the_hill_climb_starts_from_many_kinds():
    hunt, rng = Hunt(0, None, False), np.random.default_rng(0)
    for i in range(60):
        hunt.found(hunt.next(), 1.0 + rng.random() / 100, 2 if i % 2 else 50)
    assert len(hunt._worst) == 8
    assert all(outputs == 50 for _, outputs, _ in hunt._worst.values())


# -- delta -------------------------------------------------------------------------------------------------------


def test_what_delta_allows_is_no_violation():
    def violated(delta, minutes):
        return audit(
            RarelyTells(), pairs=[PAIR], delta=delta, minutes=minutes, n_jobs=1, confidence=SURE, epsilon=0.1
        ).violated

    assert violated(None, 1)  # at once
    assert not violated(0.5, 0.03)


def test_with_a_delta_our_own_are_counted():
    report = audit(PrivateTreeClassifier(max_depth=1), delta=1e-3, minutes=0.04, most_pairs=1, n_jobs=1)
    assert {bound.engine for bound in report.bounds} == {"statistical"}
    assert report.worst.delta == 1e-3


# -- again -------------------------------------------------------------------------------------------------------


def test_code_shows_the_computed_bound_again(monkeypatch):
    monkeypatch.setattr(auditor, "_confirmed", lambda *_: ([], ""))
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1)
    report = audit(model, epsilon=0.5, minutes=10, most_pairs=4, n_jobs=1, confidence=SURE)
    for finding in report.findings[:2]:
        assert out_of(finding.code()) == str(finding.bound)


def test_code_shows_a_counted_violation_again():
    report = audit(RarelyTells(), pairs=[PAIR], epsilon=0.1, minutes=1, n_jobs=1, confidence=SURE)
    assert report.violated
    assert "MORE THAN 0.1 promised" in out_of(report.findings[0].code())


def test_code_has_the_estimators_own_schema():
    schema = Schema({"s": Categorical(["a", "b"])}, classes=["n", "y"])
    X = np.array([["a"], ["b"]], dtype=object)
    pair = Pair((X, ["n", "y"]), (X[1:], ["y"]))
    report = audit(PrivateTreeClassifier(schema, max_depth=1), pairs=[pair], minutes=0.02, n_jobs=1, confidence=SURE)
    exact = [finding for finding in report.findings if finding.bound.engine == "exact"]
    assert out_of(exact[0].code()) == str(exact[0].bound)


# -- wrong use ---------------------------------------------------------------------------------------------------


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
        (PrivateTreeClassifier("infer"), {}, "infer"),
        (PrivateTreeClassifier(random_state=3), {}, "random_state is fixed"),
        (PrivateTreeClassifier(), {"pairs": []}, "pairs is empty"),
        (PrivateTreeClassifier(), {"minutes": 0}, "minutes"),
        (object(), {}, "fit and predict"),
    ],
)
def test_wrong_use_is_explained(estimator, kwargs, words):
    with pytest.raises(PrivetError, match=words) as raised:
        audit(estimator, **{"minutes": 0.5, "n_jobs": 1, **kwargs})
    assert "secret" not in str(raised.value)
