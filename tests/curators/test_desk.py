"""The desk: a question is read once, checked, priced and charged, all of it or nothing, before anything is counted."""

import math
import threading
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from exact_counts import histograms
from privet import BudgetError, CapabilityError, Categorical, LeakError, Ledger, MemoryCurator, Numeric, Schema
from privet.curators import prices
from privet.curators.desk import QUESTIONS, STRUCTURE, Desk, capabilities_of
from privet.curators.federated import FederatedRoom
from privet.curators.hidden import HiddenRoom
from privet.curators.memory import MemoryRoom
from privet.curators.mpc import MpcRoom
from privet.curators.partitions import PartitionedRoom
from privet.curators.sql.fetched import FetchingSqlRoom
from privet.curators.sql.room import SqlRoom
from privet.privacy.event import add_up
from privet.privacy.fixed_point import ONE, TARGET_ONE
from privet.privacy.mechanisms import SecureMechanisms
from privet.privacy.scores import MEDIAN, CorrectCount, Gini, Mixed, RootGini, SquaredError
from privet.questions.candidates import Candidates
from privet.questions.curtain import Node
from privet.questions.grid import Grid, public_grid
from privet.questions.levels import Levels
from privet.questions.split import Split, each_cell
from privet.questions.tally import Step, Tally
from privet.tree.public_splits import public_splits

UNLIMITED = Fraction(10**12)
"""So large a budget that noise rounds to nothing."""

SCHEMA = Schema(
    {"age": Numeric(0, 8, integer=True, missing=True), "sex": Categorical(["f", "m"]), "pay": Numeric(0, 100)},
    classes=["no", "yes", "maybe"],
)


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


def totals_of(table):
    return np.array([sum(record[3] == each for record in table) for each in SCHEMA.classes])


def test_peek_shows_exact_histograms_at_the_price_of_infinity():
    table = some_table()
    desk = desk_of(table)
    root = desk.root()
    histogram = desk.peek([root])[root]
    np.testing.assert_array_equal(histogram[: desk.cells.offsets[1]].sum(axis=0), totals_of(table))
    assert desk.ledger.spent == math.inf


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
    desk = desk_of(some_table(), ledger=ledger, noise=noise)
    root, tenth = desk.root(Fraction(1)), Fraction(1, 10)
    desk.tally({root: Tally()}, tenth)
    desk.choose({root: candidates_of(desk)}, Gini(), tenth)
    desk.quantiles(root, [2], [Fraction(1, 2)], tenth)
    assert noise.spent == [tenth, 2 * tenth, 3 * tenth]


def test_events_say_what_was_asked_and_cost_no_more_than_charged():
    desk = desk_of(some_table())
    root = desk.root()
    half = splits_of(desk).split(0)
    desk.tally({root: Tally(tables=(half, half, half))}, Fraction(1, 10))
    desk.choose({root: candidates_of(desk)}, Gini(), Fraction(1, 10), mechanism="exponential")
    desk.choose({root: candidates_of(desk, labelled=True)}, CorrectCount(), Fraction(1, 10))
    desk.choose({root: Candidates(None, 3, labelled=True, stop=True)}, CorrectCount(), Fraction(1, 10))
    desk.quantiles(root, [0, 2], [Fraction(1, 3)], Fraction(1, 5))
    assert [(e.question, e.mechanism, e.lemma) for e in desk.ledger.events] == [
        ("tally", "geometric", "tally(3)"),
        ("choose a split", "exponential", "gini"),
        ("choose a split with its labels", "permute_and_flip", "correct_count"),
        ("choose a label", "permute_and_flip", "correct_count"),
        ("quantile", "exponential", "quantile(1/3)"),
        ("quantile", "exponential", "quantile(1/3)"),
    ]
    assert all(event.cost <= event.charged and event.scope == desk.scope(root).path for event in desk.ledger.events)
    assert desk.scope(root).spent == Fraction(3, 5)


