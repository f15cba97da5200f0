"""Boosting behind the curtain: exact gradients in whole numbers, scores that move only by released steps."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema
from privet.privacy import sensitivity
from privet.privacy.fixed_point import GRADIENT_ONE
from privet.privacy.mechanisms import SeededMechanisms, mechanisms
from privet.privacy.scores import MEDIAN, Gini, GradientNorm
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.products import Products
from privet.questions.split import Product, Split
from privet.questions.tally import Step, Tally
from privet.tree.public_splits import public_splits

UNLIMITED = Fraction(10**13)
FEATURES = {"age": Numeric(0, 8, integer=True), "town": Categorical(["a", "b", "c"], other=False)}
TWO = Schema(FEATURES, classes=["no", "yes"])
THREE = Schema(FEATURES, classes=["x", "y", "z"])
records = st.tuples(st.integers(0, 8).map(float), st.sampled_from("abc"), st.integers(0, 2))
tables = st.lists(records, max_size=20)
steps = st.lists(st.tuples(st.integers(0, 1), st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)), max_size=3)


def desk_of(table, schema=THREE, **options):
    X = np.array([record[:2] for record in table], dtype=object).reshape(len(table), 2)
    n = len(schema.classes)
    desk = MemoryCurator(X, [schema.classes[record[2] % n] for record in table], schema, **options).open()
    desk.grid(public_grid(schema))
    return desk


def halves(feature):
    """The lower and the upper half of a feature's cells."""
    return Split(feature, bytes([0] * 4 + [1] * 5) if feature == 0 else bytes([0, 1, 1]))


def cell(record, feature):
    return int(record[0]) if feature == 0 else "abc".index(record[1])


def advanced(desk, root, moves, output):
    for feature, low, high in moves:
        desk.advance({root: Step(halves(feature), (low, high), output)})


def expected_pair(record, moves, schema, output):
    """One record's gradient and Hessian, in plain Python."""
    total = sum((low, high)[halves(f).part[cell(record, f)]] for f, low, high in moves) / GRADIENT_ONE
    chance = 1 / (1 + math.exp(-min(max(total, -700), 700)))
    mine = record[2] % len(schema.classes) == output
    gradient = min(max(chance - mine, -0.5), 0.5)
    return np.array([gradient, chance * (1 - chance) / 4]) * GRADIENT_ONE


@settings(max_examples=60, deadline=None)
@given(tables, steps, st.sampled_from([TWO, THREE]), st.integers(0, 1))
def test_gradient_sums_without_noise_are_those_of_every_record_at_its_score(table, moves, schema, feature):
    output = len(schema.classes) - 1
    desk = desk_of(table, schema)
    root = desk.root()
    advanced(desk, root, moves, output)
    sums = desk.tally({root: Tally((halves(feature),), measure="gradient", output=output)}, UNLIMITED)[root]
    expected = np.zeros((2, 2))
    for record in table:
        expected[halves(feature).part[cell(record, feature)]] += expected_pair(record, moves, schema, output)
    assert np.abs(sums - expected).max() <= 20 * len(table)  # chances are of scores to a thousandth
    whole = desk.tally({root: Tally(measure="gradient", output=output)}, UNLIMITED)[root]
    assert whole.tolist() == [sums.sum(axis=0).tolist()]


@settings(max_examples=40, deadline=None)
@given(tables, steps)
def test_gradients_of_children_are_their_parents(table, moves):
    desk = desk_of(table)
    root = desk.root()
    advanced(desk, root, moves, 1)
    children = desk.split({root: halves(0)})[root]
    asked = Tally((halves(1),), measure="gradient", output=1)
    whole = desk.tally({root: asked}, UNLIMITED)[root]
    parts = desk.tally(dict.fromkeys(children, asked), UNLIMITED)
    assert sum(parts.values()).tolist() == whole.tolist()


def test_a_step_moves_the_records_of_its_node_alone():
    table = [(float(age), "a", 1) for age in range(9)]
    desk = desk_of(table, TWO)
    root = desk.root()
    young, old = desk.split({root: halves(0)})[root]
    everything = Split(1, bytes([0, 0, 0]))
    desk.advance({young: Step(everything, (10 * GRADIENT_ONE,), 1)})
    moved, still = (
        desk.tally({node: Tally(measure="gradient", output=1)}, UNLIMITED)[node][0, 0] for node in (young, old)
    )
    assert abs(moved) < 4 * GRADIENT_ONE / 1000
    assert still == -5 * GRADIENT_ONE // 2


