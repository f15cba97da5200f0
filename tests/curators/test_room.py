"""Answers of a room that counts in one place: exact at an unlimited budget, and with the right noise."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from exact_transcripts import loss, transcripts
from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema
from privet.audit.scripted import SELECTION_LAWS
from privet.privacy.event import SELECTIONS, add_up
from privet.privacy.laws import log_exponential, log_geometric, log_joint_quantiles
from privet.privacy.mechanisms import mechanisms, selection_scale
from privet.privacy.scores import (
    CorrectCount,
    Entropy,
    Gini,
    JointQuantiles,
    Mixed,
    Quantile,
    RootGini,
)
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.multiway import Multiway
from privet.questions.split import Split, each_cell
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits
from rooms import hold

UNLIMITED = Fraction(10**12)
"""So large a budget that noise rounds to nothing."""

SCHEMA = Schema(
    {"age": Numeric(0, 8, integer=True, missing=True), "sex": Categorical(["f", "m"]), "pay": Numeric(0, 100)},
    classes=["no", "yes", "maybe"],
)
records = st.tuples(
    st.one_of(st.just(math.nan), st.integers(-1, 9).map(float)),
    st.sampled_from(["f", "m", "x"]),
    st.floats(-10, 110),
    st.sampled_from(SCHEMA.classes),
)
tables = st.lists(records, max_size=40)


def desk_of(table, *, ledger=None, noise=None, max_cells=8):
    X = pd.DataFrame(
        {
            name: pd.Series([record[i] for record in table], dtype=kind)
            for i, (name, kind) in enumerate([("age", float), ("sex", object), ("pay", float)])
        }
    )
    y = pd.Series([record[3] for record in table], dtype=object)
    desk = MemoryCurator(X, y, SCHEMA, ledger=ledger, mechanisms=noise).open()
    desk.grid(public_grid(SCHEMA, max_cells))
    return desk


def some_table(n=60, seed=1):
    rng = np.random.default_rng(seed)
    return [
        (float(rng.integers(0, 9)), "fmx"[rng.integers(3)], float(rng.uniform(0, 100)), SCHEMA.classes[rng.integers(3)])
        for _ in range(n)
    ]


def splits_of(desk):
    return public_splits(desk.cells)


def candidates_of(desk, **options):
    return Candidates(splits_of(desk), 3, **options)


def children_of(table, split, desk):
    """The class counts of a split's children, record by record."""
    grid, names = desk.cells, SCHEMA.names
    cells, feature = grid.features[split.feature], SCHEMA.features[names[split.feature]]
    counts = np.zeros((split.n_children, 3), dtype=np.int64)
    for record in table:
        value = record[split.feature]
        if isinstance(feature, Categorical):
            cell = feature.values.index(value) if value in feature.values else len(feature.values)
        else:
            cell = len(cells.cuts) + 1 if math.isnan(value) else sum(cut < value for cut in cells.cuts)
        counts[split.part[cell], SCHEMA.classes.index(record[3])] += 1
    return counts


def totals_of(table):
    return np.array([sum(record[3] == each for record in table) for each in SCHEMA.classes])


# -- exact answers at an unlimited budget ------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(tables, st.booleans(), st.data())
def test_a_tally_without_noise_is_the_exact_count(table, by_class, data):
    desk = desk_of(table)
    root, splits = desk.root(), splits_of(desk)
    chosen = data.draw(st.lists(st.integers(0, len(splits) - 1), min_size=1, max_size=4))
    tables_asked = tuple(splits.split(i) for i in chosen)
    plain, whole = desk.copies(root, 2)
    answers = desk.tally(
        {plain: Tally(by_class=by_class), whole: Tally(tables=tables_asked, by_class=by_class)}, UNLIMITED
    )
    counts = np.concatenate([children_of(table, split, desk) for split in tables_asked])
    totals = totals_of(table)[None, :]
    np.testing.assert_array_equal(answers[whole], counts if by_class else counts.sum(axis=1))
    np.testing.assert_array_equal(answers[plain], totals if by_class else totals.sum(axis=1))
    assert answers[whole].dtype == answers[plain].dtype == np.int64