def refused_questions(desk, root):
    """Questions that must not be answered, each with a part of its message."""
    splits, tenth = splits_of(desk), Fraction(1, 10)
    good, options = splits.split(0), candidates_of(desk)
    old = public_splits(public_grid(SCHEMA, 5))
    labels = Candidates(None, 3, labelled=True, stop=True)
    nothing = candidates_of(desk, allowed=np.zeros(len(splits), dtype=bool))
    stranger = desk_of(some_table(3)).root()
    forged = Node()

    def choose(options=options, score=Gini(), budget=tenth, node=root, **more):  # noqa: B008
        return lambda: desk.choose({node: options}, score, budget, **more)

    return [
        ("more than is left", BudgetError, lambda: desk.tally({root: Tally()}, Fraction(2))),
        ("more than is left", BudgetError, choose(budget=Fraction(2))),
        ("more than is left, all features", BudgetError,
         lambda: desk.quantiles(root, [0, 2], [Fraction(1, 2)], Fraction(11, 10))),
        ("peek under a finite ledger", BudgetError, lambda: desk.peek([root])),
        ("noise that overflows", BudgetError, choose(budget=Fraction(1, 10**30))),
        ("noise that overflows", BudgetError, lambda: desk.tally({root: Tally()}, Fraction(1, 10**30))),
        ("a float", LeakError, lambda: desk.tally({root: Tally()}, 0.1)),
        ("no budget for a node", LeakError, lambda: desk.tally({root: Tally()}, {})),
        ("a foreign node", LeakError, lambda: desk.tally({stranger: Tally()}, tenth)),
        ("a foreign node", LeakError, choose(node=stranger)),
        ("a foreign node", LeakError, lambda: desk.quantiles(stranger, [2], [Fraction(1, 2)], tenth)),
        ("a foreign node", LeakError, lambda: desk.peek([root, stranger])),
        ("a forged node", LeakError, choose(node=forged)),
        ("a forged node", LeakError, lambda: desk.tally({root: Tally(), forged: Tally()}, tenth)),
        ("no candidates", LeakError, choose(nothing)),
        ("an unknown mechanism", LeakError, choose(mechanism="argmax")),
        ("labels by another score", LeakError, choose(candidates_of(desk, labelled=True), Gini())),
        ("labels by another score", LeakError, choose(labels, Mixed(0))),
        ("no score", LeakError, choose(score=None)),
        ("an unknown score", LeakError, choose(score=SimpleNamespace(lemma="mine"))),
        ("a score whose name is none", LeakError, choose(score=SimpleNamespace(lemma=["gini"]))),
        ("a quantile beside stopping", LeakError, choose(candidates_of(desk, stop=True), MEDIAN)),
        ("labels by another score", LeakError, choose(labels, MEDIAN)),
        ("targets of classes", LeakError, lambda: desk.tally({root: Tally(measure="target")}, tenth)),
        ("an unknown measure", LeakError, lambda: desk.tally({root: Tally(measure="pay")}, tenth)),
        ("a score about something else", LeakError, choose(score=SquaredError(3))),
        ("a score about something else", LeakError, choose(score=SquaredError(TARGET_ONE))),
        ("a score for two classes", LeakError, choose(score=RootGini(5))),
        ("splits of another grid", LeakError, choose(Candidates(old, 3))),
        ("too few classes", LeakError, choose(Candidates(splits, 2, labelled=True), CorrectCount())),
        ("a prior that overflows", LeakError, lambda: candidates_of(desk, stop=True, stop_log_prior=1e9)),
        ("a prior of zero", LeakError, lambda: candidates_of(desk, stop=True, stop_log_prior=-math.inf)),
        ("a prior that is no number", LeakError, lambda: candidates_of(desk, stop=True, stop_log_prior=math.nan)),
        ("a hidden choice", CapabilityError, choose(hidden=True)),
        ("a table that misses cells", LeakError, lambda: desk.tally({root: Tally((Split(1, b"\0\1"),))}, tenth)),
        ("a table of no feature", LeakError, lambda: desk.tally({root: Tally((Split(9, b"\0\1"),))}, tenth)),
        ("one bad table", LeakError, lambda: desk.tally({root: Tally((good, Split(1, b"")))}, tenth)),
        ("quantiles of nothing", LeakError, lambda: desk.quantiles(root, [], [Fraction(1, 2)], tenth)),
        ("quantiles at nothing", LeakError, lambda: desk.quantiles(root, [2], [], tenth)),
        ("quantiles of a category", LeakError, lambda: desk.quantiles(root, [1], [Fraction(1, 2)], tenth)),
        ("quantiles of no feature", LeakError, lambda: desk.quantiles(root, [7], [Fraction(1, 2)], tenth)),
        ("quantiles of no feature", LeakError, lambda: desk.quantiles(root, [-1], [Fraction(1, 2)], tenth)),
        ("a probability above one", LeakError, lambda: desk.quantiles(root, [2], [Fraction(3, 2)], tenth)),
        ("the same twice", LeakError, lambda: desk.quantiles(root, [2], [Fraction(1, 2)] * 2, tenth)),
        ("the end of all", LeakError, lambda: desk.quantiles(root, [2], [Fraction(1, 2), Fraction(1)], tenth)),
        ("one below 0", LeakError, lambda: desk.quantiles(root, [2], [Fraction(1, 2), Fraction(-1, 2)], tenth)),
        ("too fine", LeakError, lambda: desk.quantiles(root, [2], [Fraction(1, 2), Fraction(1, 2**31)], tenth)),
        ("a probability as a float", LeakError, lambda: desk.quantiles(root, [2], [0.5], tenth)),
        ("quantiles for nothing", LeakError, lambda: desk.quantiles(root, [2], [Fraction(1, 2)], Fraction(0))),
        ("a statistic without a proof", LeakError, lambda: desk.owner_sum({root: (good,)}, "minimum", tenth)),
        ("no budget", LeakError, lambda: desk.owner_sum({root: (good,)}, "least_impurity", None)),
        ("no budget", LeakError, lambda: desk.tally({root: Tally()}, None)),
        ("no budget", LeakError, choose(budget=None)),
    ]  # fmt: skip