def test_every_root_has_scores_of_its_own():
    desk = desk_of([(1.0, "a", 1)], TWO)
    one, other = desk.root(), desk.root()
    desk.advance({one: Step(halves(0), (5 * GRADIENT_ONE, 0), 1)})
    assert desk.tally({other: Tally(measure="gradient", output=1)}, UNLIMITED)[other].tolist() == [
        [-GRADIENT_ONE // 2, GRADIENT_ONE // 16]
    ]


# -- the constants --------------------------------------------------------------------------------------------------


def test_one_record_more_moves_a_gradient_tally_by_at_most_its_constant():
    """All tables of at most two records of two towns and two classes, after a step: exhaustive."""
    kinds = list(itertools.product([1.0, 7.0], "ab", (0, 1)))
    split = (halves(0), halves(1))
    constant = sensitivity.gradient_tally_sensitivity(2)
    largest = 0

    def sums(table):
        desk = desk_of(table, TWO)
        root = desk.root()
        desk.advance({root: Step(halves(0), (3 * GRADIENT_ONE, -7 * GRADIENT_ONE), 1)})
        return desk.tally({root: Tally(split, measure="gradient", output=1)}, UNLIMITED)[root]

    for n in range(2):
        for table in itertools.combinations_with_replacement(kinds, n):
            base = sums(list(table))
            for record in kinds:
                largest = max(largest, int(np.abs(sums([*table, record]) - base).sum()))
    assert 0.9 * constant < largest <= constant


# -- choices --------------------------------------------------------------------------------------------------------


BOTH = Product((halves(0), halves(1)))


def options(desk, *tables):
    return Candidates(Products(desk.cells, tables or [halves(0), halves(1)]), len(desk.schema.classes))


def test_the_split_with_the_largest_gradients_is_chosen():
    table = [(float(age), "ab"[age % 2], int(age >= 4)) for age in range(9)] * 5
    desk = desk_of(table, TWO)
    root = desk.root()
    chosen = desk.choose({root: options(desk)}, GradientNorm(1), UNLIMITED)[root]
    assert chosen.table == chosen.split == halves(0)


def test_a_product_is_chosen_where_only_both_features_together_tell():
    table = [(age, town, int((age > 3) == (town == "a"))) for age in (1.0, 7.0) for town in "ab"] * 5
    desk = desk_of(table, TWO)
    root = desk.root()
    chosen = desk.choose({root: options(desk, halves(0), halves(1), BOTH)}, GradientNorm(1), UNLIMITED)[root]
    assert chosen.table == chosen.product == BOTH
    mask = Candidates(Products(desk.cells, [BOTH, halves(0), halves(1)]), 2, [False, True, True])
    assert desk.choose({root: mask}, GradientNorm(1), UNLIMITED)[root].product is None


@settings(max_examples=40, deadline=None)
@given(tables, steps, st.booleans())
def test_sums_over_a_product_are_those_of_every_record_in_its_parts(table, moves, below):
    desk = desk_of(table, TWO)
    root = desk.root()
    advanced(desk, root, moves, 1)
    desk.advance({root: Step(BOTH, (1, 2 * GRADIENT_ONE, -3, 4), 1)})
    node = desk.split({root: halves(1)})[root][1] if below else root
    joint = desk.tally({node: Tally((BOTH, halves(0)), measure="gradient", output=1)}, UNLIMITED)[node]
    assert joint[:4].reshape(2, 2, 2).sum(axis=1).tolist() == joint[4:].tolist()
    expected = np.zeros((4, 2))
    for record in table:
        town, age = halves(1).part[cell(record, 1)], halves(0).part[cell(record, 0)]
        added = (1, 2 * GRADIENT_ONE, -3, 4)[2 * age + town]
        if town or not below:
            expected[2 * age + town] += expected_pair(record, [*moves, (0, added, added)], TWO, 1)
    assert np.abs(joint[:4] - expected).max() <= 20 * len(table)


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_gradient_questions_are_charged_by_their_lemmas(delta):
    ledger = Ledger(1, delta=delta)
    desk = desk_of([(1.0, "a", 1)] * 9, TWO, ledger=ledger, mechanisms=mechanisms(0))
    currency = "rho" if delta else "epsilon"
    root = desk.root(ledger.root.limit, currency)
    desk.choose({root: options(desk)}, GradientNorm(1), Fraction(1, 1000), mechanism="exponential")
    desk.tally({root: Tally((halves(0),), measure="gradient", output=1)}, Fraction(1, 500))
    desk.advance({root: Step(halves(0), (1, 2), 1)})
    chosen, tallied = ledger.events
    norm = "euclidean_" if delta else ""
    assert [event.lemma for event in ledger.events] == ["clipped_gradient_norm(1)", f"{norm}clipped_gradient_tally(1)"]
    assert tallied.mechanism == ("gaussian" if delta else "geometric")
    for event, budget in ((chosen, Fraction(1, 1000)), (tallied, Fraction(1, 500))):
        assert event.charged == budget
        cost = event.rho if delta else event.cost
        assert budget * Fraction(999, 1000) <= cost <= budget
    assert desk.scope(root).spent == Fraction(3, 1000)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c, root: c.tally({root: Tally(measure="gradient", output=0)}, Fraction(1)),
        lambda c, root: c.tally({root: Tally(measure="gradient", output=2)}, Fraction(1)),
        lambda c, root: c.choose({root: options(c)}, GradientNorm(0), Fraction(1)),
        lambda c, root: c.choose({root: Candidates(None, 2)}, GradientNorm(1), Fraction(1)),
        lambda c, root: c.choose({root: Candidates(public_splits(c.cells), 2)}, GradientNorm(1), Fraction(1)),
        lambda c, root: c.choose({root: options(c, halves(1), BOTH)}, Gini(), Fraction(1)),
        lambda c, root: c.choose({root: options(c)}, MEDIAN, Fraction(1)),
        lambda c, root: c.tally({root: Tally((BOTH,))}, Fraction(1)),
        lambda c, root: c.owner_sum({root: (BOTH,)}, "least_impurity", Fraction(1)),
        lambda c, root: c.split({root: BOTH}),
        lambda c, root: c.advance({root: Step(halves(0), (1,), 1)}),
        lambda c, root: c.advance({root: Step(halves(0), (1, 2**40), 1)}),
        lambda c, root: c.advance({root: Step(halves(0), (1, 2), 0)}),
        lambda c, root: c.advance({root: Step(Split(0, b"\0\1"), (1, 2), 1)}),
    ],
)
def test_questions_without_a_proof_are_refused_and_cost_nothing(ask):
    desk = desk_of([(1.0, "a", 1)], TWO)
    root = desk.root()
    with pytest.raises(LeakError):
        ask(desk, root)
    assert desk.scope(root).spent == 0


