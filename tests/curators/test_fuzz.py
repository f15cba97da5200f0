"""Hostile messages at a party and at an owner of shared counts, hostile words at a curator: none gets anything.

Whatever is said: an answer that was paid for, or a refusal in words of our own, which charges nothing and is the same
for tables that differ in any one record. So free calls are blind, and errors tell nobody anything.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostile import ODD, changed, on_the_wire
from privet import Categorical, Ledger, MemoryCurator, Numeric, Schema
from privet.curators.owners.mpc_owner import Owner
from privet.curators.owners.party_records import PartyRecords
from privet.errors import PrivetError
from privet.privacy.repeatable_noise import TiedBytes
from privet.privacy.scores import CorrectCount, Gini
from privet.questions.candidates import Candidates
from privet.questions.codec import (
    candidates_words,
    grid_words,
    schema_digest,
    scorer_words,
    splits_words,
    tables_words,
    tally_words,
)
from privet.questions.grid import Grid, public_grid
from privet.questions.levels import Levels
from privet.questions.products import Products
from privet.questions.scorer import Branches, Scorer, Summand
from privet.questions.split import Product, Split
from privet.questions.tally import Step, Tally
from privet.tree.public_splits import public_splits

CLASSES = Schema(
    {"income": Numeric(0, 100, missing=True), "age": Numeric(0, 9, integer=True), "sex": Categorical(["f", "m"])},
    classes=["no", "yes", "maybe"],
)
TARGETS = Schema({"income": Numeric(0, 100), "sex": Categorical(["f", "m"])}, target=(0, 10))
# Each pair differs in one record, and that in everything that a record can differ in.
TABLES = {
    CLASSES: [
        ([[50.0, 3, "f"], [1.0, 9, "m"]], ["no", "yes"]),
        ([[50.0, 3, "f"], [1.0, 9, "m"], [math.nan, 0, "x"]], ["no", "yes", "maybe"]),
        ([[99.9, 3, "f"], [1.0, 9, "m"]], ["no", "yes"]),
        ([], []),
        ([[100.0, 0, "m"]], ["maybe"]),
    ],
    TARGETS: [([[50.0, "f"], [1.0, "m"]], [1.0, 10.0]), ([[50.0, "f"]], [0.0]), ([[100.0, "f"], [1.0, "m"]], [10, 0])],
}
LIMIT = Fraction(1, 1000)


def rows(table, schema):
    X, y = table
    return np.array(X, dtype=object).reshape(len(X), len(schema.features)), y


def messages_of(schema):
    """What a coordinator says in a run, and the questions that it asks, for this schema."""
    grid = public_grid(schema, 8)
    splits = public_splits(grid)
    n_classes = len(schema.classes or ())
    half = Split(0, bytes([0, 0, *[1] * (grid.features[0].n_cells - 2)]))
    tables = (half, Split(1, bytes(range(grid.features[1].n_cells))))
    kind = "records" if schema.classes else "target"
    product = Product(tables)
    several = Products(grid, (half, product))
    told = [
        {"do": "root", "node": 0, "limit": "1/1000", "currency": "epsilon"},
        {"do": "grid", "features": grid_words(grid)},
        {"do": "splits", "name": "all", "splits": splits_words(splits)},
        {"do": "splits", "name": "products", "splits": splits_words(several)},
        {"do": "split", "splits": [[0, 0, half.part.hex(), [1, 2]]]},
        {"do": "parts", "node": 0, "children": [3, 4], "weights": [4, 1]},
        {"do": "copies", "node": 1, "children": [5, 6]},
        {"do": "gather", "node": 7},
        {"do": "parts", "node": 7, "children": [8, 9], "weights": [4, 1]},
        {"do": "root", "node": 10, "limit": "1/1000", "currency": "epsilon", "within": 8},
        {"do": "focus", "low": 1.0, "high": 2.0},
    ]
    paid = {"budgets": ["1/4000"], "currencies": ["epsilon"]}
    options = Candidates(splits, n_classes)
    labels = Candidates(None, n_classes, labelled=True, stop=True)
    score = "gini" if schema.classes else "squared_error(65536)"
    asked = [
        {"do": "tally", "asked": tally_words([(0, Tally(tables, measure=kind))]), **paid},
        {"do": "tally", "asked": tally_words([(0, Tally((product,), measure="gradient", output=1))]), **paid},
        {"do": "tally", "asked": tally_words([(0, Tally(measure="residual", levels=Levels((-3, 5))))]), **paid},
        {
            "do": "choose_each",
            "asked": [[0, candidates_words(Candidates(several, n_classes), "products")]],
            "score": "clipped_gradient_norm(1)",
            "mechanism": "exponential",
            **paid,
        },
        {"do": "evaluate", "asked": [[0, scorer_words(scorer_with(schema, grid, half))]], **paid},
        {"do": "owner_sum", "asked": tables_words([(0, tables)]), "statistic": "least_impurity", **paid},
        {
            "do": "choose_each",
            "asked": [[0, candidates_words(options, "all")]],
            "score": score,
            "mechanism": "permute_and_flip",
            **paid,
        },
        {
            "do": "choose_each",
            "asked": [[0, candidates_words(labels, None)]],
            "score": "correct_count",
            "mechanism": "exponential",
            **paid,
        },
    ]
    return told, asked


def scorer_with(schema, grid, half):
    """A released model of one term and one tree."""
    n = len(schema.classes or (0,))
    link = "error" if schema.target else "shares"
    tree = Branches((half,), [0, -1, -1], [1, 0, 0], [0], np.arange(3 * n).reshape(3, n))
    term = Summand(Split(1, bytes(range(grid.features[1].n_cells))), np.ones((grid.features[1].n_cells, n)))
    return Scorer(grid, [term], tree, link, [0.0, 0.5], order=range(n), by=half)


def outcome(call, *words):
    """What a caller can tell: that it was done, or the refusal. Anything else than a refusal of ours is a crash."""
    try:
        call(*words)
    except PrivetError as error:
        return type(error).__name__, str(error)
    return None


def parties(schema):
    found = []
    for table in TABLES[schema]:
        ledger = Ledger(LIMIT)
        X, y = rows(table, schema)
        tied = TiedBytes(b"k" * 32)
        found.append((PartyRecords(X, y, schema, ledger, 3, None, lambda n: bytes(n), tied), ledger))
        tied.tie(b"context")
    return found


def hostile_run_at_parties(schema, messages):
    told, _ = messages_of(schema)
    every = parties(schema)
    for question, said in [(False, message) for message in told[: len(messages) % 5]] + list(messages):
        message = on_the_wire(said)
        before = [ledger.root.spent for _, ledger in every]
        outcomes = {outcome(party.answer if question else party.tell, message) for party, _ in every}
        assert len(outcomes) == 1, (message, outcomes)
        after = [ledger.root.spent for _, ledger in every]
        if not question or outcomes != {None}:
            assert after == before, message
        assert all(spent <= LIMIT for spent in after)


def messages_at_parties(schema):
    told, asked = messages_of(schema)
    either = st.one_of(
        st.tuples(st.just(False), changed(told)),
        st.tuples(st.just(True), changed(asked)),
        st.tuples(st.booleans(), ODD),
    )
    return st.lists(either, min_size=3, max_size=12)


QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=4000, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("schema", [CLASSES, TARGETS], ids=["classes", "targets"])
@QUICK
@given(data=st.data())
def test_no_message_gets_anything_from_a_party(schema, data):
    hostile_run_at_parties(schema, data.draw(messages_at_parties(schema)))


@pytest.mark.slow
@pytest.mark.parametrize("schema", [CLASSES, TARGETS], ids=["classes", "targets"])
@LONG
@given(data=st.data())
def test_no_message_gets_anything_from_a_party_however_many(schema, data):
    hostile_run_at_parties(schema, data.draw(messages_at_parties(schema)))


# -- an owner of shared counts -----------------------------------------------------------------------------------------


def requests():
    told, asked = messages_of(CLASSES)
    start = {"do": "start", "ring_bits": 64, "most_records": 8, "schema": schema_digest(CLASSES)}
    structure = [
        {"do": "root", "node": 0},
        *(message for message in told if message["do"] in ("grid", "split", "parts", "copies", "gather")),
    ]
    counts = [
        {"do": "histograms", "nodes": [0]},
        {"do": "totals", "nodes": [0, 1]},
        *({"do": "scored", "asked": each["asked"]} for each in asked if each["do"] == "evaluate"),
        {"do": "rows", "records": 8},
        {"do": "draw", "weights": [2, 1, 1], "records": 8},
        {"do": "sample", "samples": 2, "inverse_rate": 4, "records": 8},
    ]
    return [start, *structure, *counts]


def hostile_run_at_owners(messages):
    owners = [Owner(*rows(table, CLASSES), CLASSES, most_records=8) for table in TABLES[CLASSES]]
    for said in [*requests()[: len(messages) % 6], *messages]:
        message = on_the_wire(said)
        shapes = set()
        for owner in owners:
            told = []
            refused = outcome(_told, owner, message, told)
            shapes.add((refused, np.shape(told[0]) if told and told[0] is not None else None))
        assert len(shapes) == 1, (message, shapes)


def _told(owner, message, told):
    told.append(owner.answer(message))


def messages_at_owners():
    return st.lists(st.one_of(changed(requests()), ODD), min_size=3, max_size=12)


@QUICK
@given(messages=messages_at_owners())
def test_no_message_tells_an_owner_s_records_apart(messages):
    hostile_run_at_owners(messages)


@pytest.mark.slow
@LONG
@given(messages=messages_at_owners())
def test_no_message_tells_an_owner_s_records_apart_however_many(messages):
    hostile_run_at_owners(messages)


# -- words of an algorithm ---------------------------------------------------------------------------------------------

NUMBERS = st.one_of(st.integers(-3, 12), st.sampled_from([2**31, 2**63, 1.5, math.nan, math.inf, None, "a", b"", ()]))
SHORT = st.lists(NUMBERS, max_size=6)
BUDGETS = st.sampled_from([Fraction(1, 10**6), Fraction(0), Fraction(-1), 0.1, None, math.inf, "1/2", {}])


@st.composite
def asked(draw, grid, nodes):
    """A call of the curtain, with words that may not even be words."""
    node = draw(st.sampled_from([*nodes, object(), None, 0]))
    split = draw(st.sampled_from([Split(0, bytes(grid.features[0].n_cells)), None, 3]))
    n_classes = draw(st.sampled_from([3, 3, 2, 0]))
    calls = {
        "grid": lambda c, v, w: c.grid(Grid(CLASSES, v)),
        "split": lambda c, v, w: c.split({node: Split(w[0], bytes(w), 1)}),
        "plain split": lambda c, v, w: c.split({node: split}),
        "parts": lambda c, v, w: c.parts(node, w),
        "copies": lambda c, v, w: c.copies(node, w[0]),
        "samples": lambda c, v, w: c.samples(node, w[0], w[1]),
        "focus": lambda c, v, w: c.focus(w[0], w[1]),
        "advance": lambda c, v, w: c.advance({node: Step(split, w, w[0])}),
        "root": lambda c, v, w: c.root(w[0], "epsilon"),
        "path": lambda c, v, w: c.path(node),
    }
    name = draw(st.sampled_from(sorted(calls)))
    vectors, whole = draw(st.lists(st.one_of(SHORT, st.none()), max_size=4)), draw(st.lists(NUMBERS, min_size=2))
    return name, lambda curtain: calls[name](curtain, vectors, whole), n_classes


def hostile_algorithm(data):
    """Free calls are the same on all tables, and free."""
    grid = public_grid(CLASSES, 8)
    desks = [MemoryCurator(*rows(t, CLASSES), CLASSES, ledger=Ledger(LIMIT)).open() for t in TABLES[CLASSES]]
    curtains = [desk.curtain for desk in desks]
    nodes = []
    for curtain in curtains:
        curtain.grid(grid)
        nodes.append(curtain.root(LIMIT))
    for _ in range(data.draw(st.integers(1, 6))):
        # The same words, each table with its own nodes.
        name, call, _ = data.draw(asked(grid, ["the root"]))
        results = set()
        for curtain, root in zip(curtains, nodes):
            try:
                refused = outcome(_with_node(call, root), curtain)
            except (TypeError, ValueError, IndexError, OverflowError) as error:  # by making a word, not by asking
                refused = type(error).__name__, "outside"
            results.add(refused)
        assert len(results) == 1, (name, results)
    assert all(desk.ledger.root.spent == 0 for desk in desks)


def _with_node(call, root):
    def swapped(curtain):
        class Swapping:
            """The curtain, with the root of its own table where a call names it."""

            def __getattr__(self, name):
                def ask(*words):
                    return getattr(curtain, name)(*(_swapped(word, root) for word in words))

                return ask

        return call(Swapping())

    return swapped


def _swapped(word, root):
    if isinstance(word, dict):
        return {_swapped(key, root): value for key, value in word.items()}
    return root if word == "the root" else word


@QUICK
@given(data=st.data())
def test_free_calls_of_an_algorithm_are_blind(data):
    hostile_algorithm(data)


@pytest.mark.slow
@LONG
@given(data=st.data())
def test_free_calls_of_an_algorithm_are_blind_however_many(data):
    hostile_algorithm(data)


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(-1), 0.1, None, math.inf, "1/2", {}, [Fraction(1)]])
def test_a_budget_that_is_none_is_refused_and_costs_nothing(budget):
    desk = MemoryCurator(*rows(TABLES[CLASSES][0], CLASSES), CLASSES, ledger=Ledger(LIMIT)).open()
    grid = public_grid(CLASSES, 8)
    desk.grid(grid)
    root, splits = desk.root(LIMIT), public_splits(grid)
    labels = Candidates(None, 3, labelled=True, stop=True)
    for ask in (
        lambda: desk.tally({root: Tally()}, budget),
        lambda: desk.choose({root: Candidates(splits, 3)}, Gini(), budget),
        lambda: desk.choose({root: labels}, CorrectCount(), budget),
        lambda: desk.quantiles(root, [0], [Fraction(1, 2)], budget),
    ):
        assert outcome(ask) is not None
    assert desk.ledger.root.spent == 0