def test_a_refused_question_leaves_ledger_and_records_as_they_were():
    ledger = Ledger(1)
    desk = desk_of(some_table(), ledger=ledger)
    root = desk.root(Fraction(1))
    left, right = desk.split({root: splits_of(desk).split(3)})[root]
    before = histograms(desk, [root, left, right]).copy()
    for what, error, ask in refused_questions(desk, root):
        with pytest.raises(error):
            pytest.fail(f"answered: {what}: {ask()}")
        assert (ledger.spent, ledger.events) == (0, []), what
        assert desk.scope(root).remaining == 1, what
        assert len(desk._nodes._places) == 3, what
    np.testing.assert_array_equal(histograms(desk, [root, left, right]), before)


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
    desk = MemoryCurator([[1.0, "f", 1.0]], ["no"], SCHEMA).open()
    with pytest.raises(LeakError, match="grid"):
        ask(desk, desk.root())
    assert desk.ledger.spent == 0


def test_labels_and_totals_need_no_grid():
    desk = MemoryCurator([[1.0, "f", 1.0]], ["yes"], SCHEMA).open()
    root = desk.root()
    assert desk.tally({root: Tally()}, UNLIMITED)[root].tolist() == [[0, 1, 0]]
    labels = Candidates(None, 3, labelled=True, stop=True)
    assert desk.choose({root: labels}, CorrectCount(), UNLIMITED)[root].labels == (1,)


def test_more_candidates_than_memory_holds_are_refused_before_they_are_listed():
    schema = Schema({"x": Numeric(0, 1)}, classes=range(60_000))
    desk = MemoryCurator([[0.5]], [3], schema).open()
    desk.grid(public_grid(schema))
    options = Candidates(public_splits(desk.cells), 60_000, labelled=True)
    assert len(options) > 10**11
    with pytest.raises(LeakError, match="would not fit in memory"):
        desk.choose({desk.root(): options}, CorrectCount(), Fraction(1))
    assert desk.ledger.spent == 0