@settings(max_examples=60, deadline=None)
@given(
    tables, st.sampled_from([CorrectCount(), Gini(), Mixed(0), Mixed(100), Entropy(10), Entropy(1000)]), st.booleans()
)
def test_a_choice_without_noise_is_a_best_split(table, score, stop):
    desk = desk_of(table)
    root, options = desk.root(), candidates_of(desk, stop=stop)
    for mechanism in SELECTIONS:
        choice = desk.choose({root: options}, score, UNLIMITED, mechanism=mechanism)[root]
        scores = [
            score.of(children_of(table, options.choice(i).split, desk)[None])[0] for i in range(len(options) - stop)
        ]
        if stop:
            scores.append(score.of(totals_of(table)[None, None])[0])
        own = score.of(children_of(table, choice.split, desk)[None])[0] if choice.split is not None else scores[-1]
        assert own == max(scores)
        assert choice.labels is None


@settings(max_examples=60, deadline=None)
@given(tables)
def test_a_labelled_choice_without_noise_has_the_most_correct_records(table):
    desk = desk_of(table)
    root, options = desk.root(), candidates_of(desk, labelled=True, stop=True)
    choice = desk.choose({root: options}, CorrectCount(), UNLIMITED)[root]

    def correct(choice):
        counts = totals_of(table)[None] if choice.split is None else children_of(table, choice.split, desk)
        return sum(own[label] for own, label in zip(counts, choice.labels))

    assert correct(choice) == max(correct(options.choice(i)) for i in range(len(options)))


def several(desk, labelled=False):
    """Splits into two and more children: attributes, and cells grouped at random."""
    rng, grid = np.random.default_rng(3), desk.cells
    sizes = [cells.n_cells for cells in grid.features]
    grouped = [Split(f, rng.integers(0, 3, n).astype(np.uint8).tobytes()) for f, n in enumerate(sizes)]
    few = [each_cell(grid, f) for f, n in enumerate(sizes) if n <= (4 if labelled else 256)]
    return Multiway.of(grid, [*few, *grouped])


@settings(max_examples=40, deadline=None)
@given(tables, st.sampled_from([CorrectCount(), Gini(), Mixed(100), Entropy(10)]), st.booleans())
def test_a_choice_among_splits_into_several_children_is_a_best_one(table, score, stop):
    desk = desk_of(table)
    root, splits = desk.root(), several(desk)
    choice = desk.choose({root: Candidates(splits, 3, stop=stop)}, score, UNLIMITED)[root]
    scores = [score.of(children_of(table, split, desk)[None])[0] for split in splits.splits]
    unsplit = score.of(totals_of(table)[None, None])[0]
    own = unsplit if choice.split is None else scores[splits.splits.index(choice.split)]
    assert own == max([*scores, *([unsplit] if stop else [])])


@settings(max_examples=30, deadline=None)
@given(tables)
def test_labels_of_several_children_are_chosen_with_the_split(table):
    desk = desk_of(table)
    root, options = desk.root(), Candidates(several(desk, labelled=True), 3, labelled=True, stop=True)
    choice = desk.choose({root: options}, CorrectCount(), UNLIMITED)[root]

    def correct(choice):
        counts = totals_of(table)[None] if choice.split is None else children_of(table, choice.split, desk)
        return sum(own[label] for own, label in zip(counts, choice.labels))

    assert correct(choice) == max(correct(options.choice(i)) for i in range(len(options)))
    # Every child may have its best label, so no choice of a split alone could do better.
    assert correct(choice) >= max(children_of(table, s, desk).max(axis=1).sum() for s in options.splits.splits)


