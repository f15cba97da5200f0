"""Private questions: charged before they are answered, exact at an unlimited budget, and with the right noise."""

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

from privet import BudgetError, CapabilityError, Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema
from privet.audit.exact import loss, transcripts
from privet.audit.scripted import SELECTION_LAWS
from privet.curators.base import Node, Tally
from privet.privacy.event import SELECTIONS, add_up
from privet.privacy.fixed_point import TARGET_ONE
from privet.privacy.laws import log_exponential, log_geometric, log_joint_quantiles
from privet.privacy.mechanisms import SecureMechanisms, mechanisms, selection_scale
from privet.privacy.scores import (
    MEDIAN,
    CorrectCount,
    Entropy,
    Gini,
    JointQuantiles,
    Mixed,
    Quantile,
    RootGini,
    SquaredError,
)
from privet.questions.candidates import Candidates
from privet.questions.grid import Cells, Grid, public_grid
from privet.questions.multiway import Multiway, each_cell
from privet.questions.split import Split
from privet.questions.splits import Splits
from privet.tree.public_splits import public_splits

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


def curator_of(table, *, ledger=None, noise=None, max_cells=8):
    X = pd.DataFrame(
        {
            name: pd.Series([record[i] for record in table], dtype=kind)
            for i, (name, kind) in enumerate([("age", float), ("sex", object), ("pay", float)])
        }
    )
    y = pd.Series([record[3] for record in table], dtype=object)
    curator = MemoryCurator(X, y, SCHEMA, ledger=ledger, mechanisms=noise).open()
    curator.grid(public_grid(SCHEMA, max_cells))
    return curator


def some_table(n=60, seed=1):
    rng = np.random.default_rng(seed)
    return [
        (float(rng.integers(0, 9)), "fmx"[rng.integers(3)], float(rng.uniform(0, 100)), SCHEMA.classes[rng.integers(3)])
        for _ in range(n)
    ]


def splits_of(curator):
    return public_splits(curator.cells)


def candidates_of(curator, **options):
    return Candidates(splits_of(curator), 3, **options)


def children_of(table, split, curator):
    """The class counts of a split's children, record by record."""
    grid, names = curator.cells, SCHEMA.names
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
    curator = curator_of(table)
    root, splits = curator.root(), splits_of(curator)
    chosen = data.draw(st.lists(st.integers(0, len(splits) - 1), min_size=1, max_size=4))
    tables_asked = tuple(splits.split(i) for i in chosen)
    plain, whole = curator.copies(root, 2)
    answers = curator.tally(
        {plain: Tally(by_class=by_class), whole: Tally(tables=tables_asked, by_class=by_class)}, UNLIMITED
    )
    counts = np.concatenate([children_of(table, split, curator) for split in tables_asked])
    totals = totals_of(table)[None, :]
    np.testing.assert_array_equal(answers[whole], counts if by_class else counts.sum(axis=1))
    np.testing.assert_array_equal(answers[plain], totals if by_class else totals.sum(axis=1))
    assert answers[whole].dtype == answers[plain].dtype == np.int64


@settings(max_examples=60, deadline=None)
@given(
    tables, st.sampled_from([CorrectCount(), Gini(), Mixed(0), Mixed(100), Entropy(10), Entropy(1000)]), st.booleans()
)
def test_a_choice_without_noise_is_a_best_split(table, score, stop):
    curator = curator_of(table)
    root, options = curator.root(), candidates_of(curator, stop=stop)
    for mechanism in SELECTIONS:
        choice = curator.choose({root: options}, score, UNLIMITED, mechanism=mechanism)[root]
        scores = [
            score.of(children_of(table, options.choice(i).split, curator)[None])[0] for i in range(len(options) - stop)
        ]
        if stop:
            scores.append(score.of(totals_of(table)[None, None])[0])
        own = score.of(children_of(table, choice.split, curator)[None])[0] if choice.split is not None else scores[-1]
        assert own == max(scores)
        assert choice.labels is None