def test_more_sums_than_memory_holds_are_refused_before_they_are_charged():
    # A few kilobytes on the wire: the tables are said once.
    desk = desk_of(some_table(3))
    root = desk.root()
    tables = (Split(1, bytes(3), 256),) * 2**10
    nodes = desk.copies(root, 2**8)
    with pytest.raises(LeakError, match="would not fit in memory"):
        desk.tally(dict.fromkeys(nodes, Tally(tables)), Fraction(1))
    with pytest.raises(LeakError, match="would not fit in memory"):
        desk.owner_sum(dict.fromkeys(nodes, tables), "least_impurity", Fraction(1))
    assert desk.ledger.spent == 0


def test_levels_are_as_many_sums_as_they_have_parts(monkeypatch):
    monkeypatch.setattr(prices, "MOST_CANDIDATES", 5000)
    desk = MemoryCurator([[0.5]], [3.0], Schema({"x": Numeric(0, 1)}, target=(0, 10))).open()
    desk.grid(public_grid(desk.schema))
    levels = Tally(measure="residual", levels=Levels(range(255)))
    nodes = desk.copies(desk.root(), 7)  # of 256 * 3 sums each
    with pytest.raises(LeakError, match="would not fit in memory"):
        desk.tally(dict.fromkeys(nodes, levels), Fraction(1))
    assert desk.ledger.spent == 0
    desk.tally(dict.fromkeys(nodes[1:], levels), Fraction(1))


def test_a_level_is_charged_whole_or_not_at_all():
    ledger = Ledger(1)
    desk = desk_of(some_table(), ledger=ledger)
    root = desk.root(Fraction(1))
    left, right = desk.split({root: splits_of(desk).split(3)})[root]
    with pytest.raises(BudgetError):
        desk.tally({left: Tally(), right: Tally()}, {left: Fraction(1, 2), right: Fraction(3, 2)})
    assert (ledger.spent, desk.scope(left).spent, ledger.events) == (0, 0, [])


def test_what_a_desk_cannot_answer_names_what_it_can():
    desk = desk_of(some_table(3))
    root = desk.root()
    with pytest.raises(
        CapabilityError, match=r"cannot be asked for 'hidden'; they can be asked for: .*choose, choose_each"
    ):
        desk.choose({root: candidates_of(desk)}, Gini(), Fraction(1), hidden=True)


def test_several_quantiles_cost_their_budget_once_for_each_feature():
    desk = desk_of(some_table())
    root, probs = desk.root(), [Fraction(k, 5) for k in range(1, 5)]
    desk.quantiles(root, [0, 2], probs, Fraction(1, 5))
    assert [event.charged for event in desk.ledger.events] == [Fraction(1, 10)] * 2
    assert desk.ledger.spent == Fraction(1, 5)


# -- structure: free, and a node is where it came from -----------------------------------------------------------------


def by_sex():
    return Split(1, bytes([0, 0, 1]))


def test_children_pay_in_parallel_and_copies_and_roots_add_up():
    desk = desk_of(some_table())
    root = desk.root()
    left, right = desk.split({root: by_sex()})[root]
    desk.tally({left: Tally(), right: Tally()}, {left: Fraction(1, 5), right: Fraction(3, 10)})
    assert (desk.scope(left).spent, desk.scope(right).spent) == (Fraction(1, 5), Fraction(3, 10))
    assert desk.scope(root).spent == Fraction(3, 10)
    copies = desk.copies(root, 3)
    desk.tally(dict.fromkeys(copies, Tally()), Fraction(1, 10))
    assert desk.scope(root).spent == Fraction(6, 10)
    parts = desk.parts(root, 4)
    desk.tally(dict.fromkeys(parts, Tally()), Fraction(1, 10))
    assert desk.scope(root).spent == Fraction(7, 10)
    uneven = desk.parts(root, [4, 1])
    desk.tally(dict.fromkeys(uneven, Tally()), Fraction(1, 10))
    assert desk.scope(root).spent == Fraction(8, 10)
    # The same records split again: nothing says that the new children are disjoint from the old ones.
    desk.tally(dict.fromkeys(desk.split({root: by_sex()})[root], Tally()), Fraction(1, 10))
    assert desk.scope(root).spent == Fraction(9, 10)
    desk.tally({desk.root(): Tally()}, Fraction(1, 10))
    assert desk.ledger.spent == 1