@settings(max_examples=40, deadline=None)
@given(tables)
def test_a_label_without_noise_is_the_majority(table):
    desk = desk_of(table)
    root = desk.root()
    choice = desk.choose({root: Candidates(None, 3, labelled=True, stop=True)}, CorrectCount(), UNLIMITED)[root]
    assert choice.split is None
    assert totals_of(table)[choice.labels[0]] == totals_of(table).max()


@settings(max_examples=60, deadline=None)
@given(tables, st.fractions(0, 1, max_denominator=20), st.sampled_from([0, 2]))
def test_a_quantile_without_noise_is_a_best_cut(table, p, feature):
    desk = desk_of(table)
    root, cuts = desk.root(), desk.cells.features[feature].cuts
    (answer,) = desk.quantiles(root, [feature], [p], UNLIMITED)[feature]
    known = [record[feature] for record in table if not math.isnan(record[feature])]

    def score(cut):
        left = sum(value <= cut for value in known)
        return -abs((1 - p) * left - p * (len(known) - left))

    assert score(answer) == max(score(cut) for cut in cuts)


inside = st.fractions("1/20", "19/20", max_denominator=20)


@settings(max_examples=60, deadline=None)
@given(tables, st.lists(inside, min_size=2, max_size=4, unique=True), st.sampled_from([0, 2]))
def test_several_quantiles_without_noise_are_the_best_cuts_together(table, probs, feature):
    desk = desk_of(table)
    root, cuts = desk.root(), desk.cells.features[feature].cuts
    answer = desk.quantiles(root, [feature], probs, UNLIMITED)[feature]
    known = [record[feature] for record in table if not math.isnan(record[feature])]
    spacings = np.diff([Fraction(0), *sorted(probs), Fraction(1)])

    def score(chosen):
        up_to = [0, *(sum(value <= cut for value in known) for cut in chosen), len(known)]
        return -sum(abs(gap - spacing * len(known)) for gap, spacing in zip(np.diff(up_to), spacings))

    assert answer == sorted(answer)
    assert score(answer) == max(map(score, combinations_with_replacement(cuts, len(probs))))


@settings(max_examples=40, deadline=None)
@given(tables, st.fractions("1/1000", 10), st.integers(0, 2**31))
def test_quantiles_are_sorted_points_of_the_range_at_any_budget(table, budget, seed):
    desk = desk_of(table, noise=mechanisms(seed))
    root = desk.root()
    answers = desk.quantiles(root, [2, 0], [Fraction(3, 4), Fraction(1, 2), Fraction(1, 10)], budget)
    for f, (low, high) in {0: (0, 8), 2: (0, 100)}.items():
        assert answers[f] == sorted(answers[f])
        assert all(low <= cut <= high for cut in answers[f])
        assert len(answers[f]) == 3
    assert desk.scope(root).spent == budget
    assert add_up(desk.ledger.events) == budget


# -- noise: chi-square tests, each with a false-alarm rate of 1e-8 -------------------------------------------------


def assert_drawn_from(observed, probabilities, n):
    """Observed numbers of each outcome against a law; outcomes expected less than 20 times are put together."""
    observed, expected = np.asarray(observed, float), np.asarray(probabilities) * n
    rare = expected < 20
    observed = np.append(observed[~rare], [n - observed[~rare].sum()])
    expected = np.append(expected[~rare], [n - expected[~rare].sum()])
    if expected[-1] < 20:
        observed[-2:], expected[-2:] = observed[-2:].sum() / 2, expected[-2:].sum() / 2
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-8, len(expected) - 1)