@settings(max_examples=60, deadline=None)
@given(tables)
def test_a_labelled_choice_without_noise_has_the_most_correct_records(table):
    curator = curator_of(table)
    root, options = curator.root(), candidates_of(curator, labelled=True, stop=True)
    choice = curator.choose({root: options}, CorrectCount(), UNLIMITED)[root]

    def correct(choice):
        counts = totals_of(table)[None] if choice.split is None else children_of(table, choice.split, curator)
        return sum(own[label] for own, label in zip(counts, choice.labels))

    assert correct(choice) == max(correct(options.choice(i)) for i in range(len(options)))


def several(curator, labelled=False):
    """Splits into two and more children: attributes, and cells grouped at random."""
    rng, grid = np.random.default_rng(3), curator.cells
    sizes = [cells.n_cells for cells in grid.features]
    grouped = [Split(f, rng.integers(0, 3, n).astype(np.uint8).tobytes()) for f, n in enumerate(sizes)]
    few = [each_cell(grid, f) for f, n in enumerate(sizes) if n <= (4 if labelled else 256)]
    return Multiway.of(grid, [*few, *grouped])


@settings(max_examples=40, deadline=None)
@given(tables, st.sampled_from([CorrectCount(), Gini(), Mixed(100), Entropy(10)]), st.booleans())
def test_a_choice_among_splits_into_several_children_is_a_best_one(table, score, stop):
    curator = curator_of(table)
    root, splits = curator.root(), several(curator)
    choice = curator.choose({root: Candidates(splits, 3, stop=stop)}, score, UNLIMITED)[root]
    scores = [score.of(children_of(table, split, curator)[None])[0] for split in splits.splits]
    unsplit = score.of(totals_of(table)[None, None])[0]
    own = unsplit if choice.split is None else scores[splits.splits.index(choice.split)]
    assert own == max([*scores, *([unsplit] if stop else [])])


@settings(max_examples=30, deadline=None)
@given(tables)
def test_labels_of_several_children_are_chosen_with_the_split(table):
    curator = curator_of(table)
    root, options = curator.root(), Candidates(several(curator, labelled=True), 3, labelled=True, stop=True)
    choice = curator.choose({root: options}, CorrectCount(), UNLIMITED)[root]

    def correct(choice):
        counts = totals_of(table)[None] if choice.split is None else children_of(table, choice.split, curator)
        return sum(own[label] for own, label in zip(counts, choice.labels))

    assert correct(choice) == max(correct(options.choice(i)) for i in range(len(options)))
    # Every child may have its best label, so no choice of a split alone could do better.
    assert correct(choice) >= max(children_of(table, s, curator).max(axis=1).sum() for s in options.splits.splits)


@settings(max_examples=40, deadline=None)
@given(tables)
def test_a_label_without_noise_is_the_majority(table):
    curator = curator_of(table)
    root = curator.root()
    choice = curator.choose({root: Candidates(None, 3, labelled=True, stop=True)}, CorrectCount(), UNLIMITED)[root]
    assert choice.split is None
    assert totals_of(table)[choice.labels[0]] == totals_of(table).max()


@settings(max_examples=60, deadline=None)
@given(tables, st.fractions(0, 1, max_denominator=20), st.sampled_from([0, 2]))
def test_a_quantile_without_noise_is_a_best_cut(table, p, feature):
    curator = curator_of(table)
    root, cuts = curator.root(), curator.cells.features[feature].cuts
    (answer,) = curator.quantiles(root, [feature], [p], UNLIMITED)[feature]
    known = [record[feature] for record in table if not math.isnan(record[feature])]

    def score(cut):
        left = sum(value <= cut for value in known)
        return -abs((1 - p) * left - p * (len(known) - left))

    assert score(answer) == max(score(cut) for cut in cuts)


inside = st.fractions("1/20", "19/20", max_denominator=20)


