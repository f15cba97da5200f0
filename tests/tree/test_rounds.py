"""The plan of boosting spends its budget exactly, and its partitions are public."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.questions.grid import public_grid
from privet.tree.rounds import MOST_ROUNDS, partitions, pays_off, plan_rounds

GRID = public_grid(
    Schema(
        {
            "x": Numeric(0, 1),
            "y": Numeric(0, 1, missing=True),
            "few": Categorical(["a", "b"]),
            "many": Categorical(list(range(40))),
        },
        classes=[0, 1],
    )
)


@given(
    st.floats(-1e6, 1e12),
    st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6),
    st.sampled_from(["epsilon", "rho"]),
    st.integers(1, 9),
)
def test_the_rounds_spend_the_budget_and_every_class_has_its_turn(n, budget, currency, n_classes):
    plan = plan_rounds(n, budget, currency, n_classes)
    assert len(plan.outputs) * (plan.choice_budget + plan.tally_budget) == budget
    assert set(plan.outputs) == ({1} if n_classes <= 2 else set(range(n_classes)))
    assert len(plan.outputs) <= MOST_ROUNDS * max(1, n_classes)


@pytest.mark.parametrize("currency", ["epsilon", "rho"])
def test_more_records_are_worth_more_rounds(currency):
    lengths = [len(plan_rounds(n, Fraction(1, 50), currency, 2).outputs) for n in (10, 10**4, 10**6, 10**12)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_partitions_have_all_features_few_parts_and_a_cell_for_missing_values():
    for options in islice(partitions(GRID, 8, seed=0), 20):
        assert {split.feature for split in options.splits} == {0, 1, 2, 3}
        for split in options.splits:
            part = np.frombuffer(split.part, np.uint8)
            assert sorted(set(part.tolist())) == list(range(split.n_children))
            assert split.n_children <= 8
            if split.feature < 2:
                inner = part[: len(GRID.features[split.feature].cuts) + 1]
                assert (np.diff(inner.astype(int)) >= 0).all()
            if split.feature == 1:
                assert part[-1] not in part[:-1]
        weights = np.exp(options.log_prior)
        each = [weights[[s.feature == f for s in options.splits]].sum() for f in range(4)]
        assert each == pytest.approx([1, 1, 1, 1])


def test_partitions_are_the_same_for_everyone():
    one, other = ([o.splits for o in islice(partitions(GRID, 8, seed=0), 3)] for _ in range(2))
    assert one == other
    assert one[0] != one[1]


def test_several_classes_need_more_records_before_boosting_pays_off():
    budget = Fraction(1)
    assert pays_off(20_000, budget, "epsilon", 2)
    assert not pays_off(20_000, budget, "epsilon", 4)
    assert not pays_off(1_000, budget, "epsilon", 2)
    assert not pays_off(-50, budget, "rho", 2)  # a noisy number of records may be negative
