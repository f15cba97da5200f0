"""Every person weighs the same in all, by draws that are that person's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.curators.person_weights import person_weights
from privet.privacy.unit import Unit

people = st.lists(st.integers(0, 6), max_size=60).map(lambda ids: np.unique(ids, return_inverse=True)[1].astype(int))


@settings(max_examples=200, deadline=None)
@given(people, st.integers(1, 64))
def test_every_person_weighs_the_same_and_no_more_records_count_than_the_cap(persons, cap):
    unit = Unit("id", cap)
    weights = person_weights(persons, unit)
    for person in range(int(persons.max(initial=-1)) + 1):
        own = weights[persons == person]
        counting = own[own > 0]
        assert own.sum() == unit.weight
        assert len(counting) == min(len(own), cap)
        assert counting.max() - counting.min() <= 1


def test_which_records_count_is_drawn_evenly():
    """Of 3 records 2 count, each with chance 2/3: off by 0.05 with a chance below 1e-6 (Hoeffding, 4000 persons)."""
    persons = np.repeat(np.arange(4000), 3)
    weights = person_weights(persons, Unit("id", 2)).reshape(-1, 3)
    assert np.abs((weights > 0).mean(axis=0) - 2 / 3).max() < 0.05
    # 12 units on 5 records: two of them have one more.
    weights = person_weights(np.repeat(np.arange(4000), 5), Unit("id", 5)).reshape(-1, 5)
    assert np.abs((weights == 3).mean(axis=0) - 2 / 5).max() < 0.05


class Counting:
    """A generator that says how much was drawn."""

    drawn = 0

    def integers(self, limits, size):
        self.drawn += size
        return np.zeros(size, dtype=np.int64)


@pytest.mark.parametrize(("records", "cap", "drawn"), [(1, 2, 0), (2, 2, 0), (3, 2, 2), (3, 12, 0), (5, 12, 2)])
def test_nothing_is_drawn_for_persons_whose_records_count_the_same(records, cap, drawn):
    generator = Counting()
    person_weights(np.zeros(records, dtype=int), Unit("id", cap), generator)
    assert generator.drawn == drawn


def test_a_person_who_comes_last_changes_nobody_elses_weights():
    persons = np.array([0, 1, 1, 1, 1, 1])
    before = person_weights(persons, Unit("id", 5), np.random.default_rng(0))
    after = person_weights(np.append(persons, 2), Unit("id", 5), np.random.default_rng(0))
    assert (after[:-1] == before).all()