@settings(max_examples=60, deadline=None)
@given(tables, st.lists(inside, min_size=2, max_size=4, unique=True), st.sampled_from([0, 2]))
def test_several_quantiles_without_noise_are_the_best_cuts_together(table, probs, feature):
    curator = curator_of(table)
    root, cuts = curator.root(), curator.cells.features[feature].cuts
    answer = curator.quantiles(root, [feature], probs, UNLIMITED)[feature]
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
    curator = curator_of(table, noise=mechanisms(seed))
    root = curator.root()
    answers = curator.quantiles(root, [2, 0], [Fraction(3, 4), Fraction(1, 2), Fraction(1, 10)], budget)
    for f, (low, high) in {0: (0, 8), 2: (0, 100)}.items():
        assert answers[f] == sorted(answers[f])
        assert all(low <= cut <= high for cut in answers[f])
        assert len(answers[f]) == 3
    assert curator.scope(root).spent == budget
    assert add_up(curator.ledger.events) == budget


def test_peek_shows_exact_histograms_at_the_price_of_infinity():
    table = some_table()
    curator = curator_of(table)
    root = curator.root()
    histogram = curator.peek([root])[root]
    np.testing.assert_array_equal(histogram[: curator.cells.offsets[1]].sum(axis=0), totals_of(table))
    assert curator.ledger.spent == math.inf


# -- prices ------------------------------------------------------------------------------------------------------


def test_every_answer_is_charged_before_it_is_drawn():
    class Watch(SecureMechanisms):
        spent: list

        def select(self, *args):
            self.spent.append(ledger.spent)
            return super().select(*args)

        def geometric(self, *args):
            self.spent.append(ledger.spent)
            return super().geometric(*args)

    ledger, noise = Ledger(1), Watch()
    noise.spent = []
    curator = curator_of(some_table(), ledger=ledger, noise=noise)
    root, tenth = curator.root(Fraction(1)), Fraction(1, 10)
    curator.tally({root: Tally()}, tenth)
    curator.choose({root: candidates_of(curator)}, Gini(), tenth)
    curator.quantiles(root, [2], [Fraction(1, 2)], tenth)
    assert noise.spent == [tenth, 2 * tenth, 3 * tenth]


def test_events_say_what_was_asked_and_cost_no_more_than_charged():
    curator = curator_of(some_table())
    root = curator.root()
    half = splits_of(curator).split(0)
    curator.tally({root: Tally(tables=(half, half, half))}, Fraction(1, 10))
    curator.choose({root: candidates_of(curator)}, Gini(), Fraction(1, 10), mechanism="exponential")
    curator.choose({root: candidates_of(curator, labelled=True)}, CorrectCount(), Fraction(1, 10))
    curator.choose({root: Candidates(None, 3, labelled=True, stop=True)}, CorrectCount(), Fraction(1, 10))
    curator.quantiles(root, [0, 2], [Fraction(1, 3)], Fraction(1, 5))
    assert [(e.question, e.mechanism, e.lemma) for e in curator.ledger.events] == [
        ("tally", "geometric", "tally(3)"),
        ("choose a split", "exponential", "gini"),
        ("choose a split with its labels", "permute_and_flip", "correct_count"),
        ("choose a label", "permute_and_flip", "correct_count"),
        ("quantile", "exponential", "quantile(1/3)"),
        ("quantile", "exponential", "quantile(1/3)"),
    ]
    assert all(
        event.cost <= event.charged and event.scope == curator.scope(root).path for event in curator.ledger.events
    )
    assert curator.scope(root).spent == Fraction(3, 5)


