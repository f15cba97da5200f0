"""Rows on shares: announced answers are the memory curator's, hidden ones are seen by nobody, nor from outside."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas
import pytest

from cut_mechanisms import CutMechanisms
from hidden_programs import (
    SCHEMA,
    horizontally,
    in_the_open,
    learner,
    on_shares,
    opened,
    plain,
    queries_of,
    same,
    table,
)
from in_threads import Queues
from privet import Ledger, MemoryCurator, Numeric, Schema
from privet.curators.owners.mpc_owner import Owner
from privet.errors import LeakError
from privet.privacy.event import add_up_slack
from privet.privacy.scores import CorrectCount, Mixed
from privet.questions.candidates import Candidates
from privet.questions.grid import Grid, public_grid
from privet.questions.splits import Splits
from privet.questions.tally import Tally
from privet.tree.hidden_shape import shape_of
from privet.tree.public_splits import public_splits


def lengths_of(X, y, queries, **options):
    meshes = Queues.three()
    for mesh in meshes:
        mesh.lengths = []

    def program(curator, engine):
        tree = learner(**options).fit_curator(curator).tree_
        trained = len(engine.mesh.lengths)
        tree.predict(engine, engine.input(queries if engine.party == 0 else None, 0, queries.shape))
        return trained, list(engine.mesh.lengths), engine.mesh.rounds

    return on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=120, meshes=meshes, ring_bits=32)


@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 2},
        {"max_depth": 3, "branches": "thresholds"},  # with divisions
        {"max_depth": 2, "structure": "random"},
        {"max_depth": 2, "variant": "published"},
    ],
)
def test_transcripts_do_not_depend_on_data_or_queries(options):
    queries = queries_of(table(30, 3)[0], SCHEMA, shape_of(SCHEMA, options.get("branches", "values"), 4))
    few, many = table(3, 1), table(200, 2)
    alike = (np.repeat(few[0][:1], 7, axis=0), np.array(["yes"] * 7))
    seen = [
        lengths_of(*few, queries, **options),
        lengths_of(*many, queries[:, ::-1].copy(), **options),
        lengths_of(*alike, np.repeat(queries[:, :1], 30, axis=1), **options),
    ]
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0][0] > 50  # there was something to compare


def test_curators_use_what_was_drawn_and_nothing_else():
    """The nodes of a forest's trees have the records that owners drew for them, and no others."""
    X, y = table(100)

    def program(curator, engine):
        desk, drawn = curator.open(), []
        for asked in ("parts", "samples"):
            ask = getattr(desk._room._owners, asked)

            def noted(*what, ask=ask):
                drawn.append(ask(*what))
                return drawn[-1]

            setattr(desk._room._owners, asked, noted)
        root = desk.root()
        parts, samples = desk.parts(root, 3), desk.samples(root, 2, 4)
        return [
            (engine.open(desk._room._members([desk.held(node) for node in nodes])), engine.open(table))
            for nodes, table in ((parts, drawn[0]), (samples, drawn[1]))
        ]

    for members, drawn in on_shares(program, horizontally(X, y, SCHEMA, 2), SCHEMA, most_records=60)[0]:
        assert (members == drawn).all()


PEOPLE = Schema(SCHEMA.features, classes=SCHEMA.classes, person="who", records_per_person=6)


def people(n=24):
    """Frames of two owners, whose persons have 1, 2, 3 or 6 records: a weight of 12 is shared out evenly."""
    found = []
    for seed in range(2):
        X, y = table(3 * n, seed)
        frame = pandas.DataFrame(X, columns=list(SCHEMA.names)).astype({"age": int, "size": float})
        who = np.repeat(np.arange(n), np.resize([1, 2, 3, 6], n))
        found.append((frame.assign(who=[f"{seed}.{own}" for own in who]), y))
    return found


