"""Hostile jobs at a server: whatever a trainer or a user sends is refused in words of ours, and charges nothing."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostile import ODD, changed
from privet import Ledger
from privet.algorithms.registry import make
from privet.consortium.servers.jobs import QueryJob, TrainingJob, fresh_run
from privet.errors import PrivetError

JOBS = [
    json.loads(TrainingJob(fresh_run(), name, params, None, hidden).to_bytes())
    for name, params, hidden in (
        ("PrivateTreeClassifier", {"epsilon": 0.5, "max_depth": 3, "leaves": "labels"}, False),
        ("HiddenTreeClassifier", {"epsilon": 0.5, "max_depth": 2, "branches": "values", "n_values": 4}, True),
        ("HiddenForestClassifier", {"epsilon": 0.5, "n_trees": 3, "sampling": "parts"}, True),
        ("TopDownClassifier", {"epsilon": 0.5, "max_nodes": 4, "budget": "decay", "splitting_class": 4}, False),
    )
]
QUERIES = [json.loads(QueryJob(fresh_run(), fresh_run(), 3).to_bytes())]


def as_bytes(message):
    try:
        return json.dumps(message).encode()
    except (UnicodeEncodeError, ValueError):
        return b"\xff\xfe"


def hostile_job(message):
    """What a server does with a job before it joins the others: read it, make its model, see what that may cost."""
    ledger = Ledger(1)
    job = as_bytes(message)
    with suppress(PrivetError):
        asked = TrainingJob.from_bytes(job)
        make(asked.model, **asked.params).check_affordable(ledger)
    with suppress(PrivetError):
        QueryJob.from_bytes(job)
    assert ledger.root.spent == 0


MESSAGES = st.one_of(changed(JOBS), changed(QUERIES), ODD)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(message=MESSAGES)
def test_no_job_stumbles_over_a_mistake_of_ours(message):
    hostile_job(message)


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(message=MESSAGES)
def test_no_job_stumbles_over_a_mistake_of_ours_however_many(message):
    hostile_job(message)