def refused_questions(curator, root):
    """Questions that must not be answered, each with a part of its message."""
    splits, tenth = splits_of(curator), Fraction(1, 10)
    good, options = splits.split(0), candidates_of(curator)
    old = public_splits(public_grid(SCHEMA, 5))
    labels = Candidates(None, 3, labelled=True, stop=True)
    nothing = candidates_of(curator, allowed=np.zeros(len(splits), dtype=bool))
    stranger = curator_of(some_table(3)).root()
    forged = Node(root.scope)

    class MyScore:
        lemma, sensitivity, monotone = "correct_count", 1, True

        def of(self, children):
            return children.sum(axis=(1, 2)) * 1000

    def choose(options=options, score=Gini(), budget=tenth, node=root, **more):  # noqa: B008
        return lambda: curator.choose({node: options}, score, budget, **more)

    return [
        ("more than is left", BudgetError, lambda: curator.tally({root: Tally()}, Fraction(2))),
        ("more than is left", BudgetError, choose(budget=Fraction(2))),
        ("more than is left, all features", BudgetError,
         lambda: curator.quantiles(root, [0, 2], [Fraction(1, 2)], Fraction(11, 10))),
        ("peek under a finite ledger", BudgetError, lambda: curator.peek([root])),
        ("noise that overflows", BudgetError, choose(budget=Fraction(1, 10**30))),
        ("noise that overflows", BudgetError, lambda: curator.tally({root: Tally()}, Fraction(1, 10**30))),
        ("a float", LeakError, lambda: curator.tally({root: Tally()}, 0.1)),
        ("no budget for a node", LeakError, lambda: curator.tally({root: Tally()}, {})),
        ("a foreign node", LeakError, lambda: curator.tally({stranger: Tally()}, tenth)),
        ("a foreign node", LeakError, choose(node=stranger)),
        ("a foreign node", LeakError, lambda: curator.quantiles(stranger, [2], [Fraction(1, 2)], tenth)),
        ("a foreign node", LeakError, lambda: curator.peek([root, stranger])),
        ("a forged node", LeakError, choose(node=forged)),
        ("a forged node", LeakError, lambda: curator.tally({root: Tally(), forged: Tally()}, tenth)),
        ("no candidates", LeakError, choose(nothing)),
        ("an unknown mechanism", LeakError, choose(mechanism="argmax")),
        ("labels by another score", LeakError, choose(candidates_of(curator, labelled=True), Gini())),
        ("labels by another score", LeakError, choose(labels, Mixed(0))),
        ("a score of one's own", LeakError, choose(score=MyScore())),
        ("a quantile beside stopping", LeakError, choose(candidates_of(curator, stop=True), MEDIAN)),
        ("labels by another score", LeakError, choose(labels, MEDIAN)),
        ("targets of classes", LeakError, lambda: curator.tally({root: Tally(measure="target")}, tenth)),
        ("an unknown measure", LeakError, lambda: curator.tally({root: Tally(measure="pay")}, tenth)),
        ("a score about something else", LeakError, choose(score=SquaredError(3))),
        ("a score about something else", LeakError, choose(score=SquaredError(TARGET_ONE))),
        ("a score for two classes", LeakError, choose(score=RootGini(5))),
        ("splits of another grid", LeakError, choose(Candidates(old, 3))),
        ("too few classes", LeakError, choose(Candidates(splits, 2, labelled=True), CorrectCount())),
        ("a prior that overflows", LeakError, choose(candidates_of(curator, stop=True, stop_log_prior=1e9))),
        ("a prior of zero", LeakError, choose(candidates_of(curator, stop=True, stop_log_prior=-math.inf))),
        ("a prior that is no number", LeakError, choose(candidates_of(curator, stop=True, stop_log_prior=math.nan))),
        ("a hidden choice", CapabilityError, choose(hidden=True)),
        ("a table that misses cells", LeakError, lambda: curator.tally({root: Tally((Split(1, b"\0\1"),))}, tenth)),
        ("a table of no feature", LeakError, lambda: curator.tally({root: Tally((Split(9, b"\0\1"),))}, tenth)),
        ("one bad table", LeakError, lambda: curator.tally({root: Tally((good, Split(1, b"")))}, tenth)),
        ("quantiles of nothing", LeakError, lambda: curator.quantiles(root, [], [Fraction(1, 2)], tenth)),
        ("quantiles at nothing", LeakError, lambda: curator.quantiles(root, [2], [], tenth)),
        ("quantiles of a category", LeakError, lambda: curator.quantiles(root, [1], [Fraction(1, 2)], tenth)),
        ("quantiles of no feature", LeakError, lambda: curator.quantiles(root, [7], [Fraction(1, 2)], tenth)),
        ("quantiles of no feature", LeakError, lambda: curator.quantiles(root, [-1], [Fraction(1, 2)], tenth)),
        ("a probability above one", LeakError, lambda: curator.quantiles(root, [2], [Fraction(3, 2)], tenth)),
        ("the same twice", LeakError, lambda: curator.quantiles(root, [2], [Fraction(1, 2)] * 2, tenth)),
        ("the end of all", LeakError, lambda: curator.quantiles(root, [2], [Fraction(1, 2), Fraction(1)], tenth)),
        ("one below 0", LeakError, lambda: curator.quantiles(root, [2], [Fraction(1, 2), Fraction(-1, 2)], tenth)),
        ("too fine", LeakError, lambda: curator.quantiles(root, [2], [Fraction(1, 2), Fraction(1, 2**31)], tenth)),
        ("a probability as a float", LeakError, lambda: curator.quantiles(root, [2], [0.5], tenth)),
        ("quantiles for nothing", LeakError, lambda: curator.quantiles(root, [2], [Fraction(1, 2)], Fraction(0))),
        ("a statistic without a proof", LeakError, lambda: curator.owner_sum({root: (good,)}, "minimum", tenth)),
        ("no budget", LeakError, lambda: curator.owner_sum({root: (good,)}, "least_impurity", None)),
    ]  # fmt: skip