@pytest.mark.parametrize(
    "options",
    [{"max_depth": 2, "branches": "thresholds"}, {"max_depth": 1}, {"max_depth": 2, "labels": "exponential"}],
)
def test_with_persons_a_hidden_tree_is_the_one_in_the_open_for_the_same_coins(options):
    """The same splits, labels and counts, in units of persons, as a curator in memory that weighs records."""
    tables = people()
    X, y = pandas.concat([own for own, _ in tables]), np.concatenate([own for _, own in tables])
    expected, expected_counts = in_the_open(learner(**options), X, y, PEOPLE, seed=4)

    def program(curator, engine):
        model = learner(**options).fit_curator(curator)
        return plain(opened(model.tree_, engine)), curator.counts, model.privacy_

    owners = [Owner(own, labels, PEOPLE) for own, labels in tables]
    for tree, counts, receipt in on_shares(program, owners, PEOPLE, most_records=80, seed=4):
        assert tree == plain(expected.tree_)
        assert same(counts, expected_counts)
        assert receipt.spent == expected.privacy_.spent
        assert receipt.unit == "one person, at most 6 records"
        assert receipt.delta == 12 * add_up_slack(receipt.events) > 0
        assert receipt.verify()


def test_persons_are_in_one_part_or_sample_with_all_their_records_and_weigh_the_same():
    tables = people()
    who = np.concatenate([np.pad(own["who"], (0, 80 - len(own))) for own, _ in tables])

    def program(curator, engine):
        desk = curator.open()
        desk.grid(public_grid(PEOPLE, 4))
        root = desk.root()
        nodes = [*desk.parts(root, [4, 1]), *desk.samples(root, 2, 3)]
        rows = desk._room._shared()
        return engine.open(desk._room._members([desk.held(node) for node in nodes])), engine.open(rows.classes.sum(0))

    members, weights = on_shares(program, [Owner(*own, PEOPLE) for own in tables], PEOPLE, most_records=80)[0]
    parts = np.unique(np.concatenate([members, who.astype(str)[None]])[:, weights > 0].astype(str), axis=1)
    assert len(np.unique(parts[-1])) == parts.shape[1] == 48  # all records of a person are alike
    assert (members[:2].sum(axis=0) == (weights > 0)).all()
    assert {weights[who == own].sum() for own in np.unique(who[weights > 0])} == {12}


def test_a_part_of_a_level_is_not_asked_about():
    X, y = table(40)

    def program(curator, engine):
        shape, desk = shape_of(SCHEMA, "thresholds", 4), curator.open()
        desk.grid(shape.grid)
        options = Candidates(shape.splits, 3)
        root = desk.root()
        chosen = desk.choose({root: options}, CorrectCount(), Fraction(1), hidden=True)
        left, right = desk.split(chosen)[root]
        spent = desk.ledger.spent
        for asked in ({left: options}, {right: options, left: options}):
            with pytest.raises(LeakError, match="whole level"):
                desk.choose(asked, CorrectCount(), Fraction(1), hidden=True)
        with pytest.raises(LeakError, match="one list"):
            desk.choose({left: options, right: Candidates(shape.splits, 3)}, CorrectCount(), Fraction(1), hidden=True)
        return desk.ledger.spent == spent

    assert on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=50) == [True] * 3


def test_a_record_counts_once_whatever_grids_there_were_before():
    """Choices of one grid would send a row of another one to a child several times, and so on at every level."""
    schema = Schema({"a": Numeric(0, 100), "b": Numeric(0, 100)}, classes=["no", "yes"])
    narrow, wide = Grid(schema, [[50], [20, 40, 60]]), Grid(schema, [[20, 40, 60], [50]])

    def one_split(grid, feature, first, last):
        return Candidates(Splits(grid, [feature], [first], [last], [-1], (), [0.0]), 2)

    def program(curator, engine):
        desk = curator.open()
        desk.grid(narrow)
        root = desk.root()
        chosen = desk.choose({root: one_split(narrow, 1, 2, 4)}, CorrectCount(), Fraction(1), hidden=True)
        desk.grid(wide)
        with pytest.raises(LeakError, match="on the grid"):
            desk.split(chosen)
        # The level was counted on the narrow grid, whose cells 0 to 3 are of both features.
        left, right = desk.split(
            desk.choose({root: one_split(wide, 0, 0, 3)}, CorrectCount(), Fraction(1), hidden=True)
        )[root]
        labels = Candidates(None, 2, labelled=True, stop=True)
        desk.choose({left: labels, right: labels}, CorrectCount(), Fraction(1), hidden=True)
        return engine.open(desk._room._totals_of(desk.held(left).level)).tolist()

    owners = horizontally(np.full((20, 2), 50.0), np.array(["no"] * 20), schema, 1)
    assert on_shares(program, owners, schema, most_records=20)[0] == [[20, 0], [0, 0]]