def test_numeric_targets_have_no_gradients():
    schema = Schema(FEATURES, target=(0.0, 1.0))
    desk = MemoryCurator(np.array([[1.0, "a"]], dtype=object), [0.5], schema).open()
    desk.grid(public_grid(schema))
    with pytest.raises(LeakError):
        desk.tally({desk.root(): Tally(measure="gradient")}, Fraction(1))


def test_noise_on_gradients_has_the_scale_that_was_charged():
    """The standard deviation of 4000 noisy sums, against a normal's: false alarms below 1e-9 (seeded)."""
    desk = desk_of([], TWO, ledger=Ledger(math.inf, delta=1e-6), mechanisms=SeededMechanisms(np.random.default_rng(1)))
    root = desk.root(math.inf, "rho")
    draws = [
        desk.tally({root: Tally((halves(0),), measure="gradient", output=1)}, Fraction(1, 2))[root].ravel()
        for _ in range(1000)
    ]
    assert np.std(np.concatenate(draws)) == pytest.approx(GRADIENT_ONE * math.sqrt(65) / 16, rel=0.08)


@pytest.mark.parametrize("schema", [TWO, THREE])
def test_a_gradient_does_not_depend_on_where_its_record_stands(schema):
    """Vectors are computed in blocks with a rest: a record that joins must not change how another one is rounded."""
    moves = [(0, 123_457, -765_432), (1, -54_321, 98_765)]
    rng = np.random.default_rng(0)
    table = [(float(rng.integers(9)), "abc"[rng.integers(3)], int(rng.integers(3))) for _ in range(67)]
    output = 1

    def pairs(records):
        desk = desk_of(records, schema)
        root = desk.root(UNLIMITED)
        advanced(desk, root, moves, output)
        return np.stack(desk._room._pairs(desk.held(root).root, output), axis=1)

    together = pairs(table)
    for i, record in enumerate(table):
        assert (pairs([record])[0] == together[i]).all()
    np.testing.assert_array_equal(pairs(table[1:]), together[1:])