def test_a_refused_question_leaves_ledger_and_records_as_they_were():
    ledger = Ledger(1)
    curator = curator_of(some_table(), ledger=ledger)
    root = curator.root(Fraction(1))
    left, right = curator.split({root: splits_of(curator).split(3)})[root]
    before = curator._histograms([root, left, right]).copy()
    for what, error, ask in refused_questions(curator, root):
        with pytest.raises(error):
            pytest.fail(f"answered: {what}: {ask()}")
        assert (ledger.spent, ledger.events) == (0, []), what
        assert curator.scope(root).remaining == 1, what
        assert len(curator._held) == 3, what
    np.testing.assert_array_equal(curator._histograms([root, left, right]), before)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c, root: c.tally({root: Tally((Split(1, bytes([0, 1, 1])),))}, Fraction(1, 10)),
        lambda c, root: c.choose({root: Candidates(None, 3, stop=True)}, Gini(), Fraction(1, 10)),
        lambda c, root: c.quantiles(root, [2], [Fraction(1, 2)], Fraction(1, 10)),
        lambda c, root: c.peek([root]),
    ],
)
def test_questions_about_cells_need_a_grid_first(ask):
    curator = MemoryCurator([[1.0, "f", 1.0]], ["no"], SCHEMA).open()
    with pytest.raises(LeakError, match="grid"):
        ask(curator, curator.root())
    assert curator.ledger.spent == 0


def test_labels_and_totals_need_no_grid():
    curator = MemoryCurator([[1.0, "f", 1.0]], ["yes"], SCHEMA).open()
    root = curator.root()
    assert curator.tally({root: Tally()}, UNLIMITED)[root].tolist() == [[0, 1, 0]]
    labels = Candidates(None, 3, labelled=True, stop=True)
    assert curator.choose({root: labels}, CorrectCount(), UNLIMITED)[root].labels == (1,)


def test_more_candidates_than_memory_holds_are_refused_before_they_are_listed():
    schema = Schema({"x": Numeric(0, 1)}, classes=range(60_000))
    curator = MemoryCurator([[0.5]], [3], schema).open()
    curator.grid(public_grid(schema))
    options = Candidates(public_splits(curator.cells), 60_000, labelled=True)
    assert len(options) > 10**11
    with pytest.raises(LeakError, match="would not fit in memory"):
        curator.choose({curator.root(): options}, CorrectCount(), Fraction(1))
    assert curator.ledger.spent == 0