def announced(desk):
    """Tallies and choices that are told, at the root and below announced splits, copies and children."""
    grid = public_grid(SCHEMA, 4)
    splits = public_splits(grid)
    desk.grid(grid)
    root = desk.root()
    half, table_of = Fraction(1, 2), splits.split(0)
    answers = [desk.tally({root: Tally()}, half), desk.tally({root: Tally((table_of,), by_class=False)}, half)]
    chosen = [
        desk.choose({root: Candidates(splits, 3, stop=True)}, Mixed(100), half),
        desk.choose({root: Candidates(None, 3, labelled=True, stop=True)}, CorrectCount(), half),
    ]
    children = desk.split({root: table_of})[root]
    copy = desk.copies(children[1], 2)[1]
    answers.append(desk.tally({copy: Tally((splits.split(3),)), children[0]: Tally()}, half))
    chosen.append(desk.choose(dict.fromkeys(children, Candidates(splits, 3, labelled=True)), CorrectCount(), half))
    return [own.tolist() for each in answers for own in each.values()], [c for each in chosen for c in each.values()]


def test_for_the_same_coins_announced_answers_are_those_of_the_memory_curator():
    X, y = table(120)
    mechanisms = CutMechanisms(np.random.default_rng(7))
    expected = announced(MemoryCurator(X, y, SCHEMA, ledger=Ledger(math.inf), mechanisms=mechanisms).open())
    owners = horizontally(X, y, SCHEMA, 2)
    results = on_shares(lambda curator, engine: announced(curator.open()), owners, SCHEMA, most_records=70, seed=7)
    assert results == [expected] * 3


def test_hidden_questions_have_one_budget_and_known_candidates():
    X, y = table(40)

    def program(curator, engine):
        shape, desk = shape_of(SCHEMA, "thresholds", 4), curator.open()
        desk.grid(shape.grid)
        root, options, score = desk.root(), Candidates(shape.splits, 3), CorrectCount()
        some = Candidates(shape.splits, 3, np.arange(len(shape.splits)) > 0)
        for ask, message in (
            (lambda: desk.choose({root: options}, score, {root: Fraction(1)}, hidden=True), "one budget"),
            (lambda: desk.choose({root: some}, score, Fraction(1), hidden=True), "all splits of a list"),
            (lambda: desk.choose({root: options}, score, None, hidden=True), "positive Fraction"),
            (
                lambda: desk.choose({root: Candidates(shape.splits, 3, stop=True)}, score, Fraction(1), hidden=True),
                "stop",
            ),
            (lambda: desk.draw_hidden([root], some), "all splits of a list"),
            (lambda: desk.choose({root: options}, score, Fraction(1), mechanism="exact"), "made by one of"),
            (lambda: desk.draw_hidden([root], None), "Candidates"),
            (lambda: desk.split({root: object()}), "made for"),
        ):
            with pytest.raises(LeakError, match=message):
                ask()
        return desk.ledger.spent, len(desk.ledger.events)

    assert on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=50) == [(0, 0)] * 3


def test_a_hidden_choice_costs_what_an_announced_one_costs_and_an_exact_one_everything():
    X, y = table(40)

    def program(curator, engine):
        shape, desk = shape_of(SCHEMA, "thresholds", 4), curator.open()
        desk.grid(shape.grid)
        root, options = desk.root(), Candidates(shape.splits, 3)
        desk.choose({root: options}, CorrectCount(), Fraction(1))
        desk.choose({root: options}, CorrectCount(), Fraction(1), hidden=True)
        desk.draw_hidden([root], options)
        told, hidden = desk.ledger.events
        desk.choose({root: options}, CorrectCount(), Fraction(1), mechanism="exact", hidden=True)
        return replace(told, drawn="", delta=0) == replace(hidden, drawn="", delta=0), desk.ledger.spent

    assert on_shares(program, horizontally(X, y, SCHEMA, 1), SCHEMA, most_records=50) == [(True, math.inf)] * 3
