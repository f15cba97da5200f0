"""Many fits: independent noise, the same with a seed, wherever they run."""

import warnings

import numpy as np
import pytest

import privet.robustness.retraining as module
from exact_learners import KINDS, POINTS, SCHEMA
from privet import PrivateTreeClassifier, Schema
from privet.errors import BudgetWarning
from privet.robustness.probe import Probe
from privet.robustness.retraining import models_of, retrain

X = np.array([POINTS[i] for i, _ in KINDS] * 5, dtype=object)
Y = np.array([label for _, label in KINDS] * 5)
PROBES = [Probe(POINTS, np.array(["n", "n", "y", "y"])), Probe(POINTS[:1], np.array(["n"]))]
COUNTS = PrivateTreeClassifier(SCHEMA, epsilon=1)  # it measures how many records there are
TREE = PrivateTreeClassifier(SCHEMA, epsilon=1, max_depth=1)


def test_every_run_is_counted_for_every_probe():
    (four, one), model = retrain(TREE, X, Y, PROBES, runs=60)
    assert (four.runs, len(four.hits), one.runs, len(one.hits)) == (60, 4, 60, 1)
    assert four.hits.sum() == four.right.sum()
    assert one.hits[0] == four.hits[0]  # the same models
    assert model.privacy_.claimed == 1
    assert len(set(four.right.tolist())) > 1  # noise of its own in each run


@pytest.mark.slow
def test_a_seed_gives_the_same_models_with_and_without_workers(monkeypatch):
    (here, _), _ = retrain(TREE, X, Y, PROBES, runs=60, random_state=4)
    monkeypatch.setattr(module, "_WORTH_WORKERS", 0.0)
    (there, _), _ = retrain(TREE, X, Y, PROBES, runs=60, random_state=4, n_jobs=2)
    assert here.right.tolist() == there.right.tolist()
    (other, _), _ = retrain(TREE, X, Y, PROBES, runs=60, random_state=5)
    assert other.right.tolist() != here.right.tolist()


def test_which_records_of_a_person_count_is_drawn_for_every_model(monkeypatch):
    """Runs that share a draw would not be independent, and a certificate counts on that."""
    made = []

    class Noting(module.MemoryCurator):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self.records.weights.tolist())

    monkeypatch.setattr(module, "MemoryCurator", Noting)
    schema = Schema(SCHEMA.features, classes=SCHEMA.classes, person="who", records_per_person=2)
    tree = PrivateTreeClassifier(schema, epsilon=1, max_depth=1)
    retrain(tree, X, Y, PROBES[:1], np.arange(len(Y)) // 5, runs=10)
    assert len(made) == 10


def test_progress_is_told():
    told = []
    retrain(TREE, X, Y, PROBES[:1], runs=30, progress=lambda share, note: told.append(share))
    assert told == pytest.approx([25 / 30, 1.0])


@pytest.mark.parametrize("workers", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_models_that_warn_of_their_noisy_counts_are_one_warning(monkeypatch, workers):
    if workers:
        monkeypatch.setattr(module, "_WORTH_WORKERS", 0.0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        retrain(COUNTS, X, Y, PROBES[:1], runs=60, random_state=0, n_jobs=workers)
    told = [str(own.message) for own in seen if issubclass(own.category, BudgetWarning)]
    assert 1 <= len(told) <= 2  # a count, or noise that hides it
    assert all("of 60 models warn: epsilon 1 is too small to learn much" in words for words in told)


def test_models_that_are_taken_one_by_one_are_one_warning_too():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert len(list(models_of(COUNTS, X, Y, runs=30, random_state=0))) == 30
    assert 1 <= sum(issubclass(own.category, BudgetWarning) for own in seen) <= 2
