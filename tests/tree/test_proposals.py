"""Choices by proposals: the best of what owners propose, by counts over all of them, at the price of one choice."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact_transcripts import loss, transcripts
from listening import Able
from privet import Categorical, FederatedCurator, Ledger, MemoryCurator, Numeric, PrivateTreeClassifier, Schema
from privet.consortium.federated.channel import in_process
from privet.privacy.event import add_up
from privet.privacy.scores import CorrectCount, Gini
from privet.questions.candidates import Candidates
from privet.questions.grid import public_grid
from privet.questions.split import Split
from privet.tree.proposals import agreed, choose, choose_by_proposals, common_tables, proposals
from privet.tree.public_splits import public_splits

SCHEMA = Schema({"x": Numeric(0, 9, integer=True), "s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
PLENTY = Fraction(10**6)


def owner(n, feature, seed):
    """Records whose class is told by one feature; the other says nothing."""
    rng = np.random.default_rng(seed)
    x, s = rng.integers(0, 10, n), rng.integers(0, 2, n)
    y = (x > 4) if feature == "x" else (s == 1)
    X = np.array([[value, "ab"[code]] for value, code in zip(x, s)], dtype=object)
    return X, np.where(y, "y", "n")


def desk_of(tables, **terms):
    desk = FederatedCurator(SCHEMA, in_process(tables, SCHEMA), **terms).open()
    desk.grid(public_grid(SCHEMA))
    return desk


def options(**more):
    return Candidates(public_splits(public_grid(SCHEMA)), 2, **more)


def test_owners_propose_what_is_best_for_them_and_all_records_decide():
    desk = desk_of([owner(40, "x", 0), owner(40, "x", 1), owner(900, "s", 2)])
    root = desk.root()
    (counted,) = proposals(desk.curtain, {root: options()}, Gini(), PLENTY).values()
    assert sorted(each.split.feature for each in counted) == [0, 1]
    assert {round(each.counts.sum()) for each in counted} == {980}
    (choice,) = choose_by_proposals(desk.curtain, {root: options()}, Gini(), PLENTY).values()
    assert (choice.split.feature, choice.labels) == (1, None)


def test_labels_are_those_of_the_counts_over_all():
    desk = desk_of([owner(100, "s", seed) for seed in range(3)])
    root = desk.root()
    asked = {root: options(labelled=True, stop=True)}
    (choice,) = choose(desk.curtain, asked, CorrectCount(), PLENTY).values()
    assert choice.split.feature == 1
    left = 0 if choice.split.part == bytes([0, 1]) else 1
    assert choice.labels == ((0, 1) if left == 0 else (1, 0))


def test_stopping_can_be_proposed_and_labels_alone_are_counted():
    pure = (np.array([[3, "a"]] * 50, dtype=object), np.array(["y"] * 50))
    desk = desk_of([pure] * 3)
    root = desk.root()
    asked = {root: options(labelled=True, stop=True, stop_log_prior=100.0)}
    (choice,) = choose(desk.curtain, asked, CorrectCount(), Fraction(10)).values()
    assert (choice.split, choice.labels) == (None, (1,))
    labels = {root: Candidates(None, 2, labelled=True, stop=True)}
    assert choose(desk.curtain, labels, CorrectCount(), PLENTY)[root].labels == (1,)
    assert choose(desk.curtain, {}, CorrectCount(), PLENTY) == {}


def test_a_choice_by_proposals_costs_what_a_choice_costs():
    desk = desk_of([owner(60, "x", seed) for seed in range(4)])
    root = desk.root(Fraction(1))
    left, right = desk.split({root: public_splits(desk.cells).split(0)})[root]
    choose(desk.curtain, {left: options(), right: options()}, Gini(), {left: Fraction(1, 2), right: Fraction(1)})
    events = desk.ledger.events
    assert {event.question for event in events} == {"choose a split", "tally"}
    assert add_up(events) == 1
    assert sum(event.charged for event in events if event.scope == desk.scope(left).path) == Fraction(1, 2)


def test_tables_of_one_node_are_made_to_agree():
    tables = [np.array([[5, 1], [3, 3]]), np.array([[8, 0], [2, 8], [0, 0]])]
    moved = agreed(tables)
    assert np.allclose(moved[0].sum(axis=0), [9, 6])
    assert np.allclose(moved[1].sum(axis=0), [9, 6])
    assert np.allclose(moved[0] - tables[0], [[0.5, 1], [0.5, 1]])
    assert np.array_equal(agreed(tables[:1])[0], tables[0])


@pytest.mark.parametrize("terms", [{}, {"noise": "own"}])
@pytest.mark.parametrize("leaves", ["labels", "counts"])
def test_our_tree_learns_from_owners_who_cannot_choose_for_all(terms, leaves):
    tables = [owner(400, "s", seed) for seed in range(3)]
    model = PrivateTreeClassifier(epsilon=20, max_depth=2, leaves=leaves).fit_curator(
        FederatedCurator(SCHEMA, in_process(tables, SCHEMA), **terms)
    )
    assert model.score(*tables[0]) == 1.0
    assert model.privacy_.epsilon <= 20
    assert model.privacy_.verify()


class TwoOwners(Able):
    """All records for sums, and each owner's own for its choice; both draw from the same mechanisms."""

    def __init__(self, owners, schema, mechanisms):
        options = {"ledger": Ledger(100), "mechanisms": mechanisms}
        super().__init__(*joined(owners), schema, able={"tally", "choose_each"}, **options)
        self.owners = [MemoryCurator(*joined([own]), schema, mechanisms=mechanisms) for own in owners]

    def room(self):
        room, owners = super().room(), [own.room() for own in self.owners]
        use = room.use

        def use_all(grid):
            for each in (use, *(own.use for own in owners)):
                each(grid)

        def choose_each(asked, events, score, mechanism):
            ((_, options),) = asked  # the root: it is split once
            each = [own.choose([(own.everything(None), options)], events, score, mechanism)[0] for own in owners]
            return [each]

        room.use, room.choose_each, room.n_owners = use_all, choose_each, 2
        return room