def test_a_split_must_fit_the_grid_and_leaves_nothing_behind_if_it_does_not():
    desk = desk_of(some_table())
    root, other = desk.root(), desk.root()
    for bad in (Split(1, bytes([0, 1])), Split(99, bytes([0, 1])), None, (1, bytes(3)), "split"):
        with pytest.raises(LeakError):
            desk.split({root: by_sex(), other: bad})
    assert desk.scope(root)._groups == []
    assert len(desk._nodes._places) == 2


def test_a_split_needs_a_grid():
    desk = MemoryCurator([[1.0, "f", 1.0]], ["no"], SCHEMA).open()
    with pytest.raises(LeakError, match="grid"):
        desk.split({desk.root(): by_sex()})


def test_nodes_of_others_and_of_earlier_fits_are_refused():
    curator = MemoryCurator([[1.0, "f", 1.0]], ["no"], SCHEMA)
    earlier, desk = curator.open(), curator.open()
    desk.grid(public_grid(SCHEMA))
    for node in (desk_of(some_table(3)).root(), earlier.root(), Node(), None, 0, object()):
        for ask in (
            lambda node=node: desk.split({node: by_sex()}),
            lambda node=node: desk.parts(node, 2),
            lambda node=node: desk.copies(node, 2),
            lambda node=node: desk.samples(node, 2, 2),
            lambda node=node: desk.path(node),
            lambda node=node: desk.advance({node: Step(by_sex(), (1, 2))}),
        ):
            with pytest.raises(LeakError, match="not one of this curator's"):
                ask()


@pytest.mark.parametrize("shares", [0, -1, [], [0, 1], [2**31, 1], [1.5], 2**24 + 1, "12"])
def test_parts_need_shares_that_can_be_drawn(shares):
    desk = desk_of(some_table(5))
    with pytest.raises(LeakError):
        desk.parts(desk.root(), shares)


@pytest.mark.parametrize(("n", "inverse_rate"), [(-1, 2), (1, 0), (1, 2**32), (2.0, 2), (1, 0.5)])
def test_samples_need_a_number_and_a_rate(n, inverse_rate):
    desk = desk_of(some_table(5))
    with pytest.raises(LeakError):
        desk.samples(desk.root(), n, inverse_rate)


def test_a_root_that_may_spend_more_than_is_left_is_refused():
    desk = desk_of(some_table(5), ledger=Ledger(0.5))
    desk.root(Fraction(1, 2))
    with pytest.raises(BudgetError, match="Lower the fit's epsilon"):
        desk.root(Fraction(3, 5))
    with pytest.raises(BudgetError, match="infinity"):
        desk.root()


@pytest.mark.parametrize("limit", [0.5, 1, None, "1/2", math.nan, -math.inf])
def test_a_limit_is_a_fraction_or_infinity(limit):
    with pytest.raises(LeakError):
        desk_of(some_table(5)).root(limit)


@pytest.mark.parametrize(
    "grid", [None, "grid", public_grid(Schema({"a": Numeric(0, 1)}, classes=["no", "yes", "maybe"]))]
)
def test_a_grid_is_one_of_the_schema(grid):
    with pytest.raises(LeakError):
        desk_of(some_table(5)).grid(grid)


@pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.0, 11.0), (5.0, 4.0), (math.nan, 5.0), (0.0, math.inf), ("a", 1.0)])
def test_a_focus_is_a_part_of_the_targets_range(ends):
    schema = Schema({"x": Numeric(0, 1)}, target=(0, 10))
    desk = MemoryCurator([[0.5]], [3.0], schema).open()
    with pytest.raises(LeakError):
        desk.focus(*ends)
    with pytest.raises(LeakError, match="schema has classes"):
        desk_of(some_table(3)).focus(0.0, 1.0)


def test_a_new_root_has_the_whole_range_of_the_target():
    schema = Schema({"x": Numeric(0, 1)}, target=(0, 10))
    desk = MemoryCurator([[0.5]], [8.0], schema).open()
    desk.root()
    desk.focus(0.0, 5.0)
    root = desk.root()
    (below, above), *_ = desk.tally({root: Tally(measure="target")}, UNLIMITED * TARGET_ONE)[root].tolist()
    assert below / (below + above) == pytest.approx(0.8, abs=1e-4)


# -- events: as the receipt numbers them -------------------------------------------------------------------------------


def test_a_fits_events_are_numbered_from_its_own_first_root():
    curator = MemoryCurator([[1.0, "f", 1.0]], ["no"], SCHEMA)
    for _ in range(2):
        desk = curator.open()
        desk.grid(public_grid(SCHEMA))
        root, other = desk.root(), desk.root()
        child = desk.split({other: by_sex()})[other][1]
        desk.tally({root: Tally(), child: Tally()}, Fraction(1, 10))
        assert [event.scope for event in desk.events] == [desk.path(root), desk.path(child)]
        assert desk.path(root) == "/fit0:0"
        assert desk.path(child).startswith("/fit1:0/")
        assert desk.roots == [(desk.scope(root), "/fit0:0"), (desk.scope(other), "/fit1:0")]
        own = [replace(event, scope="") for event in desk.ledger.events[-2:]]
        assert [replace(event, scope="") for event in desk.events] == own
    assert len(curator.ledger.events) == 4


def test_a_curator_made_inside_a_ledger_charges_it():
    with Ledger(1) as ledger:
        assert desk_of([]).ledger is ledger


# -- questions are read once -------------------------------------------------------------------------------------------


class Fickle(dict):
    """Is another mapping every time it is looked at."""

    def __init__(self, *answers):
        super().__init__(answers[0])
        self._answers, self.looked = answers, 0

    def items(self):
        own = self._answers[min(self.looked, len(self._answers) - 1)]
        self.looked += 1
        return own.items()


def test_a_mapping_is_read_once():
    desk = desk_of(some_table())
    root = desk.root()
    many = Tally((by_sex(),) * 50)
    asked = Fickle({root: Tally()}, {root: many})
    answer = desk.tally(asked, Fickle({root: Fraction(1)}, {root: Fraction(10**6)}))
    assert (asked.looked, answer[root].shape) == (1, (1, 3))
    (event,) = desk.ledger.events
    assert (event.charged, event.lemma, event.scale) == (1, "tally(1)", pytest.approx(1))


def test_a_question_names_each_node_once():
    class Twice(dict):
        def items(self):
            return [*super().items(), *super().items()]

    desk = desk_of(some_table())
    with pytest.raises(LeakError, match="each node once"):
        desk.tally(Twice({desk.root(): Tally()}), Fraction(1))
    assert desk.ledger.spent == 0


def test_reading_a_question_cannot_change_the_grid_that_it_is_checked_against():
    # The tables would be checked on the fine grid and counted on the coarse one, every record once for each part.
    desk = desk_of(some_table())
    fine, coarse, root = desk.cells, Grid(SCHEMA, [[], None, []]), desk.root()

    def tables():
        yield each_cell(fine, 2)
        desk.grid(coarse)

    def features():
        yield 2
        desk.grid(coarse)

    for ask in (
        lambda: desk.owner_sum({root: tables()}, "least_impurity", Fraction(1)),
        lambda: desk.quantiles(root, features(), [Fraction(1, 2)], Fraction(1)),
    ):
        with pytest.raises(LeakError, match="while another one"):
            ask()
    assert (desk.cells, desk.ledger.spent) == (fine, 0)
    assert desk.tally({root: Tally()}, UNLIMITED)[root].sum() == 60  # and the next one is answered as ever


