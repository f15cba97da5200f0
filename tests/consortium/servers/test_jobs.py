"""What is asked of a server is checked, whole, where its bytes come in."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.consortium.servers.jobs import QueryJob, TrainingJob, fresh_run, run_of
from privet.errors import MpcError, PrivetError

TRAINING = TrainingJob(fresh_run(), "PrivateTreeClassifier", {"epsilon": 1.0, "max_depth": 2}, None, False)
QUERIES = QueryJob(fresh_run(), fresh_run(), 3)


def test_a_job_arrives_as_it_was_sent():
    assert TrainingJob.from_bytes(TRAINING.to_bytes()) == TRAINING
    assert QueryJob.from_bytes(QUERIES.to_bytes()) == QUERIES
    assert run_of(TRAINING.to_bytes()).hex() == TRAINING.run


@pytest.mark.parametrize(
    "changed",
    [
        {"run": "00"},
        {"run": 16},
        {"run": "zz" * 16},
        {"run": "0 " * 16},
        {"model": ["PrivateTreeClassifier"]},
        {"params": [1]},
        {"params": None},
        {"seed": -1},
        {"seed": True},
        {"seed": 1.5},
        {"hidden": 1},
        {"holdout": "0.2"},
        {"holdout": 1},
        {"by": ["sex"]},
    ],
)
def test_a_training_with_a_wrong_word_is_refused(changed):
    with pytest.raises(MpcError, match="no sense"):
        TrainingJob.from_bytes(json.dumps({**TRAINING.__dict__, **changed}).encode())


@pytest.mark.parametrize("missing", ["run", "model", "params", "seed"])
def test_a_training_without_a_word_is_refused(missing):
    words = {name: value for name, value in TRAINING.__dict__.items() if name != missing}
    with pytest.raises(MpcError, match="no sense"):
        TrainingJob.from_bytes(json.dumps(words).encode())


@pytest.mark.parametrize("changed", [{"queries": True}, {"queries": 1.0}, {"queries": "1"}, {"model": 7}])
def test_queries_with_a_wrong_word_are_refused(changed):
    with pytest.raises(MpcError, match="no sense"):
        QueryJob.from_bytes(json.dumps({**QUERIES.__dict__, **changed}).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.dictionaries(st.sampled_from(["run", "model", "params", "seed", "hidden", "queries"]), JSON)


@given(st.binary(max_size=64) | WORDS.map(lambda words: json.dumps(words).encode()) | st.just(b"[" * 100_000))
def test_whatever_bytes_come_are_a_job_or_refused(job):
    for kind in (TrainingJob, QueryJob):
        with contextlib.suppress(PrivetError):
            kind.from_bytes(job)