def joined(owners):
    rows = [row for own in owners for row in own]
    return np.array([row[:1] for row in rows], dtype=object).reshape(len(rows), 1), [row[1] for row in rows]


def test_no_transcript_of_two_owners_proposals_is_more_than_epsilon_apart():
    """An owner with one record or none beside one without, and one record more with either of them."""
    schema = Schema({"s": Categorical(["a", "b"], other=False)}, classes=["n", "y"])
    kinds = list(product("ab", "ny"))
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1, n_records=100)
    laws = {}

    def law(owners):
        owners = tuple(tuple(sorted(own)) for own in owners)
        if owners not in laws:
            laws[owners] = transcripts(lambda noise: model.fit_curator(TwoOwners(owners, schema, noise)), (0, 1))
        return laws[owners]

    worst = 0.0
    for first, second, added in product([(), (kinds[0],)], [()], kinds[::3]):
        before = law((first, second))
        for after in (((*first, added), second), (first, (*second, added))):
            worst = max(worst, loss(before, law(after)))
    assert 0.5 < worst <= 1 + 1e-9


@given(
    st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 2), min_size=6, max_size=6)), min_size=1, max_size=5)
)
def test_splits_of_one_feature_are_read_off_one_table(parts):
    splits = list(dict.fromkeys(Split(feature, bytes(part)) for feature, part in parts))
    tables = common_tables(splits)
    assert len(tables) == len({split.feature for split in splits})
    assert sorted(map(repr, (split for table in tables for split in table.finds))) == sorted(map(repr, splits))
    cells = np.array([1, 2, 4, 8, 16, 32])
    for table in tables:
        of_parts = np.bincount(np.frombuffer(table.split.part, dtype=np.uint8), weights=cells)
        for split, children in table.finds.items():
            expected = np.bincount(np.frombuffer(split.part, dtype=np.uint8), weights=cells, minlength=split.n_children)
            assert (children @ of_parts == expected).all()


def test_more_parts_than_a_byte_names_take_another_table():
    one, other = (Split(0, bytes((np.arange(512) // width % 16).astype(np.uint8))) for width in (1, 17))
    assert len(common_tables([one])) == 1
    assert [list(table.finds) for table in common_tables([one, other])] == [[one], [other]]


def test_owners_who_nearly_agree_pay_for_one_table():
    desk = desk_of([owner(400, "x", seed) for seed in range(4)])
    root = desk.root()
    (counted,) = proposals(desk.curtain, {root: options()}, Gini(), Fraction(1, 20)).values()
    tally = desk.ledger.events[-1]
    assert tally.question == "tally"
    assert tally.sensitivity == len({each.split.feature for each in counted})