@pytest.mark.parametrize("seed", [None, 11])
@pytest.mark.parametrize("n_tables", [1, 3])
def test_tallies_have_geometric_noise_for_all_their_tables_together(seed, n_tables):
    schema = Schema({"job": Categorical(range(3000), other=False)}, classes=[0, 1])
    desk = MemoryCurator(np.full((5, 1), 7), [0, 0, 0, 1, 1], schema, mechanisms=mechanisms(seed)).open()
    desk.grid(public_grid(schema))
    root, budget = desk.root(), Fraction(1, 2)
    table = Split(0, bytes(i % 250 for i in range(3000)))
    noise = []
    for _ in range(20 // n_tables):
        answer = desk.tally({root: Tally((table,) * n_tables)}, budget)[root].reshape(n_tables, 250, 2)
        answer[:, 7] -= [3, 2]
        noise.append(answer.ravel())
    noise = np.concatenate(noise)
    scale = desk.ledger.events[0].scale
    assert scale == pytest.approx(2 * n_tables)
    values = np.arange(-400, 401)
    assert_drawn_from([(noise == k).sum() for k in values], np.exp(log_geometric(values, scale)), len(noise))


@pytest.mark.parametrize("seed", [None, 11])
@pytest.mark.parametrize("mechanism", SELECTIONS)
def test_choices_follow_their_law_with_the_prior(seed, mechanism):
    table, n = some_table(30, seed=2), 2500
    desk = desk_of(table, noise=mechanisms(seed), max_cells=4)
    options = candidates_of(desk, stop=True, stop_log_prior=-1.0)
    budget, score = Fraction(1, 2), Mixed(128)
    copies = desk.copies(desk.root(), n)
    choices = desk.choose(dict.fromkeys(copies, options), score, budget, mechanism=mechanism)
    scale = selection_scale(score.sensitivity, budget)
    all_choices = [options.choice(i) for i in range(len(options))]
    scores = np.array(
        [
            score.of((totals_of(table)[None] if c.split is None else children_of(table, c.split, desk))[None])[0]
            for c in all_choices
        ]
    )
    law = SELECTION_LAWS[mechanism]
    probabilities = np.exp(law(scores + np.rint(options.log_prior * scale), scale))
    number = {choice: i for i, choice in enumerate(all_choices)}
    observed = np.bincount([number[choice] for choice in choices.values()], minlength=len(options))
    assert_drawn_from(observed, probabilities, n)


@pytest.mark.parametrize("seed", [None, 11])
def test_quantiles_follow_the_exponential_mechanism(seed):
    table, n = some_table(25, seed=4), 1500
    desk = desk_of(table, noise=mechanisms(seed), max_cells=10)
    root, budget, p = desk.root(), Fraction(1, 2), Fraction(1, 4)
    cuts = desk.cells.features[2].cuts
    drawn = [desk.quantiles(root, [2], [p], budget)[2][0] for _ in range(n)]
    left = np.array([sum(record[2] <= cut for record in table) for cut in cuts])
    score, scale = Quantile(1, 4), desk.ledger.events[0].scale
    assert scale == pytest.approx(score.sensitivity / 0.5)
    edges = np.concatenate([[0], cuts, [100]])
    widths = (edges[2:] - edges[:-2]) / 2
    prior = np.rint(np.log(widths / widths.max()) * scale)
    law = np.exp(log_exponential(score.of(np.stack([left, 25 - left], axis=1)) + prior, scale))
    assert_drawn_from([drawn.count(cut) for cut in cuts], law, n)


@pytest.mark.parametrize("seed", [None, 12])
def test_joint_quantiles_follow_the_exponential_mechanism_over_sets_of_cuts(seed):
    table, n = some_table(25, seed=4), 1500
    desk = desk_of(table, noise=mechanisms(seed), max_cells=5)
    root, budget, probs = desk.root(), Fraction(1, 2), [Fraction(1, 4), Fraction(1, 2)]
    cuts = desk.cells.features[2].cuts
    drawn = [tuple(desk.quantiles(root, [2], probs, budget)[2]) for _ in range(n)]
    score, event = JointQuantiles((1, 1, 2)), desk.ledger.events[0]
    assert event.scale == pytest.approx(score.sensitivity / 0.5)
    assert (event.question, event.mechanism, event.lemma) == ("joint quantiles", "exponential", "joint_quantiles(1/4)")
    edges = np.concatenate([[0], cuts, [100]])
    counts = np.histogram([record[2] for record in table], [-1, *cuts + 1e-9, 100])[0]
    sets, log_p = log_joint_quantiles(counts, score, edges[2:] - edges[:-2], event.scale)
    assert_drawn_from([drawn.count(tuple(cuts[list(each)])) for each in sets], np.exp(log_p), n)


def test_joint_quantiles_on_every_small_pair_of_tables_are_within_their_price():
    """The exact laws of all tables of at most three records in five cells, each with any record added."""
    score, scale, weights = JointQuantiles((1, 2, 1)), 4.0, np.array([1.0, 0.1, 5.0, 1.0])
    price = score.sensitivity / scale
    worst = 0.0
    for n in range(4):
        for cells in combinations_with_replacement(range(5), n):
            counts = np.bincount(cells, minlength=5)
            before = log_joint_quantiles(counts, score, weights, scale)[1]
            for cell in range(5):
                after = log_joint_quantiles(counts + np.eye(5, dtype=int)[cell], score, weights, scale)[1]
                worst = max(worst, np.abs(after - before).max())
    assert 0.6 * price < worst <= price * (1 + 1e-12)


@pytest.mark.parametrize(("low", "high"), [(1e-200, 1e200), (1e-170, 1e170), (1e-300, 1e300)])
def test_quantiles_of_a_huge_range_are_within_their_price(low, high):
    """Cells whose share of the range is too small for a float weigh little, and never wrap around."""
    schema = Schema({"a": Numeric(low, high, log=True)}, classes=[0, 1])

    def law(values):
        def run(mechanisms):
            X, y = np.array(values, dtype=float).reshape(-1, 1), [0] * len(values)
            desk = MemoryCurator(X, y, schema, mechanisms=mechanisms).open()
            desk.grid(public_grid(schema))
            desk.quantiles(desk.root(), [0], [Fraction(1, 2)], Fraction(1))

        return transcripts(run)

    assert loss(law([]), law([1.0])) <= 1 + 1e-9


@pytest.mark.parametrize("mechanism", SELECTIONS)
@pytest.mark.parametrize(
    "score", [Gini(), Entropy(2), Entropy(1000), RootGini(1), RootGini(50), CorrectCount()], ids=lambda s: s.lemma
)
def test_every_selection_by_every_score_keeps_within_its_budget_on_all_small_tables(score, mechanism):
    schema = Schema(
        {"a": Categorical([0, 1], other=False), "b": Categorical([0, 1], other=False)}, classes=["no", "yes"]
    )
    grid = public_grid(schema)
    kinds = [(a, b, y) for a in (0, 1) for b in (0, 1) for y in schema.classes]

    @cache
    def law(table):
        X = np.array([record[:2] for record in table], dtype=int).reshape(-1, 2)
        make = hold("memory", X, [record[2] for record in table], schema)

        def run(mechanisms):
            desk = make(ledger=Ledger(math.inf), mechanisms=mechanisms).open()
            desk.grid(grid)
            options = Candidates(public_splits(grid), 2, stop=True)
            desk.choose({desk.root(): options}, score, Fraction(1), mechanism=mechanism)

        return transcripts(run)

    worst = max(
        loss(law(table), law(tuple(sorted((*table, added)))))
        for n in range(4)
        for table in combinations_with_replacement(kinds, n)
        for added in kinds
    )
    assert 0.05 < worst <= 1 + 1e-9


def test_noise_on_numbers_that_are_public_is_free():
    desk = desk_of(some_table())
    noisy = desk.noise(np.full((2, 500), 7), 3.0)
    assert noisy.shape == (2, 500)
    assert len(np.unique(noisy)) > 5  # fewer with a chance below 1e-100
    assert desk.ledger.spent == 0
    assert not desk.ledger.events
