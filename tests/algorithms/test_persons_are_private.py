"""The promise to persons, exactly: medians, means, rounds of boosting and of boosted regression on tiny tables.

A person has several records, of which a capped number counts; every draw of which do, and of who has the remainder of
a weight, is followed like an answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from algorithms.test_private_forest_is_private import Coarse
from algorithms.test_private_forest_regressor_is_private import Signs
from privet import (
    Categorical,
    DiPriMeForestClassifier,
    DiPriMeForestRegressor,
    Ledger,
    MemoryCurator,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateTreeRegressor,
    Schema,
)
from privet.algorithms import private_forest_regressor
from privet.audit.exact import exact_bound_of
from privet.audit.release import released
from privet.curators import boosting_room, room
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.unit import Unit
from privet.tree import rounds, target_rounds
from tiny_tables import worst_person_loss

SLOW = pytest.mark.slow
AB = Categorical(["a", "b"], other=False)
MANY = 10**9


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few points of the target's range, one round of boosting, one clamp among two and one level."""
    monkeypatch.setattr(room, "TARGET_CUTS", 2)
    monkeypatch.setattr(boosting_room, "RESIDUAL_POINTS", np.array([TARGET_ONE // 3, TARGET_ONE]))
    alone = {name: replace(own, alone=Fraction(1)) for name, own in target_rounds.RECIPES.items()}
    monkeypatch.setattr(private_forest_regressor, "RECIPES", alone)
    for planned in (rounds, target_rounds):
        monkeypatch.setattr(planned, "FEWEST_ROUNDS", 1)
        monkeypatch.setattr(planned, "MOST_ROUNDS", 1)
    monkeypatch.setattr(target_rounds, "RECIPES", alone)
    monkeypatch.setattr(target_rounds, "LEVELS", 1)


@pytest.mark.parametrize(
    ("case", "records"),
    [
        ("a target and integers", 2),
        pytest.param("a target and a category", 2, marks=SLOW),
        pytest.param("a target and integers", 3, marks=SLOW),
    ],
)
def test_a_tree_of_means_loses_no_more_than_epsilon(case, records):
    model = PrivateTreeRegressor(epsilon=1.0, n_records=200, max_depth=1)
    assert 0.3 < worst_person_loss(case, model, 1, records, 2, window=(0, 1)) <= 1 + 1e-9


@pytest.mark.parametrize("records", [2, pytest.param(3, marks=SLOW)])
def test_medians_and_means_lose_no_more_than_epsilon(records):
    model = DiPriMeForestRegressor(epsilon=1.0, n_trees=1, max_depth=1, structure=0)
    assert 0.3 < worst_person_loss("a target and integers", model, 1, records, 2, window=(0, 1)) <= 1 + 1e-9


@pytest.mark.slow
def test_medians_and_counts_lose_no_more_than_epsilon():
    model = DiPriMeForestClassifier(epsilon=1.0, n_trees=1, max_depth=1, structure=0)
    assert 0.3 < worst_person_loss("integers", model, 1, 2, 2, window=(0, 1)) <= 1 + 1e-9


def people_of(kinds, most_records):
    return [own for n in range(1, most_records + 1) for own in combinations_with_replacement(kinds, n)]


def worst(model, schema, mechanisms, people, most):
    """The largest loss between tables of at most so many people, one of whom comes or goes; noisy sums are coarse."""

    def run(table):
        def fit(script):
            rows = [record for person in table for record in person]
            X = np.array([record[:-1] for record in rows], dtype=object).reshape(len(rows), len(schema.names))
            groups = [who for who, person in enumerate(table) for _ in person]
            y = [record[-1] for record in rows]
            curator = MemoryCurator(X, y, schema, groups=groups, ledger=Ledger(math.inf), mechanisms=mechanisms(script))
            return released(model.fit_curator(curator))

        return fit

    return max(
        exact_bound_of(run(table), run((*table, added)), proven=float(model.epsilon)).epsilon
        for n in range(most)
        for table in combinations_with_replacement(people, n)
        for added in people
    )


def boosted_loss(people, most, points=(-1, 0, 1)):
    schema = Schema({"f": AB}, classes=["no", "yes"], person="who", records_per_person=2)
    model = PrivateForestClassifier(epsilon=1, method="boosting", n_records=MANY, progress=False)
    return worst(model, schema, lambda script: Coarse(script, points, Unit.of(schema).weight), people, most)


SIZES = [pytest.param(*size, marks=SLOW) for size in ((4, 2, 1), (2, 3, 1), (2, 2, 2))]
KINDS, NUMBERS = list(product("ab", ("no", "yes"))), [("a", 0.0), ("b", 1.0), ("a", 1.0), ("b", 0.3)]


def test_a_round_of_boosting_loses_no_more_than_epsilon():
    assert 0.3 < boosted_loss([(KINDS[0], KINDS[0]), (KINDS[0], KINDS[3])], 1) <= 1 + 1e-9


@pytest.mark.parametrize(("n_kinds", "most_records", "most"), SIZES)
def test_a_round_of_boosting_loses_no_more_than_epsilon_on_all_tiny_tables(n_kinds, most_records, most):
    assert 0.3 < boosted_loss(people_of(KINDS[:n_kinds], most_records), most) <= 1 + 1e-9


def test_a_round_in_which_each_record_has_a_whole_vote_is_caught(monkeypatch):
    monkeypatch.setattr("privet.curators.records.person_weights", lambda persons, unit, *_: np.full_like(persons, 12))
    assert boosted_loss([(KINDS[0], KINDS[0])], 1, points=(-2, 0, 2)) > 1


def regression_loss(people, most):
    """The median, the clamp, the choice, the sums and the calibration together."""
    schema = Schema({"f": AB}, target=(0.0, 1.0), person="who", records_per_person=2)
    model = PrivateForestRegressor(epsilon=1, method="boosting", n_records=MANY, progress=False)
    return worst(model, schema, Signs, people, most)


def test_a_round_of_boosted_regression_loses_no_more_than_epsilon():
    assert 0.2 < regression_loss([(NUMBERS[0], NUMBERS[1])], 1) <= 1 + 1e-9


@pytest.mark.parametrize(("n_kinds", "most_records", "most"), SIZES)
def test_a_round_of_boosted_regression_loses_no_more_on_all_tiny_tables(n_kinds, most_records, most):
    assert 0.2 < regression_loss(people_of(NUMBERS[:n_kinds], most_records), most) <= 1 + 1e-9