@pytest.mark.parametrize("asked", [None, [], Split(1, bytes(3)), "root"])
def test_a_question_says_for_each_node_what_is_asked(asked):
    desk = desk_of(some_table(3))
    with pytest.raises(LeakError):
        desk.tally(asked, Fraction(1))
    with pytest.raises(LeakError):
        desk.tally({desk.root(): asked}, Fraction(1))


def test_a_score_is_made_anew_from_its_name():
    """Whatever else a caller's object does, what is answered and charged is the score of that name."""
    seen = []

    class Mine:
        lemma, sensitivity, monotone = "correct_count", 0, True

        def of(self, children):
            seen.append(children)
            return children.sum(axis=(1, 2)) * 1000

    desk = desk_of(some_table())
    root, options = desk.root(), candidates_of(desk, labelled=True)
    ours, theirs = (desk.choose({root: options}, score, UNLIMITED)[root] for score in (CorrectCount(), Mine()))
    one, other = desk.ledger.events
    assert (one.scale, one.sensitivity, one.lemma) == (other.scale, other.sensitivity, other.lemma)
    assert not seen
    assert type(ours) is type(theirs)


def test_a_question_about_no_node_is_answered_for_nothing():
    desk = desk_of(some_table())
    assert desk.tally({}, Fraction(1)) == desk.choose({}, Gini(), Fraction(1)) == {}
    assert desk.owner_sum({}, "least_impurity", Fraction(1)) == desk.peek([]) == desk.split({}) == {}
    assert not desk.ledger.events


# -- what a curator can answer is what its room implements -------------------------------------------------------------


def answering(*questions):
    """A desk whose room has these questions alone."""
    room = type("Modest", (), {"noises": {"epsilon": "geometric"}, **dict.fromkeys(questions, print)})()
    return Desk(SCHEMA, Ledger(1), room, trust="nobody")


def test_capabilities_are_what_a_room_implements():
    assert answering("tally", "parts").capabilities == {"tally", "parts"}
    assert capabilities_of(MemoryRoom) == {*QUESTIONS, *STRUCTURE, "zcdp", "secret_runs"}
    for others in (SqlRoom, FetchingSqlRoom, PartitionedRoom):  # logs and dashboards would show the number of runs
        assert "secret_runs" not in capabilities_of(others)
    assert MemoryCurator([[1.0, "f", 1.0]], ["no"], SCHEMA).capabilities == capabilities_of(MemoryRoom)
    assert answering("choose_hidden").capabilities == {"hidden"}


def test_wherever_records_can_be_parted_models_can_be_scored():
    rooms = [MemoryRoom, PartitionedRoom, FederatedRoom, MpcRoom, HiddenRoom]
    assert all(capabilities_of(room) >= {"parts", "evaluate"} for room in rooms)


@pytest.mark.parametrize(
    ("question", "ask"),
    {
        "choose": lambda desk: desk.choose({}, Gini(), Fraction(1)),
        "choose_each": lambda desk: desk.choose_each({}, Gini(), Fraction(1)),
        "owner_sum": lambda desk: desk.owner_sum({}, "least_impurity", Fraction(1)),
        "quantiles": lambda desk: desk.quantiles(Node(), [0], [Fraction(1, 2)], Fraction(1)),
        "target_quantiles": lambda desk: desk.target_quantiles(Node(), [Fraction(1, 2)], Fraction(1)),
        "residual_quantiles": lambda desk: desk.residual_quantiles(Node(), [Fraction(1, 2)], Fraction(1)),
        "advance": lambda desk: desk.advance({}),
        "parts": lambda desk: desk.parts(Node(), 2),
        "copies": lambda desk: desk.copies(Node(), 2),
        "samples": lambda desk: desk.samples(Node(), 2, 2),
        "focus": lambda desk: desk.focus(0.0, 1.0),
        "noise": lambda desk: desk.noise(np.zeros(1, int), 1.0),
        "hidden": lambda desk: desk.draw_hidden([], None),
        "zcdp": lambda desk: desk.root(Fraction(1), "rho"),
        "most_records": lambda desk: desk.most_records,
    }.items(),
)
def test_a_question_that_a_room_cannot_answer_says_what_it_can(question, ask):
    with pytest.raises(CapabilityError) as error:
        ask(answering("tally", "peek"))
    message = str(error.value)
    assert f"cannot be asked for '{question}'" in message
    assert "they can be asked for: peek, tally." in message
    assert "docs/architecture.md" in message


