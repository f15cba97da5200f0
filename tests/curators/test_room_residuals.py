"""Boosting of numeric targets behind the curtain: exact residuals in whole numbers, at scores that steps alone move."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.privacy.laws import log_exponential
from privet.privacy.mechanisms import mechanisms
from privet.privacy.residuals import RESIDUAL_L1, RESIDUAL_L2_SQUARE, RESIDUAL_POINTS, residual_pairs
from privet.privacy.scores import GradientNorm, ResidualNorm
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.levels import Levels
from privet.questions.products import Products
from privet.questions.split import Product, Split
from privet.questions.tally import Step, Tally

UNLIMITED = Fraction(10**13)
FEATURES = {"age": Numeric(0, 8, integer=True), "town": Categorical(["a", "b", "c"], other=False)}
SCHEMA = Schema(FEATURES, target=(-10.0, 30.0))
HALVES = {0: Split(0, bytes([0] * 4 + [1] * 5)), 1: Split(1, bytes([0, 1, 1]))}
BOTH = Product((HALVES[0], HALVES[1]))
records = st.tuples(st.integers(0, 8).map(float), st.sampled_from("abc"), st.floats(-10, 30))
tables = st.lists(records, max_size=20)
steps = st.lists(st.tuples(st.integers(0, 1), st.integers(-(10**5), 10**5), st.integers(-(10**5), 10**5)), max_size=3)


def desk_of(table, **options):
    X = np.array([record[:2] for record in table], dtype=object).reshape(len(table), 2)
    desk = MemoryCurator(X, [record[2] for record in table], SCHEMA, **options).open()
    desk.grid(public_grid(SCHEMA))
    return desk


def half(record, feature):
    return int(record[0] >= 4) if feature == 0 else int(record[1] != "a")


def score(record, moves):
    return sum((low, high)[half(record, f)] for f, low, high in moves)


def residual(record, moves):
    return round((record[2] + 10) / 40 * TARGET_ONE) - score(record, moves)


def advanced(desk, moves):
    root = desk.root()
    for feature, *values in moves:
        desk.advance({root: Step(HALVES[feature], values)})
    return root


@settings(max_examples=60, deadline=None)
@given(tables, steps, st.sampled_from([1, 999, TARGET_ONE]), st.booleans())
def test_residual_sums_without_noise_are_those_of_every_record_at_its_score(table, moves, clamp, focused):
    desk = desk_of(table)
    root = advanced(desk, moves)
    if focused:
        desk.focus(0.0, 1.0)  # of targets; residuals are over the whole range
    asked = {
        "cells": Tally((BOTH,), measure="residual", clamp=clamp),
        "levels": Tally(measure="residual", clamp=clamp, levels=Levels((-100, 30_000))),
        "all": Tally(measure="residual", clamp=clamp),
    }
    place = {
        "cells": lambda own: 2 * half(own, 0) + half(own, 1),
        "levels": lambda own: int(score(own, moves) > -100) + int(score(own, moves) > 30_000),
        "all": lambda own: 0,
    }
    for name, question in asked.items():
        expected = np.zeros(({"cells": 4, "levels": 3, "all": 1}[name], 2), dtype=np.int64)
        for record in table:
            expected[place[name](record)] += residual_pairs(np.array([residual(record, moves)]), clamp)[0]
        assert desk.tally({root: question}, UNLIMITED)[root].tolist() == expected.tolist()


@settings(max_examples=30, deadline=None)
@given(tables, steps)
def test_residuals_of_children_are_their_parents(table, moves):
    desk = desk_of(table)
    root = advanced(desk, moves)
    children = desk.split({root: HALVES[0]})[root]
    for asked in (
        Tally((HALVES[1],), measure="residual", clamp=500),
        Tally(measure="residual", clamp=500, levels=Levels((10, 10_000))),
    ):
        parts = desk.tally(dict.fromkeys(children, asked), UNLIMITED)
        assert sum(parts.values()).tolist() == desk.tally({root: asked}, UNLIMITED)[root].tolist()


def test_one_record_more_moves_residual_sums_by_at_most_their_constants():
    """All tables of at most two records of two ages, towns and three targets, after a step: exhaustive."""
    kinds = list(itertools.product([1.0, 7.0], "ab", (-10.0, 0.5, 30.0)))
    far = (0, 3 * TARGET_ONE, -TARGET_ONE // 2)
    for asked, n_tables in (
        (Tally((HALVES[0], BOTH), measure="residual", clamp=5000), 2),
        (Tally(measure="residual", clamp=5000, levels=Levels((0,))), 1),
    ):
        longest, largest = 0, 0
        for n in range(2):
            for table in itertools.combinations_with_replacement(kinds, n):
                sums = []
                for own in ([*table], *([*table, record] for record in kinds)):
                    desk = desk_of(own)
                    root = advanced(desk, [far])
                    sums.append(desk.tally({root: asked}, UNLIMITED)[root])
                change = np.array(sums[1:]) - sums[0]
                largest = max(largest, int(np.abs(change).sum(axis=(1, 2)).max()))
                longest = max(longest, int((change**2).sum(axis=(1, 2)).max()))
        assert largest == n_tables * RESIDUAL_L1
        assert longest == n_tables * RESIDUAL_L2_SQUARE


# -- quantiles ------------------------------------------------------------------------------------------------------


def test_a_quantile_of_residuals_is_near_the_true_one_where_noise_is_small():
    table = [(float(i % 9), "abc"[i % 3], -10 + 40 * i / 999) for i in range(1000)]
    desk = desk_of(table)
    root = advanced(desk, [(0, TARGET_ONE // 2, TARGET_ONE // 2)])
    low, high = desk.residual_quantiles(root, [Fraction(9, 10), Fraction(1, 2)], Fraction(1000))
    assert low == pytest.approx(TARGET_ONE / 4, rel=0.1)
    assert high == pytest.approx(TARGET_ONE * 0.45, rel=0.1)
    assert {low, high} <= set(RESIDUAL_POINTS.tolist())


def test_no_record_changes_the_law_of_a_residual_quantile_by_more_than_its_budget():
    """All tables of at most two records, after a step, with one more or less: the exact probabilities of all points."""
    budget, laws = Fraction(1), {}
    kinds = [(1.0, "a", -10.0), (7.0, "b", 3.0), (7.0, "a", 30.0)]

    class Noted:
        reproducible, generator = False, None

        def select(self, mechanism, scores, scales):
            assert mechanism == "exponential"
            (self.law,) = (log_exponential(own, scale) for own, scale in zip(scores, scales))
            return [0]

    for n in range(3):
        for table in itertools.combinations_with_replacement(kinds, n):
            noted = Noted()
            desk = desk_of(table, mechanisms=noted)
            desk.residual_quantiles(advanced(desk, [(1, 900, -(2**20))]), [Fraction(9, 10)], budget)
            laws[table] = noted.law
    for table, record in itertools.product(laws, kinds):
        more = laws.get(tuple(sorted([*table, record])))
        if more is not None:
            assert np.abs(more - laws[table]).max() <= 1 + 1e-9


# -- choices and charges --------------------------------------------------------------------------------------------


def options(desk):
    return Candidates(Products(desk.cells, (HALVES[0], HALVES[1], BOTH)), 0)


def test_the_table_with_the_largest_residuals_is_chosen():
    table = [(float(age), "ab"[age % 2], 20.0 * (age >= 4)) for age in range(9)] * 5
    desk = desk_of(table)
    root = advanced(desk, [(0, TARGET_ONE // 2, TARGET_ONE // 2)])
    asked = {root: Candidates(Products(desk.cells, (HALVES[1], HALVES[0])), 0)}
    assert desk.choose(asked, ResidualNorm(10_000), UNLIMITED)[root].split == HALVES[0]


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_residual_questions_are_charged_by_their_lemmas(delta):
    ledger = Ledger(1, delta=delta)
    desk = desk_of([(1.0, "a", 1.0)] * 9, ledger=ledger, mechanisms=mechanisms(0))
    root = desk.root(ledger.root.limit, "rho" if delta else "epsilon")
    budget = Fraction(1, 1000)
    desk.choose({root: options(desk)}, ResidualNorm(70), budget, mechanism="exponential")
    desk.tally({root: Tally((BOTH,), measure="residual", clamp=70)}, budget)
    desk.tally({root: Tally(measure="residual", clamp=70, levels=Levels((5,)))}, budget)
    desk.residual_quantiles(root, [Fraction(9, 10)], budget)
    desk.advance({root: Step(HALVES[0], (1, 2))})
    tally = f"{'euclidean_' if delta else ''}residual_tally(1)"
    assert [event.lemma for event in ledger.events] == ["residual_norm(70)", tally, tally, "quantile(9/10)"]
    for event in ledger.events:
        assert budget * Fraction(999, 1000) <= (event.rho if delta else event.cost) <= budget
    assert ledger.events[0].sensitivity == 2 * GRADIENT_ONE
    assert ledger.events[-1].question == "quantile of residuals"
    assert desk.scope(root).spent == 4 * budget


@pytest.mark.parametrize(
    "ask",
    [
        lambda c, root: c.tally({root: Tally(measure="gradient", output=0)}, Fraction(1)),
        lambda c, root: c.tally({root: Tally(measure="residual", output=1)}, Fraction(1)),
        lambda c, root: c.choose({root: options(c)}, GradientNorm(0), Fraction(1)),
        lambda c, root: c.choose({root: Candidates(None, 0)}, ResidualNorm(1), Fraction(1)),
        lambda c, root: c.advance({root: Step(HALVES[0], (1, 2), 1)}),
        lambda c, root: c.residual_quantiles(root, [Fraction(3, 2)], Fraction(1)),
    ],
)
def test_questions_without_a_proof_are_refused_and_cost_nothing(ask):
    desk = desk_of([(1.0, "a", 1.0)])
    root = desk.root()
    with pytest.raises(LeakError):
        ask(desk, root)
    assert desk.scope(root).spent == 0


def test_classes_have_no_residuals():
    schema = Schema(FEATURES, classes=["no", "yes"])
    desk = MemoryCurator(np.array([[1.0, "a"]], dtype=object), ["no"], schema).open()
    desk.grid(public_grid(schema))
    root = desk.root()
    with pytest.raises(LeakError, match="no numeric target"):
        desk.tally({root: Tally(measure="residual")}, Fraction(1))
    with pytest.raises(LeakError, match="no numeric target"):
        desk.residual_quantiles(root, [Fraction(1, 2)], Fraction(1))
    with pytest.raises(LeakError, match="residuals"):
        desk.choose({root: Candidates(Products(desk.cells, (HALVES[0],)), 2)}, ResidualNorm(1), Fraction(1))