def test_a_level_is_charged_whole_or_not_at_all():
    ledger = Ledger(1)
    curator = curator_of(some_table(), ledger=ledger)
    root = curator.root(Fraction(1))
    left, right = curator.split({root: splits_of(curator).split(3)})[root]
    with pytest.raises(BudgetError):
        curator.tally({left: Tally(), right: Tally()}, {left: Fraction(1, 2), right: Fraction(3, 2)})
    assert (ledger.spent, curator.scope(left).spent, ledger.events) == (0, 0, [])


def test_what_a_curator_cannot_answer_names_what_it_can():
    curator = curator_of(some_table(3))
    root = curator.root()
    with pytest.raises(
        CapabilityError, match=r"MemoryCurator cannot answer 'choose\(hidden=True\)'.*choose, choose_each"
    ):
        curator.choose({root: candidates_of(curator)}, Gini(), Fraction(1), hidden=True)


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
    curator = MemoryCurator(np.full((5, 1), 7), [0, 0, 0, 1, 1], schema, mechanisms=mechanisms(seed)).open()
    curator.grid(public_grid(schema))
    root, budget = curator.root(), Fraction(1, 2)
    table = Split(0, bytes(i % 250 for i in range(3000)))
    noise = []
    for _ in range(20 // n_tables):
        answer = curator.tally({root: Tally((table,) * n_tables)}, budget)[root].reshape(n_tables, 250, 2)
        answer[:, 7] -= [3, 2]
        noise.append(answer.ravel())
    noise = np.concatenate(noise)
    scale = curator.ledger.events[0].scale
    assert scale == pytest.approx(2 * n_tables)
    values = np.arange(-400, 401)
    assert_drawn_from([(noise == k).sum() for k in values], np.exp(log_geometric(values, scale)), len(noise))


@pytest.mark.parametrize("seed", [None, 11])
@pytest.mark.parametrize("mechanism", SELECTIONS)
def test_choices_follow_their_law_with_the_prior(seed, mechanism):
    table, n = some_table(30, seed=2), 2500
    curator = curator_of(table, noise=mechanisms(seed), max_cells=4)
    options = candidates_of(curator, stop=True, stop_log_prior=-1.0)
    budget, score = Fraction(1, 2), Mixed(128)
    copies = curator.copies(curator.root(), n)
    choices = curator.choose(dict.fromkeys(copies, options), score, budget, mechanism=mechanism)
    scale = selection_scale(score.sensitivity, budget)
    all_choices = [options.choice(i) for i in range(len(options))]
    scores = np.array(
        [
            score.of((totals_of(table)[None] if c.split is None else children_of(table, c.split, curator))[None])[0]
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
    curator = curator_of(table, noise=mechanisms(seed), max_cells=10)
    root, budget, p = curator.root(), Fraction(1, 2), Fraction(1, 4)
    cuts = curator.cells.features[2].cuts
    drawn = [curator.quantiles(root, [2], [p], budget)[2][0] for _ in range(n)]
    left = np.array([sum(record[2] <= cut for record in table) for cut in cuts])
    score, scale = Quantile(1, 4), curator.ledger.events[0].scale
    assert scale == pytest.approx(score.sensitivity / 0.5)
    edges = np.concatenate([[0], cuts, [100]])
    widths = (edges[2:] - edges[:-2]) / 2
    prior = np.rint(np.log(widths / widths.max()) * scale)
    law = np.exp(log_exponential(score.of(np.stack([left, 25 - left], axis=1)) + prior, scale))
    assert_drawn_from([drawn.count(cut) for cut in cuts], law, n)


@pytest.mark.parametrize("seed", [None, 12])
def test_joint_quantiles_follow_the_exponential_mechanism_over_sets_of_cuts(seed):
    table, n = some_table(25, seed=4), 1500
    curator = curator_of(table, noise=mechanisms(seed), max_cells=5)
    root, budget, probs = curator.root(), Fraction(1, 2), [Fraction(1, 4), Fraction(1, 2)]
    cuts = curator.cells.features[2].cuts
    drawn = [tuple(curator.quantiles(root, [2], probs, budget)[2]) for _ in range(n)]
    score, event = JointQuantiles((1, 1, 2)), curator.ledger.events[0]
    assert event.scale == pytest.approx(score.sensitivity / 0.5)
    assert (event.question, event.mechanism, event.lemma) == ("joint quantiles", "exponential", "joint_quantiles(1/4)")
    edges = np.concatenate([[0], cuts, [100]])
    counts = np.histogram([record[2] for record in table], [-1, *cuts + 1e-9, 100])[0]
    sets, log_p = log_joint_quantiles(counts, score, edges[2:] - edges[:-2], event.scale)
    assert_drawn_from([drawn.count(tuple(cuts[list(each)])) for each in sets], np.exp(log_p), n)


def test_several_quantiles_cost_their_budget_once_for_each_feature():
    curator = curator_of(some_table())
    root, probs = curator.root(), [Fraction(k, 5) for k in range(1, 5)]
    curator.quantiles(root, [0, 2], probs, Fraction(1, 5))
    assert [event.charged for event in curator.ledger.events] == [Fraction(1, 10)] * 2
    assert curator.ledger.spent == Fraction(1, 5)


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
            curator = MemoryCurator(X, y, schema, mechanisms=mechanisms).open()
            curator.grid(public_grid(schema))
            curator.quantiles(curator.root(), [0], [Fraction(1, 2)], Fraction(1))

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
        def run(mechanisms):
            X = np.array([record[:2] for record in table], dtype=int).reshape(-1, 2)
            curator = MemoryCurator(X, [record[2] for record in table], schema, mechanisms=mechanisms).open()
            curator.grid(grid)
            options = Candidates(public_splits(grid), 2, stop=True)
            curator.choose({curator.root(): options}, score, Fraction(1), mechanism=mechanism)

        return transcripts(run)

    worst = max(
        loss(law(table), law(tuple(sorted((*table, added)))))
        for n in range(4)
        for table in combinations_with_replacement(kinds, n)
        for added in kinds
    )
    assert 0.05 < worst <= 1 + 1e-9


def test_noise_on_numbers_that_are_public_is_free():
    curator = curator_of(some_table())
    noisy = curator.noise(np.full((2, 500), 7), 3.0)
    assert noisy.shape == (2, 500)
    assert len(np.unique(noisy)) > 5  # fewer with a chance below 1e-100
    assert curator.ledger.spent == 0
    assert not curator.ledger.events


def test_a_split_that_counts_a_cell_twice_is_refused():
    grid = public_grid(Schema({"a": Numeric(0, 3, integer=True)}, classes=[0, 1]))
    feature, first, last = np.array([0]), np.array([0]), np.array([1])
    for extra in (0, 1, 99):
        with pytest.raises(LeakError):
            Splits(grid, feature, first, last, np.array([extra]), (), np.zeros(1))
    with pytest.raises(LeakError):  # a run that leaves its feature
        Splits(grid, feature, first, np.array([4]), np.array([-1]), (), np.zeros(1))


def test_a_grid_that_does_not_fit_the_schema_is_refused():
    schema = Schema({"c": Categorical(["a", "b", "c"], other=False), "a": Numeric(0, 1)}, classes=[0, 1])
    good = public_grid(schema)
    curator = MemoryCurator(np.empty((0, 2), dtype=object), [], schema).open()
    too_few = Grid((Cells("c", None, 2, False), good.features[1]))
    unsorted = Grid((good.features[0], Cells("a", np.array([0.5, 0.2]), 3, False)))
    for grid in (too_few, unsorted, Grid(good.features[:1]), Grid(good.features[::-1])):
        with pytest.raises(LeakError):
            curator.grid(grid)
