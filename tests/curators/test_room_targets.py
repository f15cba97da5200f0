"""Private questions about numeric targets: exact integers behind the curtain, and the price of the two sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_counts import totals
from privet import Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema, SchemaError
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.laws import log_geometric
from privet.privacy.mechanisms import mechanisms, selection_scale
from privet.privacy.scores import MEDIAN, Gini, Quantile, SquaredError
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits

UNLIMITED = Fraction(10**13)
ERROR = SquaredError(TARGET_ONE)
SCHEMA = Schema(
    {"age": Numeric(0, 8, integer=True), "town": Categorical(["a", "b", "c"], other=False)}, target=(-2.0, 3.0)
)
records = st.tuples(st.integers(0, 8).map(float), st.sampled_from("abc"), st.floats(-5, 5))
tables = st.lists(records, max_size=30)


def desk_of(table, schema=SCHEMA, **options):
    X = np.array([record[:2] for record in table], dtype=object).reshape(len(table), 2)
    desk = MemoryCurator(X, [record[2] for record in table], schema, **options).open()
    desk.grid(public_grid(schema))
    return desk


def fixed(y, low=-2.0, high=3.0):
    """A target as a whole number, by the letter of its definition."""
    return round(Fraction(min(max(y, low), high) - low) / Fraction(high - low) * TARGET_ONE)


def left(split, record):
    code = "abc".index(record[1]) if split.feature == 1 else int(record[0])
    return split.part[code] == 0


def squared_error(table, split):
    sides = [[r for r in table if left(split, r)], [r for r in table if not left(split, r)]]
    moments = [[len(s), sum(fixed(r[2]) for r in s), sum(fixed(r[2]) ** 2 for r in s)] for s in sides]
    return -int(ERROR.of(np.array([moments]))[0])


@settings(max_examples=60, deadline=None)
@given(tables, st.data())
def test_target_sums_without_noise_are_exact(table, data):
    desk = desk_of(table)
    root, splits = desk.root(), public_splits(desk.cells)
    chosen = [splits.split(data.draw(st.integers(0, len(splits) - 1))) for _ in range(2)]
    copies = desk.copies(root, 3)
    plain = desk.tally({copies[0]: Tally(measure="target")}, UNLIMITED)[copies[0]]
    sums = desk.tally({copies[1]: Tally(tuple(chosen), measure="target")}, UNLIMITED)[copies[1]]
    counts = desk.tally({copies[2]: Tally(tuple(chosen))}, UNLIMITED)[copies[2]]
    assert plain.tolist() == [[sum(fixed(r[2]) for r in table), sum(TARGET_ONE - fixed(r[2]) for r in table)]]
    expected = []
    for split, side in itertools.product(chosen, (True, False)):
        t = [fixed(r[2]) for r in table if left(split, r) is side]
        expected.append([sum(t), TARGET_ONE * len(t) - sum(t)])
    assert sums.tolist() == expected
    assert counts.tolist() == [sum(pair) // TARGET_ONE for pair in expected]  # no classes: records are counted


@settings(max_examples=60, deadline=None)
@given(tables)
def test_a_choice_without_noise_has_the_least_squared_error(table):
    desk = desk_of(table)
    root = desk.root()
    options = Candidates(public_splits(desk.cells), 0)
    choice = desk.choose({root: options}, ERROR, UNLIMITED * TARGET_ONE**2)[root]
    errors = [squared_error(table, options.choice(i).split) for i in range(len(options))]
    # Priors are worth a part of the noise scale, which is nothing here.
    assert squared_error(table, choice.split) == min(errors)


@settings(max_examples=60, deadline=None)
@given(tables, st.sampled_from([MEDIAN, Quantile(1, 4)]))
def test_a_quantile_without_noise_parts_the_records_best(table, score):
    desk = desk_of(table)
    root = desk.root()
    options = Candidates(public_splits(desk.cells), 0)
    choice = desk.choose({root: options}, score, UNLIMITED, mechanism="exponential")[root]

    def balance(split):
        n = sum(left(split, r) for r in table)
        return int(score.of(np.array([[n, len(table) - n]]))[0])

    assert balance(choice.split) == max(balance(options.choice(i).split) for i in range(len(options)))


@pytest.mark.parametrize("span", [1, 2, 3])
def test_no_record_moves_a_node_by_more_than_the_prices_say(span):
    """All tables of up to two records with two features, and every record that may join them."""
    schema = Schema({"a": Numeric(0, 1, integer=True), "b": Numeric(0, 1, integer=True)}, target=(0, span))
    kinds = list(itertools.product((0.0, 1.0), (0.0, 1.0), range(span + 1)))
    options = None

    def answers(table):
        nonlocal options
        X = np.array([r[:2] for r in table], dtype=float).reshape(len(table), 2)
        desk = MemoryCurator(X, [r[2] for r in table], schema).open()
        desk.grid(public_grid(schema))
        options = Candidates(public_splits(desk.cells), 0, stop=True)
        root = desk.root()
        scores = next(desk._room._scores([(desk.held(root), options)], ERROR))
        each = tuple(public_splits(desk.cells).split(i) for i in range(2))
        tally = desk.tally({root: Tally(each, measure="target")}, UNLIMITED)[root]
        return scores, tally

    for n in range(3):
        for table in itertools.combinations_with_replacement(kinds, n):
            scores, tally = answers(table)
            for record in kinds:
                more, tally_more = answers([*table, record])
                assert (more <= scores).all()
                assert (scores - more).max() <= ERROR.sensitivity
                assert np.abs(tally_more - tally).sum() == 2 * TARGET_ONE


@pytest.mark.parametrize("seed", [None, 3])
def test_target_sums_have_geometric_noise_for_one_record_of_each_table(seed):
    schema = Schema({"job": Categorical(range(2000), other=False)}, target=(0, 1))
    desk = MemoryCurator(np.zeros((0, 1)), [], schema, mechanisms=mechanisms(seed)).open()
    desk.grid(public_grid(schema))
    root = desk.root()
    split = public_splits(desk.cells).split(0)
    table = type(split)(0, bytes(i % 200 for i in range(2000)))
    noise = np.concatenate(
        [desk.tally({root: Tally((table, table), measure="target")}, Fraction(1, 2))[root].ravel() for _ in range(20)]
    )
    event = desk.ledger.events[0]
    assert event.lemma == "target_tally(2)"
    assert event.sensitivity == 2 * TARGET_ONE
    assert event.cost <= event.charged == Fraction(1, 2)
    assert event.scale == pytest.approx(4 * TARGET_ONE)
    # The share of noise beyond each of a few multiples of the scale; 6 standard deviations, two-sided: < 1e-8 each.
    for multiple in (0.1, 0.5, 1, 2, 4):
        k = math.ceil(multiple * event.scale)
        tail = 1 - np.exp(log_geometric(np.arange(-k + 1, k), event.scale)).sum()
        share = (np.abs(noise) >= k).mean()
        assert abs(share - tail) < 6 * math.sqrt(tail * (1 - tail) / len(noise))


def test_targets_are_clamped_and_rounded_once():
    desk = desk_of([(0.0, "a", -9.0), (0.0, "a", 9.0), (0.0, "a", 0.1234567)])
    root = desk.root()
    t = [0, TARGET_ONE, fixed(0.1234567)]
    assert totals(desk, [root]).tolist() == [[3, sum(t), sum(x * x for x in t)]]


def test_a_constant_target_has_no_place_but_zero():
    schema = Schema({"age": Numeric(0, 8)}, target=(5.0, 5.0))
    desk = MemoryCurator(np.zeros((2, 1)), [5.0, 7.0], schema).open()
    assert totals(desk, [desk.root()]).tolist() == [[2, 0, 0]]


@pytest.mark.parametrize("score", [Gini(), SquaredError(1), SquaredError(TARGET_ONE + 1)])
def test_scores_without_a_proof_for_targets_are_refused_before_they_cost(score):
    ledger = Ledger(1)
    desk = desk_of([(1.0, "a", 1.0)], ledger=ledger)
    root = desk.root(Fraction(1))
    with pytest.raises(LeakError):
        desk.choose({root: Candidates(public_splits(desk.cells), 0)}, score, Fraction(1, 2))
    assert ledger.spent == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_targets_that_are_no_numbers_are_refused(bad):
    with pytest.raises(SchemaError, match="the target"):
        desk_of([(0.0, "a", bad)])


def test_the_noise_of_a_squared_error_fits_its_integers():
    assert selection_scale(ERROR.sensitivity, Fraction(1, 10**5)) < 2**52
