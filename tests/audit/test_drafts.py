"""Drafts are neighbours, have the corners in which guarantees break, and follow from a seed."""

import json

import numpy as np
import pytest

from privet.audit.drafts import mutated, random_draft, random_schema
from privet.schema import Numeric


@pytest.mark.parametrize("numbers", [False, True])
def test_all_drafts_are_neighbours_and_the_same_under_a_seed(numbers):
    def some(seed):
        rng = np.random.default_rng(seed)
        drafts = [random_draft(rng, None, numbers) for _ in range(50)]
        return [json.dumps(draft.pair().to_dict()) for one in drafts for draft in (one, mutated(rng, one))]

    first = some(7)
    assert first == some(7)
    assert len(set(first)) > 80


def test_drafts_have_the_corners():
    rng = np.random.default_rng(0)
    drafts = [random_draft(rng) for _ in range(300)]
    sizes = {len(draft.records) for draft in drafts}
    assert {0, 1} <= sizes
    values = [value for draft in drafts for record in draft.records for value in record]
    assert None in values
    assert "not listed" in values
    assert any(len(set(draft.records)) == 1 < len(draft.records) for draft in drafts)
    assert any(isinstance(f, Numeric) for _ in range(20) for f in random_schema(rng).features.values())


def test_regressors_are_given_numbers_to_predict():
    rng = np.random.default_rng(5)
    for _ in range(50):
        draft = random_draft(rng, regression=True)
        assert draft.schema.classes is None
        low, high = draft.schema.target
        pair = mutated(rng, draft).pair()
        assert all(low <= y <= high for y in np.asarray(pair.other[1], dtype=float))


def test_some_drafts_are_of_persons_with_several_records():
    rng = np.random.default_rng(3)
    drafts = [random_draft(rng) for _ in range(200)]
    persons = [mutated(rng, draft) for draft in drafts if draft.schema.person is not None]
    assert len(persons) > 20
    assert any(abs(np.diff(draft.pair().sizes)[0]) > 1 for draft in persons)