@pytest.mark.parametrize(("able", "ask"), [("choose", "tally"), ("tally", "peek")])
def test_every_question_can_be_missing(able, ask):
    with pytest.raises(CapabilityError, match=f"for '{ask}'"):
        getattr(answering(able), ask)({}, *([Fraction(1)] if ask == "tally" else []))


def test_a_room_without_any_answer_says_so():
    with pytest.raises(CapabilityError, match="can be asked for: nothing"):
        answering().peek([])


# -- one question at a time --------------------------------------------------------------------------------------------


def test_a_question_is_answered_before_another_changes_the_structure():
    """While a thread's question is being counted, another thread's grid waits."""
    desk = desk_of(some_table())
    root, order = desk.root(), []
    tally, use = desk._room.tally, desk._room.use
    counting, asked = threading.Event(), threading.Event()

    def slow(*args, **options):
        counting.set()
        asked.wait(5)
        order.append("counted")
        return tally(*args, **options)

    desk._room.tally = slow
    desk._room.use = lambda grid: order.append("grid") or use(grid)
    asker = threading.Thread(target=lambda: desk.tally({root: Tally((by_sex(),))}, Fraction(1)))
    setter = threading.Thread(target=lambda: desk.grid(public_grid(SCHEMA, 4)))
    asker.start()
    assert counting.wait(5)
    setter.start()
    setter.join(0.2)
    asked.set()
    asker.join()
    setter.join()
    assert order == ["counted", "grid"]


# -- sums over owners and gradients ------------------------------------------------------------------------------------


def test_sums_over_owners_pay_for_every_table_once_and_say_so():
    desk = desk_of(some_table(), ledger=Ledger(1))
    root = desk.root(Fraction(1))
    tables = (by_sex(), splits_of(desk).split(0))
    children = desk.split({root: by_sex()})[root]
    desk.owner_sum(dict.fromkeys(children, tables), "least_impurity", Fraction(1, 2))
    events = desk.ledger.events
    assert [(event.question, event.lemma, event.sensitivity) for event in events] == [
        ("owner sum", "least_impurity(2)", 2 * ONE)
    ] * 2
    assert all(event.cost <= event.charged == Fraction(1, 2) for event in events)
    assert add_up(events) == Fraction(1, 2)
    with pytest.raises(BudgetError):
        desk.owner_sum({root: tables}, "least_impurity", Fraction(3, 4))
    assert len(desk.ledger.events) == 2


def test_sums_that_have_no_proof_or_no_table_are_refused_before_they_are_charged():
    desk = desk_of(some_table())
    root, tables = desk.root(), (by_sex(),)
    refused = [
        ({root: tables}, "variance", "is one of"),
        ({root: ()}, "least_impurity", "at least one table"),
        ({root: (Split(1, bytes(4)),)}, "least_impurity", "every cell"),
        ({root: (Split(7, bytes(4)),)}, "least_impurity", "no such feature"),
        ({root: by_sex()}, "least_impurity", "must be a list"),
        ({root: (None,)}, "least_impurity", "of type Split"),
        ({desk_of(some_table(3)).root(): tables}, "least_impurity", "not one of"),
    ]
    for asked, statistic, message in refused:
        with pytest.raises(LeakError, match=message):
            desk.owner_sum(asked, statistic, Fraction(1))
    assert not desk.ledger.events
